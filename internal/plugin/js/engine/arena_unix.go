// SPDX-License-Identifier: Apache-2.0

//go:build unix

package engine

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// protect makes the pages of a block inaccessible or accessible again.
func protect(p, size uintptr, away bool) {
	access := unix.PROT_READ | unix.PROT_WRITE
	if away {
		access = unix.PROT_NONE
	}
	first := p &^ uintptr(os.Getpagesize()-1)
	_ = unix.Mprotect(unsafe.Slice((*byte)(pointer(first)), p+size-first), access)
}
