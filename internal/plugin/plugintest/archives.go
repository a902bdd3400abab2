// SPDX-License-Identifier: Apache-2.0

package plugintest

// Archives are the bad plugins in Java: when they do what. The file kind.txt of a jar says which one it is; the classes are
// in the package corpus of the suite.
var Archives = []string{
	"extensions null", "extensions empty",
	"load throw", "load error", "load wait", "load ignore", "load spin", "load recurse", "load heap", "load exit", "load halt",
	"start throw", "start error", "start wait", "start ignore", "start spin", "start recurse", "start halt",
	"pause wait", "resume throw",
	"stop throw", "stop wait", "stop ignore", "stop spin", "stop halt",
	"call throw", "call error", "call wait", "call ignore", "call spin", "call recurse", "call deadlock", "call never", "call null",
	"call buffer", "call array", "call thrown", "call heap", "call waste", "call direct", "call metaspace", "call threads", "call storm", "call files",
	"call flood", "call pipe", "call close", "call handler", "call hooks", "call giant", "call enter", "call store",
	"call halt", "call exit", "call crash", "call child", "call outlive", "call regexp",
}
