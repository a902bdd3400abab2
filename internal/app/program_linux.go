// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// releaseProgram takes pages of the program's own file out of the memory of this process. Starting needs most of them, in
// part because the system maps the neighbours of what is used, and what follows needs few. Those that are used again are
// mapped again, from the cache of the system.
func releaseProgram() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	if !bytes.Contains(status, []byte("TracerPid:\t0\n")) {
		return nil // The breakpoints of a debugger are in these pages, and nowhere else.
	}
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(string(maps), "\n") {
		fields := strings.Fields(line)
		if len(fields) != 6 || fields[5] != path || strings.Contains(fields[1], "w") {
			continue
		}
		var begin, end uintptr
		if _, err := fmt.Sscanf(fields[0], "%x-%x", &begin, &end); err != nil {
			return fmt.Errorf("read the memory map of this process: %q: %w", line, err)
		}
		if _, _, failure := syscall.Syscall(syscall.SYS_MADVISE, begin, end-begin, syscall.MADV_DONTNEED); failure != 0 {
			return os.NewSyscallError("madvise", failure)
		}
	}
	return nil
}
