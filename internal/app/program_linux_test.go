// SPDX-License-Identifier: Apache-2.0

package app

import (
	"slices"
	"testing"
)

// TestReleaseProgram checks that the process continues to work.
func TestReleaseProgram(t *testing.T) {
	for range 3 {
		if err := releaseProgram(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnchangedPages checks that modified pages are not released.
func TestUnchangedPages(t *testing.T) {
	const mappings = `1000-2000 r-xp 00000000 fe:00 7 /bin/app
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
2000-3000 r--p 00001000 fe:00 7 /bin/app
Rss:                   4 kB
Anonymous:             4 kB
Swap:                  0 kB
3000-4000 r--p 00002000 fe:00 7 /bin/app
Anonymous:             0 kB
Swap:                  4 kB
4000-5000 rw-p 00003000 fe:00 7 /bin/app
Anonymous:             0 kB
5000-6000 r--p 00000000 fe:00 8 /bin/other
Anonymous:             0 kB
6000-7000 r--p 00000000 00:00 0 
7000-8000 r--p 00004000 fe:00 7 /bin/app
Anonymous:             0 kB
Swap:                  0 kB
`
	got, err := unchanged(mappings, "/bin/app")
	if want := []pageRange{{0x1000, 0x2000}, {0x7000, 0x8000}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %x, %v, want %x", got, err, want)
	}
	if _, err := unchanged("nonsense r-xp 0 fe:00 7 /bin/app\n", "/bin/app"); err == nil {
		t.Error("nonsense is accepted")
	}
}
