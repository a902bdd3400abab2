// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package java

import "syscall"

// dieWithServer does nothing on systems without support.
func dieWithServer(*syscall.SysProcAttr) {}

// awaitExit does nothing on systems that cannot wait without reaping.
func awaitExit(int) {}

// killGroup does nothing, because the process id may have been reused.
func killGroup(int) {}

// removeSocket does nothing for the same reason.
func removeSocket(int) {}

// yieldMore does nothing.
func yieldMore(int, int) error { return nil }
