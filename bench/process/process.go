// SPDX-License-Identifier: Apache-2.0

// Package process measures the resources of processes.
package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// clockTick is the unit of the times in /proc/<pid>/stat, which Linux fixes for
// programs.
const clockTick = 10 * time.Millisecond

// Fields of /proc/<pid>/stat, counted after the name.
const (
	parentField        = 1
	userField          = 11
	systemField        = 12
	waitedUserField    = 13
	waitedSystemField  = 14
	processorTimeCount = 10 // fields of a processor in /proc/stat
)

// CPU returns the processor time of a process so far, in user and kernel mode. It reports false
// without /proc.
func CPU(pid int) (time.Duration, bool) {
	fields, ok := stat(pid)
	if !ok {
		return 0, false
	}
	return ticks(fields[userField], fields[systemField]), true
}

// TreeCPU is like CPU, for a process and its children, including those that have ended.
func TreeCPU(pid int) (time.Duration, bool) {
	fields, ok := stat(pid)
	if !ok {
		return 0, false
	}
	used := ticks(fields[userField], fields[systemField], fields[waitedUserField], fields[waitedSystemField])
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return 0, false
	}
	for _, p := range processes {
		child, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		if fields, ok := stat(child); ok && string(fields[parentField]) == strconv.Itoa(pid) {
			used += ticks(fields[userField], fields[systemField])
		}
	}
	return used, true
}

// Busy returns how long all processors of the machine together were busy so far, including time
// that the host gave to other machines.
func Busy() (time.Duration, bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) <= processorTimeCount {
		return 0, false
	}
	// user, nice, system, idle, iowait, irq, softirq, steal; the rest is included in user and nice.
	return ticks(fields[1], fields[2], fields[3], fields[6], fields[7], fields[8]), true
}

// Writes returns the number of system calls with which a process has written something so far; 0 if
// unknown.
func Writes(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	_, rest, _ := bytes.Cut(text, []byte("syscw: "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseInt(string(line), 10, 64)
	return n
}

// Resident returns the resident memory of a process.
func Resident(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("process %d: its memory is not known", pid)
	}
	kb, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kb << 10, err
}

func stat(pid int) (fields [][]byte, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, false
	}
	// The second field is the name in brackets, which may contain spaces.
	fields = bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	return fields, len(fields) > waitedSystemField
}

func ticks(counts ...[]byte) time.Duration {
	var sum int64
	for _, c := range counts {
		n, _ := strconv.ParseInt(string(c), 10, 64) // The kernel writes numbers.
		sum += n
	}
	return time.Duration(sum) * clockTick
}
