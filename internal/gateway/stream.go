// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// readBuffer is the buffer of each connection. It is small because there are many of them; what is larger is read
	// past it.
	readBuffer = 1 << 10
	// maxQueued is how much may wait for a client that reads slowly. A single frame may be larger.
	maxQueued = 1 << 20
	// frameCost is what a queued frame costs besides its bytes.
	frameCost = 64
	// writeTimeout is how long a client may take to accept what is written at once.
	writeTimeout = 30 * time.Second
	// maxBatch is how many bytes are joined for one write of an encrypted connection.
	maxBatch = 64 << 10
)

var (
	errSlowReader = errors.New("the client reads too slowly")
	errClosed     = errors.New("the connection is closed")
	// errHandshakeSize means that a client has more to say before its first frame than anybody needs.
	errHandshakeSize = errors.New("the handshake is too long")
)

// A traffic counts the bytes of all connections.
type traffic struct{ received, sent atomic.Uint64 }

// A stream is the socket of a client, with a queue of bounded size for what is written. Writing waits for nobody: the flusher
// writes what the socket takes at once, and if that is not all, a goroutine lives while something is queued. A client that does
// not read fast enough is cut off, and nobody else notices.
type stream struct {
	// Conn is the socket, or the encryption around it.
	net.Conn
	raw net.Conn
	// socket is raw for writes that do not wait; nil if there are none.
	socket syscall.RawConn
	// reader is nil while the stream is parked. It and between, which says that nothing of a message was read yet, belong to the
	// goroutine that reads.
	reader  *bufio.Reader
	between bool
	// heard says that something was read since the last sweep, hushed that reading is to end while the client is silent.
	heard, hushed atomic.Bool
	traffic       *traffic
	// start runs the function in a goroutine that somebody waits for.
	start   func(func())
	flusher *flusher
	// budget bounds what is read before the first frame. It is used by the reading goroutine only.
	budget  int
	limited bool

	mu    sync.Mutex
	queue [][]byte
	// first is room for a queue of one frame.
	first  [1][]byte
	queued int
	// writing says that the flusher or a goroutine sees to the queue.
	writing bool
	// finishing says that nothing more may be queued and that the socket is closed when the queue is empty.
	finishing bool
	failure   error
	// gone says that the socket is closed.
	gone bool
	// parked is nil while a goroutine reads.
	parked sleeper
	// registration belongs to the readiness.
	registration registration
}

func newStream(raw net.Conn, t *traffic, f *flusher) *stream {
	s := &stream{Conn: raw, raw: raw, socket: socketOf(raw), traffic: t, start: f.start, flusher: f}
	s.queue = s.first[:0]
	return s
}

// limit bounds what may be read until unlimit.
func (s *stream) limit(n int) { s.budget, s.limited = n, true }

func (s *stream) unlimit() { s.limited = false }

// Read is for the goroutine that reads.
func (s *stream) Read(b []byte) (int, error) {
	if s.limited {
		if s.budget <= 0 {
			return 0, errHandshakeSize
		}
		b = b[:min(len(b), s.budget)]
	}
	n, err := s.Conn.Read(b)
	for err != nil && n == 0 && s.hushed.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		if s.unhush(); s.between {
			return 0, errSilent
		}
		n, err = s.Conn.Read(b)
	}
	if n > 0 {
		s.between = false
		if !s.heard.Load() {
			s.heard.Store(true)
		}
	}
	s.budget -= n
	s.traffic.received.Add(uint64(n))
	return n, err
}

// buffered is a socket of which some bytes were read already.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

// encrypt puts TLS around the socket. It waits for the handshake of the client.
func (s *stream) encrypt(config *tls.Config) error {
	inner := bufio.NewReaderSize(s.raw, readBuffer)
	if n := s.reader.Buffered(); n > 0 {
		// What came together with the head of a proxy belongs to the handshake.
		pending, _ := s.reader.Peek(n)
		inner = bufio.NewReaderSize(&prefixed{pending, s.raw}, readBuffer)
	}
	conn := tls.Server(buffered{s.raw, inner}, config)
	if err := conn.Handshake(); err != nil {
		return err
	}
	s.mu.Lock()
	s.Conn = conn
	s.mu.Unlock()
	s.reader.Reset(s)
	return nil
}

// prefixed reads some bytes before the socket.
type prefixed struct {
	pending []byte
	conn    net.Conn
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.pending) > 0 {
		n := copy(b, p.pending)
		p.pending = p.pending[n:]
		return n, nil
	}
	return p.conn.Read(b)
}

// send queues a frame, which nobody may change from then on.
func (s *stream) send(frame []byte) error {
	begin, err := s.enqueue(frame)
	if begin {
		s.flusher.add(s)
	}
	return err
}

// enqueue queues a frame, which nobody may change from then on, and reports whether the caller must add the stream to the flusher.
func (s *stream) enqueue(frame []byte) (begin bool, err error) {
	s.mu.Lock()
	switch {
	case s.failure != nil || s.finishing:
		s.mu.Unlock()
		return false, errClosed
	case s.queued > 0 && s.queued+len(frame) > maxQueued:
		s.mu.Unlock()
		s.kill(errSlowReader)
		return false, errSlowReader
	}
	s.queue = append(s.queue, frame)
	s.queued += len(frame) + frameCost
	begin = !s.writing
	s.writing = true
	s.mu.Unlock()
	return begin, nil
}

// write writes until the queue is empty, and waits for the client.
func (s *stream) write() {
	written := 0
	for {
		s.mu.Lock()
		s.queued -= written
		batch, conn := s.queue, s.Conn
		s.queue = nil
		if len(batch) == 0 || s.failure != nil {
			s.queue = s.first[:0]
			s.writing = false
			last := s.finishing
			s.mu.Unlock()
			if last {
				s.shut(conn)
			}
			return
		}
		s.mu.Unlock()
		written = 0
		for _, frame := range batch {
			written += len(frame) + frameCost
		}
		if err := s.writeBatch(conn, batch); err != nil {
			s.kill(err)
		}
	}
}

func (s *stream) writeBatch(conn net.Conn, batch [][]byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if conn == s.raw {
		// One that has passed would fail the next write of the flusher.
		defer func() { _ = conn.SetWriteDeadline(time.Time{}) }()
	}
	for len(batch) > 0 {
		n := len(batch)
		if _, plain := conn.(*net.TCPConn); !plain {
			// Each write of an encrypted connection is a record of its own.
			n = 1
			for size := len(batch[0]); n < len(batch) && size+len(batch[n]) <= maxBatch; n++ {
				size += len(batch[n])
			}
		}
		var sent int64
		var err error
		switch _, plain := conn.(*net.TCPConn); {
		case n == 1:
			var one int
			one, err = conn.Write(batch[0])
			sent = int64(one)
		case plain:
			all := net.Buffers(batch[:n:n])
			sent, err = all.WriteTo(conn)
		default:
			var joined []byte
			for _, frame := range batch[:n] {
				joined = append(joined, frame...)
			}
			var one int
			one, err = conn.Write(joined)
			sent = int64(one)
		}
		s.traffic.sent.Add(uint64(sent))
		if err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}

// finish closes the socket as soon as everything that is queued was written.
func (s *stream) finish() {
	s.mu.Lock()
	first := !s.finishing
	s.finishing = true
	idle, conn := !s.writing, s.Conn
	s.mu.Unlock()
	switch {
	case !first || !idle:
	case conn == s.raw:
		s.shut(conn)
	default:
		// The close of an encrypted connection may have to wait for the client.
		s.start(func() { s.shut(conn) })
	}
}

// kill closes the socket at once; what is queued is lost, in the kernel too.
func (s *stream) kill(why error) {
	s.mu.Lock()
	first := s.failure == nil
	if first {
		s.failure = why
	}
	s.queue = nil
	s.mu.Unlock()
	if !first {
		return
	}
	if tcp, ok := s.raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	s.shut(s.raw)
}
