// SPDX-License-Identifier: Apache-2.0

// Package rusage tells how long this process has used processors.
package rusage

import "time"

// Total is the time in the process and in the kernel on its behalf.
func Total() time.Duration {
	user, system := Times()
	return user + system
}
