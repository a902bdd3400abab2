// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"example.org/app/internal/recording/jfr"
)

// A Source is a JVM that records while recordings of this process run, and passes its chunks, which
// become part of their files, to Accept. A missing JVM does nothing; a JVM that dies loses only its
// own part.
type Source interface {
	// Record makes the JVM record. It is called repeatedly, so that a JVM started later records,
	// too.
	Record(ctx context.Context, template string, events map[string]string) error
	// TakeRecording passes on what was recorded since the last time.
	TakeRecording(ctx context.Context) error
	// StopRecording ends what Record began.
	StopRecording(ctx context.Context) error
}

const (
	// takeTime is how often the chunks of the JVM are taken. Not more often, because each contains
	// all metadata.
	takeTime = 30 * time.Second
	// takeLimit is how long a caller waits for the chunks of the JVM.
	takeLimit = 10 * time.Second
	// maxTaken is the maximum size taken at once: more would displace everything else in the
	// recordings.
	maxTaken = 64 << 20
)

// Join adds a JVM to all recordings. It must be called before a recording is created.
func (r *Recorder) Join(s Source) {
	r.mu.Lock()
	r.source = s
	r.mu.Unlock()
	r.wakeJoint()
}

func (r *Recorder) wakeJoint() {
	select {
	case r.joint <- struct{}{}:
	default: // It has been told.
	}
}

// accompany makes the JVM record what the running recordings need, and takes its chunks
// periodically.
func (r *Recorder) accompany(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	taken := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-r.joint:
		}
		r.mu.Lock()
		source, template, events := r.source, "", map[string]string(nil)
		if running := r.running(); len(running) > 0 {
			template, events = jvmSettings(running)
		}
		r.mu.Unlock()
		was := r.joined.Load()
		switch {
		case source == nil || template == "" && !was:
			continue
		case template == "":
			r.joined.Store(false)
			r.complain("stop", source.StopRecording(ctx))
			continue
		}
		r.complain("start", source.Record(ctx, template, events))
		r.joined.Store(true)
		if !was {
			taken = time.Now()
		}
		if time.Since(taken) >= takeTime {
			r.takeJVM()
			taken = time.Now()
		}
		timer.Reset(tickTime)
	}
}

// complain logs a failure of the JVM.
func (r *Recorder) complain(attempt string, err error) {
	if err != nil {
		r.opts.Logger.Warn("flight recordings lack a part of the JVM", "attempt", attempt, "error", err)
	}
}

// takeJVM completes the JVM's part. It is called without the lock, because a JVM may be slow.
func (r *Recorder) takeJVM() {
	r.mu.Lock()
	source := r.source
	r.mu.Unlock()
	if source == nil || !r.joined.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), takeLimit)
	defer cancel()
	r.complain("take", source.TakeRecording(ctx))
}

// sharedEvents are the event types whose settings also apply to the JVM.
var sharedEvents = []*eventType{
	typeExecutionSample, typeCPULoad, typeGarbageCollection, typeGCHeapSummary, typeAllocation, typeThreadDump, typeOSInformation, typePhysicalMemory,
}

// jvmSettings returns the JVM's settings for the running recordings.
func jvmSettings(running []*recording) (template string, events map[string]string) {
	template = TemplateDefault
	all := make([]settings, 0, len(running))
	for _, rec := range running {
		all = append(all, rec.settings)
		if rec.spec.Settings[templateKey] == TemplateProfile {
			template = TemplateProfile
		}
	}
	merged := merge(all)
	events = map[string]string{}
	for _, t := range sharedEvents {
		e, ok := merged[t.Name]
		events[t.Name+"#"+settingEnabled] = fmt.Sprint(ok)
		if !ok {
			continue
		}
		if e.period > 0 {
			events[t.Name+"#"+settingPeriod] = fmt.Sprintf("%d ms", e.period.Milliseconds())
		}
		if t.Duration {
			events[t.Name+"#"+settingThreshold] = fmt.Sprintf("%d ns", e.threshold.Nanoseconds())
		}
	}
	return template, events
}

// Accept adds the chunks in a file to the running recordings, and removes the file. process is the
// process id of the JVM. The chunks are copied between files: a JVM can record more than this
// process should hold in memory.
func (r *Recorder) Accept(path string, process int) {
	if err := r.accept(path, process); err != nil {
		r.opts.Logger.Warn("a part of what the JVM recorded is lost", "error", err)
	}
	if err := removeIfThere(path); err != nil {
		r.opts.Logger.Warn("what the JVM recorded cannot be deleted", "error", err)
	}
}

func (r *Recorder) accept(path string, process int) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	chunks, err := jfr.Scan(file, info.Size())
	if err != nil || len(chunks) == 0 {
		return err
	}
	last := chunks[len(chunks)-1]
	size := last.Offset + last.Size
	r.mu.Lock()
	defer r.mu.Unlock()
	if most := min(maxTaken, r.opts.Limits().MaxTotalBytes/2); size > most {
		return fmt.Errorf("it has %d bytes, and %d are allowed at once", size, most)
	}
	now := time.Now()
	for _, rec := range r.running() {
		var separator []byte
		if len(rec.jvm) > 0 && rec.process != process {
			separator = schema.NewChunk(now).Finish(now)
		}
		r.write(rec, int64(len(separator))+size, now, func() error {
			part := io.MultiReader(bytes.NewReader(separator), io.NewSectionReader(file, 0, size))
			return rec.appendJVM(part, int64(len(separator))+size, process, now)
		})
	}
	return nil
}

// jvmSuffix names the segments of the JVM.
const jvmSuffix = ".jvm"

// appendJVM writes chunks of the JVM as a segment of their own. Readers get them after those of
// this process: in between they would keep readers from recognising a method of one chunk in the
// next. A chunk without constants must separate those of two JVMs: readers take a constant with the
// same key for that of the previous chunk, and every JVM starts counting at the beginning.
func (f *files) appendJVM(chunks io.Reader, size int64, process int, now time.Time) error {
	f.next++
	s := segment{path: filepath.Join(f.dir, fmt.Sprintf("%06d%s", f.next, jvmSuffix)), start: now, end: now, size: size}
	_, err := writeFile(s.path, func(w io.Writer) error {
		n, err := io.Copy(w, chunks)
		if err == nil && n != size {
			err = io.ErrUnexpectedEOF
		}
		return err
	}, size)
	if err != nil {
		return errors.Join(err, removeIfThere(s.path))
	}
	f.jvm, f.process = append(f.jvm, s), process
	f.size += s.size
	f.sealed = true // The numbers of segments are in the order of time.
	return nil
}
