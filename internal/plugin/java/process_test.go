// SPDX-License-Identifier: Apache-2.0

package java

import (
	"slices"
	"strings"
	"testing"
)

// TestCauseIn checks which output line is taken as the cause of a JVM's end.
func TestCauseIn(t *testing.T) {
	for _, c := range []struct {
		tail []string
		want string
	}{
		{nil, ""},
		{[]string{"[0.01s][warning][gc] NewSize (8192k) is equal to or greater than the entire heap (8192k)."}, "[0.01s][warning][gc] NewSize (8192k) is equal to or greater than the entire heap (8192k)."},
		{[]string{"Error occurred during initialization of VM", "Initial heap size set to a larger value than the maximum heap size"}, "Error occurred during initialization of VM: Initial heap size set to a larger value than the maximum heap size"},
		{[]string{"the first words", "the last words", "[9s][warning][os] short of memory"}, "the last words"},
		{[]string{"ERROR: no such agent", "FATAL ERROR in native method: no transports", "at some place"}, "ERROR: no such agent"},
		{[]string{"OpenJDK 64-Bit Server VM warning: Sharing is off", "Error: Could not find or load main class X", "Caused by: java.lang.ClassNotFoundException: X"}, "Error: Could not find or load main class X"},
	} {
		if got := causeIn(c.tail); got != c.want {
			t.Errorf("%q: %s", c.tail, got)
		}
	}
}

// TestCrashedClasses checks the classes found on the stack of the crashed thread, also if the
// JVM failed while it wrote the stack.
func TestCrashedClasses(t *testing.T) {
	const native = "\nNative frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)\n" +
		"V  [libjvm.so+0x123632d]  Unsafe_PutLong+0xad\nj  jdk.internal.misc.Unsafe.putLong(Ljava/lang/Object;JJ)V+0 java.base@25.0.3\nj  acme.Native.call()V+4\n" +
		"V  [libjvm.so+0xa23840]  JavaCalls::call_helper(JavaValue*, methodHandle const&, JavaCallArguments*, JavaThread*)+0x2b0\n"
	const heading = "\nJava frames: (J=compiled Java code, j=interpreted, Vv=VM code)\n"
	const failed = "[error occurred during error reporting (printing Java stack), id 0xb, SIGSEGV (0xb) at pc=0x00007f0a2363632d]\n"
	for name, c := range map[string]struct {
		report string
		want   []string
	}{
		"none":        {"# A fatal error\n", nil},
		"both":        {native + heading + "j  acme.Inner.run()V+0\nJ 123 c2 acme.Native.call()V (8 bytes) @ 0x0 [0x0+0x0]\nv  ~StubRoutines::call_stub 0x0\n\nj  later.Thread.run()V+1\n", []string{"acme.Inner", "acme.Native", "jdk.internal.misc.Unsafe", "acme.Native"}},
		"native only": {native + "\nRegisters:\n", []string{"jdk.internal.misc.Unsafe", "acme.Native"}},
		"cut off":     {native + heading + "j  acme.Inner.run()V+0\n" + failed, []string{"acme.Inner", "jdk.internal.misc.Unsafe", "acme.Native"}},
		"other half":  {"\nNative frames: (J=compiled Java code)\n" + failed + heading + "j  acme.Inner.run()V+0\n\n", []string{"acme.Inner"}},
	} {
		if got := crashedClasses(c.report); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestHeapFlags verifies that the initial heap is not set if the maximum is small.
func TestHeapFlags(t *testing.T) {
	for _, c := range []struct {
		most  int64
		flags []string
		begin bool
	}{
		{64 << 20, nil, true},
		{16 << 20, nil, false},
		{64 << 20, []string{"-Xmx16m"}, false},
		{64 << 20, []string{"-Xmx16m", "-XX:MaxHeapSize=1G"}, true},
		{16 << 20, []string{"-Xmx100000k", "-Xmx"}, true},
		{64 << 20, []string{"-Xmxmuch"}, true},
		{64 << 20, []string{"-XX:MaxRAMPercentage=10"}, false},
	} {
		h, err := New(Options{MaxHeap: c.most, Flags: c.flags})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(h.flags(""), func(f string) bool { return strings.HasPrefix(f, "-Xms") }); got != c.begin {
			t.Errorf("%d %v: %v", c.most, c.flags, got)
		}
	}
}
