// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// recordingSettings are the settings of a JVM's recording.
type recordingSettings struct {
	// template is the name of a configuration of the JDK.
	template string
	// events override its settings, such as jdk.ExecutionSample#period.
	events map[string]string
}

func (s *recordingSettings) equal(other *recordingSettings) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.template == other.template && maps.Equal(s.events, other.events)
}

// Operations of frames of kindRecord.
const (
	recordStop byte = iota
	recordStart
	recordTake
)

// recordTime bounds one request; the first recording of a JVM takes a moment.
const recordTime = 30 * time.Second

// Record starts a recording in each JVM, with a template and overriding event settings.
// Without a JVM it does nothing: the recorder repeats the call periodically, so that a JVM
// started later records, too.
func (h *Host) Record(ctx context.Context, template string, events map[string]string) error {
	return h.record(ctx, &recordingSettings{template, maps.Clone(events)})
}

// StopRecording stops the recordings. Events that were not taken are lost.
func (h *Host) StopRecording(ctx context.Context) error { return h.record(ctx, nil) }

func (h *Host) record(ctx context.Context, want *recordingSettings) error {
	h.recordMu.Lock()
	defer h.recordMu.Unlock()
	var errs []error
	for _, s := range h.running() {
		errs = append(errs, s.recordAs(ctx, want))
	}
	return errors.Join(errs...)
}

// recordAs applies recording settings to a JVM; nil stops the recording. The caller must hold
// recordMu.
func (s *session) recordAs(ctx context.Context, want *recordingSettings) error {
	if want.equal(s.recording) {
		return nil
	}
	err := s.record(ctx, func(b []byte) []byte {
		if want == nil {
			return append(b, recordStop)
		}
		b = appendString(append(b, recordStart), want.template)
		b = appendCount(b, len(want.events))
		for _, name := range slices.Sorted(maps.Keys(want.events)) {
			b = appendString(appendString(b, name), want.events[name])
		}
		return b
	})
	if err != nil && !errors.Is(err, errEnded) && !errors.Is(err, errUnsent) {
		err = fmt.Errorf("let the Java host record: %w", err)
	} else if err != nil {
		return nil // The next JVM receives the settings.
	}
	// Do not retry settings with which a JVM cannot record.
	s.recording = want
	return err
}

// TakeRecording passes the JVMs' events since the last call to Options.Chunks. A missing or
// dying JVM has none.
func (h *Host) TakeRecording(ctx context.Context) error {
	h.recordMu.Lock()
	defer h.recordMu.Unlock()
	var errs []error
	for _, s := range h.running() {
		errs = append(errs, h.take(ctx, s))
	}
	return errors.Join(errs...)
}

// takeLast takes the events of a JVM that is about to be stopped.
func (h *Host) takeLast(ctx context.Context, s *session) {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	h.recordMu.Lock()
	defer h.recordMu.Unlock()
	if err := h.take(ctx, s); err != nil {
		h.opts.Log.Warn("the last part of what the Java host recorded is lost", slog.Any("error", err))
	}
}

func (h *Host) take(ctx context.Context, s *session) error {
	if s.recording == nil {
		return nil
	}
	s.taken++
	process := s.cmd.Process.Pid
	path := filepath.Join(s.dir, fmt.Sprintf("recording-%d-%d.jfr", process, s.taken))
	err := s.record(ctx, func(b []byte) []byte { return appendString(append(b, recordTake), path) })
	switch {
	case errors.Is(err, errEnded), errors.Is(err, errUnsent):
		return nil
	case err != nil:
		return fmt.Errorf("take what the Java host recorded: %w", err)
	}
	h.opts.Chunks(path, process)
	return nil
}

// running returns the current sessions of the slots.
func (h *Host) running() (list []*session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.slots {
		if l.current != nil {
			list = append(list, l.current)
		}
	}
	return list
}

func (s *session) record(ctx context.Context, write func(b []byte) []byte) error {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	a, err := s.request(ctx, kindRecord, nil, func(b []byte) ([]byte, error) { return write(b), nil })
	if err != nil {
		return err
	}
	a.free()
	return nil
}
