// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"time"
)

// parkAfter is how long a client with a session must be silent before its connection is parked.
const parkAfter = 5 * time.Second

// The connection of a silent client is parked: its reading goroutine ends and its buffer returns to
// the pool. One goroutine waits for input on all parked connections (readiness) and starts a
// reading goroutine when the client sends something or disconnects. Writing is not affected.

// errSilent ends the reading goroutine of a connection that is to be parked.
var errSilent = errors.New("the client is silent")

// pastDeadline is a read deadline in the past, which interrupts a read.
var pastDeadline = time.Unix(1, 0)

// readers is the pool of buffers for reading connections.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }}

// takeReader allocates a buffer from the pool. Only the reading goroutine may call it.
func (s *stream) takeReader() {
	if s.reader == nil {
		s.reader = readers.Get().(*bufio.Reader)
		s.reader.Reset(s)
	}
}

// releaseReader returns the buffer to the pool and discards its contents. Only the reading
// goroutine may call it.
func (s *stream) releaseReader() {
	if r := s.reader; r != nil {
		s.reader = nil
		r.Reset(nil)
		readers.Put(r)
	}
}

// markBoundary is called before each message. It records whether none of its bytes has been read
// yet. Only the reading goroutine may call it.
func (s *stream) markBoundary() { s.between = s.reader.Buffered() == 0 }

// interruptRead makes Read return errSilent as soon as it would block at the beginning of a
// message.
func (s *stream) interruptRead() {
	s.mu.Lock()
	conn, skip := s.Conn, s.parked != nil || s.gone || s.finishing
	s.mu.Unlock()
	if !skip && !s.interrupted.Swap(true) {
		_ = conn.SetReadDeadline(pastDeadline)
	}
}

// allowRead reverts interruptRead.
func (s *stream) allowRead() {
	_ = s.Conn.SetReadDeadline(time.Time{})
	s.interrupted.Store(false)
}

// A resumer resumes reading from a parked stream.
type resumer interface{ resume() }

// park marks the stream as parked. Nobody reads until p.resume is called. It reports false if the
// socket is closed.
func (s *stream) park(p resumer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return false
	}
	s.parked = p
	return true
}

// unpark reverts park. It reports false if the stream was resumed meanwhile.
func (s *stream) unpark() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.parked != nil
	s.parked = nil
	return was
}

// wake resumes reading if the stream is parked.
func (s *stream) wake() {
	s.mu.Lock()
	p := s.parked
	s.parked = nil
	s.mu.Unlock()
	if p != nil {
		p.resume()
	}
}

// shut closes the socket, or the TLS connection around it, and wakes the reader.
func (s *stream) shut(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	s.wake()
}

// startReading starts a reading goroutine. The group of the gateway counts the connection, parked
// or not, until it has ended.
func (c *connection) startReading() {
	c.gateway.group.Add(1)
	go c.read()
}

// read reads until the client is silent or disconnects.
func (c *connection) read() {
	for {
		c.stream.takeReader()
		var err error
		if c.transport.framing == webSocketFraming {
			err = c.readMessages()
		} else {
			err = c.readFrames()
		}
		if !errors.Is(err, errSilent) {
			c.ended(err)
			c.stream.releaseReader()
			c.gateway.group.Done()
			return
		}
		c.stream.releaseReader()
		if c.park() {
			return
		}
	}
}

// park adds the connection to the readiness. If it reports true, another goroutine may be reading
// already.
func (c *connection) park() bool {
	g := c.gateway
	g.parked.Add(1)
	if c.stream.park(c) && (g.readiness.add(c.stream) == nil || !c.stream.unpark()) {
		return true
	}
	g.parked.Add(-1)
	return false
}

// resume implements resumer.
func (c *connection) resume() {
	c.gateway.readiness.remove(c.stream)
	c.gateway.parked.Add(-1)
	go c.read()
}

// silent reports whether the connection can be parked. The connection is locked.
func (c *connection) silent(now time.Time) bool {
	if c.stream.heard.Swap(false) || c.quiet == 0 {
		c.quiet = now.Sub(origin)
		return false
	}
	return now.Sub(origin)-c.quiet >= parkAfter
}
