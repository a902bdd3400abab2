// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/app/internal/role"
)

const (
	// probeInterval is how often services are asked whether they answer, and probeTimeout how long they may take: one that
	// is paused or cut off gets no calls any more after both.
	probeInterval = 500 * time.Millisecond
	probeTimeout  = time.Second
)

// errLost means that a node does not answer any more while a call to it is under way. Whether the request was carried
// out is not known.
var errLost = errors.New("the node does not answer any more")

// A breaker keeps calls from one life of a node that does not answer. It is open from a missed deadline until the node
// answers a probe.
type breaker struct {
	mu      sync.Mutex
	open    bool
	probing bool
	// calls are cancelled when the breaker opens.
	calls map[*context.CancelCauseFunc]struct{}
}

func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

// track has a call cancelled when the breaker opens, which it may be already. The result ends that.
func (b *breaker) track(cancel context.CancelCauseFunc) (untrack func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := &cancel
	if b.calls == nil {
		b.calls = map[*context.CancelCauseFunc]struct{}{}
	}
	b.calls[key] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.calls, key)
	}
}

// set opens or closes the breaker and reports whether that is a change.
func (b *breaker) set(open bool) (changed bool) {
	b.mu.Lock()
	changed = b.open != open
	b.open = open
	var lost []context.CancelCauseFunc
	if open {
		for cancel := range b.calls {
			lost = append(lost, *cancel)
		}
		b.calls = nil
	}
	b.mu.Unlock()
	for _, cancel := range lost {
		cancel(errLost)
	}
	return changed
}

// begin reports whether a probe may begin: there is one at a time.
func (b *breaker) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.probing {
		return false
	}
	b.probing = true
	return true
}

func (b *breaker) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}

// startProbes begins to probe the services, once.
func (c *Cluster) startProbes() {
	c.probes.Do(func() { c.group.Go(c.probeLoop) })
}

func (c *Cluster) probeLoop() {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-ticker.C:
		}
		for _, p := range c.peers(role.Service) {
			if c.localNode(p.id) == nil && p.breaker.begin() {
				c.group.Go(func() {
					defer p.breaker.end()
					c.probe(p)
				})
			}
		}
	}
}

// probe asks a node whether it answers.
func (c *Cluster) probe(p *peer) {
	ctx, cancel := context.WithTimeout(c.ctx, probeTimeout)
	defer cancel()
	_, err := callNode(ctx, c, p.id, pingEndpoint, &pingRequest{})
	if c.ctx.Err() != nil || c.conn.Status() != nats.CONNECTED {
		// It is this process that is cut off.
		return
	}
	c.trip(p, errors.Is(err, ErrTimeout) || errors.Is(err, ErrNoNode))
}

// trip opens or closes the breaker of a node.
func (c *Cluster) trip(p *peer, open bool) {
	switch changed := p.breaker.set(open); {
	case changed && open:
		c.logger.Warn("a node does not answer and gets no calls until it does", "id", p.id)
	case changed:
		c.logger.Info("the node answers again", "id", p.id)
	}
}

// localNode returns the node of this process with the id, or nil.
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
