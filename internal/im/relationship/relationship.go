// SPDX-License-Identifier: Apache-2.0

// Package relationship holds the rules about relationships, which are one-sided, the groups into
// which owners sort them, and friend requests, which lead to relationships of both sides. Users
// need no account for that; accounts are in package user.
package relationship

import (
	"cmp"
	"context"
	"errors"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// Options configure a Directory.
type Options struct {
	Store *store.DB
	IDs   *ids.Generator
	// Settings returns the current rules.
	Settings func() config.User
	// Clock is time.Now if it is nil.
	Clock func() time.Time
}

// Directory manages all relationships of the cluster and their friend requests. It has no cache.
type Directory struct {
	opts           Options
	FriendRequests *FriendRequests
}

// New returns the directory over a store.
func New(o Options) *Directory {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	d := &Directory{opts: o}
	d.FriendRequests = newFriendRequests(o.Store, o.IDs, d.now, func() config.FriendRequest { return o.Settings().FriendRequest })
	return d
}

func (d *Directory) now() time.Time { return d.opts.Clock().UTC().Truncate(time.Millisecond) }

// Creation defines a new relationship.
type Creation struct {
	store.RelationshipKey

	Name *string
	// BlockDate makes it a block; nil means none.
	BlockDate *time.Time
	// EstablishmentDate is now if it is nil.
	EstablishmentDate *time.Time
}

// Create adds a relationship of one side and puts the related user into the
// default group of the owner.
func (d *Directory) Create(ctx context.Context, c Creation) error {
	now := d.now()
	err := cmp.Or(checkPair("ownerId", c.OwnerID, "relatedUserId", c.RelatedUserID),
		check.NotFuture("blockDate", c.BlockDate, now), check.NotFuture("establishmentDate", c.EstablishmentDate, now))
	if err != nil {
		return err
	}
	relationship := store.Relationship{RelationshipKey: c.RelationshipKey, Name: c.Name, BlockDate: c.BlockDate, EstablishmentDate: now}
	if c.EstablishmentDate != nil {
		relationship.EstablishmentDate = *c.EstablishmentDate
	}
	return existing(d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		return insert(ctx, tx, relationship, store.DefaultRelationshipGroup, now)
	}))
}

// checkPair returns an error for invalid ids and for a relationship of a user to itself.
func checkPair(fieldA string, a int64, fieldB string, b int64) error {
	if err := cmp.Or(check.UserID(fieldA, a), check.UserID(fieldB, b)); err != nil {
		return err
	}
	if a == b {
		return apierr.New(apierr.IllegalArgument, "%s and %s: must differ, but both are %d", fieldA, fieldB, a)
	}
	return nil
}

// existing converts a duplicate key to its business code.
func existing(err error) error {
	if errors.Is(err, store.ErrDuplicateKey) {
		return apierr.Wrap(apierr.CreateExistingRelationship, err)
	}
	return err
}

// insert stores a relationship in a group of its owner.
func insert(ctx context.Context, tx store.Tx, r store.Relationship, group int32, now time.Time) error {
	if err := store.InsertRelationships(ctx, tx, r); err != nil {
		return err
	}
	if err := EnsureDefaultGroups(ctx, tx, now, r.OwnerID); err != nil {
		return err
	}
	if _, err := store.AddRelationshipGroupMember(ctx, tx, r.RelationshipKey, group); err != nil {
		return err
	}
	return bumpBoth(ctx, tx, now, r.OwnerID)
}

// bumpBoth increments the versions of both the owners' relationships and the members of their
// groups, because relationships are returned with their groups.
func bumpBoth(ctx context.Context, tx store.Tx, now time.Time, owners ...int64) error {
	if err := store.BumpUserVersion(ctx, tx, store.VersionRelationships, now, owners...); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionRelationshipGroupMembers, now, owners...)
}

// Find returns relationships by owner and related user, or by establishment date if the filter has
// a range of it, optionally with their groups.
func (d *Directory) Find(ctx context.Context, f store.RelationshipFilter, withGroups bool, limit, offset int) (found []store.Relationship, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, err = find(ctx, r, f, withGroups, store.Page{Limit: limit, Offset: offset})
		return err
	})
	return found, err
}

func find(ctx context.Context, r store.Reader, f store.RelationshipFilter, withGroups bool, page store.Page) ([]store.Relationship, error) {
	if withGroups {
		return store.FindRelationshipsWithGroups(ctx, r, f, page)
	}
	return store.FindRelationships(ctx, r, f, page)
}

// FindPage returns a page of relationships and how many there are in all, as far as
// store.ForTotal counts.
func (d *Directory) FindPage(ctx context.Context, f store.RelationshipFilter, withGroups bool, page store.Page) (total int64, found []store.Relationship, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total, err = store.CountRelationships(ctx, store.ForTotal(r, page), f); err != nil || total == 0 {
			return err
		}
		found, err = find(ctx, r, f, withGroups, page)
		return err
	})
	return total, found, err
}

// Update changes the relationships with these keys.
func (d *Directory) Update(ctx context.Context, keys []store.RelationshipKey, c store.RelationshipChange) (result store.UpdateResult, err error) {
	now := d.now()
	err = cmp.Or(check.NotFuture("blockDate", c.BlockDate, now), check.NotFuture("establishmentDate", c.EstablishmentDate, now))
	if err != nil {
		return store.UpdateResult{}, err
	}
	if c == (store.RelationshipChange{}) {
		return store.UpdateResult{}, nil
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		var owners []int64
		if result, owners, err = store.UpdateRelationships(ctx, tx, keys, c); err != nil {
			return err
		}
		return store.BumpUserVersion(ctx, tx, store.VersionRelationships, now, owners...)
	})
	return result, err
}

// Delete deletes the relationships with these keys, one side only, and their group memberships.
func (d *Directory) Delete(ctx context.Context, keys []store.RelationshipKey) (deleted int64, err error) {
	now := d.now()
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		gone, err := store.DeleteRelationships(ctx, tx, keys)
		if err != nil {
			return err
		}
		deleted = int64(len(gone))
		return bumpBoth(ctx, tx, now, owners(gone)...)
	})
	return deleted, err
}

func owners(keys []store.RelationshipKey) []int64 {
	list := make([]int64, len(keys))
	for i, key := range keys {
		list[i] = key.OwnerID
	}
	return list
}
