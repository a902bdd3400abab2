// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package engine

// protect does nothing where pages cannot be taken away.
func protect(_, _ uintptr, _ bool) {}
