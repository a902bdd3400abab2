// SPDX-License-Identifier: Apache-2.0

package java

import "syscall"

// A handle is how system calls name an open file.
type handle = syscall.Handle

// ownGroup puts a process into a process group of its own.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// Unsupported is why this system cannot run the host: processes cannot inherit pipes there except
// their standard streams.
const Unsupported = "Java plugins do not run on Windows"
