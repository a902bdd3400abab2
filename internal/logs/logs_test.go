// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// screen is a console that is safe for concurrent use.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func open(t *testing.T, o Options) *Logs {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// messages returns "LEVEL message" for each JSON line.
func messages(t *testing.T, text string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(text) {
		var record struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, record.Level+" "+record.Msg)
	}
	return all
}

func TestLevels(t *testing.T) {
	for name, level := range map[string]slog.Level{
		"TRACE": LevelTrace, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn,
		"ERROR": slog.LevelError, "FATAL": LevelFatal,
	} {
		got, err := ParseLevel(name)
		if err != nil || got != level {
			t.Errorf("ParseLevel(%q) = %v, %v", name, got, err)
		}
		if got := LevelName(level + 1); got != name {
			t.Errorf("LevelName(%d) = %q, want %q", level+1, got, name)
		}
	}
	for _, name := range []string{"", "info", "VERBOSE"} {
		if _, err := ParseLevel(name); err == nil {
			t.Errorf("ParseLevel(%q) succeeded", name)
		}
	}
	if got := LevelName(-100); got != "TRACE" {
		t.Errorf("LevelName(-100) = %q", got)
	}
}

func TestDestinationsHaveTheirOwnLevels(t *testing.T) {
	dir := t.TempDir()
	console := &screen{}
	o := Options{
		Console:   Console{Enabled: true, Level: slog.LevelWarn, Format: FormatJSON},
		File:      File{Enabled: true, Level: LevelTrace, Path: filepath.Join(dir, "log", ".log")},
		AuditPath: filepath.Join(dir, "log", "audit.log"),
		Stderr:    console,
	}
	l := open(t, o)
	ctx := context.Background()
	logger := l.Logger().With("part", "test").WithGroup("g")
	logger.Log(ctx, LevelTrace, "one", "level", "inner")
	logger.Debug("two")
	logger.Info("three")
	logger.Warn("four")
	logger.Error("five")
	logger.Log(ctx, LevelFatal, "six")
	l.Audit().Info("acted", "admin", 1)
	l.Audit().Debug("below the level of audit records")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	file := read(t, o.File.Path)
	if diff := cmp.Diff([]string{"TRACE one", "DEBUG two", "INFO three", "WARN four", "ERROR five", "FATAL six"}, messages(t, file)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if !strings.Contains(file, `"part":"test","g":{"level":"inner"}`) {
		t.Errorf("attributes are missing in %s", file)
	}
	if diff := cmp.Diff([]string{"WARN four", "ERROR five", "FATAL six"}, messages(t, console.String())); diff != "" {
		t.Errorf("console (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"INFO acted"}, messages(t, read(t, o.AuditPath))); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if got, want := l.Dir(), filepath.Join(dir, "log"); got != want {
		t.Errorf("Dir() = %q, want %q", got, want)
	}
	if l.Dropped() != 0 {
		t.Errorf("%d records dropped", l.Dropped())
	}
}

func TestConsoleText(t *testing.T) {
	console := &screen{}
	l := open(t, Options{Console: Console{Enabled: true, Level: LevelTrace}, Stderr: console})
	l.Logger().Log(context.Background(), LevelTrace, "fine grained")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.Logger().Info("after the end")
	got := console.String()
	for _, want := range []string{`level=TRACE msg="fine grained"`, `level=INFO msg="after the end"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if l.Dir() != "" {
		t.Errorf("Dir() = %q without files", l.Dir())
	}
}

func TestNothingEnabled(t *testing.T) {
	l := open(t, Options{File: File{Path: filepath.Join("somewhere", "x.log")}})
	l.Logger().Error("nobody listens")
	l.Audit().Info("nobody listens")
	if l.Dir() != "somewhere" {
		t.Errorf("Dir() = %q", l.Dir())
	}
	if l := open(t, Options{AuditPath: filepath.Join(t.TempDir(), "a", "audit.log")}); filepath.Base(l.Dir()) != "a" {
		t.Errorf("Dir() = %q", l.Dir())
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	fifo := filepath.Join(dir, "fifo")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	enabled := func(path string) File { return File{Enabled: true, Path: path} }
	link := filepath.Join(dir, "link.log")
	if err := os.Symlink(plain, link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"no path":            {Options{File: enabled("")}, "the path is missing"},
		"folder is a file":   {Options{File: enabled(filepath.Join(plain, "x.log"))}, "create log folder"},
		"file is a folder":   {Options{File: enabled(dir)}, "not a regular file"},
		"file is a fifo":     {Options{File: enabled(fifo)}, "not a regular file"},
		"audit is a folder":  {Options{File: enabled(filepath.Join(dir, "ok.log")), AuditPath: dir}, "not a regular file"},
		"audit is the log":   {Options{File: enabled(plain), AuditPath: dir + "/./plain"}, "must not be the same file"},
		"audit links to log": {Options{File: enabled(plain), AuditPath: link}, "must not be the same file"},
		"format":             {Options{Console: Console{Enabled: true, Format: "XML"}}, `"XML"`},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := Open(c.options)
			if err == nil {
				_ = l.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %q, want one line with %q", err, c.want)
			}
		})
	}
}

func TestWhenRecordsReachTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.log")
		l := open(t, Options{File: File{Enabled: true, Path: path}})
		l.Logger().Info("patient")
		if got := read(t, path); got != "" {
			t.Errorf("a record was written at once: %q", got)
		}
		time.Sleep(flushInterval)
		synctest.Wait()
		if got := len(messages(t, read(t, path))); got != 1 {
			t.Errorf("%d records after %v, want 1", got, flushInterval)
		}
		l.Logger().Info("before")
		l.Logger().Warn("urgent")
		if got := len(messages(t, read(t, path))); got != 3 {
			t.Errorf("%d records after a warning, want 3", got)
		}
		l.Logger().Info("last")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := len(messages(t, read(t, path))); got != 4 {
			t.Errorf("%d records after closing, want 4", got)
		}
		l.Logger().Warn("too late")
		if l.Dropped() != 1 {
			t.Errorf("%d records dropped after closing, want 1", l.Dropped())
		}
		if err := l.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
	})
}

// TestRotation fills several files from several goroutines and finds every record exactly once.
func TestRotation(t *testing.T) {
	for _, compress := range []bool{false, true} {
		t.Run(fmt.Sprintf("compress=%t", compress), func(t *testing.T) {
			dir := t.TempDir()
			l := open(t, Options{File: File{
				Enabled: true, Path: filepath.Join(dir, "app.log"), MaxSizeMB: 1, MaxFiles: 50, Compress: compress,
			}})
			const writers, each = 4, 500
			padding := strings.Repeat("x", 2000)
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					for i := range each {
						l.Logger().Info("record", "id", w*each+i, "padding", padding)
						if i%50 == 0 {
							l.Logger().Warn("wait for the disk", "id", -1)
						}
					}
				})
			}
			wg.Wait()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			names, err := OpenFolder(dir).Names()
			if err != nil {
				t.Fatal(err)
			}
			seen := make(map[int]int)
			for _, name := range names {
				for line := range strings.Lines(unpacked(t, filepath.Join(dir, name))) {
					var record struct{ ID int }
					if err := json.Unmarshal([]byte(line), &record); err != nil {
						t.Fatalf("%s has a broken line %.80q: %v", name, line, err)
					}
					seen[record.ID]++
				}
			}
			delete(seen, -1)
			if len(seen) != writers*each || l.Dropped() != 0 {
				t.Errorf("%d different records, %d dropped, want %d", len(seen), l.Dropped(), writers*each)
			}
			for id, n := range seen {
				if n != 1 {
					t.Errorf("record %d was written %d times", id, n)
				}
			}
			if len(names) < 4 {
				t.Errorf("files are %q, want at least 4", names)
			}
		})
	}
}

func unpacked(t *testing.T, path string) string {
	t.Helper()
	text := read(t, path)
	if !strings.HasSuffix(path, gzipSuffix) {
		return text
	}
	r, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOldFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	l := open(t, Options{File: File{Enabled: true, Path: filepath.Join(dir, "app.log"), MaxSizeMB: 1, MaxFiles: 2}})
	padding := strings.Repeat("x", 100_000)
	for range 60 {
		// A warning is written before the call returns, so the memory never overflows.
		l.Logger().Warn("record", "padding", padding)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := OpenFolder(dir).Names()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 3 {
		t.Errorf("files are %q, want the current one and two rotated ones", names)
	}
}

func BenchmarkAudit(b *testing.B) {
	l, err := Open(Options{AuditPath: filepath.Join(b.TempDir(), "audit.log")})
	if err != nil {
		b.Fatal(err)
	}
	audit := l.Audit()
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		audit.LogAttrs(context.Background(), slog.LevelInfo, "admin action",
			slog.Int64("adminId", 1), slog.String("ip", "203.0.113.7"), slog.String("requestId", "01J9Z3NDEKTSV4RRFFQ69G5FAV"),
			slog.Time("requestTime", now), slog.String("action", "queryUsers"), slog.String("params", "ids=1,2,3"),
			slog.Bool("success", true), slog.Duration("processingTime", 1234567))
	}
	b.StopTimer()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(l.Dropped())/float64(b.N), "dropped/op")
}
