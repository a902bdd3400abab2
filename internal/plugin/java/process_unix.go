// SPDX-License-Identifier: Apache-2.0

//go:build unix

package java

import "syscall"

// A handle is how system calls name an open file.
type handle = int

// ownGroup puts a process into a process group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Unsupported is why this system cannot run the host, if it cannot.
const Unsupported = ""
