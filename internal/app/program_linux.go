// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// releaseProgram releases the resident pages of the program's own file. The start needs most of
// them, partly because the system maps neighbouring pages, and later few are needed. Pages that are
// used again are mapped from the page cache.
func releaseProgram() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	if !bytes.Contains(status, []byte("TracerPid:\t0\n")) {
		return nil // A debugger's breakpoints exist only in these pages.
	}
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	mappings, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return err
	}
	ranges, err := unchanged(string(mappings), path)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		if _, _, failure := syscall.Syscall(syscall.SYS_MADVISE, r.begin, r.end-r.begin, syscall.MADV_DONTNEED); failure != 0 {
			return os.NewSyscallError("madvise", failure)
		}
	}
	return nil
}

// A pageRange is a range of a process's memory.
type pageRange struct{ begin, end uintptr }

// unchanged finds the read-only mappings of a file without modified pages in the text of
// /proc/self/smaps. A position-independent program has pages that were modified when it was loaded,
// and are read-only since.
func unchanged(mappings, path string) (list []pageRange, err error) {
	isCandidate := false
	for line := range strings.SplitSeq(mappings, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case !strings.HasSuffix(fields[0], ":"): // A mapping begins.
			if isCandidate = len(fields) == 6 && fields[5] == path && !strings.Contains(fields[1], "w"); !isCandidate {
				continue
			}
			var r pageRange
			if _, err := fmt.Sscanf(fields[0], "%x-%x", &r.begin, &r.end); err != nil {
				return nil, fmt.Errorf("read the memory map of this process: %q: %w", line, err)
			}
			list = append(list, r)
		case isCandidate && (fields[0] == "Anonymous:" || fields[0] == "Swap:") && fields[1] != "0":
			list, isCandidate = list[:len(list)-1], false
		}
	}
	return list, nil
}
