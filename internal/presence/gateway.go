// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"sync"
	"sync/atomic"

	"example.org/app/internal/cluster"
)

// A gateway is one life of a node that holds sessions. There is one value for each, which all its sessions point to:
// when the gateway dies, so do they, without being touched.
type gateway struct {
	id, incarnation string
	// own is the gateway of this process, which cannot be dead.
	own bool
	// dead says that it certainly is no member, so that it closes its sessions should it come back; live that this is not
	// known.
	live, dead atomic.Bool
	// announced is the latest epoch whose bucket the gateway has told of all its sessions.
	announced atomic.Uint64
}

// gateways are all that were heard of.
type gateways struct {
	cluster *cluster.Cluster
	mu      sync.RWMutex
	known   map[[2]string]*gateway
}

func newGateways(c *cluster.Cluster) *gateways {
	return &gateways{cluster: c, known: map[[2]string]*gateway{}}
}

// intern returns the value of a gateway.
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
	// Who is not known to be dead is told of everything, or that something was missed.
	found.live.Store(alive || !certain)
	found.dead.Store(!alive && certain)
	g.known[key] = found
	return found
}

// addOwn makes the gateway of this process known.
func (g *gateways) addOwn(n *cluster.Node) *gateway {
	own := &gateway{id: n.ID(), incarnation: n.Incarnation(), own: true}
	own.live.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known[[2]string{own.id, own.incarnation}] = own
	return own
}

// refresh brings the gateways in line with the members and returns those that have died.
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
