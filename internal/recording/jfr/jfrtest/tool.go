// SPDX-License-Identifier: Apache-2.0

package jfrtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/app/test/need"
)

// jdk finds a JDK with scripts/jdk.
var jdk = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		script := filepath.Join(dir, "scripts", "jdk")
		if _, err := os.Stat(script); err == nil {
			out, err := exec.Command(script).Output()
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(out))
		}
	}
	return ""
})

// Path returns the path of the jfr command of a JDK. The test is skipped if there is none.
func Path(t testing.TB) string {
	t.Helper()
	home := jdk()
	if home == "" {
		need.Skip(t, "java", "no JDK of version 21 or newer was found")
	}
	return filepath.Join(home, "bin", "jfr")
}

// RecordJVM makes a JVM record itself, and returns the file.
func RecordJVM(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jvm.jfr")
	cmd := exec.Command(filepath.Join(filepath.Dir(Path(t)), "java"), "-XX:+UseSerialGC", "-XX:StartFlightRecording:filename="+file, "-version")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("let a JVM record: %v\n%s", err, out)
	}
	return file
}

// quick makes the command start faster, with the same results.
var quick = []string{"-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1"}

// Tool runs the jfr command of a JDK and returns its output. The test fails if the command does,
// and is skipped if there is no JDK.
func Tool(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command(Path(t), append(slices.Clone(quick), args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("jfr %s: %v\n%s%s", strings.Join(args, " "), err, out.Bytes(), errs.Bytes())
	}
	if errs.Len() > 0 {
		t.Errorf("jfr %s wrote to its standard error:\n%s", strings.Join(args, " "), errs.Bytes())
	}
	return out.String()
}

// Check reads a file with the reader of this package, and with the JDK's command in every way that
// users do.
func Check(t testing.TB, path string) []Event {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	events, err := Parse(data)
	if err != nil {
		t.Fatalf("parse %s: %v", path, err)
	}
	Tool(t, "summary", path)
	Tool(t, "print", "--json", path)
	Tool(t, "view", "hot-methods", path)
	Tool(t, "view", "gc", path)
	Tool(t, "scrub", "--exclude-events", "jdk.InitialEnvironmentVariable", path, filepath.Join(t.TempDir(), "scrubbed.jfr"))
	return events
}
