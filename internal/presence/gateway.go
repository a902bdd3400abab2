// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
)

// A gateway is one incarnation of a node that holds sessions. All its sessions point to a single
// value: when the gateway dies, so do they, without being touched.
type gateway struct {
	id, incarnation string
	// own is true for the gateway of this process, which cannot be dead.
	own bool
	// dead is true if the gateway certainly is no member, so that it closes its sessions should it
	// come back; live is true until that is known.
	live, dead atomic.Bool
	// announced has, for each partition, the last epoch whose bucket has all sessions of the
	// gateway, as far as the partition's watch has come.
	announced announcements
}

// announcements are the last announced epochs by partition.
type announcements [shardCount]atomic.Uint64

// to returns the epoch of a partition.
func (a *announcements) to(partition int) uint64 { return a[partition].Load() }

// toAll sets the epoch of every partition.
func (a *announcements) toAll(epoch uint64) {
	for i := range a {
		a[i].Store(epoch)
	}
}

// gateways are all known gateways.
type gateways struct {
	cluster *cluster.Cluster
	mu      sync.RWMutex
	known   map[[2]string]*gateway
}

func newGateways(c *cluster.Cluster) *gateways {
	return &gateways{cluster: c, known: map[[2]string]*gateway{}}
}

// intern returns the shared value of a gateway.
func (g *gateways) intern(id, incarnation string) *gateway {
	key := [2]string{id, incarnation}
	g.mu.RLock()
	found := g.known[key]
	g.mu.RUnlock()
	if found != nil {
		return found
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if found := g.known[key]; found != nil {
		return found
	}
	found = &gateway{id: id, incarnation: incarnation}
	alive, certain := g.cluster.Alive(id, incarnation)
	// A gateway that may be alive gets every message, or a notice that it missed some.
	found.live.Store(alive || !certain)
	found.dead.Store(!alive && certain)
	g.known[key] = found
	return found
}

// addOwn adds the gateway of this process.
func (g *gateways) addOwn(n *cluster.Node) *gateway {
	own := &gateway{id: n.ID(), incarnation: n.Incarnation(), own: true}
	own.live.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known[[2]string{own.id, own.incarnation}] = own
	return own
}

// refresh updates the gateways from the members and returns those that have died.
func (g *gateways) refresh() (died []*gateway) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, gw := range g.known {
		if gw.own {
			continue
		}
		alive, certain := g.cluster.Alive(gw.id, gw.incarnation)
		switch {
		case alive:
			gw.live.Store(true)
			gw.dead.Store(false)
		case certain:
			gw.live.Store(false)
			if !gw.dead.Swap(true) {
				died = append(died, gw)
			}
		}
	}
	return died
}

// allAnnounced reports whether all gateways have announced their sessions to a bucket, as far as
// the partition's watch has come. A service that knew the partition from an earlier bucket need not
// wait for that.
func (g *gateways) allAnnounced(b *bucket, partition int) bool {
	if b.epoch == 1 {
		// Gateways close sessions that a service started later did not know, see closeUnknown.
		return true
	}
	if time.Since(b.opened) < g.cluster.HeartbeatTimeout() {
		return false
	}
	for id, incarnation := range g.cluster.Lives(role.Gateway) {
		g.intern(id, incarnation)
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, gw := range g.known {
		if gw.live.Load() && gw.announced.to(partition) < b.epoch {
			return false
		}
	}
	return true
}
