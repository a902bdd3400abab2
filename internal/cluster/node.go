// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/ids"
	"example.org/app/internal/role"
)

// NodeOptions describe a node that joins.
type NodeOptions struct {
	// ID is the node's id: 1 to 64 letters, digits, "_" or "-". If empty, a random one is chosen,
	// which is fine if the node need not keep its id across restarts.
	ID   string
	Type role.Role
	// Zone, Name, Seed, LeaderEligible, Inactive and Priority apply until an administrator changes
	// the record, and again when the node joins the next time.
	Zone, Name           string
	Seed, LeaderEligible bool
	Inactive             bool
	Priority             int32
	Version              Version
	MemberHost           string
	MemberPort           int32
	AdminAPIAddress      string
	WSAddress            string
	TCPAddress           string
	UDPAddress           string
	// ProcessID is the same for all nodes of one process, and of no other.
	ProcessID string
	// Preparing keeps calls to the role away from the node until Ready is called. Otherwise the
	// node, which joins before its handlers can keep an order, would refuse some requests and take
	// later ones.
	Preparing bool
	// Health is the initial health check, see SetHealth; nil means healthy.
	Health func(ctx context.Context) error
	// OnActive is called, from one goroutine, when an administrator activates or deactivates the
	// node.
	OnActive func(active bool)
}

// A Node is one role of this process in the cluster. It is safe for concurrent use.
type Node struct {
	cluster     *Cluster
	options     NodeOptions
	id          string
	incarnation string
	claimant    claimant
	logger      *slog.Logger
	number      *Number
	election    *election
	// accepting is true while the node accepts calls to its role.
	accepting atomic.Bool

	// ctx is the context of the handlers, loops that of the goroutines, which group waits for.
	ctx    context.Context
	cancel context.CancelFunc
	// remote is the context of the handlers of calls from other processes.
	remote      atomic.Pointer[remoteContext]
	loops       context.Context
	cancelLoops context.CancelFunc
	group       sync.WaitGroup
	// running counts the handlers; none is added once closed is set. serving counts those of calls
	// to the role; none is added once retired is set.
	running, serving sync.WaitGroup

	heart, state, check chan struct{}
	gone                chan struct{}
	lost                chan struct{}

	mu       sync.RWMutex
	record   record
	revision uint64
	// assertion is when the bucket last accepted the record.
	assertion time.Time
	// returns counts how often the node found that it counted as gone, returned how often it has
	// revoked that.
	returns, returned uint64
	leaving           bool
	// retired is true once no calls to the role are accepted.
	retired bool
	closed  bool
	err     error
	health  func(ctx context.Context) error
	fitness fitness
	// foreign is ErrOtherStore while the cluster uses another database.
	foreign  error
	handlers []*handler
	topics   []*Subscription

	// switching serialises changes of the queue groups.
	switching sync.Mutex
}

// Join makes this process a node of the cluster. It returns ErrDuplicateNode if another live node
// has the id; if a node with the id sent a heartbeat less than Options.HeartbeatTimeout ago, it
// waits to find out whether that one is alive. It returns ErrOtherStore if the live nodes use
// another database.
func (c *Cluster) Join(ctx context.Context, o NodeOptions) (*Node, error) {
	if o.ID == "" {
		o.ID = strings.ToLower(rand.Text())
	}
	if err := CheckNodeID(o.ID); err != nil {
		return nil, fmt.Errorf("join the cluster: %w", err)
	}
	if o.Type != role.Gateway && o.Type != role.Service {
		return nil, fmt.Errorf("join the cluster: node %q: type %q must be %s or %s", o.ID, o.Type, role.Gateway, role.Service)
	}
	if o.LeaderEligible && (o.Type != role.Service || c.options.Store == nil) {
		return nil, fmt.Errorf("join the cluster: node %q: only a node of type %s with a store can be eligible as leader", o.ID, role.Service)
	}
	n := &Node{
		cluster: c, options: o, id: o.ID, incarnation: rand.Text(), health: o.Health, fitness: fitness{preparing: o.Preparing},
		logger: c.logger.With("node", o.ID),
		heart:  make(chan struct{}, 1), state: make(chan struct{}, 1), check: make(chan struct{}, 1),
		gone: make(chan struct{}, 1), lost: make(chan struct{}),
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.newRemote()
	n.loops, n.cancelLoops = context.WithCancel(context.Background())
	if err := n.join(ctx); err != nil {
		n.cancelLoops()
		n.group.Wait()
		n.cancel()
		c.removeNode(n)
		if n.number != nil {
			err = errors.Join(err, n.number.Release(context.WithoutCancel(ctx)))
		}
		return nil, fmt.Errorf("join the cluster: node %q: %w", n.id, err)
	}
	n.logger.InfoContext(ctx, "joined the cluster", "cluster", c.options.ClusterID, "type", string(o.Type))
	return n, nil
}

func (n *Node) join(ctx context.Context) error {
	c := n.cluster
	for _, other := range c.ownNodes() {
		if other.id == n.id {
			return ErrDuplicateNode
		}
	}
	if c.options.Store != nil {
		number, err := LeaseNumber(ctx, c.options.Store, NumberOptions{
			Holder: n.id + "/" + n.incarnation, Lease: c.options.NumberLease, Now: c.Now, Logger: n.logger,
		})
		if err != nil {
			return err
		}
		n.number = number
	}
	identity, err := identify(ctx, c.options.Store)
	if err != nil {
		return err
	}
	n.claimant = claimant{n, identity}
	n.fitness.note(n.examine(ctx))
	n.record = n.firstRecord()
	if err := n.register(ctx); err != nil {
		return err
	}
	if err := n.claimant.claim(ctx); err != nil {
		return errors.Join(err, n.withdraw(ctx))
	}
	if err := c.addNode(n); err != nil {
		return err
	}
	ping := func(context.Context, *pingRequest) (*pingAnswer, error) {
		return &pingAnswer{Incarnation: n.incarnation}, nil
	}
	if err := Handle(n, pingEndpoint, ping); err != nil {
		return err
	}
	if n.options.Type == role.Service && c.options.Store != nil {
		n.election = newElection(n)
		if err := n.election.handle(); err != nil {
			return err
		}
		n.group.Go(n.election.run)
	}
	if n.options.Type == role.Gateway {
		c.prober.start()
	}
	c.detector.start()
	n.switchQueues()
	n.group.Go(n.beatLoop)
	n.group.Go(n.healthLoop)
	n.group.Go(n.stateLoop)
	// Without this, changes of the record since it was registered would be noticed only at the next
	// heartbeat.
	n.wakeHeart()
	return nil
}

func (n *Node) firstRecord() record {
	o, now := n.options, time.Now().UTC().Truncate(time.Millisecond)
	return record{Incarnation: n.incarnation, Returns: 1, Store: n.claimant.store, Protocol: n.cluster.options.Protocol, Member: Member{
		ClusterID: n.cluster.options.ClusterID, NodeID: n.id, Zone: o.Zone, Name: o.Name, Version: o.Version,
		Type: o.Type, Seed: o.Seed, RegistrationDate: now, LeaderEligible: o.LeaderEligible, Priority: o.Priority,
		MemberHost: o.MemberHost, MemberPort: o.MemberPort, AdminAPIAddress: o.AdminAPIAddress,
		WSAddress: o.WSAddress, TCPAddress: o.TCPAddress, UDPAddress: o.UDPAddress, ProcessID: o.ProcessID,
		Status: Status{HasJoined: true, Healthy: n.fitness.unhealthy == nil, Strained: n.fitness.strain != nil, Refusing: n.fitness.refuses(), Active: !o.Inactive, LastHeartbeat: now},
	}}
}

// ID returns the id of the node.
func (n *Node) ID() string { return n.id }

// Incarnation returns what distinguishes this run of the node from later ones with the same id.
func (n *Node) Incarnation() string { return n.incarnation }

// Type returns the role of the node.
func (n *Node) Type() role.Role { return n.options.Type }

// Cluster returns the connection that the node belongs to.
func (n *Node) Cluster() *Cluster { return n.cluster }

// Member returns the node's own record as it knows it.
func (n *Node) Member() Member {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.record.Member
}

// IDs returns the generator for the ids that this node makes, or nil if the cluster has no store.
func (n *Node) IDs() *ids.Generator {
	if n.number == nil {
		return nil
	}
	return n.number.Generator()
}

// Ready makes a node that joined with Preparing accept calls to its role. All their handlers must
// be registered.
func (n *Node) Ready() {
	n.mu.Lock()
	n.fitness.preparing = false
	n.mu.Unlock()
	n.switchQueues()
	n.wakeHeart()
}

// Active reports whether an administrator lets the node work.
func (n *Node) Active() bool { return n.Member().Status.Active }

// Accepting reports whether the node accepts calls to its role: it is healthy, active and not
// leaving.
func (n *Node) Accepting() bool { return n.accepting.Load() }

// Lost is closed when the node has lost its id to another one. It no longer takes part in the
// cluster and should be stopped; Healthy says why.
func (n *Node) Lost() <-chan struct{} { return n.lost }

// DeclaredGone receives a value after other nodes took this one for gone although it was alive:
// they may have acted without what it holds for them. The node has revoked it by then. There is one
// receiver.
func (n *Node) DeclaredGone() <-chan struct{} { return n.gone }

// Healthy returns what is wrong with the node, or nil: its own health check, its number or its
// membership.
func (n *Node) Healthy() error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.closed {
		return ErrClosed
	}
	return errors.Join(n.err, n.fitness.unhealthy)
}

// SetHealth replaces the health check. It is called every Options.HealthInterval and must return
// when its context ends. While it returns an error, the node gets no calls to its role.
func (n *Node) SetHealth(health func(ctx context.Context) error) {
	n.mu.Lock()
	n.health = health
	n.mu.Unlock()
	n.CheckHealth()
}

// CheckHealth runs the health check now.
func (n *Node) CheckHealth() { wake(n.check) }

func (n *Node) wakeHeart() { wake(n.heart) }

// wake puts a token into a channel with a buffer of one.
func wake(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

// examine runs the health check once.
func (n *Node) examine(ctx context.Context) (err error) {
	n.mu.RLock()
	health, foreign := n.health, n.foreign
	n.mu.RUnlock()
	if foreign != nil {
		return foreign
	}
	if n.number != nil {
		if err := n.number.Healthy(); err != nil {
			return err
		}
	}
	if health == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, n.cluster.options.HealthInterval)
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the health check panicked: %v", value)
		}
	}()
	return health(ctx)
}

func (n *Node) healthLoop() {
	ticker := time.NewTicker(n.cluster.options.HealthInterval)
	defer ticker.Stop()
	for {
		select {
		case <-n.loops.Done():
			return
		case <-ticker.C:
		case <-n.check:
		}
		unhealthy := n.examine(n.loops)
		if n.loops.Err() != nil {
			return
		}
		n.mu.Lock()
		changed := n.fitness.note(unhealthy)
		n.mu.Unlock()
		if !changed {
			continue
		}
		if strain := n.Strained(); strain != nil {
			n.logger.Warn("the node is strained", "reason", strain.Reason, "refusing", strain.Refuse)
		} else if unhealthy != nil {
			n.logger.Warn("the node is unhealthy", "error", unhealthy)
		} else {
			n.logger.Info("the node is healthy again")
		}
		wake(n.state)
		n.wakeHeart()
	}
}

// stateLoop applies the record and the health to the queue groups and the process.
func (n *Node) stateLoop() {
	active := !n.options.Inactive
	for {
		select {
		case <-n.loops.Done():
			return
		case <-n.state:
		}
		n.switchQueues()
		if n.election != nil {
			n.election.wakeUp()
		}
		if now := n.Active(); now != active {
			active = now
			n.logger.Info("the node was activated or deactivated", "active", active)
			if n.options.OnActive != nil {
				n.options.OnActive(active)
			}
		}
	}
}

// mayLead reports whether this node, as far as it knows itself, may lead.
func (n *Node) mayLead() bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	m := n.record.Member
	return m.LeaderEligible && m.Status.Active && n.fitness.unhealthy == nil && n.err == nil && !n.leaving
}

// enter registers a running handler. It fails once the node has left.
func (n *Node) enter() error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.closed {
		return ErrNoNode
	}
	if n.cluster.calls.Add(1) > int64(n.cluster.options.MaxConcurrentCalls) {
		n.cluster.calls.Add(-1)
		return ErrBusy
	}
	n.running.Add(1)
	return nil
}

// serve registers a running handler of a call to the role. It fails once the node accepts none.
func (n *Node) serve() error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.retired {
		return ErrNoNode
	}
	n.serving.Add(1)
	return nil
}

// Retire stops accepting calls to the role and waits for the running ones until ctx ends. Calls to
// and from named nodes still work, so that the handlers can finish their work before the node
// leaves.
func (n *Node) Retire(ctx context.Context) error {
	n.mu.Lock()
	n.retired = true
	n.mu.Unlock()
	for _, done := range n.switchQueues() {
		if err := await(ctx, func() { <-done }); err != nil {
			return err
		}
	}
	return await(ctx, n.serving.Wait)
}

func (n *Node) exit() {
	n.cluster.calls.Add(-1)
	n.running.Done()
}

// Leave resigns as leader, stops accepting calls, removes the record, waits for the running
// handlers until ctx ends and releases the node number. Further calls do nothing.
func (n *Node) Leave(ctx context.Context) error {
	n.mu.Lock()
	if n.leaving {
		n.mu.Unlock()
		return nil
	}
	n.leaving = true
	n.mu.Unlock()
	drained := n.switchQueues()
	n.cancelLoops()
	failures := []error{await(ctx, n.group.Wait)}
	for _, done := range drained {
		failures = append(failures, await(ctx, func() { <-done }))
	}
	failures = append(failures, n.deregister(ctx))
	n.mu.Lock()
	n.closed = true
	handlers, topics := n.handlers, slices.Clone(n.topics)
	n.mu.Unlock()
	for _, done := range n.cluster.handlers.remove(handlers) {
		failures = append(failures, await(ctx, func() { <-done }))
	}
	failures = append(failures, await(ctx, n.running.Wait))
	n.cancel()
	for _, topic := range topics {
		failures = append(failures, topic.close(ctx))
	}
	if n.number != nil {
		failures = append(failures, n.number.Release(ctx))
	}
	n.cluster.removeNode(n)
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("node %q: leave the cluster: %w", n.id, err)
	}
	n.logger.InfoContext(ctx, "left the cluster")
	return nil
}

// await runs wait until ctx ends. After that, wait continues in the background: it cannot be
// cancelled.
func await(ctx context.Context, wait func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		select {
		case <-done:
			return nil
		default:
			return fmt.Errorf("wait for running work: %w", ctx.Err())
		}
	}
}
