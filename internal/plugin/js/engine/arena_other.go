// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package engine

// protect does nothing on systems where pages cannot be protected.
func protect(_, _ uintptr, _ bool) {}
