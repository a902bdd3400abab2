// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"net/http/httptrace"
	"slices"
	"sync"
)

// maxConnecting is how many requests of one plugin to one host may be without a connection at once. Names to look up,
// handshakes and their timers keep all processors of the server busy if a plugin begins a thousand at once; requests
// that have a connection only wait.
const maxConnecting = 8

// maxAsking is how many operations of the server one plugin may have under way at once: calls of app.api, notifications,
// and reads and writes of app.storage.
const maxAsking = 8

// errCallOver is the end of a request that waited for its turn until the call that began it ran out of time.
var errCallOver = errors.New("the call that began the request took too long")

// A gate lets a number of requests in at once. More wait in the order in which they came.
type gate struct {
	mu      sync.Mutex
	free    int
	waiting []*turn
}

// A turn is the place of a request at a gate.
type turn struct {
	gate *gate
	// come is closed when the request may go in.
	come chan struct{}
}

// join takes the next place at the gate. The caller must leave it.
func (g *gate) join() *turn {
	t := &turn{g, make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.free > 0 {
		g.free--
		close(t.come)
	} else {
		g.waiting = append(g.waiting, t)
	}
	return t
}

// isAwaited reports whether requests wait at the gate.
func (g *gate) isAwaited() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) > 0
}

// hasCome reports whether the request may go in.
func (t *turn) hasCome() bool {
	select {
	case <-t.come:
		return true
	default:
		return false
	}
}

// leave gives the place of a turn, whether it has come or not, to the next one. It must be called once.
func (t *turn) leave() {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, t); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		return
	}
	if len(g.waiting) == 0 {
		g.free++
		return
	}
	close(g.waiting[0].come)
	g.waiting = slices.Delete(g.waiting, 0, 1)
}

// wait waits for the turn. It fails when ctx ends before, or when the call that the request belongs to runs out of time;
// owner is nil if it belongs to none. A request of a call that has ended in time goes on.
func (t *turn) wait(ctx context.Context, owner *call) error {
	if t.hasCome() {
		return nil
	}
	var ended <-chan struct{}
	if owner != nil {
		ended = owner.ctx.Done()
	}
	for {
		select {
		case <-t.come:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ended:
			if errors.Is(owner.ctx.Err(), context.DeadlineExceeded) {
				return errCallOver
			}
			ended = nil
		}
	}
}

// gates are those of one plugin: for requests of fetch, for operations of the server, for cryptography, which computes on
// other processors than the engine, and for requests to a host that have no connection.
type gates struct {
	fetches, server, crypto gate

	mu         sync.Mutex
	connecting map[string]*hostGate
}

// A hostGate is the gate of a host, with the number of requests that use it.
type hostGate struct {
	gate
	users int
}

// connect waits until a request may connect to a host. The caller must call connected when the request has a connection,
// or needs none any more.
func (g *gates) connect(ctx context.Context, host string) (connected func(), err error) {
	g.mu.Lock()
	h := g.connecting[host]
	if h == nil {
		if g.connecting == nil {
			g.connecting = map[string]*hostGate{}
		}
		h = &hostGate{gate: gate{free: maxConnecting}}
		g.connecting[host] = h
	}
	h.users++
	t := h.join()
	g.mu.Unlock()
	connected = sync.OnceFunc(func() {
		t.leave()
		g.mu.Lock()
		defer g.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(g.connecting, host)
		}
	})
	if err := t.wait(ctx, nil); err != nil {
		connected()
		return nil, err
	}
	return connected, nil
}

// tellConnected returns a context with which a request calls connected as soon as it has a connection.
func tellConnected(ctx context.Context, connected func()) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected() }})
}
