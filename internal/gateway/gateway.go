// SPDX-License-Identifier: Apache-2.0

// Package gateway holds the connections of the users: it reads their frames, keeps their sessions, passes their
// requests on to services and writes what services have for them.
//
// It does not know what requests mean, beyond opening and closing a session, and it has no data of its own: who is
// online in the cluster is known to package presence, who may log in is decided by package login, and which devices
// exclude each other by package session.
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
	"example.org/app/internal/metrics"
	"example.org/app/internal/presence"
	"example.org/app/internal/ratelimit"
	"example.org/app/internal/requestlog"
	"example.org/app/internal/wire"
)

// An Authenticator decides who may log in, and with which permissions. An error is an *apierr.Error that the client is
// told. Many goroutines call it at once.
type Authenticator interface {
	Authenticate(ctx context.Context, r *login.Request) (*login.Permissions, error)
}

// Options are what a gateway is built from. Everything but the functions at the end is needed.
type Options struct {
	Node  *cluster.Node
	Ports *Ports
	// Settings returns the configuration that runs now.
	Settings      func() *config.Gateway
	Presence      *presence.Directory
	Authenticator Authenticator
	// BlockedIPs and BlockedUsers say who may not connect; AutoIPs and AutoUsers are told of who misbehaves.
	BlockedIPs   *blocklist.List[netip.Addr]
	BlockedUsers *blocklist.List[int64]
	AutoIPs      *blocklist.AutoBlocker[netip.Addr]
	AutoUsers    *blocklist.AutoBlocker[int64]
	// Client returns the address that stands for the client with an address, for rate limits. It may be nil.
	Client  func(netip.Addr) netip.Addr
	Metrics *metrics.Gateway
	Logger  *slog.Logger
	// Requests logs the requests that were answered. It may be nil.
	Requests *requestlog.Log

	// Online is called when a session has just been bound to its connection, before the client hears of it, with all
	// sessions that the user has on this gateway. It is called from the goroutine of the login, which waits for it. It
	// may be nil.
	Online func(s *Session, all []*Session)
	// Offline is called after a session was closed, with the sessions that the user still has on this gateway. It is
	// called from a goroutine of its own. It may be nil.
	Offline func(s *Session, left []*Session, why CloseReason)
	// Notified is called after a notification was handed to the connections of its recipients on this gateway; missed
	// are those who had none that took it. It is called from the goroutine of the delivery, before the service is
	// answered, and must not modify what it gets. It may be nil.
	Notified func(d *link.Delivery, missed []int64)
}

// A Gateway serves clients.
type Gateway struct {
	options        Options
	settings       func() *config.Gateway
	websocket, tcp transport
	limiter        *ratelimit.Limiter
	datagrams      datagrams
	sessions       *sessions
	traffic        traffic
	// offline has an element for each session whose end is being made known.
	offline   chan struct{}
	keys      *keys
	sequences sequences
	// handover is handoverPause; tests on a busy machine need more.
	handover time.Duration
	// late is when messages come after newer ones.
	late outage

	// ctx is that of requests; it ends when Close gives up waiting.
	ctx    context.Context
	cancel context.CancelFunc
	// draining says that nothing new is begun.
	draining atomic.Bool
	// work is the requests that are being worked on, group is every goroutine.
	work    work
	group   sync.WaitGroup
	workers workers
	flusher flusher
	// readiness waits for the clients of parked connections, of which there are as many as parked says.
	readiness *readiness
	parked    atomic.Int64

	mu          sync.Mutex
	connections map[*connection]struct{}
	// empty is closed when the last connection goes, if somebody waits for that.
	empty chan struct{}
	// closed says that no goroutine may be started any more that is not started by another one.
	closed bool
	stop   chan struct{}
}

const (
	// offlineAtOnce is how many ends of sessions are made known to the cluster at the same time.
	offlineAtOnce = 64
	// sweepInterval is how often idle sessions are looked for.
	sweepInterval = time.Second
	// drainGrace is how long clients that were told to go may take before they are disconnected by a server that stops.
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

// handle answers the calls of other nodes.
func (g *Gateway) handle() error {
	return errors.Join(
		cluster.Handle(g.options.Node, link.Deliver, g.deliver),
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

// admit takes a new connection, or closes it without a word.
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

// remove forgets a connection.
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

// open returns the connections that there are.
func (g *Gateway) open() []*connection {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]*connection, 0, len(g.connections))
	for c := range g.connections {
		list = append(list, c)
	}
	return list
}

// unavailable returns why clients may not log in; nil is that they may: the node is healthy and active, and does not stop.
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

// Close lets running requests finish, tells all clients that the server stops, lets them disconnect for a moment and
// disconnects the rest. When ctx ends it does not wait any longer.
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
		// What still waits for something is cut off.
		g.cancel()
		for _, c := range g.open() {
			c.drop()
		}
		g.group.Wait()
	}
	return err
}

// work counts the requests that are being worked on, until no new one is taken.
type work struct {
	mu    sync.Mutex
	count int
	// idle is set when no new one is taken, and closed when the last one is done.
	idle chan struct{}
}

// begin counts a request. It reports false when no more are taken.
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

// end takes no more requests. The channel is closed when those that run are done.
func (w *work) end() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = make(chan struct{})
	if w.count == 0 {
		close(w.idle)
	}
	return w.idle
}

// awaitEmpty waits until the clients have gone, but not for long.
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

// Sessions returns how many sessions there are, and of how many users.
func (g *Gateway) Sessions() (sessions, users int) {
	return int(g.sessions.count.Load()), int(g.sessions.users.Load())
}

// Traffic returns how many bytes were received from clients and sent to them.
func (g *Gateway) Traffic() (received, sent uint64) {
	return g.traffic.received.Load(), g.traffic.sent.Load()
}
