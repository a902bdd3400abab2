// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package java

import "syscall"

// dieWithServer does nothing on systems that offer nothing of the kind.
func dieWithServer(*syscall.SysProcAttr) {}
