// SPDX-License-Identifier: Apache-2.0

// Package rusage returns the CPU time of this process.
package rusage

import "time"

// Total returns the user and system CPU time.
func Total() time.Duration {
	user, system := Times()
	return user + system
}
