// SPDX-License-Identifier: Apache-2.0

//go:build unix

package rusage

import (
	"time"

	"golang.org/x/sys/unix"
)

// Times returns the user and the system CPU time.
func Times() (user, system time.Duration) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}
