// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func collect(lines *[]string) func(string) error {
	return func(line string) error {
		*lines = append(*lines, line)
		return nil
	}
}

func TestLastLines(t *testing.T) {
	long := strings.Repeat("y", blockSize)
	for name, c := range map[string]struct {
		text  string
		lines int
		want  []string
	}{
		"empty":                {"", 5, nil},
		"none wanted":          {"a\nb\n", 0, nil},
		"none wanted, partial": {"a\nb", 0, nil},
		"negative":             {"a\n", -1, nil},
		"one":                  {"a\nb\n", 1, []string{"b"}},
		"partial":              {"a\nb", 1, []string{"b"}},
		"partial and one":      {"a\nb\nc", 2, []string{"b", "c"}},
		"exactly all":          {"a\nb\n", 2, []string{"a", "b"}},
		"more than all":        {"a\nb\n", 9, []string{"a", "b"}},
		"empty lines":          {"\n\n\n", 2, []string{"", ""}},
		"windows":              {"a\r\nb\r\n", 2, []string{"a", "b"}},
		"not utf-8":            {"a\xff\xfeb\n", 1, []string{"a\uFFFDb"}},
		"across blocks":        {"first\n" + strings.Repeat("x\n", blockSize) + "last\n", 2, []string{"x", "last"}},
		"break ends a block":   {"a\n" + long[:blockSize-1] + "\n", 1, []string{long[:maxLine-1]}},
		"break before a block": {"a\n" + long, 1, []string{long}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			appendTo(t, filepath.Join(dir, "x.log"), c.text)
			var got []string
			if err := OpenFolder(dir).Tail(context.Background(), "x.log", c.lines, false, collect(&got)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongLinesAreCut(t *testing.T) {
	dir := t.TempDir()
	// The limit is in the middle of a three-byte character.
	appendTo(t, filepath.Join(dir, "x.log"), strings.Repeat("a", maxLine-1)+"€"+strings.Repeat("b", 1<<20)+"\nnext\n")
	var got []string
	if err := OpenFolder(dir).Tail(context.Background(), "x.log", 2, false, collect(&got)); err != nil {
		t.Fatal(err)
	}
	want := []string{strings.Repeat("a", maxLine-1) + fmt.Sprintf("… [%d bytes cut]", 3+(1<<20)), "next"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%.300s", diff)
	}
}

// TestHugeFile uses a sparse file: reading all of it would take minutes.
func TestHugeFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "huge.log")
	appendTo(t, path, "first\n")
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, "\none\ntwo\nthree\n")
	var got []string
	if err := OpenFolder(dir).Tail(context.Background(), "huge.log", 2, false, collect(&got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"two", "three"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestTailEnds(t *testing.T) {
	dir := populate(t)
	folder := OpenFolder(dir)
	never := func(string) error { return errors.New("called") }
	for _, path := range []string{"missing", "fifo", "sub", "../secret.txt", "bad-link"} {
		for _, follow := range []bool{false, true} {
			if err := folder.Tail(context.Background(), path, 1, follow, never); !errors.Is(err, ErrNotFound) {
				t.Errorf("Tail(%q, follow %t): %v", path, follow, err)
			}
		}
	}
	stop := errors.New("stop")
	for _, follow := range []bool{false, true} {
		if err := folder.Tail(context.Background(), "a.log", 1, follow, func(string) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("follow %t: %v, want the error of emit", follow, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := folder.Tail(ctx, "a.log", 1, follow, never); !errors.Is(err, context.Canceled) {
			t.Errorf("follow %t: %v, want the error of the context", follow, err)
		}
	}
}

// followed runs Tail in a synctest bubble.
type followed struct {
	t    *testing.T
	dir  string
	path string

	mu  sync.Mutex
	got []string
}

func follow(t *testing.T, name, initial string, lines int, steps func(f *followed)) {
	synctest.Test(t, func(t *testing.T) {
		f := &followed{t: t, dir: t.TempDir()}
		f.path = filepath.Join(f.dir, name)
		appendTo(t, f.path, initial)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			done <- OpenFolder(f.dir).Tail(ctx, name, lines, true, func(line string) error {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.got = append(f.got, line)
				return nil
			})
		}()
		synctest.Wait()
		steps(f)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the end is %v", err)
		}
	})
}

// want lets one poll pass and compares the lines since the last call.
func (f *followed) want(lines ...string) {
	f.t.Helper()
	time.Sleep(pollInterval)
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if diff := cmp.Diff(lines, f.got, cmpopts.EquateEmpty()); diff != "" {
		f.t.Errorf("lines (-want +got):\n%s", diff)
	}
	f.got = nil
}

func (f *followed) write(text string) { appendTo(f.t, f.path, text) }

func (f *followed) rename(to string) {
	f.t.Helper()
	if err := os.Rename(f.path, filepath.Join(f.dir, to)); err != nil {
		f.t.Fatal(err)
	}
}

// pack compresses a rotated file as the rotating writer does.
func (f *followed) pack(name string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	text := read(f.t, path)
	out, err := os.Create(path + gzipSuffix)
	if err != nil {
		f.t.Fatal(err)
	}
	w := gzip.NewWriter(out)
	_, err = w.Write([]byte(text))
	if err := errors.Join(err, w.Close(), out.Close(), os.Remove(path)); err != nil {
		f.t.Fatal(err)
	}
}

func TestFollowAppends(t *testing.T) {
	follow(t, "x.log", "a\nb\npart", 1, func(f *followed) {
		f.want("b")
		f.want()
		f.write("ial\nc\n")
		f.want("partial", "c")
		f.write("d")
		f.want()
		f.write("\n\n")
		f.want("d", "")
	})
}

func TestFollowRename(t *testing.T) {
	follow(t, "x.log", "a\n", 0, func(f *followed) {
		f.write("b\nend of the old file")
		f.rename("x.log.1")
		f.want("b")
		appendTo(t, filepath.Join(f.dir, "x.log.1"), "!\n")
		f.write("c\n")
		f.want("end of the old file!", "c")
		f.write("d\n")
		f.want("d")
	})
}

func TestFollowTruncation(t *testing.T) {
	follow(t, "x.log", "a\nb\n", 5, func(f *followed) {
		f.want("a", "b")
		f.write("lost")
		f.want()
		if err := os.Truncate(f.path, 0); err != nil {
			f.t.Fatal(err)
		}
		f.write("c\n")
		f.want("c")
	})
}

func TestFollowIgnoresForeignFiles(t *testing.T) {
	follow(t, "x.log", "a\n", 1, func(f *followed) {
		f.want("a")
		f.rename("away")
		// A link to the outside, a FIFO and unrelated new files are not successors.
		if err := os.Symlink("/etc/hostname", f.path); err != nil {
			f.t.Fatal(err)
		}
		f.want()
		if err := os.Remove(f.path); err != nil {
			f.t.Fatal(err)
		}
		appendTo(f.t, filepath.Join(f.dir, "x-audit.log"), "not mine\n")
		appendTo(f.t, filepath.Join(f.dir, "x-audit-2026-01-01T00-00-00.000-size.log"), "not mine\n")
		f.write("b\n")
		f.want("b")
	})
}

// TestFollowManyRotationsWithinOnePoll rotates faster than the follower polls, with and without
// compression.
func TestFollowManyRotationsWithinOnePoll(t *testing.T) {
	for _, name := range []string{"x.log", ".log"} {
		for packed := range 8 {
			t.Run(fmt.Sprintf("%s %d", name, packed), func(t *testing.T) {
				stem := strings.TrimSuffix(name, ".log")
				rotated := func(suffix string) string { return stem + "-2026-01-01T00-00-00." + suffix + ".log" }
				follow(t, name, "0\n", 1, func(f *followed) {
					appendTo(t, filepath.Join(f.dir, rotated("000-size")), "old\n")
					f.want("0")
					backups := []string{rotated("100-size"), rotated("100-size_2"), rotated("100-size_10")}
					for i, backup := range backups {
						f.write(fmt.Sprintf("%d first\n%d last\n", i+1, i+1))
						f.rename(backup)
						if packed&(1<<i) != 0 {
							f.pack(backup)
						}
					}
					f.write("current\n")
					f.want("1 first", "1 last", "2 first", "2 last", "3 first", "3 last", "current")
					f.write("next\n")
					f.want("next")
				})
			})
		}
	}
}

// TestFollowOwnLog follows the real writer through real rotations and misses nothing.
func TestFollowOwnLog(t *testing.T) {
	for _, compress := range []bool{false, true} {
		t.Run(fmt.Sprintf("compress=%t", compress), func(t *testing.T) {
			dir := t.TempDir()
			l := open(t, Options{File: File{
				Enabled: true, Path: filepath.Join(dir, ".log"), MaxSizeMB: 1, MaxFiles: 100, Compress: compress,
			}})
			const writers, each = 3, 600
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			counts := make(map[string]int)
			started, done := make(chan struct{}), make(chan error)
			l.Logger().Warn("start")
			go func() {
				done <- OpenFolder(dir).Tail(ctx, ".log", 1, true, func(line string) error {
					_, id, ok := strings.Cut(line, `"id":"`)
					if !ok {
						close(started)
						return nil
					}
					id, _, _ = strings.Cut(id, `"`)
					if counts[id]++; len(counts) == writers*each {
						cancel()
					}
					return nil
				})
			}()
			<-started
			padding := strings.Repeat("x", 3000)
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					for i := range each {
						id := fmt.Sprintf("%d-%d", w, i)
						if i%20 == 0 {
							l.Logger().Warn("record", "id", id, "padding", padding)
						} else {
							l.Logger().Info("record", "id", id, "padding", padding)
						}
					}
				})
			}
			wg.Wait()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			for id, n := range counts {
				if n != 1 {
					t.Errorf("line %q came %d times", id, n)
				}
			}
		})
	}
}

// TestRecordsAreSeenSoon measures, in the time of the bubble, the delay from a record to a
// follower.
func TestRecordsAreSeenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, Options{AuditPath: filepath.Join(dir, "audit.log")})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		seen := make(chan time.Time)
		done := make(chan error)
		go func() {
			done <- OpenFolder(dir).Tail(ctx, "audit.log", 0, true, func(string) error {
				seen <- time.Now()
				return nil
			})
		}()
		time.Sleep(7 * time.Millisecond)
		start := time.Now()
		l.Audit().Info("acted")
		if took := (<-seen).Sub(start); took > 250*time.Millisecond {
			t.Errorf("the record was seen after %v", took)
		}
		cancel()
		<-done
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
