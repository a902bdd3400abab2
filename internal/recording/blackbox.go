// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"example.org/app/internal/recording/event"
)

// Continuous limits the black box: a recording that always runs, and is copied on incidents.
type Continuous struct {
	Enabled bool
	// MaxAge and MaxSize limit the box, MaxDumps the number of copies. An age or size of 0 means no
	// limit.
	MaxAge   time.Duration
	MaxSize  int64
	MaxDumps int
}

func (c Continuous) spec() Spec {
	return Spec{Description: "black box", MaxAge: c.MaxAge, MaxSize: c.MaxSize}
}

const (
	// boxFolder is the folder of the black box among those of recordings.
	boxFolder = "continuous"
	// dumpPause is the minimum interval of copies for the same reason.
	dumpPause = time.Minute
	// boxPause is the pause before retrying a black box that could not be written.
	boxPause = time.Minute
	// maxIncidents bounds the queue of Run.
	maxIncidents = 64
)

// blackBox is the continuous recording. The Recorder's lock guards it.
type blackBox struct {
	// rec is nil while there is no black box.
	rec *recording
	// kept is when the box was last copied for a reason.
	kept  map[event.Reason]time.Time
	retry time.Time
}

// tickBox starts and stops the black box according to the limits.
func (r *Recorder) tickBox(now time.Time) {
	c := r.opts.Limits().Continuous
	rec := r.box.rec
	if rec != nil && (!c.Enabled || rec.state != Running) {
		r.dropBox(now)
		rec = nil
	}
	if rec != nil {
		rec.spec = c.spec()
		rec.prune(now, rec.spec)
		return
	}
	if !c.Enabled || r.stopped || now.Before(r.box.retry) {
		return
	}
	if err := r.startBox(c, now); err != nil {
		r.opts.Logger.Error("the black box of flight recordings cannot be started", "error", err)
	}
	r.box.retry = now.Add(boxPause)
}

func (r *Recorder) startBox(c Continuous, now time.Time) error {
	settings, err := parseSettings(nil)
	if err != nil {
		return err
	}
	rec := &recording{spec: c.spec(), settings: settings, state: New, created: now}
	if err := rec.create(r.opts.Folder, boxFolder); err != nil {
		return err
	}
	r.box.rec = rec
	if err := r.begin(rec, now); err != nil {
		r.box.rec = nil
		return errors.Join(err, rec.delete())
	}
	return nil
}

// dropBox ends the black box and discards its data.
func (r *Recorder) dropBox(now time.Time) {
	rec := r.box.rec
	if rec == nil {
		return
	}
	if rec.state == Running {
		r.rotate(now)
	}
	rec.state, r.box.rec = Closed, nil
	r.configure(now)
	if err := rec.delete(); err != nil {
		r.opts.Logger.Error("the files of the black box cannot be deleted", "error", err)
	}
}

// report queues an incident for Run. It does not block.
func (r *Recorder) report(i event.Incident) {
	select {
	case r.incidents <- i:
	default: // As many wait as can be kept in minutes.
	}
}

// Keep copies the black box to a recording whose description contains the reason, and returns its
// id. It returns 0 if there is no black box, or if it was copied for the same reason less than a
// minute ago.
func (r *Recorder) Keep(i event.Incident) (int64, error) {
	if i.Reason != event.JVMDied {
		r.takeJVM()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.box.rec == nil || r.box.rec.state != Running || r.stopped {
		return 0, nil
	}
	if last, ok := r.box.kept[i.Reason]; ok && now.Sub(last) < dumpPause {
		return 0, nil
	}
	r.upToNow(r.box.rec)
	if r.box.rec.state != Running {
		return 0, errors.New("keep the black box: it cannot be written")
	}
	rec, err := r.copyBox(i, time.Now())
	if err != nil {
		r.opts.Logger.Error("the black box cannot be kept", "reason", string(i.Reason), "error", err)
		return 0, fmt.Errorf("keep the black box: %w", err)
	}
	r.box.kept[i.Reason] = now
	if i.Reason == event.Quit {
		// The process ends now, and must not leave a second copy for the next one.
		r.dropBox(now)
		r.box.retry = now.Add(boxPause)
	}
	r.opts.Logger.Warn("the black box was kept as a flight recording", "recording", rec.id, "description", rec.spec.Description)
	r.Look()
	return rec.id, nil
}

// describe returns the description of a copy.
func describe(i event.Incident) string {
	text := "black box: " + string(i.Reason)
	if i.Detail != "" {
		text += ": " + clip(i.Detail)
	}
	return text
}

// copyBox creates a recording with the data of the black box.
func (r *Recorder) copyBox(i event.Incident, now time.Time) (_ *recording, err error) {
	box := r.box.rec
	if err := r.makeRoom(box.size + box.beside); err != nil {
		return nil, err
	}
	spec := box.spec
	spec.Description = describe(i)
	rec := &recording{
		id: r.lastID + 1, spec: spec, settings: box.settings, before: box.before, state: Stopped,
		created: now, start: box.start, stop: now, keep: true, dump: true,
	}
	if err := rec.create(r.opts.Folder, strconv.FormatInt(rec.id, 10)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, rec.delete())
		}
	}()
	r.lastID = rec.id
	if err := rec.take(&box.files); err != nil {
		return nil, err
	}
	if len(rec.segments) > 0 && rec.segments[0].start.After(rec.start) {
		rec.start = rec.segments[0].start
	}
	r.keep(rec)
	if err := rec.save(rec); err != nil {
		return nil, err
	}
	r.recordings[rec.id] = rec
	return rec, nil
}

// makeRoom removes the oldest copies until there is space for one more, and for so many bytes.
func (r *Recorder) makeRoom(bytes int64) error {
	limits := r.opts.Limits()
	dumps := slices.DeleteFunc(r.sorted(), func(rec *recording) bool { return !rec.dump })
	for {
		used := r.used()
		if len(dumps) < max(limits.Continuous.MaxDumps, 1) && used+bytes <= limits.MaxTotalBytes {
			return nil
		}
		if len(dumps) == 0 {
			return fmt.Errorf("the recordings have %d bytes, the black box %d, and %d are allowed", used, bytes, limits.MaxTotalBytes)
		}
		r.remove(dumps[0])
		dumps = dumps[1:]
	}
}

// take takes over the segments of other files without copying them, where the file system supports
// it. The other files begin a new segment, so that the shared ones never change.
func (f *files) take(from *files) error {
	from.sealed = true
	f.next = from.next
	for _, s := range from.segments {
		own, err := f.link(s)
		if err != nil {
			return err
		}
		f.segments = append(f.segments, own)
	}
	for _, s := range from.jvm {
		own, err := f.link(s)
		if err != nil {
			return err
		}
		f.jvm = append(f.jvm, own)
	}
	return nil
}

// link links a segment of other files, and counts it.
func (f *files) link(s segment) (segment, error) {
	own := s
	own.path = filepath.Join(f.dir, filepath.Base(s.path))
	err := linkOrCopy(s.path, own.path, s.size)
	if err == nil && s.cpu > 0 {
		err = linkOrCopy(s.cpuPath(), own.cpuPath(), s.cpu)
	}
	f.size += own.size
	f.beside += own.cpu
	return own, err
}

// linkOrCopy creates a hard link to a file, or copies its first bytes.
func linkOrCopy(from, to string, size int64) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, in, size)
	return errors.Join(err, out.Close())
}

// recoverBox creates a recording from the black box of a killed process.
func (r *Recorder) recoverBox() {
	dir := filepath.Join(r.opts.Folder, boxFolder)
	if _, err := os.Stat(dir); err != nil {
		return
	}
	rec, err := restore(dir, r.lastID+1)
	if err == nil && rec != nil && len(rec.segments) > 0 {
		if err = r.makeRoom(rec.size + rec.beside); err == nil {
			err = r.adoptBox(dir, rec)
		}
	}
	if err != nil {
		r.opts.Logger.Warn("the black box of an earlier run cannot be kept", "error", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		r.opts.Logger.Warn("the black box of an earlier run cannot be deleted", "error", err)
	}
}

func (r *Recorder) adoptBox(dir string, rec *recording) error {
	path := filepath.Join(r.opts.Folder, strconv.FormatInt(rec.id, 10))
	if err := os.Rename(dir, path); err != nil {
		return err
	}
	rec.dir = path
	for _, list := range [][]segment{rec.segments, rec.jvm} {
		for i := range list {
			list[i].path = filepath.Join(path, filepath.Base(list[i].path))
		}
	}
	rec.spec.Description = "black box: the server ended without stopping it"
	rec.start = cmp.Or(rec.segments[0].start, rec.start)
	rec.keep, rec.dump = true, true
	r.lastID = rec.id
	r.recordings[rec.id] = rec
	r.saveOrLog(rec)
	return nil
}
