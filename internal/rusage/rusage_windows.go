// SPDX-License-Identifier: Apache-2.0

package rusage

import (
	"time"

	"golang.org/x/sys/windows"
)

// Times are the time in the process and that in the kernel on its behalf.
func Times() (user, system time.Duration) {
	var created, exited, kernel, own windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &own) != nil {
		return 0, 0
	}
	return span(own), span(kernel)
}

// span is a file time that counts no date but units of 100 ns.
func span(f windows.Filetime) time.Duration {
	return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * 100
}
