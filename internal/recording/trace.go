// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/trace"
	"time"
)

// executionTrace is the name under which settings enable the execution trace. It is no event: a
// trace is a file of its own.
const executionTrace = "go.ExecutionTrace"

const (
	traceFile = "trace.out"
	// traceAge is how far a trace reaches back at least, unless it has traceBytes before.
	traceAge   = 10 * time.Second
	traceBytes = 8 << 20
)

// flightTrace holds the last seconds of the execution trace of Go. It is not safe for concurrent
// use.
type flightTrace struct {
	recorder *trace.FlightRecorder
	// limit replaces traceBytes in tests.
	limit uint64
}

func (f *flightTrace) start() error {
	if f.recorder != nil {
		return nil
	}
	r := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: traceAge, MaxBytes: cmp.Or(f.limit, traceBytes)})
	if err := r.Start(); err != nil {
		return fmt.Errorf("start the execution trace: %w", err)
	}
	f.recorder = r
	return nil
}

func (f *flightTrace) stop() {
	if f.recorder != nil {
		f.recorder.Stop()
		f.recorder = nil
	}
}

func (f *flightTrace) write(w io.Writer) error {
	if f.recorder == nil {
		return errors.New("the execution trace does not run")
	}
	_, err := f.recorder.WriteTo(w)
	return err
}

// Trace returns the execution trace of a recording, which go tool trace reads: the last seconds up
// to its end, or up to now. The caller must close the result.
func (r *Recorder) Trace(id int64) (*Content, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, err := r.started(id)
	if err != nil {
		return nil, err
	}
	const what = "an execution trace"
	if rec.state != Running {
		content, err := rec.openBeside(traceFile)
		if errors.Is(err, os.ErrNotExist) {
			return nil, notKept(rec, what, executionTrace+" was not enabled, or the server ended before it was written")
		}
		if err != nil {
			return nil, storageError(err)
		}
		return content, nil
	}
	if !rec.settings[executionTrace].enabled {
		return nil, notKept(rec, what, executionTrace+" is not enabled")
	}
	if r.collector.trace.recorder == nil {
		return nil, notKept(rec, what, "something else in the process traces")
	}
	content, err := r.traceNow(rec)
	if err != nil {
		return nil, storageError(err)
	}
	return content, nil
}

// traceNow returns the trace of a running recording. It is in a file without a name, not in memory.
func (r *Recorder) traceNow(rec *recording) (*Content, error) {
	file, err := os.CreateTemp(rec.dir, "trace-*.tmp")
	if err != nil {
		return nil, err
	}
	err = errors.Join(r.collector.trace.write(file), os.Remove(file.Name()))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return fileContent(file)
}
