// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/app/test/need"
)

// builtApp builds the server.
func builtApp(t *testing.T, dir string) string {
	t.Helper()
	need.Time(t)
	app := filepath.Join(dir, "app")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", app, "example.org/app/cmd/app").CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, out)
	}
	return app
}

// TestHotSwap runs the measurement of hot swaps for a moment: it fails if a request does, or if the
// stored messages are not the acknowledged ones.
func TestHotSwap(t *testing.T) {
	dir := t.TempDir()
	if err := hotSwap(t.Context(), builtApp(t, dir), dir, clientOptions{pairs: 4, rounds: 1, duration: time.Second}); err != nil {
		t.Fatal(err)
	}
}

// TestCounters compares counts with the baseline: statements and system calls do not depend on the
// speed of the machine.
func TestCounters(t *testing.T) {
	dir := t.TempDir()
	app := builtApp(t, dir)
	c := costs{}
	if err := c.counted(t.Context(), app, dir, time.Second); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	baseline := costs{}
	if err := json.Unmarshal(text, &baseline); err != nil {
		t.Fatal(err)
	}
	for name := range c {
		if _, known := baseline[name]; !known {
			t.Errorf("baseline.json has no %q", name)
		}
	}
	rows, worse := c.beside(baseline)
	for _, row := range rows {
		t.Log(strings.Join(row, " | "))
	}
	if worse {
		t.Error(errWorse)
	}
}

func TestBeside(t *testing.T) {
	baseline := costs{"a": {10, 0.1}, "b": {10, 0.1}, "c": {10, 0.1}, "d": {3, 0}, "e": {3, 0}, "f": {1, 0}}
	rows, worse := costs{"a": {10.9, 0}, "b": {11.1, 0}, "c": {8.9, 0}, "d": {3, 0}, "e": {4, 0}, "g": {1, 0}}.beside(baseline)
	var got []string
	for _, row := range rows {
		got = append(got, row[0]+": "+row[len(row)-1])
	}
	want := "a: , b: **worse**, c: better: write the baseline anew, d: , e: **worse**, g: new: write the baseline anew, f: not measured"
	if list := strings.Join(got, ", "); list != want || !worse {
		t.Errorf("%s, worse %t, want %s", list, worse, want)
	}
	if _, worse := (costs{"a": {11, 0}, "d": {3, 0}}).beside(baseline); worse {
		t.Error("what is within the tolerance is worse")
	}
}
