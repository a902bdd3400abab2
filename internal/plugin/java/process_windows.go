// SPDX-License-Identifier: Apache-2.0

package java

import "syscall"

// A handle is the operating system's identifier of an open file.
type handle = syscall.Handle

// ownGroup returns the attributes that start a process in a new process group.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// Unsupported is the reason why this system cannot run the host: on Windows, processes inherit
// no pipes except their standard streams.
const Unsupported = "Java plugins do not run on Windows"
