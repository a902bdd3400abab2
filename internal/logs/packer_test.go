// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRotatedFilesArePacked(t *testing.T) {
	dir := t.TempDir()
	texts := map[string]string{
		"app-2026-01-02T03-04-05.678-size.log": strings.Repeat("a line of the log\n", 10_000),
		"app-2026-01-02T03-04-06.678-size.log": "short\n",
		"app-2026-01-02T03-04-07.678-size.log": "",
	}
	for name, text := range texts {
		put(t, filepath.Join(dir, name), text)
	}
	// An incomplete file of a killed process must not be an obstacle.
	put(t, filepath.Join(dir, "app-2026-01-02T03-04-05.678-size.log"+packingSuffix), "half")
	others := []string{"app.log", "other-2026-01-02T03-04-05.678-size.log", "notes.txt"}
	for _, name := range others {
		put(t, filepath.Join(dir, name), "untouched\n")
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPacker(filepath.Join(dir, "app.log"), slog.New(slog.DiscardHandler))
		defer p.close()
		time.Sleep(time.Minute)
	})
	names, err := OpenFolder(dir).Names()
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(others)
	for name, text := range texts {
		want = append(want, name+gzipSuffix)
		if got := unpacked(t, filepath.Join(dir, name+gzipSuffix)); got != text {
			t.Errorf("%s has %d bytes, want %d", name, len(got), len(text))
		}
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("files are %q, want %q", names, want)
	}
}

func TestPackerStops(t *testing.T) {
	dir := t.TempDir()
	name := "app-2026-01-02T03-04-05.678-size.log"
	put(t, filepath.Join(dir, name), strings.Repeat("a line of the log\n", 10_000))
	p := &packer{stop: make(chan struct{})}
	close(p.stop)
	if err := p.pack(filepath.Join(dir, name)); !errors.Is(err, errStopped) {
		t.Errorf("packing after the end: %v", err)
	}
	names, err := OpenFolder(dir).Names()
	if err != nil || !slices.Equal(names, []string{name}) {
		t.Errorf("files are %q, %v", names, err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
