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
	// readBuffer is the size of each connection's buffer. It is small because there are many;
	// larger reads bypass it.
	readBuffer = 1 << 10
	// maxQueued bounds the bytes queued for a slow client. A single frame may be larger.
	maxQueued = 1 << 20
	// frameCost is the cost of a queued frame in addition to its bytes.
	frameCost = 64
	// writeTimeout is how long a client may take to accept one write.
	writeTimeout = 30 * time.Second
	// maxBatch is how many bytes are joined for one write of an encrypted connection.
	maxBatch = 64 << 10
)

var (
	errSlowReader = errors.New("the client reads too slowly")
	errClosed     = errors.New("the connection is closed")
	// errHandshakeSize means that a client sent too many bytes before its first frame.
	errHandshakeSize = errors.New("the handshake is too long")
)

// A traffic counts the bytes of all connections.
type traffic struct{ received, sent atomic.Uint64 }

// A stream is the socket of a client with a bounded queue of frames. Sending never blocks: the
// flusher writes what the socket accepts, and a goroutine writes the rest. A client that reads too
// slowly is disconnected, without affecting others.
type stream struct {
	// Conn is the socket, or the TLS connection around it.
	net.Conn
	raw net.Conn
	// socket is for non-blocking writes; nil if they are not possible.
	socket syscall.RawConn
	// reader is nil while the stream is parked. between is true while no byte of the next message
	// was read. Only the reading goroutine uses them.
	reader  *bufio.Reader
	between bool
	// heard is true if something was read since the last sweep; interrupted is true if a read of a
	// silent client must end.
	heard, interrupted atomic.Bool
	traffic            *traffic
	// start runs the function in a goroutine that Gateway.Close waits for.
	start   func(func())
	flusher *flusher
	// budget is how many bytes may be read before the first frame. Only the reading goroutine uses
	// it.
	budget  int
	limited bool

	mu    sync.Mutex
	queue [][]byte
	// first is the storage for a queue of one frame.
	first  [1][]byte
	queued int
	// writing is true while the flusher or a goroutine writes the queue.
	writing bool
	// finishing is true if nothing more may be queued and the socket is closed when the queue is
	// empty.
	finishing bool
	failure   error
	// gone is true once the socket is closed.
	gone bool
	// parked is nil while a goroutine reads.
	parked resumer
	// registration is used by the readiness.
	registration registration
}

func newStream(raw net.Conn, t *traffic, f *flusher) *stream {
	s := &stream{Conn: raw, raw: raw, socket: socketOf(raw), traffic: t, start: f.start, flusher: f}
	s.queue = s.first[:0]
	return s
}

// limit bounds the bytes that may be read until unlimit.
func (s *stream) limit(n int) { s.budget, s.limited = n, true }

func (s *stream) unlimit() { s.limited = false }

// Read reads from the connection. Only the reading goroutine may call it.
func (s *stream) Read(b []byte) (int, error) {
	if s.limited {
		if s.budget <= 0 {
			return 0, errHandshakeSize
		}
		b = b[:min(len(b), s.budget)]
	}
	n, err := s.Conn.Read(b)
	for err != nil && n == 0 && s.interrupted.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		if s.allowRead(); s.between {
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

// buffered is a socket with bytes that were read ahead.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

// encrypt starts TLS on the socket. It waits for the handshake of the client.
func (s *stream) encrypt(config *tls.Config) error {
	inner := bufio.NewReaderSize(s.raw, readBuffer)
	if n := s.reader.Buffered(); n > 0 {
		// Bytes that arrived with the proxy's header belong to the handshake.
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

// prefixed returns some bytes before those of the socket.
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

// send queues a frame, which must not be modified afterwards.
func (s *stream) send(frame []byte) error {
	begin, err := s.enqueue(frame)
	if begin {
		s.flusher.add(s)
	}
	return err
}

// enqueue queues a frame, which must not be modified afterwards. begin is true if the caller must
// add the stream to the flusher.
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

// write writes until the queue is empty, blocking.
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
		// An expired deadline would fail the next write of the flusher.
		defer func() { _ = conn.SetWriteDeadline(time.Time{}) }()
	}
	for len(batch) > 0 {
		n := len(batch)
		if _, plain := conn.(*net.TCPConn); !plain {
			// Each write of a TLS connection is a record of its own.
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

// finish closes the socket when the queue is empty.
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
		// Closing a TLS connection may block.
		s.start(func() { s.shut(conn) })
	}
}

// kill closes the socket at once and discards what is queued, in the kernel too.
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
