// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	// pollInterval is the interval of checks of a followed file. Together with flushInterval it
	// limits the delay of a record.
	pollInterval = 100 * time.Millisecond
	blockSize    = 64 << 10
)

// Tail passes the last lines of a file to emit, oldest first, and with follow also new lines, until
// ctx ends or emit fails; it returns the reason. A followed file may be rotated (renamed and
// created anew) or truncated. A last line without a line break is passed on when it is complete or,
// without follow, as it is. Lines are valid UTF-8; lines beyond 64 KiB are cut and marked.
//
// Path and errors are those of Open. emit is called by the goroutine that called Tail.
func (f *Folder) Tail(ctx context.Context, path string, lines int, follow bool, emit func(line string) error) error {
	t := &tail{folder: f, path: path, splitter: splitter{emit: emit}, block: make([]byte, blockSize)}
	if err := t.open(); err != nil {
		return err
	}
	defer func() { _ = t.file.Close() }()
	info, err := t.file.Stat()
	if err != nil {
		return fmt.Errorf("read log file %q: %w", path, err)
	}
	t.offset, err = t.startOfLast(ctx, info.Size(), lines, follow)
	if err != nil {
		return err
	}
	if follow {
		return t.follow(ctx)
	}
	if err := t.copy(ctx, io.NewSectionReader(t.file, t.offset, info.Size()-t.offset)); err != nil {
		return err
	}
	return t.finish()
}

// tail is the state of one call of Tail.
type tail struct {
	splitter
	folder *Folder
	path   string
	block  []byte

	file    *os.File
	info    fs.FileInfo
	offset  int64
	rotated map[string]bool // rotated files that existed when file was current
}

// open opens the file at the path and lists its rotated files at a moment at which the opened file
// was the current one.
func (t *tail) open() error {
	const attempts = 10
	for range attempts {
		file, info, err := t.folder.openRegular(t.path)
		if err != nil {
			return err
		}
		rotated := make(map[string]bool)
		for _, r := range t.folder.rotations(t.path) {
			rotated[r.name] = true
		}
		if now, err := t.folder.stat(t.path); err == nil && os.SameFile(now, info) {
			t.file, t.info, t.rotated = file, info, rotated
			return nil
		}
		if err := file.Close(); err != nil {
			return fmt.Errorf("close log file %q: %w", t.path, err)
		}
	}
	return fmt.Errorf("open log file %q: it was replaced %d times while it was being opened", t.path, attempts)
}

// startOfLast returns the offset of the last n lines. It reads backwards, so that the size of the
// file does not matter. An unfinished line counts only if the caller does not follow the file.
func (t *tail) startOfLast(ctx context.Context, size int64, n int, follow bool) (int64, error) {
	breaks := max(n, 0)
	for end := size; end > 0; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		start := max(end-blockSize, 0)
		block := t.block[:end-start]
		if _, err := t.file.ReadAt(block, start); err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read log file %q: %w", t.path, err)
		}
		if end == size && (follow || block[len(block)-1] == '\n') {
			breaks++ // The line break that ends the last line.
		}
		if breaks == 0 {
			return size, nil
		}
		for at := len(block); ; breaks-- {
			if at = bytes.LastIndexByte(block[:at], '\n'); at < 0 {
				break
			}
			if breaks == 1 {
				return start + int64(at) + 1, nil
			}
		}
		end = start
	}
	return 0, nil
}

// follow passes on new lines until ctx ends.
func (t *tail) follow(ctx context.Context) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if err := t.drain(ctx); err != nil {
			return err
		}
		switched, err := t.catchUp(ctx)
		if err != nil {
			return err
		}
		if switched {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// drain passes on the bytes from the offset to the end of the file.
func (t *tail) drain(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := t.file.ReadAt(t.block, t.offset)
		t.offset += int64(n)
		if err := t.feed(t.block[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read log file %q: %w", t.path, err)
		}
	}
}

// catchUp handles a truncated or rotated file, and reports whether there is something to read
// again.
func (t *tail) catchUp(ctx context.Context) (bool, error) {
	now, err := t.folder.stat(t.path)
	if err != nil {
		// Renamed and not created anew yet, or removed: the writer may return.
		return false, nil
	}
	if os.SameFile(now, t.info) {
		if now.Size() >= t.offset {
			return false, nil
		}
		t.offset = 0
		t.reset()
		return true, nil
	}
	// The old file is complete now, so this reads its end.
	if err := t.drain(ctx); err != nil {
		return false, err
	}
	if err := t.finish(); err != nil {
		return false, err
	}
	old, oldInfo, seen := t.file, t.info, t.rotated
	if err := t.open(); err != nil {
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return false, err
	}
	t.offset = 0
	size := oldInfo.Size()
	if info, err := old.Stat(); err == nil {
		size = info.Size()
	}
	if err := old.Close(); err != nil {
		return false, fmt.Errorf("close log file %q: %w", t.path, err)
	}
	return true, t.between(ctx, seen, oldInfo, size)
}

// copy passes on all data from r.
func (t *tail) copy(ctx context.Context, r io.Reader) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(t.block)
		if err := t.feed(t.block[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read log file %q: %w", t.path, err)
		}
	}
}
