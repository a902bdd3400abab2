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

// A Route selects the node of a role for a call.
type Route struct {
	// Key selects the node: calls with the same key go to the same node as long as the healthy
	// nodes are the same, and a change of the nodes moves few keys. 0 means any node, preferably
	// one in this process.
	Key uint64
	// Repeatable allows the request to be carried out more than once: it is sent to another node as
	// soon as the first one stops answering.
	Repeatable bool
	// Once declares that the request has a key that ensures that it takes effect once, however
	// often it is sent. It is sent to another node like a Repeatable one, but does not fail while a
	// node that does not answer may still carry it out. It is resent only between nodes whose
	// protocol has such keys.
	Once bool
	// To is called before the request is handed to a node; again is true if it was handed to one
	// before. It may block, and if again is true it may change the request. Requests to the same
	// place arrive in the order of the Sent calls; the place of a node changes when either process
	// reconnects to NATS. An error ends the call. It may be nil.
	To func(ctx context.Context, place string, again bool) error
	// Sent is called each time the request was handed to a node, and not for a request that is
	// never handed over. Requests to one place arrive in the order of these calls. It may be nil.
	Sent func()
}

// mayRepeat reports whether a request to a node may be sent to another one although the first may
// have carried it out.
func (r Route) mayRepeat(p *peer) bool { return r.Repeatable || r.Once && p.recognises }

// routesAge is the age after which the list of nodes is rebuilt even without news, because a missed
// heartbeat causes no event.
const routesAge = time.Second

// A peer is a node that can receive calls to a role.
type peer struct {
	id       string
	hash     uint64
	breaker  *breaker
	strained bool
	// recognises is true if the node recognises repeated requests.
	recognises bool
}

// peerList is a snapshot of the peers of a role.
type peerList struct {
	generation uint64
	built      time.Time
	peers      []*peer
}

// routes are the possible destinations of calls.
type routes struct {
	cluster            *Cluster
	services, gateways atomic.Pointer[peerList]
	// turn distributes calls without key.
	turn atomic.Uint64

	mu sync.Mutex
	// breakers has one breaker for each incarnation of a node.
	breakers map[string]*breaker
}

func (r *routes) list(kind role.Role) *atomic.Pointer[peerList] {
	if kind == role.Service {
		return &r.services
	}
	return &r.gateways
}

// peers returns the nodes of a role that accept calls, as far as this process knows.
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

// breaker returns the breaker of an incarnation of a node and creates it if necessary.
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

// current returns the breaker of an incarnation of a node, or nil if it was never called.
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

// forget drops the breakers of nodes that are gone once their calls have ended.
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

// pick returns a node that was not tried yet, or nil. It prefers nodes that are not strained and
// answer.
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
