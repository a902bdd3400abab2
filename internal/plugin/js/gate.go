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

// maxConnecting is how many requests of one plugin to one host may be connecting. A thousand name
// look-ups, handshakes and their timers at once would occupy all processors; connected requests
// only wait.
const maxConnecting = 8

// maxAsking is how many server operations one plugin may have running: calls of app.api,
// notifications, and reads and writes of app.storage.
const maxAsking = 8

// freshTime is how long a server operation is fresh. A slower one most likely waits, without using
// a processor. A plugin may have one fresh operation fewer than there are processors; more would
// delay the requests of others.
const freshTime = 5 * time.Millisecond

// errCallOver means that a request waited for its turn until the call that began it timed out.
var errCallOver = errors.New("the call that began the request took too long")

// A gate admits a limited number of requests. Further ones wait in order.
type gate struct {
	mu      sync.Mutex
	free    int
	waiting []*turn
}

// A turn is the place of a request at a gate.
type turn struct {
	gate *gate
	// come is closed when the request may proceed.
	come chan struct{}

	// Requests without a waiting goroutine use these instead: start is called when the request may
	// proceed, end if it will not, because its call timed out or it was withdrawn. owner is its
	// call; nil if there is none.
	start func()
	end   func(why error)
	owner *call
}

// join queues at the gate. The caller must call leave.
func (g *gate) join() *turn {
	t := &turn{gate: g, come: make(chan struct{})}
	g.enter(t)
	return t
}

// enter queues a turn at the gate.
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

// arrive lets the request of a turn proceed.
func (t *turn) arrive() {
	if t.start != nil {
		t.start()
	} else {
		close(t.come)
	}
}

// expire ends the waiting turns of a call.
func (g *gate) expire(owner *call) {
	g.remove(func(t *turn) bool { return t.owner == owner }, errCallOver)
}

// withdraw ends the turn if it is waiting.
func (t *turn) withdraw(why error) {
	t.gate.remove(func(other *turn) bool { return other == t }, why)
}

// remove ends waiting turns without a goroutine.
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

// hasCome reports whether the request may proceed.
func (t *turn) hasCome() bool {
	select {
	case <-t.come:
		return true
	default:
		return false
	}
}

// leave passes the place of a turn, admitted or not, to the next one. It must be called once.
func (t *turn) leave() {
	if next := t.gate.next(t); next != nil {
		next.arrive()
	}
}

// next passes the place of a turn to the one that it returns; nil means none.
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

// wait waits for the turn. It fails if ctx ends first.
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

// gates are the gates of one plugin: for fetch, for server operations and the fresh ones among
// them, for cryptography, which uses other processors than the engine, and for connecting to a
// host.
type gates struct {
	fetches, server, fresh, crypto gate
	crew                           *crew

	mu sync.Mutex
	// demand is the processor demand of server operations while they are fresh.
	demand     demand
	connecting map[string]*hostGate
}

// A hostGate is the gate of a host, with the number of requests that use it.
type hostGate struct {
	gate
	users int
}

// lineUp queues a turn at its gate. It ends if its call times out first; a turn of a call that has
// completed continues.
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

// expire ends the waiting requests of a call.
func (g *gates) expire(c *call) {
	for _, at := range []*gate{&g.fetches, &g.server, &g.crypto} {
		at.expire(c)
	}
}

// passFresh waits until a server operation may begin, and returns the function to call at its end.
// If the plugin's operations keep the server busy, each gets an additional processor of the Go
// scheduler.
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

// connect waits until a request may connect to a host. The caller must call connected when the
// request has a connection, or needs none.
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

// tellConnected returns a context with which a request calls connected as soon as it has a
// connection.
func tellConnected(ctx context.Context, connected func()) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected() }})
}
