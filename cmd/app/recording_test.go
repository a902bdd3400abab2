// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/recording/jfr/jfrtest"
)

// awaitFile waits until a file is there, which the program writes by itself.
func awaitFile(t *testing.T, pattern string) {
	t.Helper()
	for limit := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if found, err := filepath.Glob(pattern); err != nil || len(found) > 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s is not written", pattern)
		}
	}
}

// checkRecording downloads a recording and lets the tools read it.
func (s *server) checkRecording(id string) []jfrtest.Event {
	s.t.Helper()
	status, data := s.get("/flight-recordings/jfr?id="+id, "app")
	if status != 200 {
		s.t.Fatalf("the download is %d %s", status, data)
	}
	path := filepath.Join(s.t.TempDir(), id+".jfr")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return jfrtest.Check(s.t, path)
}

func TestQuitKeepsTheBlackBox(t *testing.T) {
	home := t.TempDir()
	s := run(t, home, "--set=app.flight-recorder.continuous.enabled=true", "--set=app.logging.console.enabled=false")
	awaitFile(t, filepath.Join(home, "data", "recordings", "*", "continuous", "recording.json"))
	s.Process.Signal(syscall.SIGQUIT)
	// The program does then what every Go program does.
	if code := s.wait(); code != 2 || !strings.Contains(s.stderr.String(), "SIGQUIT: quit") || !strings.Contains(s.stderr.String(), "goroutine ") {
		t.Errorf("exit code %d\n%.2000s", code, s.stderr.String())
	}
	s = run(t, home)
	status, list := s.get("/flight-recordings", "app")
	if status != 200 || strings.Count(list, `"id":`) != 1 || !strings.Contains(list, `"state":"STOPPED"`) || !strings.Contains(list, `"description":"black box: SIGQUIT"`) {
		t.Errorf("the recordings are %d %s", status, list)
	}
	if events := s.checkRecording("1"); len(events) == 0 {
		t.Error("the recording is empty")
	}
	s.Process.Signal(syscall.SIGTERM)
	s.wait()
}
