// SPDX-License-Identifier: Apache-2.0

package java

import "syscall"

// dieWithServer makes the system end a process when the one that started it ends.
func dieWithServer(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
