// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"
)

// maxConnecting is how many requests of one plugin to one host may be without a connection at once. Names to look up,
// handshakes and their timers keep all processors of the server busy if a plugin begins a thousand at once; requests
// that have a connection only wait.
const maxConnecting = 8

// maxAsking is how many operations of the server one plugin may have under way at once: calls of app.api, notifications,
// and reads and writes of app.storage.
const maxAsking = 8

// freshTime is how long an operation of the server is fresh. One that takes longer most likely waits, and keeps no processor
// busy. A plugin may have one fresh operation fewer than there are processors: with more, requests of others would have to wait.
const freshTime = 5 * time.Millisecond

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

	// Requests for which no goroutine waits have these instead: start is called when the request may go in, end when it will not,
	// because the call that it belongs to ran out of time or because it was withdrawn. owner is nil if it belongs to none.
	start func()
	end   func(why error)
	owner *call
}

// join takes the next place at the gate. The caller must leave it.
func (g *gate) join() *turn {
	t := &turn{gate: g, come: make(chan struct{})}
	g.enter(t)
	return t
}

// enter takes the next place at the gate for a turn.
func (g *gate) enter(t *turn) {
	g.mu.Lock()
	free := g.free > 0
	if free {
		g.free--
	} else {
		g.waiting = append(g.waiting, t)
	}
	g.mu.Unlock()
	if free {
		t.arrive()
	}
}

// arrive lets the request of a turn in.
func (t *turn) arrive() {
	if t.start != nil {
		t.start()
	} else {
		close(t.come)
	}
}

// expire ends the turns of a call that wait.
func (g *gate) expire(owner *call) {
	g.remove(func(t *turn) bool { return t.owner == owner }, errCallOver)
}

// withdraw ends the turn if it waits.
func (t *turn) withdraw(why error) {
	t.gate.remove(func(other *turn) bool { return other == t }, why)
}

// remove ends turns that wait and have no goroutine.
func (g *gate) remove(which func(*turn) bool, why error) {
	var removed []*turn
	g.mu.Lock()
	g.waiting = slices.DeleteFunc(g.waiting, func(t *turn) bool {
		if t.end == nil || !which(t) {
			return false
		}
		removed = append(removed, t)
		return true
	})
	g.mu.Unlock()
	for _, t := range removed {
		t.end(why)
	}
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
	if next := t.gate.next(t); next != nil {
		next.arrive()
	}
}

// next gives the place of a turn to the one that it returns; nil is nobody.
func (g *gate) next(t *turn) (next *turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, t); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		return nil
	}
	if len(g.waiting) == 0 {
		g.free++
		return nil
	}
	next = g.waiting[0]
	g.waiting = slices.Delete(g.waiting, 0, 1)
	return next
}

// wait waits for the turn. It fails when ctx ends before.
func (t *turn) wait(ctx context.Context) error {
	if t.hasCome() {
		return nil
	}
	select {
	case <-t.come:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// gates are those of one plugin: for requests of fetch, for operations of the server and those of them that are fresh, for
// cryptography, which computes on other processors than the engine, and for requests to a host that have no connection.
type gates struct {
	fetches, server, fresh, crypto gate
	crew                           *crew

	mu sync.Mutex
	// demand is that of operations of the server, as long as they are fresh.
	demand     demand
	connecting map[string]*hostGate
}

// A hostGate is the gate of a host, with the number of requests that use it.
type hostGate struct {
	gate
	users int
}

// lineUp lets a turn wait at its gate. It ends when the call that it belongs to runs out of time before; one of a call that has
// ended in time goes on.
func (ops *operations) lineUp(t *turn) {
	c := t.owner
	if c == nil || c.over() {
		t.gate.enter(t)
		return
	}
	end := func() {
		if errors.Is(c.ctx.Err(), context.DeadlineExceeded) {
			ops.m.gates.expire(c)
		}
	}
	if c.forget == nil { // One goroutine watches for all.
		stop := context.AfterFunc(c.ctx, end)
		leave := context.AfterFunc(ops.m.ctx, func() { stop() })
		c.forget = func() {
			stop()
			leave()
		}
	}
	t.gate.enter(t)
	end()
}

// expire ends the requests of a call that wait.
func (g *gates) expire(c *call) {
	for _, at := range []*gate{&g.fetches, &g.server, &g.crypto} {
		at.expire(c)
	}
}

// passFresh waits until an operation of the server may begin, and returns what must be called when it has ended. If the plugin
// asks so much that the server does little else, each operation gets a processor of the Go scheduler of its own.
func (g *gates) passFresh(ctx context.Context) (ended func(), err error) {
	t := g.fresh.join()
	if err := t.wait(ctx); err != nil {
		t.leave()
		return nil, err
	}
	begin := time.Now()
	g.mu.Lock()
	many := g.demand.isHigh(begin)
	g.mu.Unlock()
	if many {
		g.crew.begin()
	}
	leave := sync.OnceFunc(func() {
		now := time.Now()
		g.mu.Lock()
		g.demand.add(now, now.Sub(begin))
		g.mu.Unlock()
		if many {
			g.crew.end()
		}
		t.leave()
	})
	timer := time.AfterFunc(freshTime, leave)
	return func() {
		timer.Stop()
		leave()
	}, nil
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
	if err := t.wait(ctx); err != nil {
		connected()
		return nil, err
	}
	return connected, nil
}

// tellConnected returns a context with which a request calls connected as soon as it has a connection.
func tellConnected(ctx context.Context, connected func()) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected() }})
}
