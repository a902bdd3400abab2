// SPDX-License-Identifier: Apache-2.0

package rusage

import (
	"time"

	"golang.org/x/sys/windows"
)

// Times returns the user and the system CPU time.
func Times() (user, system time.Duration) {
	var created, exited, kernel, own windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &own) != nil {
		return 0, 0
	}
	return span(own), span(kernel)
}

// span converts a FILETIME that is a duration in units of 100 ns, not a date.
func span(f windows.Filetime) time.Duration {
	return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * 100
}
