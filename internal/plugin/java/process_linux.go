// SPDX-License-Identifier: Apache-2.0

package java

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithServer makes the kernel kill a process when its parent ends.
func dieWithServer(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// awaitExit waits until a child has ended, without reaping it: its process id stays reserved.
func awaitExit(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		continue
	}
}

// killGroup kills the process group of an ended child.
func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // There may be none.
}

// removeSocket removes the attach socket of a killed JVM, which tools such as jcmd use.
func removeSocket(pid int) {
	_ = os.Remove("/tmp/.java_pid" + strconv.Itoa(pid)) // It may have removed it itself.
}

// yieldMore sets the niceness of a child's process group to that of the server plus by, at
// most 19. Later processes of the group inherit it.
func yieldMore(pid, by int) error {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return err
	}
	// The system call counts downwards from 20, so that no result is negative.
	return unix.Setpriority(unix.PRIO_PGRP, pid, min(20-raw+by, 19))
}
