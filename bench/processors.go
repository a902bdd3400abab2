// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// apart assigns the last processor to the client and the others to servers, so that neither waits
// for a processor that the other one uses.
type apart struct {
	all, server, client string // lists of processors in the format of taskset
}

// newApart finds the processors. It reports false if the client has to share them with the server:
// on a machine with one processor, or without taskset.
func newApart() (apart, bool) {
	if _, err := exec.LookPath("taskset"); err != nil {
		return apart{}, false
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return apart{}, false
	}
	_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	all, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	var each []string
	for _, part := range strings.Split(all, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		if err != nil {
			return apart{}, false
		}
		last, err := strconv.Atoi(to)
		if err != nil {
			return apart{}, false
		}
		for ; first <= last; first++ {
			each = append(each, strconv.Itoa(first))
		}
	}
	n := len(each) - 1
	if n < 1 {
		return apart{}, false
	}
	return apart{all: all, server: strings.Join(each[:n], ","), client: each[n]}, true
}

// command returns the command that runs a server on its processors.
func (a apart) command(args ...string) []string {
	return append([]string{"taskset", "--cpu-list", a.server}, args...)
}

// move moves this program, the client, to processors.
func (a apart) move(ctx context.Context, processors string) error {
	out, err := exec.CommandContext(ctx, "taskset", "--all-tasks", "--cpu-list", "--pid", processors, strconv.Itoa(os.Getpid())).CombinedOutput()
	if err != nil {
		return fmt.Errorf("move the client to the processors %s: %w\n%s", processors, err, out)
	}
	return nil
}
