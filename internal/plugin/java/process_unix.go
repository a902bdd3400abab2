// SPDX-License-Identifier: Apache-2.0

//go:build unix

package java

import "syscall"

// A handle is the operating system's identifier of an open file.
type handle = int

// ownGroup returns the attributes that start a process in a new process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Unsupported is the reason why this system cannot run the host; empty if it can.
const Unsupported = ""
