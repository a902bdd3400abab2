// SPDX-License-Identifier: Apache-2.0

package java

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxReports is the number of crash reports that are kept, the newest ones.
const maxReports = 10

// summaryLines is the number of lines at the beginning of a report that say what happened; the next
// ones are the same in all reports.
const summaryLines = 6

// crash returns the essential part of a JVM's crash report.
func (p *process) crash() string {
	data, err := os.ReadFile(filepath.Join(p.dir, fmt.Sprintf("hs_err_%d.log", p.cmd.Process.Pid)))
	if err != nil {
		return ""
	}
	var lines []string
	for line := range strings.SplitSeq(string(data), "\n") {
		text := strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if !strings.HasPrefix(line, "#") && len(lines) > 0 {
			break
		}
		if text != "" && len(lines) < summaryLines {
			lines = append(lines, text)
		}
	}
	p.crashed = crashedClasses(string(data))
	if p.reports != "" {
		if path, err := keepReport(p.reports, data); err != nil {
			p.log.Warn("the report of a crash of the Java host cannot be kept", slog.Any("error", err))
		} else {
			lines = append(lines, "the report is in "+path)
		}
	}
	return strings.Join(lines, "; ")
}

// keepReport writes a report to a file in the folder, and removes the oldest ones.
func keepReport(folder string, report []byte) (path string, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	const prefix, suffix = "java-", ".txt"
	f, err := os.CreateTemp(folder, prefix+time.Now().UTC().Format("20060102T150405Z")+"-*"+suffix)
	if err != nil {
		return "", err
	}
	_, err = f.Write(report)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	found, _ := filepath.Glob(filepath.Join(escapeGlob(folder), prefix+"*"+suffix))
	slices.Sort(found) // by time
	for _, old := range found[:max(len(found)-maxReports, 0)] {
		_ = os.Remove(old)
	}
	return f.Name(), nil
}

// crashedClasses parses the classes on the stack of the crashed thread from the report. The lines
// of the stack are like "j acme.Native.call()V+4" and "J 123 c2 acme.Native.call()V (8 bytes) @ 0x0
// [0x0+0x0]". The report has the stack twice, the second time with the JVM's own frames; a JVM that
// fails while writing one of them continues with the rest.
func crashedClasses(report string) (classes []string) {
	for _, heading := range []string{"\nJava frames:", "\nNative frames:"} {
		_, rest, _ := strings.Cut(report, heading)
		frames, _, _ := strings.Cut(rest, "\n\n")
		for line := range strings.SplitSeq(frames, "\n") {
			method, _, isFrame := strings.Cut(line, "(")
			fields := strings.Fields(method)
			if !isFrame || len(fields) < 2 || fields[0] != "j" && fields[0] != "J" {
				continue
			}
			name := fields[len(fields)-1]
			if dot := strings.LastIndexByte(name, '.'); dot > 0 {
				classes = append(classes, name[:dot])
			}
		}
	}
	return classes
}
