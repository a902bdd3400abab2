// SPDX-License-Identifier: Apache-2.0

package java

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"example.org/app/internal/plugin"
)

// ErrBusy reports that a call was rejected because too many are pending.
var ErrBusy = errors.New("too many calls of Java plugins are on their way; this one was refused")

// errUnsent reports that no part of a request was sent, so that it can be retried.
var errUnsent = errors.New("the Java host ended before it got the call")

const (
	// maxBuffered bounds the write queue, and thus the memory for a peer that does not read.
	maxBuffered = 64 << 20
	// maxKept is the maximum size of a pooled buffer.
	maxKept = 1 << 20
	// maxRounds is the number of batches that a caller writes before the flusher takes over.
	maxRounds = 16
)

// A conn exchanges frames over two pipes. The sender of a frame writes it, together with those
// that others have queued meanwhile; if the pipe is full, the flusher goroutine continues, so
// that callers never block on the pipe.
type conn struct {
	r, w *os.File
	raw  syscall.RawConn
	// handle is called sequentially with the frames that are not responses. The body is valid
	// only until it returns.
	handle func(k kind, id uint64, body []byte)
	// max is the maximum number of pending requests.
	max int

	mu         sync.Mutex
	buf, spare []byte
	// writing is true while a goroutine writes; batch is the number of the batch in buf.
	writing bool
	batch   uint64
	rest    []byte
	dead    error
	wake    chan struct{}
	quit    chan struct{}
	// out, written and failed are used by the writer, and by the function attempt.
	out     []byte
	written int
	failed  error
	attempt func(fd uintptr) bool

	pendingMu sync.Mutex
	pending   map[uint64]*request
	// sweeper finds requests whose context has ended. It runs while sweeping is true.
	sweeper  *time.Timer
	sweeping bool
	next     uint64
	ended    error
	flusher  sync.WaitGroup
}

// A request is a pending request.
type request struct {
	id     uint64
	module *module
	done   chan answer
	// ctx is the caller's context, which the sweeper watches.
	ctx context.Context
	// output receives the response of an endpoint; nil if it has no content type.
	output plugin.EndpointOutput
	// batch is the number of the batch with its frame; conn.mu guards it.
	batch uint64
	// late receives the response if the request was abandoned; conn.pendingMu guards it.
	late func(answer)
}

// An answer is the response to a request.
type answer struct {
	kind kind
	body *[]byte
	err  error
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// free returns the body of a response to the pool.
func (a answer) free() { keep(a.body) }

func keep(b *[]byte) {
	if b != nil && cap(*b) <= maxKept {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

func newConn(r, w *os.File, maxPending int) (*conn, error) {
	raw, err := w.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &conn{r: r, w: w, raw: raw, max: maxPending, pending: make(map[uint64]*request), wake: make(chan struct{}, 1), quit: make(chan struct{})}
	c.attempt = func(fd uintptr) bool {
		for c.written < len(c.out) {
			n, err := syscall.Write(handle(fd), c.out[c.written:])
			switch {
			case n > 0:
				c.written += n
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return true
			default:
				c.failed = os.NewSyscallError("write", err)
				return true
			}
		}
		return true
	}
	c.sweeper = time.AfterFunc(time.Hour, c.sweep)
	c.sweeper.Stop()
	c.flusher.Go(c.flush)
	return c, nil
}

// run reads frames until the pipe ends, and returns the error.
func (c *conn) run() error {
	reader := bufio.NewReaderSize(c.r, 256<<10)
	var head [frameHead]byte
	var own []byte
	for {
		if _, err := io.ReadFull(reader, head[:]); err != nil {
			return fmt.Errorf("read from the Java host: %w", err)
		}
		n := int(binary.BigEndian.Uint32(head[:])) - frameMin
		k, id := kind(head[4]), binary.BigEndian.Uint64(head[5:])
		if n < 0 || n > frameLimit-frameMin {
			return fmt.Errorf("read from the Java host: a frame says that it has %d bytes", n+frameMin)
		}
		if k != kindResult && k != kindError && k != kindReady {
			own = grow(own, n)
			if _, err := io.ReadFull(reader, own); err != nil {
				return fmt.Errorf("read from the Java host: %w", err)
			}
			c.handle(k, id, own)
			if cap(own) > maxKept {
				own = nil
			}
			continue
		}
		body := buffers.Get().(*[]byte)
		*body = grow(*body, n)
		if _, err := io.ReadFull(reader, *body); err != nil {
			return fmt.Errorf("read from the Java host: %w", err)
		}
		if q := c.take(id); q != nil {
			q.deliver(answer{kind: k, body: body})
		} else {
			keep(body) // The caller has given up.
		}
	}
}

func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// take removes and returns a pending request; nil if there is none.
func (c *conn) take(id uint64) *request {
	c.pendingMu.Lock()
	defer c.pendingMu.Unlock()
	q := c.pending[id]
	delete(c.pending, id)
	return q
}

// behalf returns ctx with the requester of a pending request, if any.
func (c *conn) behalf(ctx context.Context, id uint64) context.Context {
	c.pendingMu.Lock()
	defer c.pendingMu.Unlock()
	if q := c.pending[id]; q != nil {
		return plugin.SameBehalf(ctx, q.ctx)
	}
	return ctx
}

// call returns the context and the module of a pending request, or nil.
func (c *conn) call(id uint64) (context.Context, *module) {
	c.pendingMu.Lock()
	defer c.pendingMu.Unlock()
	if q := c.pending[id]; q != nil {
		return q.ctx, q.module
	}
	return nil, nil
}

// outputOf returns the context and the output of a pending request of a module, or nil.
func (c *conn) outputOf(id uint64, m *module) (context.Context, plugin.EndpointOutput) {
	c.pendingMu.Lock()
	defer c.pendingMu.Unlock()
	if q := c.pending[id]; q != nil && q.module == m {
		return q.ctx, q.output
	}
	return nil, nil
}

// requests pools requests that have ended and can receive no response.
var requests = sync.Pool{New: func() any { return &request{done: make(chan answer, 1)} }}

// release returns a request to the pool.
func (q *request) release() {
	q.module, q.ctx, q.output = nil, nil, nil
	requests.Put(q)
}

// begin registers a request, which the sweeper cancels when ctx ends; a caller that handles
// cancellation itself passes a context that never ends. The frame must carry the id of the
// request.
func (c *conn) begin(ctx context.Context, m *module, output plugin.EndpointOutput) (*request, error) {
	c.pendingMu.Lock()
	defer c.pendingMu.Unlock()
	switch {
	case c.ended != nil:
		return nil, errUnsent
	case len(c.pending) >= c.max:
		return nil, ErrBusy
	}
	q := requests.Get().(*request)
	q.ctx, q.module, q.output, q.batch = ctx, m, output, math.MaxUint64
	c.next++
	q.id = c.next
	c.pending[q.id] = q
	if !c.sweeping {
		c.sweeping = true
		c.sweeper.Reset(sweepTime)
	}
	return q, nil
}

// sweepTime is the minimum interval between sweeps, and thus how late a caller notices the end
// of its context unless many requests are pending. One timer for all requests is nearly free;
// one for each would double their cost.
const sweepTime = 10 * time.Millisecond

// sweep fails the requests whose context has ended.
func (c *conn) sweep() {
	c.pendingMu.Lock()
	var over []*request
	for id, q := range c.pending {
		if q.ctx.Err() != nil {
			delete(c.pending, id)
			over = append(over, q)
		}
	}
	if c.sweeping = len(c.pending) > 0; c.sweeping {
		// Scanning must not take more than a hundredth of a processor.
		c.sweeper.Reset(max(sweepTime, time.Duration(len(c.pending))*10*time.Microsecond))
	}
	c.pendingMu.Unlock()
	for _, q := range over {
		q.done <- answer{err: errGivenUp}
	}
}

// errGivenUp reports that the context of a request ended before the response.
var errGivenUp = errors.New("the request was given up")

// drop unregisters an unsent request. If it was answered meanwhile, it is left to the garbage
// collector.
func (c *conn) drop(q *request) {
	if c.take(q.id) != nil {
		q.release()
	}
}

// await sends the frame of a request and waits for the response. If the context ends first, it
// calls givenUp, which may be nil, and cancels the request at the peer.
func (c *conn) await(ctx context.Context, q *request, frame []byte, givenUp func()) (answer, error) {
	id := q.id
	if err := c.send(frame, q); err != nil {
		c.drop(q)
		return answer{}, err
	}
	a := <-q.done
	q.release()
	if errors.Is(a.err, errGivenUp) {
		if givenUp != nil {
			givenUp()
		}
		c.cancel(id)
		return answer{}, ctx.Err()
	}
	return a, a.err
}

// awaitLate is like await, for a request whose response must not be lost: if ctx ends first,
// it passes late a function that waits for the response, and late must arrange for its call.
func (c *conn) awaitLate(ctx context.Context, q *request, frame []byte, late func(wait func() answer)) (answer, error) {
	id := q.id
	if err := c.send(frame, q); err != nil {
		c.drop(q)
		return answer{}, err
	}
	select {
	case a := <-q.done:
		q.release()
		return a, a.err
	case <-ctx.Done():
	}
	c.cancel(id)
	late(func() answer {
		a := <-q.done
		q.release()
		return a
	})
	return answer{}, ctx.Err()
}

// cancel notifies the peer that a request was cancelled.
func (c *conn) cancel(id uint64) {
	b := buffers.Get().(*[]byte)
	*b, _ = endFrame(beginFrame((*b)[:0], kindCancel, id), 0)
	_ = c.send(*b, nil) // A host that has ended runs nothing.
	keep(b)
}

// send writes a frame, or queues it for the current writer.
func (c *conn) send(frame []byte, q *request) error {
	c.mu.Lock()
	switch {
	case c.dead != nil:
		c.mu.Unlock()
		return errUnsent
	case len(c.buf)+len(frame) > maxBuffered:
		c.mu.Unlock()
		return ErrBusy
	}
	c.buf = append(c.buf, frame...)
	if q != nil {
		q.batch = c.batch
	}
	if c.writing {
		c.mu.Unlock()
		return nil
	}
	c.writing = true
	for round := 0; len(c.buf) > 0 && c.dead == nil; round++ {
		out := c.swap()
		if round == maxRounds {
			c.leave(out)
			return nil
		}
		c.mu.Unlock()
		c.out, c.written, c.failed = out, 0, nil
		err := c.raw.Write(c.attempt)
		written := c.written
		err = errors.Join(err, c.failed)
		c.mu.Lock()
		if err == nil && written < len(out) {
			c.leave(out[written:])
			return nil
		}
		c.done(out, err)
	}
	c.writing = false
	c.mu.Unlock()
	return nil
}

// swap takes the queued frames and begins a new batch. The caller must hold c.mu.
func (c *conn) swap() []byte {
	out := c.buf
	c.buf, c.spare = c.spare[:0], nil
	c.batch++
	return out
}

// done handles the result of a write. The caller must hold c.mu.
func (c *conn) done(out []byte, err error) {
	if cap(out) <= maxKept {
		c.spare = out[:0]
	}
	if err != nil && c.dead == nil {
		c.dead = fmt.Errorf("write to the Java host: %w", err)
	}
}

// leave hands the rest of a batch to the flusher and releases c.mu. There is only one writer,
// so the signal never blocks.
func (c *conn) leave(rest []byte) {
	c.rest = rest
	c.mu.Unlock()
	c.wake <- struct{}{}
}

// flush writes the batches that callers have handed over.
func (c *conn) flush() {
	for {
		select {
		case <-c.wake:
		case <-c.quit:
			return
		}
		c.mu.Lock()
		out := c.rest
		c.rest = nil
		for out != nil && c.dead == nil {
			c.mu.Unlock()
			_, err := c.w.Write(out)
			c.mu.Lock()
			c.done(out, err)
			out = nil
			if len(c.buf) > 0 && c.dead == nil {
				out = c.swap()
			}
		}
		c.writing = false
		c.mu.Unlock()
	}
}

// fail fails the pending requests of a module.
func (c *conn) fail(m *module, why error) {
	c.pendingMu.Lock()
	var list []*request
	for id, q := range c.pending {
		if q.module == m {
			delete(c.pending, id)
			list = append(list, q)
		}
	}
	c.pendingMu.Unlock()
	for _, q := range list {
		q.deliver(answer{err: why})
	}
}

// end closes the connection and fails all pending requests, unsent ones with errUnsent.
func (c *conn) end(why error) {
	c.w.Close()
	c.mu.Lock()
	if c.dead == nil {
		c.dead = why
	}
	sent := c.batch
	c.mu.Unlock()
	c.pendingMu.Lock()
	c.ended = why
	left := c.pending
	c.pending = make(map[uint64]*request)
	c.pendingMu.Unlock()
	for _, q := range left {
		if q.batch >= sent {
			q.done <- answer{err: errUnsent}
		} else {
			q.done <- answer{err: why}
		}
	}
	close(c.quit)
	c.flusher.Wait()
	c.r.Close()
}
