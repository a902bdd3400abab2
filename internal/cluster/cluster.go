// SPDX-License-Identifier: Apache-2.0

// Package cluster connects several processes: it knows the nodes, elects a leader, carries calls
// and messages between nodes and leases each a number for its ids. NATS is the fabric; the default
// is a server embedded in the process.
//
// It stores nothing durable in NATS: the member records and the leader's lease are written again
// when NATS comes back empty. What must never be lost or go back, the leader's fencing number and
// the node numbers, is in SQL. The meaning of a call belongs to the package that declares the
// endpoint.
//
// Lock order: a node's mu before the cluster's mu; no lock is held while waiting for NATS, the
// database or a function of the caller.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.org/app/internal/store"
)

// Defaults of the Options that are zero.
const (
	DefaultClusterID          = "app"
	DefaultCallTimeout        = 10 * time.Second
	DefaultMaxPayload         = 1 << 20
	DefaultMaxConcurrentCalls = 4096
	DefaultSubscriberQueue    = 4096
	DefaultHeartbeatInterval  = 10 * time.Second
	DefaultHeartbeatTimeout   = 30 * time.Second
	DefaultMemberTTL          = 60 * time.Second
	DefaultAbsenceLimit       = 6 * time.Second
	DefaultHealthInterval     = 3 * time.Second
	DefaultLeaseTime          = 10 * time.Second
	DefaultNumberLease        = 60 * time.Second
)

const (
	// envelopeRoom is the space for the headers of a message, in addition to its payload.
	envelopeRoom = 4 << 10
	// operationTimeout bounds one operation on the member records.
	operationTimeout = 5 * time.Second
	// reconnectMin and reconnectMax bound the back-off between attempts to reconnect.
	reconnectMin, reconnectMax = 50 * time.Millisecond, 5 * time.Second
	// pingInterval is how often both ends of a connection to NATS ping each other; after maxPings
	// without answer the connection counts as lost.
	pingInterval = 2 * time.Second
	maxPings     = 2
)

// Options say how to reach the other nodes. The zero value is a cluster inside this process alone.
type Options struct {
	// ClusterID separates clusters that share a NATS server: letters, digits, "_" and "-", at most
	// 64.
	ClusterID string
	// URL is that of an external NATS server or cluster: nats://host:port or tls://host:port,
	// several separated by commas. Credentials in it are never logged. Empty means a server
	// embedded in this process.
	URL string
	// Server is a NATS server in this process that the caller owns. It excludes URL and Listen.
	Server nats.InProcessConnProvider
	// Listen is "host:port" on which the embedded server accepts other nodes. It requires Token or
	// TLS with a CA.
	Listen string
	// Token is the secret with which nodes authenticate to each other's embedded servers and to the
	// server of URL.
	Token string
	// TLS are the files for Listen and URL.
	TLS TLSFiles
	// Folder holds the files of the embedded server; see ServerOptions.
	Folder string
	// Replicas is the number of copies that a NATS cluster keeps of the member records.
	Replicas int

	// CallTimeout is the deadline of calls whose context has none.
	CallTimeout time.Duration
	// MaxPayload is the maximum size of a request, response or message in bytes. The server may set
	// a lower limit.
	MaxPayload int
	// MaxConcurrentCalls bounds the handlers that run at a time in this process.
	MaxConcurrentCalls int
	// SubscriberQueue is how many messages may wait for a slow subscriber; further ones are
	// dropped.
	SubscriberQueue int
	// Protocol is announced with each call; the zero value means CurrentProtocol.
	Protocol Protocol

	// HeartbeatInterval is how often a node renews its record. After HeartbeatTimeout without
	// renewal a node counts as unhealthy and its id may be taken over; after MemberTTL its record
	// expires. MemberTTL has a resolution of a second.
	HeartbeatInterval, HeartbeatTimeout, MemberTTL time.Duration
	// AbsenceLimit is how long a node may be disconnected from NATS, while others are connected,
	// before it counts as gone. It should be longer than a reconnect takes.
	AbsenceLimit time.Duration
	// HealthInterval is how often the health of a node is checked.
	HealthInterval time.Duration
	// LeaseTime is how long a leader keeps the lead without renewing its lease. It renews it three
	// times as often.
	LeaseTime time.Duration

	// Store keeps the leader's fence and the node numbers. If nil, no node of this process leads or
	// has a number.
	Store *store.DB
	// NumberLease is how long a node number is leased. It is renewed three times as often.
	NumberLease time.Duration

	// Clock is the clock of this machine; nil is time.Now.
	Clock func() time.Time

	// Logger logs what an operator should know; nil discards it.
	Logger *slog.Logger
}

func (o *Options) setDefaults() {
	o.ClusterID = cmp.Or(o.ClusterID, DefaultClusterID)
	o.CallTimeout = cmp.Or(max(o.CallTimeout, 0), DefaultCallTimeout)
	o.MaxPayload = cmp.Or(max(o.MaxPayload, 0), DefaultMaxPayload)
	o.MaxConcurrentCalls = cmp.Or(max(o.MaxConcurrentCalls, 0), DefaultMaxConcurrentCalls)
	o.SubscriberQueue = cmp.Or(max(o.SubscriberQueue, 0), DefaultSubscriberQueue)
	o.Protocol = cmp.Or(o.Protocol, CurrentProtocol)
	o.HeartbeatInterval = cmp.Or(max(o.HeartbeatInterval, 0), DefaultHeartbeatInterval)
	o.HeartbeatTimeout = cmp.Or(max(o.HeartbeatTimeout, 0), DefaultHeartbeatTimeout)
	o.MemberTTL = cmp.Or(max(o.MemberTTL, 0), DefaultMemberTTL)
	o.AbsenceLimit = cmp.Or(max(o.AbsenceLimit, 0), DefaultAbsenceLimit)
	o.HealthInterval = cmp.Or(max(o.HealthInterval, 0), DefaultHealthInterval)
	o.LeaseTime = cmp.Or(max(o.LeaseTime, 0), DefaultLeaseTime)
	o.NumberLease = cmp.Or(max(o.NumberLease, 0), DefaultNumberLease)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

func (o *Options) validate() error {
	if !validName(o.ClusterID) {
		return fmt.Errorf("connect to the cluster: cluster id %q must be 1 to %d letters, digits, \"_\" or \"-\"", o.ClusterID, maxNameLength)
	}
	if o.URL != "" && (o.Listen != "" || o.Server != nil) || o.Server != nil && o.Listen != "" {
		return errors.New("connect to the cluster: an external server, a given server and an embedded server that listens exclude each other")
	}
	return nil
}

// A Cluster is the connection of this process to the others. The nodes of the process, usually one,
// share it. It is safe for concurrent use.
type Cluster struct {
	options Options
	logger  *slog.Logger
	// prefix is the first part of all subjects; protocol is the version in each message.
	prefix, protocol string
	// exclusive is true if no other process can be in the cluster.
	exclusive bool
	server    *Server
	conn      *nats.Conn
	js        jetstream.JetStream
	// directory is what this process knows of the members and the leader.
	*directory
	clock      clock
	routes     routes
	replies    replies
	remembered remembered
	handlers   handlerTable
	prober     prober
	detector   detector
	// calls is the number of running handlers.
	calls atomic.Int64
	// up is true while connected. The library cannot be asked: it blocks during an attempt to
	// connect, which takes long if the server is paused.
	up atomic.Bool
	// connections is the number of the last connection.
	connections atomic.Uint64
	// cut cancels the calls from other processes some time after the connection was lost.
	cut atomic.Pointer[time.Timer]

	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu     sync.RWMutex
	closed bool
	nodes  []*Node
}

// Connect starts the embedded server, if one is configured, and connects to the fabric. It waits
// until the member records are read or ctx ends. Afterwards it reconnects for ever. Every error is
// one line without credentials.
func Connect(ctx context.Context, o Options) (*Cluster, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	c := &Cluster{
		options: o, logger: o.Logger, prefix: "app." + o.ClusterID + ".", protocol: o.Protocol.String(),
	}
	c.routes.cluster, c.replies.cluster, c.prober.cluster, c.detector.cluster = c, c, c, c
	c.directory = newDirectory(c)
	if c.clock.wall = o.Clock; c.clock.wall == nil {
		c.clock.wall = time.Now
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.open(ctx); err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *Cluster) open(ctx context.Context) error {
	provider := c.options.Server
	if c.options.URL == "" && provider == nil {
		server, err := StartServer(ctx, ServerOptions{
			Folder: c.options.Folder,
			Listen: c.options.Listen, Token: c.options.Token, TLS: c.options.TLS,
			MaxPayload: c.options.MaxPayload, Logger: c.logger,
		})
		if err != nil {
			return err
		}
		c.server, provider = server, server
		c.exclusive = c.options.Listen == ""
	}
	if err := c.dial(ctx, provider); err != nil {
		return err
	}
	if err := errors.Join(c.replies.open(), c.openReconnects()); err != nil {
		return err
	}
	js, err := jetstream.New(c.conn)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	c.js = js
	c.group.Go(c.directory.run)
	select {
	case <-c.directory.ready:
		c.group.Go(c.clockLoop)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("connect to the cluster: the member records are not available: %w", errors.Join(c.directory.failure(), ctx.Err()))
	}
}

// dial connects. It waits until ctx ends for a server that is not there yet.
func (c *Cluster) dial(ctx context.Context, provider nats.InProcessConnProvider) error {
	connected := make(chan struct{}, 1)
	options := []nats.Option{
		nats.Name("app " + c.options.ClusterID),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(),
		// During an outage, a call or a message fails at once instead of arriving unexpectedly
		// late.
		nats.ReconnectBufSize(-1),
		nats.CustomReconnectDelay(reconnectDelay),
		nats.Timeout(operationTimeout),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		nats.ConnectHandler(func(*nats.Conn) {
			c.up.Store(true)
			connected <- struct{}{}
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			c.up.Store(false)
			if c.ctx.Err() == nil {
				c.logger.Warn("lost the connection to the cluster", "error", err)
			}
			c.directory.lose()
			c.cut.Store(time.AfterFunc(cutLimit, c.abandonCalls))
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			c.up.Store(true)
			if timer := c.cut.Load(); timer != nil {
				timer.Stop()
			}
			c.logger.Info("connected to the cluster again")
			c.reconnected()
			c.directory.resynchronise()
		}),
		nats.ErrorHandler(c.asyncError),
	}
	if c.options.Token != "" {
		options = append(options, nats.Token(c.options.Token))
	}
	url := c.options.URL
	if provider != nil {
		options = append(options, nats.InProcessServer(provider))
		url = nats.DefaultURL
	} else if c.options.TLS != (TLSFiles{}) {
		config, err := c.options.TLS.client()
		if err != nil {
			return err
		}
		options = append(options, nats.Secure(config))
	}
	name := serverNames(url)
	conn, err := nats.Connect(url, options...)
	if err != nil {
		return fmt.Errorf("connect to NATS at %s: %w", name, withoutCredentials(err, url))
	}
	c.conn = conn
	select {
	case <-connected:
		c.logger.InfoContext(ctx, "connected to the cluster", "cluster", c.options.ClusterID, "embedded", provider != nil)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("connect to NATS at %s: %w", name, errors.Join(withoutCredentials(conn.LastError(), url), ctx.Err()))
	}
}

// reconnectDelay doubles with each attempt and is random, so that nodes do not reconnect in step.
func reconnectDelay(attempts int) time.Duration {
	delay := min(reconnectMin<<min(attempts, 10), reconnectMax)
	return delay/2 + rand.N(delay)
}

// asyncError logs the errors that NATS reports asynchronously. Slow subscribers are counted
// elsewhere.
func (c *Cluster) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if c.ctx.Err() != nil {
		return
	}
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	c.logger.Warn("the cluster's connection reports a problem", "subject", subject, "error", err)
}

// Healthy returns nil while this process is connected and the member records are up to date.
func (c *Cluster) Healthy() error {
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	if !c.up.Load() {
		return errDown
	}
	return c.directory.failure()
}

// errDown means that this process is not connected to NATS.
var errDown = errors.New("there is no connection to the NATS server")

// Exclusive reports whether no other process can be in the cluster.
func (c *Cluster) Exclusive() bool { return c.exclusive }

// ID returns the id of the cluster.
func (c *Cluster) ID() string { return c.options.ClusterID }

// JetStream returns the engine behind the member records, for packages below this one that keep a
// bucket of their own.
func (c *Cluster) JetStream() jetstream.JetStream { return c.js }

// Replicas returns the number of copies that a NATS cluster keeps of a bucket.
func (c *Cluster) Replicas() int { return max(c.options.Replicas, 1) }

// HeartbeatTimeout returns the time without heartbeat after which a node counts as unhealthy. It is
// also how long nodes may take to renew their records after the fabric came back.
func (c *Cluster) HeartbeatTimeout() time.Duration { return c.options.HeartbeatTimeout }

// ServerURL returns the URL for other processes if the embedded server listens, else "". It
// contains no credentials.
func (c *Cluster) ServerURL() string {
	if c.server == nil {
		return ""
	}
	return c.server.URL()
}

// Close makes the remaining nodes leave and closes the connection and the embedded server. It waits
// for running handlers until ctx ends.
func (c *Cluster) Close(ctx context.Context) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	nodes := slices.Clone(c.nodes)
	c.mu.Unlock()
	var failures []error
	for _, node := range slices.Backward(nodes) {
		failures = append(failures, node.Leave(ctx))
	}
	c.cancel()
	c.group.Wait()
	if c.conn != nil {
		c.conn.Close()
	}
	if c.server != nil {
		failures = append(failures, c.server.Close())
	}
	return errors.Join(failures...)
}

// addNode fails if the cluster is closed.
func (c *Cluster) addNode(n *Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.nodes = append(c.nodes, n)
	return nil
}

func (c *Cluster) removeNode(n *Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = slices.DeleteFunc(c.nodes, func(other *Node) bool { return other == n })
}

func (c *Cluster) ownNodes() []*Node {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.nodes)
}

// localNode returns the node of this process with the id, or nil if there is none.
func (c *Cluster) localNode(id string) *Node {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, n := range c.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}
