// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"example.org/app/internal/store"
)

const (
	// claimKey is the key of the bucket that says which database the cluster uses.
	claimKey = "store"
	// identityName is the name of the value that identifies a database.
	identityName = "cluster.store-identity"
)

// A claim says which database the cluster uses.
type claim struct{ Store string }

// A claimant claims the node's database for the cluster.
type claimant struct {
	node *Node
	// store is the identity of the node's database; "" means none.
	store string
}

// identify returns the unique identity of a database. A copy of a database has the identity of the
// original.
func identify(ctx context.Context, db *store.DB) (string, error) {
	if db == nil {
		return "", nil
	}
	value, err := db.GetOrCreate(ctx, identityName, func() []byte { return []byte(rand.Text()) })
	return string(value), err
}

// claim makes the node's database that of the cluster. It returns ErrOtherStore if the cluster uses
// another one; the database of nodes that are gone does not count. It must be called after the
// node's record is written, so that of two nodes that claim at the same time at least one sees the
// record of the other.
func (c claimant) claim(ctx context.Context) error {
	if c.store == "" {
		return nil
	}
	b, err := c.node.cluster.current()
	if err != nil {
		return err
	}
	for range maxConflicts {
		var found claim
		revision, _, err := b.get(ctx, claimKey, &found)
		if err != nil && !errors.Is(err, errAbsent) || err == nil && found.Store == c.store {
			return err
		}
		if err := c.refuseOther(ctx, b, found.Store); err != nil {
			return err
		}
		if revision == 0 {
			_, err = b.create(ctx, claimKey, claim{c.store}, 0)
		} else {
			_, err = b.update(ctx, claimKey, claim{c.store}, 0, revision)
		}
		if !errors.Is(err, errConflict) {
			return err
		}
	}
	return errConflict
}

// refuseOther returns ErrOtherStore if a live node uses the claimed database. If none was claimed,
// a node with another database that registered before this one is about to claim it.
func (c claimant) refuseOther(ctx context.Context, b *bucket, claimed string) error {
	n := c.node
	n.mu.RLock()
	own := n.revision
	n.mu.RUnlock()
	user, err := b.anyMember(ctx, func(id string, revision uint64, r record) bool {
		if claimed == "" {
			return id != n.id && r.Store != "" && r.Store != c.store && revision < own
		}
		return id != n.id && r.Store == claimed
	})
	switch {
	case err != nil:
		return fmt.Errorf("find the nodes that use another database: %w", err)
	case user != "":
		return fmt.Errorf("%w: node %q uses that one; set app.store.url to the database that the other nodes use", ErrOtherStore, user)
	}
	return nil
}

// anyMember returns the id of a live node that matches wanted, or "" if there is none. It reads the
// bucket itself, because the directory may be behind.
func (b *bucket) anyMember(ctx context.Context, wanted func(id string, revision uint64, r record) bool) (found string, err error) {
	now, err := b.now(ctx)
	if err != nil {
		return "", err
	}
	keys, err := b.kv.ListKeys(ctx)
	if err != nil {
		return "", b.failure(err)
	}
	defer func() { _ = keys.Stop() }()
	for key := range keys.Keys() {
		id, ok := memberID(key)
		if !ok || found != "" {
			continue
		}
		var r record
		revision, created, err := b.get(ctx, key, &r)
		switch {
		case errors.Is(err, errAbsent):
		case err != nil:
			return "", err
		case r.Incarnation != "" && !r.Tombstone && now.Sub(created) <= b.cluster.options.HeartbeatTimeout && wanted(id, revision, r):
			found = id
		}
	}
	return found, nil
}

// check claims the database again if the bucket has no claim, for instance after NATS came back
// empty. A node whose database is not that of the cluster is unhealthy.
func (c claimant) check(ctx context.Context) {
	if c.store == "" || c.node.cluster.claimed() == c.store {
		c.setForeign(nil)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	if err := c.claim(ctx); err == nil || errors.Is(err, ErrOtherStore) {
		c.setForeign(err)
	}
}

// setForeign records whether the cluster uses another database; nil means it does not.
func (c claimant) setForeign(err error) {
	n := c.node
	n.mu.Lock()
	changed := (err == nil) != (n.foreign == nil)
	n.foreign = err
	n.mu.Unlock()
	if changed {
		n.CheckHealth()
	}
}

// claimed returns the identity of the database that the cluster uses, as far as this process knows.
func (d *directory) claimed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.claim
}

// withdraw removes the record of a node that could not join.
func (n *Node) withdraw(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return n.deregister(ctx)
}
