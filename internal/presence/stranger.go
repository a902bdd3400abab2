// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"maps"
	"time"

	"example.org/app/internal/role"
)

// acquaint notes which services know the sessions of this gateway, because they follow the bucket that has them. since is when the
// members were read that the bucket was opened with: those of later are not of this bucket.
func (reg *registrar) acquaint(b *bucket, since time.Time) {
	if b.epoch > 1 && reg.own.met.Load() < b.epoch {
		return
	}
	services := reg.cluster.Lives(role.Service)
	if !reg.cluster.Synchronized().Equal(since) {
		return
	}
	reg.own.mu.Lock()
	defer reg.own.mu.Unlock()
	reg.own.familiar = services
}

// meetStrangers closes the sessions of earlier buckets if there are services that may have done without them: those that began
// after NATS had come back empty and before this gateway has announced its sessions. It is called when it has.
func (reg *registrar) meetStrangers(ctx context.Context, b *bucket) error {
	var keys []SessionKey
	if b.epoch > 1 {
		services, err := reg.cluster.ReadLives(ctx, role.Service)
		if err != nil {
			return err
		}
		// A record that is written while the bucket is read may be missing there.
		for id, life := range reg.cluster.Lives(role.Service) {
			if _, ok := services[id]; !ok {
				services[id] = life
			}
		}
		keys = reg.own.meet(services, b.epoch)
	}
	reg.own.met.Store(b.epoch)
	holder := reg.holder.Load()
	if len(keys) == 0 || holder == nil {
		return nil
	}
	for _, key := range keys {
		(*holder).Stray(key)
	}
	reg.logger.Warn("closed the sessions of this gateway, which a new service did not know", "sessions", len(keys))
	return nil
}

// meet makes services familiar, beside those that were, which may be about to assert themselves. It returns the sessions that were
// opened before the epoch if there is one that was not familiar.
func (o *own) meet(services map[string]string, epoch uint64) (unknown []SessionKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	strange := false
	familiar := maps.Clone(services)
	for id, life := range services {
		strange = strange || o.familiar[id] != life
	}
	for id, life := range o.familiar {
		if _, ok := familiar[id]; !ok {
			familiar[id] = life
		}
	}
	o.familiar = familiar
	if !strange {
		return nil
	}
	for _, sessions := range o.sessions {
		for i := range sessions {
			if sessions[i].at.epoch < epoch {
				unknown = append(unknown, sessions[i].Key())
			}
		}
	}
	return unknown
}

// closeWhenGone closes the sessions of this gateway when others took it for gone: their users were offline for the others, and may
// have missed something.
func (reg *registrar) closeWhenGone(ctx context.Context, declared <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-declared:
		}
		holder, keys := reg.holder.Load(), reg.own.keys()
		if holder == nil {
			continue
		}
		for _, key := range keys {
			(*holder).Stray(key)
		}
		reg.logger.Warn("closed the sessions of this gateway, which others took for gone", "sessions", len(keys))
	}
}
