// SPDX-License-Identifier: Apache-2.0

package java

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// TestStarved distinguishes a JVM starved of processors from an idle one and from one that
// uses the processors itself.
func TestStarved(t *testing.T) {
	half := 4 * time.Second * time.Duration(runtime.GOMAXPROCS(0))
	before := scheduling{ran: time.Hour, waited: time.Hour}
	for _, c := range []struct {
		ran, waited time.Duration
		want        bool
	}{
		{0, 0, false},
		{half, 4 * time.Second, false},
		{0, 4 * time.Second, true},
		{half - 1, 20 * time.Second, true},
		{half, 20 * time.Second, false},
		{0, 4*time.Second - 1, false},
	} {
		now := scheduling{before.ran + c.ran, before.waited + c.waited}
		if got := now.starved(before, 8*time.Second); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	// The test process has run.
	if s := schedulingOf(os.Getpid()); s.ran <= 0 {
		t.Errorf("this process never ran: %+v", s)
	}
}
