// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"context"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// Operations of owners on their own relationships.

// Establish creates a relationship of the owner, or a block, without asking the other. It puts the
// other into a group of the owner, by default the default group, and returns its index.
func (d *Directory) Establish(ctx context.Context, key store.RelationshipKey, blocked bool, group *int32, name *string) (int32, error) {
	if err := checkPair("ownerId", key.OwnerID, "relatedUserId", key.RelatedUserID); err != nil {
		return 0, err
	}
	now := d.now()
	index := orDefault(group)
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := requireGroup(ctx, tx, key.OwnerID, index); err != nil {
			return err
		}
		return insert(ctx, tx, newRelationship(key, blocked, name, now), index, now)
	})
	return index, existing(err)
}

func newRelationship(key store.RelationshipKey, blocked bool, name *string, now time.Time) store.Relationship {
	r := store.Relationship{RelationshipKey: key, Name: name, EstablishmentDate: now}
	if blocked {
		r.BlockDate = &now
	}
	return r
}

func orDefault(group *int32) int32 {
	if group == nil {
		return store.DefaultRelationshipGroup
	}
	return *group
}

// requireGroup returns an error if the owner has no such group. Every owner has the default group,
// even if it is not stored yet.
func requireGroup(ctx context.Context, r store.Reader, owner int64, index int32) error {
	if index == store.DefaultRelationshipGroup {
		return nil
	}
	count, err := store.CountRelationshipGroups(ctx, r, store.RelationshipGroupFilter{OwnerIDs: []int64{owner}, Indexes: []int32{index}})
	if err == nil && count == 0 {
		return apierr.New(apierr.IllegalArgument, "user %d has no relationship group %d", owner, index)
	}
	return err
}

// OwnChange is an owner's change of a relationship. Nil fields stay unchanged.
type OwnChange struct {
	Blocked *bool
	Name    *string
	// NewGroup is a group to add the other to, OldGroup one to remove it from; if no group is left,
	// the other is put into the default group.
	NewGroup, OldGroup *int32
}

// Change changes a relationship of the owner, and creates it if necessary. It reports whether
// anything changed.
func (d *Directory) Change(ctx context.Context, key store.RelationshipKey, c OwnChange) (changed bool, err error) {
	if err := checkPair("ownerId", key.OwnerID, "relatedUserId", key.RelatedUserID); err != nil {
		return false, err
	}
	if c.NewGroup != nil && c.OldGroup != nil && *c.NewGroup == *c.OldGroup {
		return false, apierr.New(apierr.IllegalArgument, "the new group and the group to leave must differ, but both are %d", *c.NewGroup)
	}
	if c == (OwnChange{}) {
		return false, nil
	}
	now := d.now()
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		changed = false
		if err := requireGroup(ctx, tx, key.OwnerID, orDefault(c.NewGroup)); err != nil {
			return err
		}
		old, err := store.FindRelationship(ctx, tx, key)
		if err != nil {
			return err
		}
		if old == nil {
			changed = true
			return insert(ctx, tx, newRelationship(key, c.Blocked != nil && *c.Blocked, c.Name, now), orDefault(c.NewGroup), now)
		}
		if changed, err = c.apply(ctx, tx, *old, now); err != nil {
			return err
		}
		moved, err := c.move(ctx, tx, key, now)
		changed = changed || moved
		return err
	})
	return changed, err
}

// apply changes everything except groups.
func (c OwnChange) apply(ctx context.Context, tx store.Tx, old store.Relationship, now time.Time) (bool, error) {
	change := store.RelationshipChange{Name: c.Name}
	switch {
	case c.Blocked == nil:
	case !*c.Blocked:
		change.Unblock = true
	case old.BlockDate == nil:
		change.BlockDate = &now
	}
	result, owners, err := store.UpdateRelationships(ctx, tx, []store.RelationshipKey{old.RelationshipKey}, change)
	if err != nil {
		return false, err
	}
	return result.Modified > 0, store.BumpUserVersion(ctx, tx, store.VersionRelationships, now, owners...)
}

// move changes the groups of the other.
func (c OwnChange) move(ctx context.Context, tx store.Tx, key store.RelationshipKey, now time.Time) (changed bool, err error) {
	if c.NewGroup != nil {
		if changed, err = store.AddRelationshipGroupMember(ctx, tx, key, *c.NewGroup); err != nil {
			return false, err
		}
	}
	// Leaving only the default group would lead back to it.
	if c.OldGroup != nil && (c.NewGroup != nil || *c.OldGroup != store.DefaultRelationshipGroup) {
		removed, err := store.RemoveRelationshipGroupMember(ctx, tx, key, *c.OldGroup)
		if err != nil {
			return false, err
		}
		changed = changed || removed
		if removed && c.NewGroup == nil {
			if _, err := store.AddRelationshipGroupMember(ctx, tx, key, store.DefaultRelationshipGroup); err != nil {
				return false, err
			}
		}
	}
	if !changed {
		return false, nil
	}
	return true, bumpBoth(ctx, tx, now, key.OwnerID)
}

// Ended is the result of ending a relationship.
type Ended struct {
	// Deleted and ReverseDeleted tell which sides were deleted.
	Deleted, ReverseDeleted bool
	// Left is true if the other has left at least one group of the owner.
	Left bool
}

// End removes the other from a group of the owner, or from all if group is nil. Without a group the
// relationship ends. Depending on the settings, that also ends the other side, unless it is a
// block.
func (d *Directory) End(ctx context.Context, key store.RelationshipKey, group *int32) (ended Ended, err error) {
	now, twoSided := d.now(), d.opts.Settings().DeleteTwoSidedRelationships
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		ended = Ended{}
		if group != nil {
			left, last, err := leave(ctx, tx, key, *group, now)
			if err != nil || !last {
				ended.Left = left
				return err
			}
		}
		gone, err := store.DeleteRelationships(ctx, tx, []store.RelationshipKey{key})
		if err != nil || len(gone) == 0 {
			return err
		}
		var reversed []store.RelationshipKey
		if twoSided {
			if reversed, err = endReverse(ctx, tx, key); err != nil {
				return err
			}
		}
		ended = Ended{Deleted: true, ReverseDeleted: len(reversed) > 0, Left: true}
		return bumpBoth(ctx, tx, now, owners(slices.Concat(gone, reversed))...)
	})
	return ended, err
}

// endReverse deletes the other side's relationship unless it is a block.
func endReverse(ctx context.Context, tx store.Tx, key store.RelationshipKey) ([]store.RelationshipKey, error) {
	blocked, err := Blocks(ctx, tx, key.RelatedUserID, key.OwnerID)
	if err != nil || blocked {
		return nil, err
	}
	return store.DeleteRelationships(ctx, tx, []store.RelationshipKey{key.Reverse()})
}

// leave removes the other from one group and reports whether that was the last.
func leave(ctx context.Context, tx store.Tx, key store.RelationshipKey, group int32, now time.Time) (left, last bool, err error) {
	if left, err = store.RemoveRelationshipGroupMember(ctx, tx, key, group); err != nil || !left {
		return false, false, err
	}
	rest, err := store.FindRelationshipGroupIndexes(ctx, tx, key)
	if err != nil {
		return false, false, err
	}
	return true, len(rest) == 0, bumpBoth(ctx, tx, now, key.OwnerID)
}
