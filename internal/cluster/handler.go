// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/app/internal/role"
	"example.org/app/internal/telemetry"
)

// queueGroup is the queue group through which the nodes of a role share their calls.
const queueGroup = "nodes"

// An answer computes the response to one request.
type answer func(ctx context.Context) (any, error)

// A handler handles the calls of one endpoint on one node.
type handler struct {
	node *Node
	name string
	role role.Role
	// arrive receives the requests in order and returns the function that answers each. decode and
	// encode convert requests and responses that are sent as bytes.
	arrive func(req any) answer
	decode func(data []byte) (any, error)
	encode func(resp any) ([]byte, error)

	// direct is Endpoint.Direct.
	direct bool

	named *nats.Subscription
	// queue is guarded by the node's switching lock.
	queue *nats.Subscription
}

// A handlerTable maps subjects to the handlers of this process.
type handlerTable struct {
	mu        sync.RWMutex
	bySubject map[string][]*handler
}

func (t *handlerTable) add(h *handler, subject string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bySubject == nil {
		t.bySubject = map[string][]*handler{}
	}
	t.bySubject[subject] = append(t.bySubject[subject], h)
}

// find returns a handler of this process for the subject, or nil. Calls to a role need a node that
// accepts them.
func (t *handlerTable) find(subject string, byRole bool) *handler {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, h := range t.bySubject[subject] {
		if !byRole || h.node.accepting.Load() {
			return h
		}
	}
	return nil
}

// remove stops the handlers of a node that leaves. Calls under way are refused; no more arrive once
// the channels are closed.
func (t *handlerTable) remove(handlers []*handler) (drained []<-chan struct{}) {
	t.mu.Lock()
	for subject, list := range t.bySubject {
		list = slices.DeleteFunc(slices.Clone(list), func(h *handler) bool { return slices.Contains(handlers, h) })
		if len(list) == 0 {
			delete(t.bySubject, subject)
		} else {
			t.bySubject[subject] = list
		}
	}
	t.mu.Unlock()
	for _, h := range handlers {
		drained = h.drain(h.named, drained)
	}
	return drained
}

// drain unsubscribes once the delivered messages are handled, and appends a channel that is closed
// then.
func (h *handler) drain(sub *nats.Subscription, drained []<-chan struct{}) []<-chan struct{} {
	done := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(done) })
	if !h.node.cluster.up.Load() || sub.Drain() != nil {
		// Not connected, so nothing is under way.
		_ = sub.Unsubscribe()
		return drained
	}
	return append(drained, done)
}

// add subscribes a handler.
func (n *Node) add(h *handler) error {
	c := n.cluster
	subject := c.nodeSubject(n.id, h.name)
	named, err := c.conn.Subscribe(subject, h.serve)
	if err != nil {
		return fmt.Errorf("handle endpoint %q: %w", h.name, err)
	}
	h.named = named
	n.mu.Lock()
	switch {
	case n.leaving:
		err = ErrClosed
	case slices.ContainsFunc(n.handlers, func(other *handler) bool { return other.name == h.name }):
		err = fmt.Errorf("node %q handles it already", n.id)
	default:
		n.handlers = append(n.handlers, h)
	}
	n.mu.Unlock()
	if err != nil {
		_ = named.Unsubscribe()
		return fmt.Errorf("handle endpoint %q: %w", h.name, err)
	}
	c.handlers.add(h, subject)
	if h.role != "" {
		c.handlers.add(h, c.roleSubject(h.role, h.name))
	}
	n.switchQueues()
	return nil
}

// switchQueues joins or leaves the queue groups, depending on the state of the node. Calls that
// were delivered before are still handled; the channels are closed when their handlers have
// started.
func (n *Node) switchQueues() (drained []<-chan struct{}) {
	n.switching.Lock()
	defer n.switching.Unlock()
	n.mu.RLock()
	accepting := !n.leaving && !n.retired && n.err == nil && n.fitness.unhealthy == nil && n.record.Member.Status.Active && !n.fitness.refuses()
	handlers := slices.Clone(n.handlers)
	n.mu.RUnlock()
	n.accepting.Store(accepting)
	for _, h := range handlers {
		switch {
		case h.role == "":
		case accepting && h.queue == nil:
			queue, err := n.cluster.conn.QueueSubscribe(n.cluster.roleSubject(h.role, h.name), queueGroup, h.serve)
			if err != nil {
				n.logger.Error("cannot take calls", "endpoint", h.name, "error", err)
				continue
			}
			h.queue = queue
		case !accepting && h.queue != nil:
			drained = h.drain(h.queue, drained)
			h.queue = nil
		}
	}
	return drained
}

// enter registers a call. It fails if the node accepts none.
func (h *handler) enter() error {
	if err := h.node.enter(); err != nil || h.role == "" {
		return err
	}
	if err := h.node.serve(); err != nil {
		h.node.exit()
		return err
	}
	return nil
}

func (h *handler) exit() {
	if h.role != "" {
		h.node.serving.Done()
	}
	h.node.exit()
}

// invoke runs the handler for a caller in the same process. The handler gets the deadline and the
// cancellation of ctx, but not its values, as in another process. A handler that is not direct
// needs the deadline in ctx, too. sent is called when the request has arrived; it may be nil.
func (h *handler) invoke(ctx context.Context, deadline time.Time, req any, sent func()) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, callError(ctx, h.name, err)
	}
	if err := h.enter(); err != nil {
		return nil, failureOf(err).err()
	}
	own, cancel := context.WithDeadline(telemetry.Join(h.node.ctx, ctx), deadline)
	defer cancel()
	run := h.arrive(req)
	if sent != nil {
		sent()
	}
	if h.direct {
		defer context.AfterFunc(ctx, cancel)()
		return h.invokeHere(ctx, own, deadline, run)
	}
	type outcome struct {
		value any
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		defer h.exit()
		var out outcome
		out.err = h.protect(own, func() (err error) {
			out.value, err = run(own)
			return err
		})
		done <- out
	}()
	select {
	case out := <-done:
		if out.err != nil {
			return nil, failureOf(out.err).err()
		}
		return out.value, nil
	case <-ctx.Done():
		return nil, callError(ctx, h.name, ctx.Err())
	}
}

// invokeHere runs the handler in the goroutine of the caller, with the context own, which ends with
// ctx and at the deadline.
func (h *handler) invokeHere(ctx, own context.Context, deadline time.Time, run answer) (value any, err error) {
	defer h.exit()
	err = h.protect(own, func() (err error) {
		value, err = run(own)
		return err
	})
	// A remote caller would not wait for a late response either.
	switch {
	case ctx.Err() != nil:
		return nil, callError(ctx, h.name, ctx.Err())
	case !time.Now().Before(deadline):
		return nil, callError(ctx, h.name, context.DeadlineExceeded)
	case err != nil:
		return nil, failureOf(err).err()
	}
	return value, nil
}

// serve handles a request that arrived over the fabric.
func (h *handler) serve(msg *nats.Msg) {
	c := h.node.cluster
	if err := c.checkProtocol(msg.Header); err != nil {
		h.respond(failed(msg.Reply, failureOf(err)))
		return
	}
	c.clock.hearIn(msg.Header)
	if life := first(msg.Header, headerLife); life != "" && !h.admit(msg, life) {
		return
	}
	if known := first(msg.Header, headerConnection); known != "" {
		if own := c.connection(); known != strconv.FormatUint(own, 10) {
			h.respond(failed(msg.Reply, failureOf(&staleError{own})))
			return
		}
	}
	timeout := c.remaining(msg.Header)
	if timeout <= 0 {
		// The caller has timed out and may have reported that.
		h.respond(failed(msg.Reply, failureOf(ErrTimeout)))
		return
	}
	if first(msg.Header, headerRole) != "" && !h.node.accepting.Load() {
		h.respond(failed(msg.Reply, failureOf(ErrNoNode)))
		return
	}
	if err := h.enter(); err != nil {
		h.respond(failed(msg.Reply, failureOf(err)))
		return
	}
	ctx, cancel := context.WithTimeout(telemetry.Extract(h.node.remote.Load().Context, http.Header(msg.Header)), timeout)
	var run answer
	err := h.protect(ctx, func() error {
		req, err := h.decode(msg.Data)
		if err == nil {
			run = h.arrive(req)
		}
		return err
	})
	if err != nil {
		cancel()
		h.exit()
		h.respond(failed(msg.Reply, failureOf(err)))
		return
	}
	go func() {
		defer h.exit()
		defer cancel()
		ctx, span := ctx, telemetry.Span{}
		if telemetry.Sampled(ctx) {
			ctx, span = telemetry.Child(ctx, "handle "+h.name, telemetry.Server)
		}
		defer span.End()
		var data []byte
		err := h.protect(ctx, func() error {
			resp, err := run(ctx)
			if err == nil {
				data, err = h.encode(resp)
			}
			return err
		})
		if err != nil {
			span.Fail(failureOf(err).Code.Name())
			h.respond(failed(msg.Reply, failureOf(err)))
			return
		}
		h.respond(&nats.Msg{Subject: msg.Reply, Data: data, Header: nats.Header{headerTime: {strconv.FormatInt(c.clock.now().UnixMicro(), 10)}}})
	}()
}

// A remoteContext is the context of calls from other processes.
type remoteContext struct {
	context.Context
	cancel context.CancelFunc
}

// abandonCalls cancels the handlers of calls from other processes: this process has been
// disconnected for so long that their callers consider it dead and no longer wait.
func (c *Cluster) abandonCalls() {
	if c.up.Load() {
		return
	}
	for _, n := range c.ownNodes() {
		n.newRemote()
	}
}

// newRemote creates the context of future remote calls and cancels that of the earlier ones.
func (n *Node) newRemote() {
	ctx, cancel := context.WithCancel(n.ctx)
	if old := n.remote.Swap(&remoteContext{ctx, cancel}); old != nil {
		old.cancel()
	}
}

func (h *handler) respond(msg *nats.Msg) {
	if msg.Subject == "" {
		return
	}
	h.node.cluster.remembered.end(msg)
	h.publish(msg)
}

func (h *handler) publish(msg *nats.Msg) {
	c, err := h.node.cluster, errDown
	if c.up.Load() {
		err = c.conn.PublishMsg(msg)
	}
	if err != nil {
		h.node.logger.Debug("the response of a call could not be sent", "endpoint", h.name, "error", err)
	}
}

// protect runs fn, converts a panic to an error and logs the details that the caller does not get.
func (h *handler) protect(ctx context.Context, fn func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v", value)
			h.node.logger.ErrorContext(ctx, "a handler panicked", "endpoint", h.name, "panic", value, "stack", string(debug.Stack()))
		}
	}()
	err = fn()
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	if f := failureOf(err); f.Kind == "" && f.Code.HTTP() >= 500 {
		h.node.logger.ErrorContext(ctx, "a handler failed", "endpoint", h.name, "error", err)
	}
	return err
}
