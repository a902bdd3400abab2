// SPDX-License-Identifier: Apache-2.0

// Package presence knows who is online: on which devices, at which gateways, with which status and
// position. Every node keeps all sessions in memory, so that a look-up needs no message; or, if the
// users are partitioned (Options.Partitions), a service keeps those of its partitions and a gateway
// its own, and a Finder asks the others.
//
// The source is an in-memory key-value bucket with one key for each user, which gateways write by
// compare-and-set: the whole cluster has at most one session for each user and device type, even if
// several gateways log the user in at the same time. A session lives as long as its gateway is a
// member of the cluster; it has no heartbeat of its own. When NATS comes back empty, the gateways
// announce their sessions again, and the previous state is used until they have. A process that is
// alone (Options.Alone) needs no bucket.
//
// The package does not decide who may log in, has no client connections and stores nothing durable.
package presence

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/geo"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// defaultSweepInterval is how often a node removes stale data.
const defaultSweepInterval = time.Minute

// Options say how a directory works.
type Options struct {
	// Locations configure the positions of sessions; the zero value keeps none. All nodes must
	// agree.
	Locations Locations
	// VerifyInterval is how often a gateway compares its sessions with the cluster's; zero means
	// three seconds.
	VerifyInterval time.Duration
	// Healed is called with each fault that such a comparison has found and repaired. It may be
	// nil.
	Healed func(Fault)
	// Alone means that no other process can be in the cluster and that this is its only directory:
	// then there is no bucket, and this process's sessions are the truth.
	Alone bool
	// Partitions is the number of partitions of the users if this process creates the bucket: zero
	// or one, or Partitions. If the users are partitioned, services follow their partitions, and a
	// process with only a gateway knows the users of that gateway. Otherwise every process follows
	// all users.
	Partitions int
	// Service is the node of this process whose partitions the directory follows; nil means the
	// node passed to Start, if that is a service.
	Service *cluster.Node
	// KeepInterval is how long a service still follows a partition that it has lost to others,
	// because they have to read it and the membership may change back. Zero means half a minute.
	KeepInterval time.Duration
	// SweepInterval is how often leftover sessions of dead gateways are removed from the bucket;
	// zero means a minute.
	SweepInterval time.Duration
	// Logger logs what an operator should know; nil discards it.
	Logger *slog.Logger
}

// A Holder is the part of a gateway that holds the connections.
type Holder interface {
	// Lost is called when a session that was opened elsewhere has replaced one of this gateway. The
	// gateway must close the connection with ClosedByOtherDevice; it need not call Close. Lost must
	// return soon and may be called for a session that the gateway is replacing or closing itself.
	Lost(userID int64, device wire.DeviceType, sessionID int32)
	// Activity returns when a session was last active; ok is false if the gateway does not have it.
	Activity(userID int64, device wire.DeviceType, sessionID int32) (a Activity, ok bool)
	// Each calls fn with every session that the gateway has, until fn returns false.
	Each(fn func(SessionKey) bool)
	// Stray is called for a session that the gateway has and the cluster does not know, or did not
	// for a while, so that its client may have missed something. The gateway must close the
	// connection so that the client reconnects; it need not call Close.
	Stray(SessionKey)
}

// A Directory is this process's view of who is online. It is safe for concurrent use.
type Directory struct {
	node     *cluster.Node
	options  Options
	logger   *slog.Logger
	gateways *gateways
	table    *table
	current  *current
	writer   *writer
	finder   *Finder
	sweeper  *sweeper
	// keeper is nil in a process without service.
	keeper *keeper
	// positions is nil if positions are not kept.
	positions *positions
	// registrar and verifier are nil in a process without gateway.
	registrar *registrar
	verifier  *verifier

	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	// opened is the bucket that was opened last, which may not have been read yet. Only run uses
	// it.
	opened *bucket
}

// Start reads the sessions and follows them until Stop. One directory serves a whole process: node
// is its gateway, if it has one, else any node. It waits until the view is complete or ctx ends.
func Start(ctx context.Context, node *cluster.Node, o Options) (*Directory, error) {
	if o.SweepInterval <= 0 {
		o.SweepInterval = defaultSweepInterval
	}
	if o.KeepInterval <= 0 {
		o.KeepInterval = defaultKeepInterval
	}
	if o.VerifyInterval <= 0 {
		o.VerifyInterval = defaultVerifyInterval
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Directory{node: node, options: o, logger: o.Logger, gateways: newGateways(node.Cluster())}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.finder = &Finder{directory: d}
	d.table = newTable(func(_ int64, before, after *record) {
		if d.positions != nil {
			d.positions.follow(before, after)
		}
		if d.keeper != nil {
			d.keeper.hints.note(before, after)
		}
	})
	if o.Locations.Enabled {
		d.positions = &positions{geo.NewIndex(compareSpots), o.Locations.PerDevice}
	}
	d.current = newCurrent(d.ctx)
	d.writer = &writer{cluster: node.Cluster(), table: d.table, gateways: d.gateways, current: d.current, alone: o.Alone}
	if node.Type() == role.Gateway {
		d.registrar = &registrar{
			cluster: node.Cluster(), own: newOwn(d.gateways.addOwn(node)), table: d.table, writer: d.writer, current: d.current, logger: o.Logger,
		}
		d.verifier = &verifier{
			registrar: d.registrar, finder: d.finder, table: d.table, interval: o.VerifyInterval, healed: o.Healed, logger: o.Logger,
		}
	}
	if err := handle(d); err != nil {
		d.cancel()
		return nil, fmt.Errorf("start presence: %w", err)
	}
	d.sweeper = &sweeper{
		node: node, table: d.table, writer: d.writer, keeper: d.keeper, interval: o.SweepInterval, wake: make(chan struct{}, 1), logger: o.Logger,
	}
	d.group.Go(d.run)
	d.group.Go(d.liveLoop)
	d.group.Go(func() { d.sweeper.run(d.ctx) })
	if d.registrar != nil {
		d.group.Go(func() { d.registrar.run(d.ctx) })
		d.group.Go(func() { d.verifier.run(d.ctx) })
		d.group.Go(func() { d.registrar.closeWhenGone(d.ctx, node.DeclaredGone()) })
	}
	if _, err := d.current.await(ctx); err != nil {
		d.Stop()
		return nil, fmt.Errorf("start presence: %w", err)
	}
	return d, nil
}

// handle registers the directory's handlers for calls of other nodes.
func handle(d *Directory) error {
	if err := cluster.Handle(d.node, activitiesEndpoint, d.activities); err != nil {
		return err
	}
	if d.registrar != nil {
		if err := cluster.Handle(d.node, replacedEndpoint, d.registrar.own.replaced); err != nil {
			return err
		}
	}
	service := d.options.Service
	if service == nil && d.node.Type() == role.Service {
		service = d.node
	}
	if service == nil {
		return nil
	}
	d.keeper = newKeeper(d, service)
	d.group.Go(d.keeper.hints.run)
	return d.keeper.handle()
}

// Node returns the node that the directory was started with.
func (d *Directory) Node() *cluster.Node { return d.node }

// Finder returns the finder of the directory.
func (d *Directory) Finder() *Finder { return d.finder }

// Attach sets the holder of the connections. A gateway must call it before its first Open; a
// process without gateway does not need it.
func (d *Directory) Attach(h Holder) {
	if d.registrar != nil {
		d.registrar.holder.Store(&h)
	}
}

// Stop stops following the bucket. Sessions that are still open disappear when the node leaves.
func (d *Directory) Stop() {
	d.cancel()
	d.group.Wait()
}

// Healthy returns nil while the view is up to date.
func (d *Directory) Healthy() error {
	_, err := d.current.get()
	return err
}

// Healed returns how many faults were repaired.
func (d *Directory) Healed() uint64 {
	if d.verifier == nil {
		return 0
	}
	return d.verifier.count.Load()
}

// Lookup returns what this process knows of a user; ok is false for an offline user, whose entry
// has the status OFFLINE and no sessions.
func (d *Directory) Lookup(userID int64) (e Entry, ok bool) {
	return d.table.entry(userID, d.table.get(userID))
}

// Online reports whether the user has a session, as far as this process knows.
func (d *Directory) Online(userID int64) bool {
	r := d.table.get(userID)
	return r != nil && len(d.table.live(r)) > 0
}

// A Destination is a gateway and users who have sessions there.
type Destination struct {
	NodeID  string
	UserIDs []int64
}

// Locate returns the gateways of the users that this process knows, each once, with its users in
// the given order. Offline users are omitted.
func (d *Directory) Locate(userIDs []int64) []Destination {
	var found []Destination
	for i, userID := range userIDs {
		r := d.table.get(userID)
		if r == nil {
			continue
		}
		for j := range r.sessions {
			if s := &r.sessions[j]; d.table.counts(r, s, false) {
				found = locate(found, s.NodeID, userID, len(userIDs)-i)
			}
		}
		for j := range r.stale {
			if s := &r.stale[j]; d.table.counts(r, s, true) {
				found = locate(found, s.NodeID, userID, len(userIDs)-i)
			}
		}
	}
	return found
}

// locate adds a user to a gateway. Because of another device, the user may already be the gateway's
// last one. room is the number of users that may follow.
func locate(found []Destination, nodeID string, userID int64, room int) []Destination {
	for i := range found {
		if f := &found[i]; f.NodeID == nodeID {
			if f.UserIDs[len(f.UserIDs)-1] != userID {
				f.UserIDs = append(f.UserIDs, userID)
			}
			return found
		}
	}
	return append(found, Destination{NodeID: nodeID, UserIDs: append(make([]int64, 0, min(room, 64)), userID)})
}

// Count returns how many users are online, in total and by gateway, as far as this process knows. A
// user with sessions at two gateways counts at both.
func (d *Directory) Count() (total int, nodes map[string]int) {
	nodes = map[string]int{}
	d.table.each(func(_ int64, r *record) {
		live := d.table.live(r)
		if len(live) > 0 {
			total++
		}
		for i := range live {
			if firstOf(live, i) {
				nodes[live[i].NodeID]++
			}
		}
	})
	return total, nodes
}

// UsersFrom returns the users with a session at the gateway from one of the addresses. It scans all
// users.
func (d *Directory) UsersFrom(nodeID string, ips []netip.Addr) (users []int64) {
	wanted := make(map[netip.Addr]struct{}, len(ips))
	for _, ip := range ips {
		wanted[ip.Unmap()] = struct{}{}
	}
	d.table.each(func(userID int64, r *record) {
		for _, s := range d.table.live(r) {
			if _, ok := wanted[s.IP.Unmap()]; ok && s.NodeID == nodeID {
				users = append(users, userID)
				return
			}
		}
	})
	return users
}

// firstOf reports whether no session before the i-th one is at the same gateway.
func firstOf(sessions []Session, i int) bool {
	for j := range i {
		if sessions[j].NodeID == sessions[i].NodeID {
			return false
		}
	}
	return true
}
