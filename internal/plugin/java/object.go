// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/plugin/java/remote"
)

// objects are the owners of objects: plugins in other languages that use Java classes.
type objects struct {
	mu     sync.Mutex
	owners map[uint64]*owner
	next   uint64
}

// used reports whether an owner needs the JVM.
func (o *objects) used() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.owners) > 0
}

// called passes a frame with a function call to its owner.
func (o *objects) called(s *session, id uint64, body []byte) {
	r := &in{b: body}
	number := r.uint()
	o.mu.Lock()
	owner := o.owners[number]
	o.mu.Unlock()
	switch {
	case owner != nil:
		owner.called(s, id, r)
	case id != 0:
		s.reply(id, nil, errClosed)
	}
}

// An owner is a plugin in another language. The host registers it at its first request, and
// removes it when it is closed.
type owner struct {
	host   *Host
	name   string
	number uint64
	wake   func()
	// blame represents the owner among the suspects of a crash. It is not among the host's plugins,
	// so that these are not blamed.
	blame *module
	// ready signals the goroutine that waits for a response that a call may be queued.
	ready chan struct{}

	mu      sync.Mutex
	joined  bool
	closed  bool
	session *session
	// serial is the number of the session.
	serial uint64
	// asking are the pending requests, the innermost last.
	asking  []uint64
	queue   []*functionCall
	crashes []time.Time
}

// Own returns a new owner of objects.
func (h *Host) Own(name string, called func()) remote.Owner {
	return &owner{host: h, name: name, wake: called, blame: &module{host: h, name: name}, ready: make(chan struct{}, 1)}
}

// maxWaiting bounds the queued calls of an owner.
const maxWaiting = 10_000

// join registers the owner, so that the JVM is kept, and returns the session and its number.
func (o *owner) join(ctx context.Context) (*session, uint64, error) {
	o.mu.Lock()
	if err := o.refused(); err != nil {
		o.mu.Unlock()
		return nil, 0, err
	}
	if !o.joined {
		o.joined = true
		all := &o.host.objects
		all.mu.Lock()
		if all.owners == nil {
			all.owners = make(map[uint64]*owner)
		}
		all.next++
		o.number = all.next
		all.owners[o.number] = o
		all.mu.Unlock()
	}
	o.mu.Unlock()
	s, err := o.host.shared.session(ctx, true)
	if err != nil {
		return nil, 0, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.session != s {
		o.session, o.queue = s, nil
		o.serial++
	}
	return s, o.serial, nil
}

// refused returns why the owner may not use Java, or nil. The caller must hold o.mu.
func (o *owner) refused() error {
	if o.closed {
		return errClosed
	}
	now := time.Now()
	o.crashes = slices.DeleteFunc(o.crashes, func(t time.Time) bool { return now.Sub(t) > o.host.opts.CrashWindow })
	if n := len(o.crashes); n >= o.host.opts.Crashes {
		return fmt.Errorf("the Java host died %d times within %s while it worked for this plugin, which must wait before it may use Java again", n, o.host.opts.CrashWindow)
	}
	return nil
}

// Live reports whether the objects of a JVM still exist.
func (o *owner) Live(serial uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.serial == serial && o.session != nil && o.session.ctx.Err() == nil
}

// find returns the session for a request, and its number.
func (o *owner) find(ctx context.Context, serial uint64) (*session, uint64, error) {
	if serial == 0 {
		return o.join(ctx)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, 0, errClosed
	}
	if o.serial != serial || o.session.ctx.Err() != nil {
		return nil, 0, remote.ErrRestarted
	}
	return o.session, serial, nil
}

// Ask sends a request and passes the response to read.
func (o *owner) Ask(ctx context.Context, q remote.Request, read func(uint64, *remote.Reader) error) error {
	for {
		s, serial, err := o.find(ctx, q.Session)
		if err != nil {
			return err
		}
		a, err := o.exchange(ctx, s, q)
		if errors.Is(err, errUnsent) {
			if q.Session != 0 {
				return remote.ErrRestarted
			}
			if err := s.wait(ctx); err != nil {
				return err
			}
			continue
		}
		if errors.Is(err, errEnded) {
			o.lost()
			return fmt.Errorf("the Java host died before it answered: %w", s.describeLoss(ctx, err))
		}
		if err != nil {
			return err
		}
		defer a.free()
		if a.kind == kindError {
			return readError(*a.body)
		}
		return read(serial, remote.NewReader(*a.body))
	}
}

// lost records that the JVM died during a request of the owner.
func (o *owner) lost() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.crashes = append(o.crashes, time.Now())
}

// exchange sends the frame of a request and waits for the response, serving calls meanwhile.
func (o *owner) exchange(ctx context.Context, s *session, ask remote.Request) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	q, err := s.conn.begin(context.Background(), o.blame, nil)
	if err != nil {
		return answer{}, err
	}
	frame := buffers.Get().(*[]byte)
	b := append(appendUint(beginFrame((*frame)[:0], kindObject, q.id), o.number), byte(ask.Op))
	b, err = endFrame(append(b, ask.Body...), 0)
	*frame = b
	if err == nil {
		o.enter(q.id)
		defer o.leave(q.id)
		err = s.conn.send(b, q)
	}
	keep(frame)
	if err != nil {
		s.conn.take(q.id)
		return answer{}, err
	}
	for {
		select {
		case a := <-q.done:
			return a, a.err
		case <-o.ready:
			ask.Serve()
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case <-ask.Stop:
			err = errClosed
		}
		if s.conn.abandon(q, func(a answer) { o.refund(s, ask.Op, a) }) {
			return answer{}, err
		}
		a := <-q.done // The response has just arrived.
		return a, a.err
	}
}

// refund releases the objects of a late response.
func (o *owner) refund(s *session, op remote.Op, a answer) {
	defer a.free()
	if a.kind != kindResult {
		return
	}
	r := remote.NewReader(*a.body)
	if r.Byte() == remote.Done && !op.HasValue() {
		return
	}
	handles := r.Handles()
	o.mu.Lock()
	serial, same := o.serial, o.session == s
	o.mu.Unlock()
	if same && len(handles) > 0 {
		o.Release(serial, handles)
	}
}

// deliver delivers a response. The request is no longer pending.
func (q *request) deliver(a answer) {
	if q.late != nil {
		q.late(a)
		return
	}
	q.done <- a
}

// abandon cancels a request at the peer. It stays pending until it is answered, when late is
// called. It reports false if the response has arrived.
func (c *conn) abandon(q *request, late func(answer)) bool {
	c.pendingMu.Lock()
	waits := c.pending[q.id] == q
	if waits {
		q.late = late
	}
	c.pendingMu.Unlock()
	if !waits {
		return false
	}
	c.cancel(q.id)
	return true
}

func (o *owner) enter(id uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asking = append(o.asking, id)
}

// leave unregisters a request that is no longer awaited, and refuses unserved calls on its
// thread.
func (o *owner) leave(id uint64) {
	o.mu.Lock()
	o.asking = slices.DeleteFunc(o.asking, func(other uint64) bool { return other == id })
	var orphans []*functionCall
	if len(o.queue) > 0 {
		o.queue = slices.DeleteFunc(o.queue, func(c *functionCall) bool {
			orphan := c.request == id
			if orphan {
				orphans = append(orphans, c)
			}
			return orphan
		})
	}
	o.mu.Unlock()
	for _, c := range orphans {
		c.Refuse(errCancelled)
	}
}

// errCancelled is Java's error for calling a function on behalf of a cancelled request.
var errCancelled = errors.New("the plugin does not wait for this call any more")

// Release releases objects.
func (o *owner) Release(serial uint64, handles []uint64) {
	o.mu.Lock()
	s := o.session
	if o.serial != serial || s == nil || o.closed {
		s = nil
	}
	o.mu.Unlock()
	if s == nil || s.ctx.Err() != nil {
		return
	}
	q, err := s.conn.begin(context.Background(), nil, nil)
	if err != nil {
		return // Close releases the handles.
	}
	b := appendCount(append(appendUint(beginFrame(nil, kindObject, q.id), o.number), byte(remote.Release)), len(handles))
	for _, h := range handles {
		b = appendUint(b, h)
	}
	b, err = endFrame(b, 0)
	if err == nil {
		err = s.conn.send(b, nil)
	}
	if err != nil {
		s.conn.take(q.id)
	}
}

// Close releases all objects and removes the owner. A JVM that is no longer needed is stopped.
func (o *owner) Close(ctx context.Context) {
	o.mu.Lock()
	joined, s, queue := o.joined && !o.closed, o.session, o.queue
	o.closed, o.queue = true, nil
	o.mu.Unlock()
	if !joined {
		return
	}
	for _, c := range queue {
		c.Refuse(errClosed)
	}
	all := &o.host.objects
	if s != nil && s.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		a, err := s.request(ctx, kindObject, nil, func(b []byte) ([]byte, error) {
			return append(appendUint(b, o.number), byte(remote.ReleaseAll)), nil
		})
		cancel()
		if err == nil {
			a.free()
		}
	}
	all.mu.Lock()
	delete(all.owners, o.number)
	all.mu.Unlock()
	o.host.shared.rest(ctx)
}

var (
	_ remote.Host  = (*Host)(nil)
	_ remote.Owner = (*owner)(nil)
)
