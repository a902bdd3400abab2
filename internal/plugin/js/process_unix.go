// SPDX-License-Identifier: Apache-2.0

//go:build unix

package js

import (
	"time"

	"golang.org/x/sys/unix"
)

// processTime is how long the process has used processors.
func processTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
