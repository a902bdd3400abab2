// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"maps"
	"time"

	"example.org/app/internal/role"
)

// noteServices records which services know the sessions of this gateway, because they follow the
// bucket. since is when the members were read with which the bucket was opened; those of a later
// reading are not of this bucket.
func (reg *registrar) noteServices(b *bucket, since time.Time) {
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

// closeUnknown closes the sessions of earlier buckets if some services may not have known them:
// those that started after NATS came back empty and before this gateway announced its sessions. It
// is called after the announcement.
func (reg *registrar) closeUnknown(ctx context.Context, b *bucket) error {
	var keys []SessionKey
	if b.epoch > 1 {
		services, err := reg.cluster.ReadLives(ctx, role.Service)
		if err != nil {
			return err
		}
		// A record that is written while the bucket is read may be missing from it.
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

// meet adds services to the familiar ones; earlier ones stay, because they may be about to renew
// their records. If one was not familiar, it returns the sessions that were opened before the
// epoch.
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

// closeWhenGone closes the sessions of this gateway after others took it for gone: their users
// counted as offline and may have missed something.
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
