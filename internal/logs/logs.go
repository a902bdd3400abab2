// SPDX-License-Identifier: Apache-2.0

// Package logs owns the log files of a server: it builds the process logger and the audit logger,
// rotates their files, and reads the log folder.
//
// It does not decide what is logged, who may read it or how a file is transferred to the reader.
package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/DeRuina/timberjack"
)

// Defaults for options that are zero.
const (
	DefaultMaxFiles  = 320
	DefaultMaxSizeMB = 32
)

// Format is the format of records on the console.
type Format string

// The formats of records on the console. The empty format means FormatText.
const (
	FormatText Format = "TEXT"
	FormatJSON Format = "JSON"
)

// Options configures the destinations of records. By default nothing is written.
type Options struct {
	Console Console
	File    File
	// AuditPath is the audit log's file; if empty, audit records are discarded. Rotation follows
	// File.
	AuditPath string
	// ClientPath is the file of client requests, which is created with the first record; if empty,
	// they are discarded. Rotation follows File.
	ClientPath string
	// Also receives every record of the process logger; may be nil.
	Also slog.Handler
	// Stderr receives the console records and reports of failing log files; nil means os.Stderr.
	Stderr io.Writer
}

// Console configures the records on standard error.
type Console struct {
	Enabled bool
	Level   slog.Level
	Format  Format
}

// File configures the log file, one JSON object per line, and its rotation.
type File struct {
	Enabled bool
	Level   slog.Level
	// Path is the current file; its folder is the log folder, even if the file is not enabled.
	Path string
	// MaxFiles is the number of rotated files to keep; zero means DefaultMaxFiles.
	MaxFiles int
	// MaxSizeMB is the size at which a file is rotated; zero means DefaultMaxSizeMB.
	MaxSizeMB int
	// Compress enables gzip for rotated files.
	Compress bool
}

// Logs is the set of open log files of a process.
//
// Logging never waits for a disk or a terminal: records are buffered in memory, written by a
// separate goroutine within about 100 ms, and dropped and counted if they cannot be written. A
// record of level WARN or above is written before the call that logged it returns, unless the disk
// stalls.
type Logs struct {
	logger  *slog.Logger
	audit   *slog.Logger
	client  *slog.Logger
	dir     string
	spools  []*spool
	packers []*packer

	closing sync.Once
	err     error
}

// Open creates the log folders and files and starts the writers. The caller must Close the result.
func Open(o Options) (*Logs, error) {
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.Console.Enabled && o.Console.Format != "" && o.Console.Format != FormatText && o.Console.Format != FormatJSON {
		return nil, fmt.Errorf("open the console log: the format %q is neither %s nor %s", o.Console.Format, FormatText, FormatJSON)
	}
	l := &Logs{dir: folderOf(o)}
	var handlers []slog.Handler
	if o.Console.Enabled {
		// A failure to write to the console cannot be reported on the console.
		s := newSpool(nopCloser{o.Stderr}, spoolOptions{eager: true, direct: true, failed: func(error) {}})
		l.spools = append(l.spools, s)
		handlers = append(handlers, newHandler(s, o.Console.Level, o.Console.Format == FormatJSON))
	}
	if o.File.Enabled {
		s, err := l.openFile(o, o.File.Path)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		handlers = append(handlers, newHandler(s, o.File.Level, true))
	}
	if o.Also != nil {
		handlers = append(handlers, o.Also)
	}
	l.logger = slog.New(slog.NewMultiHandler(handlers...))
	if len(handlers) == 1 {
		l.logger = slog.New(handlers[0])
	}
	l.audit = slog.New(slog.DiscardHandler)
	if o.AuditPath != "" {
		if o.File.Enabled && sameFile(o.File.Path, o.AuditPath) {
			err := fmt.Errorf("open audit log %q: it must not be the same file as the log %q", o.AuditPath, o.File.Path)
			return nil, errors.Join(err, l.Close())
		}
		s, err := l.openFile(o, o.AuditPath)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.audit = slog.New(newHandler(s, slog.LevelInfo, true))
	}
	l.client = slog.New(slog.DiscardHandler)
	if o.ClientPath != "" {
		l.client = slog.New(newHandler(l.spool(o, o.ClientPath), slog.LevelInfo, true))
	}
	return l, nil
}

// Logger returns the process logger.
func (l *Logs) Logger() *slog.Logger { return l.logger }

// Audit returns the logger of administrative actions, which has its own file and never writes to
// the console.
func (l *Logs) Audit() *slog.Logger { return l.audit }

// Client returns the logger of client requests, which has its own file and never writes to the
// console.
func (l *Logs) Client() *slog.Logger { return l.client }

// Dir returns the log folder, or the empty string if no file is configured.
func (l *Logs) Dir() string { return l.dir }

// Dropped returns how many records could not be written.
func (l *Logs) Dropped() uint64 {
	var n uint64
	for _, s := range l.spools {
		n += s.dropped.Load()
	}
	return n
}

// Close writes pending records, closes the files and ends the goroutines. Records that are logged
// afterwards still reach the console; those for files are dropped and counted. Further calls return
// the first result.
func (l *Logs) Close() error {
	l.closing.Do(func() {
		var errs []error
		for _, s := range l.spools {
			errs = append(errs, s.close())
		}
		for _, p := range l.packers {
			p.close()
		}
		l.err = errors.Join(errs...)
	})
	return l.err
}

func folderOf(o Options) string {
	switch {
	case o.File.Path != "":
		return filepath.Dir(o.File.Path)
	case o.AuditPath != "":
		return filepath.Dir(o.AuditPath)
	default:
		return ""
	}
}

// openFile opens a file until Close, after checking that it is writable.
func (l *Logs) openFile(o Options, path string) (*spool, error) {
	if path == "" {
		return nil, errors.New("open log file: the path is missing")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("create log folder %q: %w", filepath.Dir(path), err)
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("open log file %q: %w", path, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("open log file %q: it exists and is not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open log file %q: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open log file %q: %w", path, err)
	}
	return l.spool(o, path), nil
}

// spool starts the writer of a file, which is created with the first record if missing.
func (l *Logs) spool(o Options, path string) *spool {
	stderr := slog.New(slog.NewTextHandler(o.Stderr, nil))
	s := newSpool(&timberjack.Logger{
		Filename:    path,
		MaxSize:     orDefault(o.File.MaxSizeMB, DefaultMaxSizeMB),
		MaxBackups:  orDefault(o.File.MaxFiles, DefaultMaxFiles),
		Compression: "none",
	}, spoolOptions{failed: func(err error) {
		stderr.Error("log file cannot be written, its records are dropped", "path", path, "error", err)
	}})
	l.spools = append(l.spools, s)
	if o.File.Compress {
		l.packers = append(l.packers, newPacker(path, stderr))
	}
	return s
}

func orDefault(n, fallback int) int {
	if n <= 0 {
		return fallback
	}
	return n
}

// sameFile reports whether both paths lead to one file; the second need not exist yet.
func sameFile(a, b string) bool {
	if absA, err := filepath.Abs(a); err == nil {
		if absB, err := filepath.Abs(b); err == nil && absA == absB {
			return true
		}
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// nopCloser keeps a writer open that another owner closes.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
