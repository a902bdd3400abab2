// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"example.org/app/internal/recording/jfr"
)

// files are the folder of one recording: segments of whole chunks, and a description.
//
//	<folder>/<id>/recording.json
//	<folder>/<id>/000001.jfr
//	<folder>/<id>/000001.cpu	CPU profiles of the segment
//	<folder>/<id>/000002.jvm	chunks of the JVM
//	<folder>/<id>/heap.pprof	and other profiles and the trace, when the recording has stopped
//
// The Recorder's lock guards everything but pins.
type files struct {
	dir string
	// segments are those of this process, jvm those of the JVM.
	segments, jvm []segment
	// process is the id of the JVM that wrote the last of jvm.
	process int
	next    int
	// size is the total size of all segments, beside that of the other files except the
	// description.
	size, beside int64
	// sealed is true if the last segment must not grow.
	sealed bool
	pins   pins
}

// A segment is a file of chunks. Only the last one grows.
type segment struct {
	path       string
	size       int64
	start, end time.Time
	// cpu is the size of the CPU profiles beside it.
	cpu int64
}

func (s *segment) cpuPath() string { return strings.TrimSuffix(s.path, filepath.Ext(s.path)) + ".cpu" }

const (
	descriptionFile = "recording.json"
	segmentSuffix   = ".jfr"
	// maxSegment bounds a segment, so that limits of size and age drop little at a time.
	maxSegment = 1 << 20
	// segmentsOfLimit is the minimum number of segments of a recording with a limit.
	segmentsOfLimit = 8
)

// pins prevent files in use from being deleted.
type pins struct {
	mu      sync.Mutex
	readers int
	// waiting are deleted at the end of their use.
	waiting []string
}

func (p *pins) take() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readers++
}

func (p *pins) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readers--; p.readers == 0 {
		for _, path := range p.waiting {
			_ = os.RemoveAll(path) // What remains is found at the next start.
		}
		p.waiting = nil
	}
}

// delete deletes a file or a folder, now or at the end of its use.
func (p *pins) delete(path string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readers > 0 {
		p.waiting = append(p.waiting, path)
		return nil
	}
	return os.RemoveAll(path)
}

// create makes the folder.
func (f *files) create(folder, name string) error {
	f.dir = filepath.Join(folder, name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.Mkdir(f.dir, 0o700)
}

// append writes a chunk and its CPU profile, which may be empty. Partial writes are reverted.
func (f *files) append(data, cpu []byte, now time.Time, spec Spec) error {
	if len(f.segments) == 0 || f.sealed || f.segments[len(f.segments)-1].complete(now, spec) {
		f.next++
		f.sealed = false
		f.segments = append(f.segments, segment{path: filepath.Join(f.dir, fmt.Sprintf("%06d%s", f.next, segmentSuffix)), start: now})
	}
	s := &f.segments[len(f.segments)-1]
	if err := appendFile(s.path, s.size, data); err != nil {
		if s.size == 0 {
			f.segments = f.segments[:len(f.segments)-1]
		}
		return err
	}
	s.size += int64(len(data))
	s.end = now
	f.size += int64(len(data))
	return f.appendCPU(s, cpu)
}

// appendFile writes data at the end of a file that has a size.
func appendFile(path string, size int64, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(data, size)
	if err != nil {
		if size == 0 {
			err = errors.Join(err, os.Remove(path))
		} else {
			err = errors.Join(err, file.Truncate(size))
		}
	}
	return errors.Join(err, file.Close())
}

// complete reports whether the next chunk begins another segment.
func (s *segment) complete(now time.Time, spec Spec) bool {
	if spec.MaxAge > 0 && now.Sub(s.start) >= spec.MaxAge/segmentsOfLimit {
		return true
	}
	return s.size >= maxSegment || spec.MaxSize > 0 && s.size >= spec.MaxSize/segmentsOfLimit
}

// prune drops what exceeds the limits. The last segment stays.
func (f *files) prune(now time.Time, spec Spec) {
	for len(f.segments)+len(f.jvm) > 1 {
		tooMuch := spec.MaxSize > 0 && f.size > spec.MaxSize
		tooOld := spec.MaxAge > 0 && now.Sub((*f.oldest())[0].end) > spec.MaxAge
		if !tooMuch && !tooOld {
			return
		}
		f.dropFirst()
	}
}

// oldest returns the list whose first segment is the oldest of all; nil if there is none.
func (f *files) oldest() *[]segment {
	switch {
	case len(f.segments)+len(f.jvm) == 0:
		return nil
	case len(f.segments) == 0 || len(f.jvm) > 0 && f.jvm[0].end.Before(f.segments[0].end):
		return &f.jvm
	}
	return &f.segments
}

// dropFirst drops the oldest segment. It reports false if there is none.
func (f *files) dropFirst() bool {
	list := f.oldest()
	if list == nil {
		return false
	}
	first := (*list)[0]
	_ = f.pins.delete(first.path) // What stays is found at the next start.
	_ = removeIfThere(first.cpuPath())
	f.size -= first.size
	f.beside -= first.cpu
	*list = (*list)[1:]
	return true
}

// delete deletes the folder.
func (f *files) delete() error {
	f.size, f.beside, f.segments, f.jvm = 0, 0, nil, nil
	return f.pins.delete(f.dir)
}

// Content is a snapshot of a recording. Its files are kept until it is closed.
type Content struct {
	// Size is how many bytes Read returns.
	Size int64
	// pins are nil if the files cannot be deleted.
	pins *pins
	// head precedes the files.
	head   []byte
	rest   []segment
	file   *os.File
	left   int64
	closed bool
}

// memoryContent returns content without files.
func memoryContent(data []byte) *Content { return &Content{Size: int64(len(data)), head: data} }

// fileContent returns the content of a whole file, which Close closes.
func fileContent(file *os.File) (*Content, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Content{Size: info.Size(), file: file, left: info.Size()}, nil
}

// content returns what is written now, or a chunk without events if nothing is.
func (f *files) content(now time.Time) *Content {
	f.pins.take()
	c := &Content{Size: f.size, pins: &f.pins, rest: slices.Concat(f.segments, f.jvm)}
	if c.Size == 0 {
		c.head = schema.NewChunk(now).Finish(now)
		c.Size = int64(len(c.head))
	}
	return c
}

// Read implements io.Reader.
func (c *Content) Read(b []byte) (int, error) {
	if len(c.head) > 0 {
		n := copy(b, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	for {
		if c.file == nil {
			if len(c.rest) == 0 {
				return 0, io.EOF
			}
			file, err := os.Open(c.rest[0].path)
			if err != nil {
				return 0, err
			}
			c.file, c.left, c.rest = file, c.rest[0].size, c.rest[1:]
		}
		n, err := 0, error(nil)
		if c.left > 0 {
			n, err = c.file.Read(b[:min(int64(len(b)), c.left)])
		}
		c.left -= int64(n)
		if c.left == 0 {
			c.file.Close()
			c.file = nil
		}
		if n > 0 {
			return n, nil
		}
		if err != nil && c.left > 0 {
			return 0, fmt.Errorf("read a flight recording: %w", io.ErrUnexpectedEOF)
		}
	}
}

// Close releases the files.
func (c *Content) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	if c.file != nil {
		c.file.Close()
	}
	if c.pins != nil {
		c.pins.release()
	}
	return nil
}

// description is the content of recording.json.
type description struct {
	ID      int64     `json:"id"`
	State   State     `json:"state"`
	Spec    Spec      `json:"spec"`
	Created time.Time `json:"created"`
	Start   time.Time `json:"start"`
	Stop    time.Time `json:"stop"`
	Close   time.Time `json:"close"`
	Keep    bool      `json:"keep"`
	Dump    bool      `json:"dump,omitempty"`
}

// save writes the description atomically.
func (f *files) save(rec *recording) error {
	data, err := json.MarshalIndent(description{
		ID: rec.id, State: rec.state, Spec: rec.spec, Created: rec.created, Start: rec.start, Stop: rec.stop, Close: rec.close, Keep: rec.keep, Dump: rec.dump,
	}, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(f.dir, descriptionFile)
	if err := os.WriteFile(path+".tmp", data, 0o600); err != nil {
		return errors.Join(err, removeIfThere(path+".tmp"))
	}
	return os.Rename(path+".tmp", path)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// maxFolders is how many processes may use folders beside each other.
const maxFolders = 64

// lockFolder creates and locks a folder that no other process uses: with the name, or the first
// with a number appended.
func lockFolder(folder string) (*flock.Flock, string, error) {
	for n := 1; n <= maxFolders; n++ {
		path := folder
		if n > 1 {
			path += "-" + strconv.Itoa(n)
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, "", err
		}
		lock := flock.New(filepath.Join(path, "lock"))
		locked, err := lock.TryLock()
		if err != nil {
			return nil, "", err
		}
		if locked {
			return lock, path, nil
		}
	}
	return nil, "", fmt.Errorf("%d other processes use the folder", maxFolders)
}

// recover finds the recordings of earlier runs. Other files are left alone.
func (r *Recorder) recover() error {
	entries, err := os.ReadDir(r.opts.Folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		id, err := strconv.ParseInt(entry.Name(), 10, 64)
		if err != nil || id <= 0 || !entry.IsDir() {
			continue
		}
		r.lastID = max(r.lastID, id)
		rec, err := restore(filepath.Join(r.opts.Folder, entry.Name()), id)
		switch {
		case err != nil:
			r.opts.Logger.Warn("a flight recording of an earlier run cannot be read", "recording", id, "error", err)
		case rec == nil:
			if err := os.RemoveAll(filepath.Join(r.opts.Folder, entry.Name())); err != nil {
				r.opts.Logger.Warn("an empty flight recording cannot be deleted", "recording", id, "error", err)
			}
		default:
			r.recordings[id] = rec
			r.saveOrLog(rec)
		}
	}
	r.recoverBox()
	return nil
}

// restore reads a folder. It returns nil if nothing was recorded.
func restore(dir string, id int64) (*recording, error) {
	data, err := os.ReadFile(filepath.Join(dir, descriptionFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // The process ended before the recording existed.
	}
	if err != nil {
		return nil, err
	}
	var d description
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("parse %s: %w", descriptionFile, err)
	}
	if d.Start.IsZero() {
		return nil, nil
	}
	rec := &recording{
		files: files{dir: dir}, id: id, spec: d.Spec, state: d.State, created: d.Created,
		start: d.Start, stop: d.Stop, close: d.Close, keep: d.Keep, dump: d.Dump,
	}
	if err := rec.find(); err != nil {
		return nil, err
	}
	if rec.state != Closed && rec.state != Stopped {
		rec.state = Stopped
		rec.stop = rec.start
		if n := len(rec.segments); n > 0 {
			rec.stop = rec.segments[n-1].end
		}
	}
	return rec, nil
}

// find finds the segments, and truncates partial chunks after a crash.
func (f *files) find() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		extension := filepath.Ext(entry.Name())
		number, err := strconv.Atoi(strings.TrimSuffix(entry.Name(), extension))
		if extension != segmentSuffix && extension != jvmSuffix || err != nil {
			f.found(entry)
			continue
		}
		s, err := openSegment(filepath.Join(f.dir, entry.Name()))
		if err != nil {
			return err
		}
		f.next = max(f.next, number)
		if s.size > 0 && extension == jvmSuffix {
			f.jvm = append(f.jvm, s)
			f.size += s.size
		} else if s.size > 0 {
			if info, err := os.Stat(s.cpuPath()); err == nil {
				s.cpu = info.Size()
			}
			f.segments = append(f.segments, s)
			f.size += s.size
		}
	}
	return nil
}

// found counts a file that is no segment, and removes partial ones after a crash.
func (f *files) found(entry os.DirEntry) {
	if strings.HasSuffix(entry.Name(), ".tmp") {
		_ = os.Remove(filepath.Join(f.dir, entry.Name())) // Retried at the next start.
		return
	}
	if info, err := entry.Info(); err == nil && entry.Name() != descriptionFile {
		f.beside += info.Size()
	}
}

func openSegment(path string) (segment, error) {
	s := segment{path: path}
	file, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return s, err
	}
	chunks, err := jfr.Scan(file, info.Size())
	if err != nil {
		return s, err
	}
	if len(chunks) > 0 {
		last := chunks[len(chunks)-1]
		s.start, s.end, s.size = chunks[0].Start, last.End, last.Offset+last.Size
	}
	switch {
	case s.size == 0:
		return s, os.Remove(path)
	case s.size < info.Size():
		return s, os.Truncate(path, s.size)
	}
	return s, nil
}

// reasonOf returns the operating system's error, without the names of folders.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
