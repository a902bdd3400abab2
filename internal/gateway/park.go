// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"time"
)

// parkAfter is how long a client with a session is silent before its connection is parked.
const parkAfter = 5 * time.Second

// A connection whose client is silent for some time is parked: the goroutine that reads ends and its buffer goes back to
// the pool. One goroutine waits for all parked connections (readiness), and begins to read again from one whose
// client has sent something or has gone. Writing is not affected.

// errSilent ends the reading of a connection that is to be parked.
var errSilent = errors.New("the client is silent")

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// readers are buffers for connections that are read from.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }}

// takeReader gets the stream a buffer. It is for the goroutine that reads.
func (s *stream) takeReader() {
	if s.reader == nil {
		s.reader = readers.Get().(*bufio.Reader)
		s.reader.Reset(s)
	}
}

// releaseReader gives the buffer back, with what is in it. It is for the goroutine that reads.
func (s *stream) releaseReader() {
	if r := s.reader; r != nil {
		s.reader = nil
		r.Reset(nil)
		readers.Put(r)
	}
}

// begin says that the next byte is the first one of a message. It is for the goroutine that reads.
func (s *stream) begin() { s.between = s.reader.Buffered() == 0 }

// hush has the goroutine that reads return errSilent as soon as it waits for the beginning of a message.
func (s *stream) hush() {
	s.mu.Lock()
	conn, skip := s.Conn, s.parked != nil || s.gone || s.finishing
	s.mu.Unlock()
	if !skip && !s.hushed.Swap(true) {
		_ = conn.SetReadDeadline(past)
	}
}

// unhush ends what hush began.
func (s *stream) unhush() {
	_ = s.Conn.SetReadDeadline(time.Time{})
	s.hushed.Store(false)
}

// A sleeper is told when a parked stream has to be read from again.
type sleeper interface{ resume() }

// park says that nobody reads until the sleeper resumes. It reports false if the socket is closed.
func (s *stream) park(p sleeper) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return false
	}
	s.parked = p
	return true
}

// unpark takes parking back. It reports false if the sleeper resumes.
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

// shut closes the socket, or the encryption around it, and lets a goroutine that reads learn of it.
func (s *stream) shut(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	s.wake()
}

// startReading begins to read. Until the connection has ended, the group of the gateway counts it, parked or not.
func (c *connection) startReading() {
	c.gateway.group.Add(1)
	go c.read()
}

// read reads until the client is silent or has gone.
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

// park has the gateway wait for the client. If it reports true, another goroutine reads from then on.
func (c *connection) park() bool {
	g := c.gateway
	g.parked.Add(1)
	if c.stream.park(c) && (g.readiness.add(c.stream) == nil || !c.stream.unpark()) {
		return true
	}
	g.parked.Add(-1)
	return false
}

// resume implements sleeper.
func (c *connection) resume() {
	c.gateway.readiness.remove(c.stream)
	c.gateway.parked.Add(-1)
	go c.read()
}

// silent reports whether the client has been silent for long enough to be parked. The connection is locked.
func (c *connection) silent(now time.Time) bool {
	if c.stream.heard.Swap(false) || c.quiet == 0 {
		c.quiet = now.Sub(origin)
		return false
	}
	return now.Sub(origin)-c.quiet >= parkAfter
}
