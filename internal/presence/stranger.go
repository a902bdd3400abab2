// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"maps"
	"time"

	"example.org/app/internal/role"
)

// acquaint notes which services know the sessions of this gateway, because they follow the bucket that has them. since is when the
// members were read that the bucket was opened with: those of later are not of this bucket.
func (d *Directory) acquaint(b *bucket, since time.Time) {
	if d.own == nil || b.epoch > 1 && d.own.met.Load() < b.epoch {
		return
	}
	c := d.node.Cluster()
	services := c.Lives(role.Service)
	if !c.Synchronized().Equal(since) {
		return
	}
	d.own.mu.Lock()
	defer d.own.mu.Unlock()
	d.own.familiar = services
}

// meetStrangers closes the sessions of earlier buckets if there are services that may have done without them: those that began
// after NATS had come back empty and before this gateway has announced its sessions. It is called when it has.
func (d *Directory) meetStrangers(b *bucket) error {
	var keys []SessionKey
	if b.epoch > 1 {
		c := d.node.Cluster()
		services, err := c.ReadLives(d.ctx, role.Service)
		if err != nil {
			return err
		}
		// A record that is written while the bucket is read may be missing there.
		for id, life := range c.Lives(role.Service) {
			if _, ok := services[id]; !ok {
				services[id] = life
			}
		}
		keys = d.own.meet(services, b.epoch)
	}
	d.own.met.Store(b.epoch)
	holder := d.holder.Load()
	if len(keys) == 0 || holder == nil {
		return nil
	}
	for _, key := range keys {
		(*holder).Stray(key)
	}
	d.logger.Warn("closed the sessions of this gateway, which a new service did not know", "sessions", len(keys))
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
