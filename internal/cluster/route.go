// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/role"
)

// A Route says which node of a role a call goes to.
type Route struct {
	// Key chooses the node: calls with the same key go to the same node as long as the healthy nodes are the same, and a
	// change of the nodes moves few keys. 0 is any node, one in this process before others.
	Key uint64
	// Repeatable says that the request may be carried out more than once: it is sent to another node as soon as the first
	// one does not answer any more.
	Repeatable bool
	// Once says that the request has a key by which it is carried out once, however often it is sent. It is sent to another
	// node as one that is Repeatable, but the caller is not told that it failed as long as a node that does not answer may
	// still carry it out. It is sent again only from nodes and to nodes whose protocol knows such keys.
	Once bool
	// To is called before the request is handed to a node, with again if it was handed to one before. It may wait, and
	// with again it may change the request. Requests to the same place arrive in the order of Sent; the place of a node
	// changes when one of both processes is connected to NATS again. An error ends the call. It may be nil.
	To func(ctx context.Context, place string, again bool) error
	// Sent is called whenever the request was handed to a node: requests to one place arrive there in the order of these
	// calls. It is not called for a request that is not handed over. It may be nil.
	Sent func()
}

// mayRepeat reports whether a request that went to a node may be sent to another one although the first may have carried it
// out.
func (r Route) mayRepeat(p *peer) bool { return r.Repeatable || r.Once && p.recognises }

// routesAge is after which time the nodes are looked at again although nothing was heard of them: silence is not
// announced.
const routesAge = time.Second

// A peer is a node that calls to a role may go to.
type peer struct {
	id       string
	hash     uint64
	breaker  *breaker
	strained bool
	// recognises says that it knows a request that comes for the second time.
	recognises bool
}

// peerList are the peers of a role as they were at a moment.
type peerList struct {
	generation uint64
	built      time.Time
	peers      []*peer
}

// routes are the nodes that calls go to.
type routes struct {
	cluster            *Cluster
	services, gateways atomic.Pointer[peerList]
	// turn spreads calls without key.
	turn atomic.Uint64

	mu sync.Mutex
	// breakers are those of the lives of nodes: a node that starts again has a new one.
	breakers map[string]*breaker
}

func (r *routes) list(kind role.Role) *atomic.Pointer[peerList] {
	if kind == role.Service {
		return &r.services
	}
	return &r.gateways
}

// peers returns the nodes of a role that take calls, by what is known of them.
func (r *routes) peers(kind role.Role) []*peer {
	d, list := r.cluster.directory, r.list(kind)
	generation := d.generation.Load()
	if known := list.Load(); known != nil && known.generation == generation && time.Since(known.built) < routesAge {
		return known.peers
	}
	fresh := &peerList{generation: generation, built: time.Now()}
	d.mu.Lock()
	lives := make(map[string]string, len(d.members))
	for id, s := range d.members {
		if s.record.Tombstone {
			continue
		}
		lives[id] = s.record.Incarnation
		status := d.member(s).Status
		if s.record.Member.Type == kind && s.record.Incarnation != "" && status.HasJoined && status.Healthy && status.Active && !status.Refusing {
			h := fnv.New64a()
			_, _ = h.Write([]byte(id))
			fresh.peers = append(fresh.peers, &peer{
				id: id, hash: h.Sum64(), breaker: r.breaker(id, s.record.Incarnation), strained: status.Strained, recognises: s.record.Protocol.recognises(),
			})
		}
	}
	d.mu.Unlock()
	r.forget(lives)
	slices.SortFunc(fresh.peers, func(a, b *peer) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	list.Store(fresh)
	return fresh.peers
}

// breaker returns the breaker of one life of a node.
func (r *routes) breaker(id, incarnation string) *breaker {
	r.mu.Lock()
	defer r.mu.Unlock()
	life := id + "/" + incarnation
	b := r.breakers[life]
	if b == nil {
		b = &breaker{id: id, incarnation: incarnation}
		if r.breakers == nil {
			r.breakers = map[string]*breaker{}
		}
		r.breakers[life] = b
	}
	return b
}

// current returns the breaker of one life of a node; nil if there was no call to it.
func (r *routes) current(id, incarnation string) *breaker {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.breakers[id+"/"+incarnation]
}

// busy returns the breakers of nodes with calls under way.
func (r *routes) busy() (list []*breaker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.breakers {
		if b.busy() {
			list = append(list, b)
		}
	}
	return list
}

// forget drops the breakers of nodes that are gone, but not before their calls have ended.
func (r *routes) forget(lives map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.breakers) <= len(lives) {
		return
	}
	current := make(map[string]bool, len(lives))
	for id, life := range lives {
		current[id+"/"+life] = true
	}
	for life, b := range r.breakers {
		if !current[life] && !b.busy() {
			delete(r.breakers, life)
		}
	}
}

// pick returns the node for a call, which is none of those that were tried; nil is none. Nodes that are strained, and
// those that do not answer, are chosen only if there is no other.
func (r *routes) pick(kind role.Role, key uint64, tried []string) (chosen *peer) {
	peers := r.peers(kind)
	turn := 0
	if key == 0 && len(peers) > 0 {
		turn = int(r.turn.Add(1) % uint64(len(peers)))
	}
	var best uint64
	rank := -1
	for i := range peers {
		p := peers[(i+turn)%len(peers)]
		if slices.Contains(tried, p.id) {
			continue
		}
		own := 2
		switch {
		case p.breaker.isOpen():
			own = 0
		case p.strained && key == 0: // A key keeps its node.
			own = 1
		}
		weight := uint64(0)
		if key != 0 {
			weight = mix(p.hash ^ key)
		}
		if own > rank || own == rank && weight > best {
			chosen, best, rank = p, weight, own
		}
	}
	return chosen
}

// mix spreads the bits of a number (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
