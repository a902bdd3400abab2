// SPDX-License-Identifier: Apache-2.0

package java

import (
	"slices"
	"strings"
	"testing"
)

// TestCauseIn finds the line that says why a JVM ended.
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

// TestHeapFlags leaves the beginning of a small heap to the JVM.
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
