// SPDX-License-Identifier: Apache-2.0

package java

import (
	"encoding/binary"
	"slices"

	"example.org/app/internal/plugin/java/remote"
)

// Contents of frames of kindFunction.
const (
	functionCalled byte = iota
	functionReleased
)

// A functionCall is a call of an owner's function, or the release of functions.
type functionCall struct {
	session *session
	serial  uint64
	// id is that of the frame, request that of the request on whose thread the call runs, or 0.
	id, request uint64
	function    uint64
	method      string
	args        []byte
	released    []uint64
}

// called queues the call of a frame. It refuses calls that cannot be served.
func (o *owner) called(s *session, id uint64, r *in) {
	c := &functionCall{session: s, id: id}
	switch r.byte() {
	case functionCalled:
		if len(r.b) >= 8 {
			c.request = binary.BigEndian.Uint64(r.b)
			r.b = r.b[8:]
		}
		c.function, c.method = r.uint(), r.string()
		c.args = r.b
	case functionReleased:
		for range r.count() {
			c.released = append(c.released, r.uint())
		}
	default:
		r.fail()
	}
	if r.err != nil {
		if id != 0 {
			c.Refuse(r.err)
		}
		return
	}
	if err := o.push(c); err != nil {
		if id != 0 {
			c.Refuse(err)
		}
		return
	}
	select {
	case o.ready <- struct{}{}:
	default:
	}
	if c.request == 0 {
		o.wake()
	}
}

// push queues a call.
func (o *owner) push(c *functionCall) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed || o.session != c.session:
		return errClosed
	case c.request != 0 && !slices.Contains(o.asking, c.request):
		return errCancelled
	case len(o.queue) >= maxWaiting && c.released == nil:
		return ErrBusy
	}
	c.serial = o.serial
	o.queue = append(o.queue, c)
	return nil
}

// Next removes a call from the queue. It returns false if the queue is empty.
func (o *owner) Next() (remote.Call, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		return nil, false
	}
	c := o.queue[0]
	o.queue[0] = nil
	o.queue = o.queue[1:]
	return c, true
}

// Session returns the number of the session of the call.
func (c *functionCall) Session() uint64 { return c.serial }

// Inner reports whether the call runs on the thread of a request.
func (c *functionCall) Inner() bool { return c.request != 0 }

// Function returns the number of the function.
func (c *functionCall) Function() uint64 { return c.function }

// Method returns the name by which Java calls the function.
func (c *functionCall) Method() string { return c.method }

// Args returns the arguments.
func (c *functionCall) Args() *remote.Reader { return remote.NewReader(c.args) }

// Released returns functions that Java no longer needs.
func (c *functionCall) Released() []uint64 { return c.released }

// Answer responds with an outcome and its data.
func (c *functionCall) Answer(body []byte) { c.session.reply(c.id, body, nil) }

// Refuse responds that the function cannot be called.
func (c *functionCall) Refuse(err error) { c.session.reply(c.id, nil, err) }

var _ remote.Call = (*functionCall)(nil)
