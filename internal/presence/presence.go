// SPDX-License-Identifier: Apache-2.0

// Package presence knows who is online: on which devices, at which gateways, with which status and position. Every
// node keeps the whole picture in memory, so that looking somebody up costs no message; or, if the users are split into
// partitions (Options.Partitions), a service keeps those of its partitions and a gateway its own, and a Finder asks the others.
//
// The picture is that of a key-value bucket in memory with one key for each user, which gateways write by
// compare-and-set: there is one session for each user and device type in the whole cluster, no matter how many
// gateways log somebody in at a time. A session lives as long as its gateway is a member of the cluster; it has no
// heartbeat of its own. When NATS comes back empty, the gateways announce their sessions again, and what was known
// before holds until they have. A process that is alone (Options.Alone) needs no bucket.
//
// It decides nothing about who may log in, has no connection of a client and keeps nothing that must survive.
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

// defaultSweepInterval is how often a node looks for what nobody needs any more.
const defaultSweepInterval = time.Minute

// Options say how a directory works.
type Options struct {
	// Locations say what is done with positions; the zero value keeps none. All nodes must agree.
	Locations Locations
	// VerifyInterval is how often a gateway compares its sessions with what the cluster knows of them; zero is three
	// seconds.
	VerifyInterval time.Duration
	// Healed is called for each fault that such a comparison has found and mended, with the kind of the fault. It may be
	// nil.
	Healed func(Fault)
	// Alone says that no other process can be in the cluster and that this is its only directory: then there is no bucket, and the
	// picture of this process is the truth.
	Alone bool
	// Partitions is into how many parts users are split if this process makes the bucket: zero or one, or Partitions. If they are split, services
	// follow the partitions that are theirs, and a process with a gateway only knows the users of that gateway. Otherwise every
	// process follows all users.
	Partitions int
	// Service is the node of this process whose partitions the directory follows; nil is the node that the directory is started
	// with, if that is a service.
	Service *cluster.Node
	// KeepInterval is how long a service still follows a partition that belongs to others: they have to read it, and membership may
	// change back. Zero is half a minute.
	KeepInterval time.Duration
	// SweepInterval is how often sessions of dead gateways are removed from the bucket that were not removed at once;
	// zero is a minute.
	SweepInterval time.Duration
	// Logger gets what an operator should know; nil is silence.
	Logger *slog.Logger
}

// A Holder is the part of a gateway that has the connections.
type Holder interface {
	// Lost is called when the place of a session that this gateway opened belongs to another one, which was opened
	// elsewhere. The gateway shall close the connection with ClosedByOtherDevice; it need not call Close. Lost must
	// return soon and may be called for a session that the gateway is just replacing or closing.
	Lost(userID int64, device wire.DeviceType, sessionID int32)
	// Activity returns when a session was last heard of; ok is false for one that the gateway does not have.
	Activity(userID int64, device wire.DeviceType, sessionID int32) (a Activity, ok bool)
	// Each calls fn with every session that the gateway has, until fn returns false.
	Each(fn func(SessionKey) bool)
	// Stray is called for a session that the gateway has and the cluster does not know, or did not for a while, so that its
	// client may miss something. The
	// gateway shall close the connection so that the client connects again; it need not call Close.
	Stray(SessionKey)
}

// A Directory is this process's picture of who is online. It is safe for concurrent use.
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
	// opened is the bucket that was opened last, which may not have been read yet. It belongs to run.
	opened *bucket
}

// Start reads the picture and keeps it until Stop. One directory serves a whole process: node is its gateway, if it has
// one, else any node. It waits until the picture is complete or ctx ends.
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

// handle lets a directory answer the calls of other nodes.
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

// Attach names the part that has the connections. A gateway calls it before its first Open; a process without gateway has no use for it.
func (d *Directory) Attach(h Holder) {
	if d.registrar != nil {
		d.registrar.holder.Store(&h)
	}
}

// Stop ends the directory, which knows no news from then on. Sessions that are still open vanish when the node leaves.
func (d *Directory) Stop() {
	d.cancel()
	d.group.Wait()
}

// Healthy returns nil while the picture follows the bucket.
func (d *Directory) Healthy() error {
	_, err := d.current.get()
	return err
}

// Healed returns how many faults were mended.
func (d *Directory) Healed() uint64 {
	if d.verifier == nil {
		return 0
	}
	return d.verifier.count.Load()
}

// Lookup returns what this process knows of a user; ok is false for one who is offline, whose entry has the status OFFLINE and no
// sessions.
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

// Locate returns the gateways of the users that this process knows, each once, with its users in the given order. Users who are offline are
// left out and cost nothing but the look-up.
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

// locate adds a user to a gateway, who may be its latest one already because of another device. room is how many may
// come at most.
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

// Count returns how many users are online that this process knows of, and at which gateways; one with sessions at two of them counts at both.
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

// UsersFrom returns the users with a session at a gateway that comes from one of the addresses. It looks at everybody.
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

// firstOf reports whether no session before the i-th is at the same gateway.
func firstOf(sessions []Session, i int) bool {
	for j := range i {
		if sessions[j].NodeID == sessions[i].NodeID {
			return false
		}
	}
	return true
}
