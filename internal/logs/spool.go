// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// flushInterval is the maximum time of a record in memory.
	flushInterval = 100 * time.Millisecond
	// flushTimeout is the maximum time that the logger of a warning waits for the disk.
	flushTimeout = 100 * time.Millisecond
	// closeTimeout is the maximum time that closing waits for a disk that does not respond.
	closeTimeout = 5 * time.Second
	// flushSize is the amount of pending data that wakes the writer before the interval ends, and
	// the maximum size of a write.
	flushSize = 64 << 10
	// maxPending limits the memory of records that wait for a disk that does not respond.
	maxPending = 4 << 20
)

// spool is a writer that never waits for its destination. Every Write is one whole record that ends
// with a line break. One goroutine writes the records in order; close ends it.
type spool struct {
	out     io.WriteCloser
	options spoolOptions
	dropped atomic.Uint64
	stalled atomic.Bool // the destination did not respond in time; cleared when it does
	kick    chan struct{}
	stop    chan struct{}
	done    chan struct{}

	mu      sync.Mutex
	pending []byte
	waiters []chan struct{} // closed when everything pending has been written
	closed  bool

	// Used by the writing goroutine only.
	spare    []byte
	torn     bool // the last write ended inside a record
	reported bool
}

type spoolOptions struct {
	eager  bool        // write every record at once instead of at intervals
	direct bool        // write records that come after close straight to the destination
	failed func(error) // called with the first failure
}

func newSpool(out io.WriteCloser, options spoolOptions) *spool {
	s := &spool{
		out: out, options: options,
		kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go s.run()
	return s
}

// Write implements io.Writer. It copies the record and always succeeds; if there is no room, the
// record is dropped and counted.
func (s *spool) Write(record []byte) (int, error) {
	s.mu.Lock()
	switch {
	case s.closed && s.options.direct:
		defer s.mu.Unlock()
		if _, err := s.out.Write(record); err != nil {
			s.dropped.Add(1)
		}
		return len(record), nil
	case s.closed || len(s.pending)+len(record) > maxPending:
		s.dropped.Add(1)
		s.mu.Unlock()
		return len(record), nil
	}
	s.pending = append(s.pending, record...)
	wake := s.options.eager || len(s.pending) >= flushSize
	s.mu.Unlock()
	if wake {
		s.wake()
	}
	return len(record), nil
}

func (s *spool) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// flush waits until all records that are pending now are written, unless the destination does not
// respond.
func (s *spool) flush() {
	s.mu.Lock()
	if s.closed || s.stalled.Load() {
		s.mu.Unlock()
		s.wake()
		return
	}
	written := make(chan struct{})
	s.waiters = append(s.waiters, written)
	s.mu.Unlock()
	s.wake()
	timeout := time.NewTimer(flushTimeout)
	defer timeout.Stop()
	select {
	case <-written:
	case <-timeout.C:
		s.stalled.Store(true)
	}
}

// close writes pending records and closes the destination.
func (s *spool) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	select {
	case <-s.done:
	case <-timeout.C:
		return fmt.Errorf("close log: pending records were not written within %v", closeTimeout)
	}
	if err := s.out.Close(); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}

func (s *spool) run() {
	defer close(s.done)
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.kick:
		case <-ticker.C:
		case <-s.stop:
			s.drain()
			return
		}
		s.drain()
	}
}

// drain writes all pending records.
func (s *spool) drain() {
	s.mu.Lock()
	records, waiters := s.pending, s.waiters
	s.pending, s.waiters = s.spare[:0], nil
	s.mu.Unlock()
	for rest := records; len(rest) > 0; {
		n := pieceLen(rest)
		s.write(rest[:n])
		rest = rest[n:]
	}
	s.spare = records
	if cap(records) > 2*flushSize {
		s.spare = nil
	}
	s.stalled.Store(false)
	for _, w := range waiters {
		close(w)
	}
}

// pieceLen returns the length of the next whole records: as many as fit flushSize, but at least
// one.
func pieceLen(records []byte) int {
	if len(records) <= flushSize {
		return len(records)
	}
	if end := bytes.LastIndexByte(records[:flushSize], '\n'); end >= 0 {
		return end + 1
	}
	if end := bytes.IndexByte(records, '\n'); end >= 0 {
		return end + 1
	}
	return len(records)
}

func (s *spool) write(records []byte) {
	if s.torn {
		// End the incomplete record, so that it does not corrupt the next one.
		if _, err := s.out.Write([]byte{'\n'}); err != nil {
			s.drop(records, err)
			return
		}
		s.torn = false
	}
	n, err := s.out.Write(records)
	if err == nil && n < len(records) {
		err = io.ErrShortWrite
	}
	if err != nil {
		n = min(max(n, 0), len(records))
		s.torn = n > 0 && records[n-1] != '\n'
		s.drop(records[n:], err)
	}
}

// drop counts the records that were not written and reports the first failure.
func (s *spool) drop(records []byte, err error) {
	s.dropped.Add(uint64(bytes.Count(records, []byte{'\n'})))
	if !s.reported {
		s.reported = true
		s.options.failed(err)
	}
}
