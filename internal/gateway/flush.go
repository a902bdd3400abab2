// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"runtime"
	"sync"
)

const (
	// flushChunk is how many streams a goroutine takes at once.
	flushChunk = 32
	// flushEach is how many waiting streams cause another goroutine to be started.
	flushEach = 4 * flushChunk
)

// A flusher writes the queues of streams. A few goroutines do so for all of them, because the
// sockets do not block: waking one goroutine for each recipient of a message costs as much as the
// message. Other goroutines run first, so that what they queue is written together. A stream whose
// client is slow, or that is encrypted, gets its own goroutine.
type flusher struct {
	// start runs the function in a goroutine that Gateway.Close waits for.
	start func(func())

	mu sync.Mutex
	// waiting are the streams with a queue; those before next were taken.
	waiting []*stream
	next    int
	running int
}

// add queues streams for writing. Each may be added only once until its flush was called.
func (f *flusher) add(streams ...*stream) {
	f.mu.Lock()
	f.waiting = append(f.waiting, streams...)
	begin := f.running == 0 || len(f.waiting)-f.next > f.running*flushEach && f.running < runtime.GOMAXPROCS(0)
	if begin {
		f.running++
	}
	f.mu.Unlock()
	if begin {
		f.start(f.run)
	}
}

// take takes some of the waiting streams. ok is false if there are none: then the caller must
// return.
func (f *flusher) take(into *[flushChunk]*stream) (taken []*stream, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := copy(into[:], f.waiting[f.next:])
	clear(f.waiting[f.next : f.next+n])
	f.next += n
	switch rest := len(f.waiting) - f.next; {
	case rest == 0 && cap(f.waiting) > maxIdleWorkers:
		f.waiting, f.next = nil, 0
	case rest <= f.next/2:
		copy(f.waiting, f.waiting[f.next:])
		clear(f.waiting[rest:])
		f.waiting, f.next = f.waiting[:rest], 0
	}
	if n == 0 {
		f.running--
	}
	return into[:n], n > 0
}

func (f *flusher) run() {
	var some [flushChunk]*stream
	w := socketWriters.Get().(*socketWriter)
	defer socketWriters.Put(w)
	for {
		runtime.Gosched()
		taken, ok := f.take(&some)
		if !ok {
			return
		}
		for _, s := range taken {
			s.flush(w)
		}
		clear(taken)
	}
}

// A socketWriter writes to sockets without blocking. Only one goroutine may use it.
type socketWriter struct {
	// joined is the buffer for joined frames.
	joined []byte
	// attempt calls write(2) once with data; n and err are the result. It is created once to avoid
	// an allocation per call.
	attempt func(fd uintptr) bool
	data    []byte
	n       int
	err     error
}

var socketWriters = sync.Pool{New: func() any { return newSocketWriter() }}

// flush writes the queue without waiting for the client; if that is not possible, it starts a
// goroutine for the stream.
func (s *stream) flush(w *socketWriter) {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 || s.failure != nil {
			s.writing = false
			last, conn := s.finishing, s.Conn
			s.mu.Unlock()
			if last {
				s.start(func() { s.shut(conn) })
			}
			return
		}
		if s.socket == nil || s.Conn != s.raw {
			s.mu.Unlock()
			s.start(s.write)
			return
		}
		data, frames := s.join(w)
		s.mu.Unlock()
		n, err := w.write(s.socket, data)
		s.traffic.sent.Add(uint64(n))
		s.mu.Lock()
		s.written(n, frames)
		s.mu.Unlock()
		switch {
		case err != nil:
			s.kill(err)
		case n < len(data):
			s.start(s.write)
			return
		}
	}
}

// join returns the joined bytes of the first frames in the queue, and their number. The stream is
// locked.
func (s *stream) join(w *socketWriter) (data []byte, frames int) {
	if len(s.queue) == 1 || len(s.queue[0]) >= maxBatch {
		return s.queue[0], 1
	}
	w.joined = w.joined[:0]
	for _, frame := range s.queue {
		if len(w.joined)+len(frame) > maxBatch {
			break
		}
		w.joined = append(w.joined, frame...)
		frames++
	}
	return w.joined, frames
}

// written removes n written bytes, those of some frames or a part of them, from the queue. The
// stream is locked.
func (s *stream) written(n, frames int) {
	if s.failure != nil {
		return // The queue is gone.
	}
	for ; frames > 0 && n >= len(s.queue[0]); frames-- {
		n -= len(s.queue[0])
		s.queued -= len(s.queue[0]) + frameCost
		s.queue[0] = nil
		s.queue = s.queue[1:]
	}
	if n > 0 {
		s.queue[0] = s.queue[0][n:]
		s.queued -= n
	}
	if len(s.queue) == 0 {
		s.queue = s.first[:0]
	}
}
