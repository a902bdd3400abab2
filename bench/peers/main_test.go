// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"example.org/app/test/need"
)

// TestMain lets this program run as the limit, as main does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == limitCommand {
		if err := serveLimit(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// TestCompare runs the comparison with only our server, on both engines.
func TestCompare(t *testing.T) {
	need.Time(t)
	var out strings.Builder
	err := compare(t.Context(), options{
		rounds: 1, duration: 100 * time.Millisecond, limit: time.Hour, pairs: 2, members: 3, sessions: 10, starts: 1, disturb: 1,
	}, &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| figure | app/PostgreSQL | app/SQLite |", "acknowledged are stored, each once.", "left out: Nakama, Tinode, PocketBase.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	for _, f := range shown {
		line, _, found := strings.Cut(out.String()[strings.Index(out.String(), string(f.figure)):], "\n")
		if cells := strings.Split(line, "|"); !found || len(cells) < 3 || strings.TrimSpace(cells[1]) == "" || strings.TrimSpace(cells[2]) == "" {
			t.Errorf("a figure is missing: %s", line)
		}
	}
}
