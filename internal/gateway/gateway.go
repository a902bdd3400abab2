// SPDX-License-Identifier: Apache-2.0

// Package gateway holds the users' connections: it reads their frames, keeps their sessions,
// forwards their requests to services and delivers notifications.
//
// It does not interpret requests, except for opening and closing sessions, and has no data of its
// own: package presence knows who is online in the cluster, package login decides who may log in,
// and package session which devices exclude each other.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
	"example.org/app/internal/gateway/login"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/link"
	"example.org/app/internal/logs"
	"example.org/app/internal/metrics"
	"example.org/app/internal/presence"
	"example.org/app/internal/ratelimit"
	"example.org/app/internal/requestlog"
	"example.org/app/internal/wire"
)

// An Authenticator decides who may log in, and with which permissions. An error is an *apierr.Error
// for the client. It is called concurrently.
type Authenticator interface {
	Authenticate(ctx context.Context, r *login.Request) (*login.Permissions, error)
}

// Options configure a gateway. Only the functions at the end are optional.
type Options struct {
	Node  *cluster.Node
	Ports *Ports
	// Settings returns the current configuration.
	Settings      func() *config.Gateway
	Presence      *presence.Directory
	Authenticator Authenticator
	// BlockedIPs and BlockedUsers say who may not connect; AutoIPs and AutoUsers receive the
	// offences that lead to blocks.
	BlockedIPs   *blocklist.List[netip.Addr]
	BlockedUsers *blocklist.List[int64]
	AutoIPs      *blocklist.AutoBlocker[netip.Addr]
	AutoUsers    *blocklist.AutoBlocker[int64]
	// Client maps an address to the one that counts for rate limits. It may be nil.
	Client  func(netip.Addr) netip.Addr
	Metrics *metrics.Gateway
	Logger  *slog.Logger
	// Requests logs answered requests. It may be nil.
	Requests *requestlog.Log

	// Online is called after a session was bound to its connection and before the client gets the
	// response, with all sessions of the user on this gateway. The goroutine of the login calls it
	// and waits for it. It may be nil.
	Online func(s *Session, all []*Session)
	// Offline is called after a session was closed, with the remaining sessions of the user on this
	// gateway, in a goroutine of its own. It may be nil.
	Offline func(s *Session, left []*Session, why CloseReason)
	// Notified is called after a notification was queued on the connections of its recipients on
	// this gateway; missed are the recipients without a connection that accepted it. The goroutine
	// of the delivery calls it before it answers the service. It must not modify its arguments. It
	// may be nil.
	Notified func(d *link.Delivery, missed []int64)
}

// A Gateway serves the clients of one node.
type Gateway struct {
	options        Options
	settings       func() *config.Gateway
	websocket, tcp transport
	limiter        *ratelimit.Limiter
	datagrams      datagrams
	sessions       *sessions
	traffic        traffic
	// offline has an element for each session whose end is being announced.
	offline   chan struct{}
	keys      *keys
	sequences sequences
	// handover is handoverPause; tests on a busy machine need a longer one.
	handover time.Duration
	// late tracks messages that arrive after newer ones.
	late outage
	// stalls tracks when services could not reach the gateway.
	stalls stalls
	// refused logs logins that failed because of the server.
	refused logs.Limited

	// ctx is the context of requests; it ends when Close stops waiting.
	ctx    context.Context
	cancel context.CancelFunc
	// draining is true once Close was called: nothing new begins.
	draining atomic.Bool
	// work counts the running requests, group every goroutine.
	work    work
	group   sync.WaitGroup
	workers workers
	flusher flusher
	// readiness waits for input of parked connections; parked is their number.
	readiness *readiness
	parked    atomic.Int64

	mu          sync.Mutex
	connections map[*connection]struct{}
	// empty is closed when the last connection is removed; nil if nobody waits for that.
	empty chan struct{}
	// closed is true once only running goroutines may start others.
	closed bool
	stop   chan struct{}
}

const (
	// offlineAtOnce is how many ends of sessions are announced concurrently.
	offlineAtOnce = 64
	// sweepInterval is the interval of the search for idle sessions.
	sweepInterval = time.Second
	// drainGrace is how long clients may take to disconnect when the server stops.
	drainGrace = 3 * time.Second
)

// Start serves clients until Close.
func Start(o Options) (*Gateway, error) {
	c := o.Settings()
	g := &Gateway{
		options: o, settings: o.Settings, limiter: ratelimit.New(time.Now), sessions: newSessions(),
		connections: map[*connection]struct{}{}, offline: make(chan struct{}, offlineAtOnce), stop: make(chan struct{}),
		keys: newKeys(), handover: handoverPause, readiness: newReadiness(o.Logger),
	}
	g.sequences.begin(time.Now())
	g.datagrams = datagrams{g, ratelimit.New(time.Now)}
	g.workers = workers{group: &g.group, jobs: make(chan func()), stop: g.stop}
	g.flusher.start = g.workers.do
	p := o.Ports.options
	g.websocket = transport{
		framing: webSocketFraming, settings: c.WebSocket.ClientTransport, proxy: c.WebSocket.RemoteAddressSource.ProxyProtocolMode,
		forward: c.WebSocket.RemoteAddressSource.HTTPHeaderMode, tls: tlsConfig(c.WebSocket.SSL, p.WebSocketCertificate, "http/1.1"),
		trusted: c.WebSocket.RemoteAddressSource.Networks(),
	}
	g.tcp = transport{
		framing: lengthFraming, settings: c.TCP.ClientTransport, proxy: c.TCP.RemoteAddressSource.ProxyProtocolMode,
		tls: tlsConfig(c.TCP.SSL, p.TCPCertificate), trusted: c.TCP.RemoteAddressSource.Networks(),
	}
	g.websocket.warn(o.Logger, "websocket")
	g.tcp.warn(o.Logger, "tcp")
	g.ctx, g.cancel = context.WithCancel(context.Background())
	o.Presence.Attach(g)
	o.BlockedIPs.OnBlocked(g.blockIPs)
	o.BlockedUsers.OnBlocked(g.blockUsers)
	if err := g.handle(); err != nil {
		g.cancel()
		g.readiness.close()
		return nil, fmt.Errorf("start the gateway: %w", err)
	}
	g.serve()
	return g, nil
}

// handle registers the handlers for calls of other nodes.
func (g *Gateway) handle() error {
	return errors.Join(
		cluster.Handle(g.options.Node, link.Deliver, g.deliver),
		cluster.Handle(g.options.Node, link.CloseUnaware, g.closeUnaware),
		cluster.Handle(g.options.Node, link.Disconnect, g.Disconnect),
		cluster.Handle(g.options.Node, kick, g.kicked),
	)
}

// serve accepts connections.
func (g *Gateway) serve() {
	ports := g.options.Ports
	if ports.websocket != nil {
		g.group.Go(func() { accept(ports.websocket, g.options.Logger, g.acceptWebSocket) })
	}
	if ports.tcp != nil {
		g.group.Go(func() { accept(ports.tcp, g.options.Logger, g.acceptTCP) })
	}
	if ports.udp != nil {
		g.group.Go(g.datagrams.serve)
	}
	g.group.Go(g.sweepLoop)
	g.group.Go(g.readiness.run)
}

// start runs a function in a goroutine that Close waits for.
func (g *Gateway) start(fn func()) { g.group.Go(fn) }

// admit accepts a new connection, or closes it without a response and returns nil.
func (g *Gateway) admit(raw net.Conn, t *transport) *connection {
	c := g.newConnection(raw, t)
	if g.draining.Load() || g.options.BlockedIPs.BlockedNow(c.remote) {
		c.stream.kill(errClosed)
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		c.stream.kill(errClosed)
		return nil
	}
	g.connections[c] = struct{}{}
	g.options.Metrics.ConnectionOpen.Add(1)
	return c
}

// remove removes a connection from the list.
func (g *Gateway) remove(c *connection) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.connections[c]; !ok {
		return
	}
	delete(g.connections, c)
	g.options.Metrics.ConnectionOpen.Add(-1)
	if len(g.connections) == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// open returns the open connections.
func (g *Gateway) open() []*connection {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]*connection, 0, len(g.connections))
	for c := range g.connections {
		list = append(list, c)
	}
	return list
}

// unavailable returns why clients may not log in, or nil if they may: the node is healthy, active
// and not stopping.
func (g *Gateway) unavailable() *apierr.Error {
	why := "the gateway is not healthy"
	switch node := g.options.Node; {
	case g.draining.Load():
		why = "the gateway is shutting down"
	case node.Accepting():
		return nil
	case node.Cluster().Healthy() != nil:
		why = "the gateway has no connection to the cluster"
	case !node.Active():
		why = "an administrator has deactivated the gateway"
	}
	return apierr.New(apierr.ServerUnavailable, "%s", why)
}

// Close waits for running requests, closes all sessions with the status of a stopping server, gives
// the clients drainGrace to disconnect and disconnects the rest. When ctx ends, it stops waiting.
func (g *Gateway) Close(ctx context.Context) error {
	if g.draining.Swap(true) {
		return nil
	}
	err := g.options.Ports.Close()
	defer g.cancel()
	select {
	case <-g.work.end():
	case <-ctx.Done():
	}
	why := CloseReason{Status: wire.ClosedServerClosed}
	for _, s := range g.sessions.all(func(*Session) bool { return true }) {
		g.end(s, why)
	}
	list := g.open()
	for _, c := range list {
		c.close(why)
	}
	g.awaitEmpty(ctx)
	for _, c := range g.open() {
		c.hangUp()
	}
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	close(g.stop)
	g.readiness.close()
	if !g.await(ctx, g.group.Wait) {
		// Cancel what is still running.
		g.cancel()
		for _, c := range g.open() {
			c.drop()
		}
		g.group.Wait()
	}
	return err
}

// work counts the running requests, until no new one is accepted.
type work struct {
	mu    sync.Mutex
	count int
	// idle is set when no new one is accepted, and closed when the last one is done.
	idle chan struct{}
}

// begin counts a request. It reports false if no more are accepted.
func (w *work) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle != nil {
		return false
	}
	w.count++
	return true
}

func (w *work) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count--; w.count == 0 && w.idle != nil {
		close(w.idle)
	}
}

// end stops accepting requests. The channel is closed when the running ones are done.
func (w *work) end() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = make(chan struct{})
	if w.count == 0 {
		close(w.idle)
	}
	return w.idle
}

// awaitEmpty waits up to drainGrace until the clients have disconnected.
func (g *Gateway) awaitEmpty(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainGrace)
	defer cancel()
	g.mu.Lock()
	if len(g.connections) == 0 {
		g.mu.Unlock()
		return
	}
	empty := make(chan struct{})
	g.empty = empty
	g.mu.Unlock()
	select {
	case <-empty:
	case <-ctx.Done():
	}
}

// await runs wait until ctx ends and reports whether it returned.
func (g *Gateway) await(ctx context.Context, wait func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// Sessions returns the numbers of sessions and of their users.
func (g *Gateway) Sessions() (sessions, users int) {
	return int(g.sessions.count.Load()), int(g.sessions.users.Load())
}

// Traffic returns the bytes received from clients and sent to them.
func (g *Gateway) Traffic() (received, sent uint64) {
	return g.traffic.received.Load(), g.traffic.sent.Load()
}
