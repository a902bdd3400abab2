// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"example.org/app/bench/process"
)

// TestCPU compares the processor time of this process with that of a child, which counts for the
// tree while it runs and after it has ended.
func TestCPU(t *testing.T) {
	const spent = 50 * time.Millisecond
	before, ok := process.TreeCPU(os.Getpid())
	if !ok {
		t.Fatal("the time of this process is not known")
	}
	child := exec.Command("sh", "-c", "while :; do :; done")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for used := time.Duration(0); used < spent; used, _ = process.CPU(child.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
	with, _ := process.TreeCPU(os.Getpid())
	if with-before < spent {
		t.Errorf("with the child it used %s, want %s or more", with-before, spent)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if after, _ := process.TreeCPU(os.Getpid()); after < with {
		t.Errorf("after the end of the child it is %s, less than %s", after, with)
	}
	if busy, ok := process.Busy(); !ok || busy < spent {
		t.Errorf("the machine was busy for %s, %t", busy, ok)
	}
	if err := os.WriteFile(os.DevNull, []byte("x"), 0); err != nil || process.Writes(os.Getpid()) == 0 {
		t.Errorf("no system call has written anything: %v", err)
	}
	if bytes, err := process.Resident(os.Getpid()); err != nil || bytes < 1<<20 {
		t.Errorf("this process has %d bytes: %v", bytes, err)
	}
}
