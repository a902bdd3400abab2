// SPDX-License-Identifier: Apache-2.0

//go:build unix

package clustertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Freeze pauses a process and returns when all of its threads have stopped. A signal takes effect
// asynchronously, and on a busy machine the process may do much before it does.
func Freeze(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(Timeout); !isFrozen(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the process %d was told to pause and runs", pid)
		}
	}
}

// Thaw resumes a paused process.
func Thaw(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// isFrozen reports whether no thread of a process runs.
func isFrozen(pid int) bool {
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	if err != nil || len(threads) == 0 {
		// Not Linux.
		state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
		return err == nil && bytes.HasPrefix(bytes.TrimSpace(state), []byte("T"))
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			// The thread has ended.
			continue
		}
		// The state follows the name of the program, which stands in parentheses.
		if _, state, _ := bytes.Cut(stat, []byte(") ")); !bytes.HasPrefix(state, []byte("T")) {
			return false
		}
	}
	return true
}
