// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/app/internal/role"
)

const (
	// probeInterval is how often services are probed, and probeTimeout how long they may take to
	// answer. A node that is paused or disconnected gets no calls after both have passed.
	probeInterval = 500 * time.Millisecond
	probeTimeout  = time.Second
)

// A prober probes the services and opens and closes their breakers.
type prober struct {
	cluster *Cluster
	once    sync.Once
}

// start starts probing the services. Further calls do nothing.
func (p *prober) start() {
	p.once.Do(func() { p.cluster.group.Go(p.run) })
}

func (p *prober) run() {
	c := p.cluster
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-ticker.C:
		}
		for _, b := range p.targets() {
			if c.localNode(b.id) == nil && b.beginProbe() {
				c.group.Go(func() {
					defer b.endProbe()
					p.probe(b)
				})
			}
		}
	}
}

// targets returns the breakers of the services that accept calls, and of other nodes with calls
// under way.
func (p *prober) targets() []*breaker {
	routes := &p.cluster.routes
	list := routes.busy()
	for _, peer := range routes.peers(role.Service) {
		if !slices.Contains(list, peer.breaker) {
			list = append(list, peer.breaker)
		}
	}
	return list
}

// probe probes a node.
func (p *prober) probe(b *breaker) {
	c := p.cluster
	ctx, cancel := context.WithTimeout(c.ctx, probeTimeout)
	defer cancel()
	if !c.up.Load() {
		b.observe(silent, time.Now())
		return
	}
	connection, sent := c.connection(), time.Now()
	answer, err := callNode(ctx, c, b.id, pingEndpoint, &pingRequest{}, nil)
	if c.ctx.Err() != nil || !c.up.Load() || c.connection() != connection {
		// This process itself is disconnected.
		b.observe(silent, sent)
		return
	}
	unreachable := errors.Is(err, ErrTimeout) || errors.Is(err, ErrNoNode)
	seen := silent
	switch life := c.Life(b.id); {
	case life == "":
		// The node has left and is finishing its work, unless it did not answer before.
		p.resend(b)
	case life != b.incarnation:
		b.set(true)
		b.cancel(false)
		seen = replaced
	default:
		p.trip(b, unreachable)
		switch {
		case err == nil && answer.Incarnation == b.incarnation:
			seen = answering
		case errors.Is(err, nats.ErrNoResponders):
			seen = absent
		}
	}
	if b.observe(seen, sent) {
		if n := b.cancel(true); n > 0 {
			c.logger.Warn("the process of a node has ended, and the calls to it with it", "id", b.id, "calls", n)
		}
	}
}

// trip opens or closes the breaker of a node.
func (p *prober) trip(b *breaker, open bool) {
	logger := p.cluster.logger
	switch changed := b.set(open); {
	case changed && open:
		logger.Warn("a node does not answer and gets no calls until it does", "id", b.id)
	case changed:
		logger.Info("the node answers again", "id", b.id)
	}
	p.resend(b)
}

// resend cancels the repeatable calls to a node that does not answer if another node can be called.
// Without one, the calls wait for the node: if it resumes, it answers them.
func (p *prober) resend(b *breaker) {
	other := func(p *peer) bool { return p.breaker != b && !p.breaker.isOpen() }
	if b.isOpen() && slices.ContainsFunc(p.cluster.routes.peers(role.Service), other) {
		b.cancel(false)
	}
}
