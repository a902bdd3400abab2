// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package java

import "syscall"

// dieWithServer does nothing on systems without support.
func dieWithServer(*syscall.SysProcAttr) {}

// awaitExit does nothing on systems that cannot wait without reaping.
func awaitExit(int) {}

// killGroup does nothing there: the process id may be reused.
func killGroup(int) {}

// removeSocket does nothing there for the same reason.
func removeSocket(int) {}

// yieldMore does nothing there.
func yieldMore(int, int) error { return nil }
