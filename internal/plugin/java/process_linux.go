// SPDX-License-Identifier: Apache-2.0

package java

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithServer makes the system end a process when the one that started it ends.
func dieWithServer(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// awaitExit waits until a child has ended, without taking note of that: its process id stays its own until somebody does.
func awaitExit(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		continue
	}
}

// killGroup ends all processes of the group of a child that has ended.
func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // There may be none.
}

// removeSocket removes the socket at which tools such as jcmd reach a JVM, which one that was killed leaves behind.
func removeSocket(pid int) {
	_ = os.Remove("/tmp/.java_pid" + strconv.Itoa(pid)) // It may have removed it itself.
}

// yieldMore makes all processes of the group of a child yield processors more readily than this process does, by a number of
// steps of niceness. What they start later does so, too.
func yieldMore(pid, by int) error {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return err
	}
	// The system call counts downwards from 20, so that no result is negative.
	return unix.Setpriority(unix.PRIO_PGRP, pid, min(20-raw+by, 19))
}
