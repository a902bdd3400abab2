// SPDX-License-Identifier: Apache-2.0

package plugintest

// An Archive is a malicious or faulty plugin in Java.
type Archive struct {
	// Kind is what it does and when. The file kind.txt of a jar contains it; the classes are in the
	// package corpus of the suite.
	Kind string
	// Harmless is that of Bad.
	Harmless string
}

// Archives are the faulty plugins in Java.
var Archives = []Archive{
	{"extensions null", ""},
	{"extensions empty", ""},
	{"load throw", ""},
	{"load error", ""},
	{"load wait", ""},
	{"load ignore", ""},
	{"load spin", ""},
	{"load recurse", ""},
	{"load heap", ""},
	{"load exit", ""},
	{"load halt", ""},
	{"start throw", ""},
	{"start error", ""},
	{"start wait", ""},
	{"start ignore", ""},
	{"start spin", ""},
	{"start recurse", ""},
	{"start halt", ""},
	{"pause wait", ""},
	{"resume throw", ""},
	{"stop throw", ""},
	{"stop wait", ""},
	{"stop ignore", ""},
	{"stop spin", ""},
	{"stop halt", ""},
	{"call throw", ""},
	{"call error", ""},
	{"call wait", ""},
	{"call ignore", ""},
	{"call spin", ""},
	{"call recurse", ""},
	{"call deadlock", ""},
	{"call never", ""},
	{"call null", "Null in the place of a stage leaves the request unchanged."},
	{"call buffer", ""},
	{"call array", ""},
	{"call thrown", ""},
	{"call heap", ""},
	{"call waste", ""},
	{"call direct", ""},
	{"call metaspace", ""},
	{"call threads", ""},
	{"call storm", ""},
	{"call files", "5,000 are fewer than a JVM may have open, and they are closed with it."},
	{"call flood", ""},
	{"call pipe", "The standard output of a JVM goes to the log as it is; nobody reads frames from it."},
	{"call close", "System.out and System.err of the JVM are streams of the host, which closing does not end."},
	{"call handler", "Exceptions of calls and hooks are caught by the host and do not come to the handler."},
	{"call hooks", "The server ends a JVM without running shutdown hooks."},
	{"call giant", ""},
	{"call enter", ""},
	{"call store", ""},
	{"call halt", ""},
	{"call exit", ""},
	{"call crash", ""},
	{"call child", "A child process costs the server nothing, and ends with the JVM at the latest."},
	{"call outlive", ""},
	{"call regexp", "The regular expressions of Java remember where a group failed, so that this one answers at once."},
}
