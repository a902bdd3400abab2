// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// GroupCreation defines a new group of an owner.
type GroupCreation struct {
	OwnerID int64
	// Index is a random positive number if it is nil.
	Index *int32
	Name  string
	// CreationDate is now if it is nil.
	CreationDate *time.Time
	// Key is stored as the key of the request that creates the group; nil means none.
	Key *store.MessageKey
}

// CreateGroup adds a group. If the owner uses the index already, the error is a duplicate key.
func (d *Directory) CreateGroup(ctx context.Context, c GroupCreation) (store.RelationshipGroup, error) {
	now := d.now()
	if err := cmp.Or(check.UserID("ownerId", c.OwnerID), check.NotFuture("creationDate", c.CreationDate, now)); err != nil {
		return store.RelationshipGroup{}, err
	}
	if c.Index != nil && *c.Index < 0 {
		return store.RelationshipGroup{}, apierr.New(apierr.IllegalArgument, "index: %d must be at least 0", *c.Index)
	}
	group := store.RelationshipGroup{RelationshipGroupKey: store.RelationshipGroupKey{OwnerID: c.OwnerID}, Name: c.Name, CreationDate: now}
	if c.CreationDate != nil {
		group.CreationDate = *c.CreationDate
	}
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		var err error
		if c.Index != nil {
			group.Index = *c.Index
		} else if group.Index, err = freeIndex(ctx, tx, c.OwnerID); err != nil {
			return err
		}
		if err := c.Key.Remember(ctx, tx, int64(group.Index)); err != nil {
			return err
		}
		if err := store.InsertRelationshipGroups(ctx, tx, group); err != nil {
			return err
		}
		return store.BumpUserVersion(ctx, tx, store.VersionRelationshipGroups, now, c.OwnerID)
	})
	if err != nil {
		return store.RelationshipGroup{}, err
	}
	return group, nil
}

// freeIndex returns an unused positive index of the owner.
func freeIndex(ctx context.Context, tx store.Tx, owner int64) (int32, error) {
	for {
		index := 1 + rand.Int32N(math.MaxInt32)
		count, err := store.CountRelationshipGroups(ctx, tx, store.RelationshipGroupFilter{OwnerIDs: []int64{owner}, Indexes: []int32{index}})
		if err != nil || count == 0 {
			return index, err
		}
	}
}

// FindGroups returns groups by owner and index, or by creation date if the filter has a range of
// it.
func (d *Directory) FindGroups(ctx context.Context, f store.RelationshipGroupFilter, limit, offset int) (groups []store.RelationshipGroup, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		groups, err = store.FindRelationshipGroups(ctx, r, f, store.Page{Limit: limit, Offset: offset})
		return err
	})
	return groups, err
}

// FindGroupPage returns a page of groups and how many there are in all, as far as
// store.ForTotal counts.
func (d *Directory) FindGroupPage(ctx context.Context, f store.RelationshipGroupFilter, page store.Page) (total int64, groups []store.RelationshipGroup, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total, err = store.CountRelationshipGroups(ctx, store.ForTotal(r, page), f); err != nil || total == 0 {
			return err
		}
		groups, err = store.FindRelationshipGroups(ctx, r, f, page)
		return err
	})
	return total, groups, err
}

// UpdateGroups changes the groups with these keys.
func (d *Directory) UpdateGroups(ctx context.Context, keys []store.RelationshipGroupKey, c store.RelationshipGroupChange) (result store.UpdateResult, err error) {
	now := d.now()
	if err := check.NotFuture("creationDate", c.CreationDate, now); err != nil {
		return store.UpdateResult{}, err
	}
	if c == (store.RelationshipGroupChange{}) {
		return store.UpdateResult{}, nil
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		var owners []int64
		if result, owners, err = store.UpdateRelationshipGroups(ctx, tx, keys, c); err != nil {
			return err
		}
		return store.BumpUserVersion(ctx, tx, store.VersionRelationshipGroups, now, owners...)
	})
	return result, err
}

// deletionBatch bounds how many records one transaction deletes if the caller did not name them, so
// that other writers do not wait long.
const deletionBatch = 1000

// DeleteGroups deletes the groups with these keys, or all groups if keys is nil, and moves their
// members to the default groups. Naming a default group is an error.
func (d *Directory) DeleteGroups(ctx context.Context, keys []store.RelationshipGroupKey) (deleted int64, err error) {
	for _, key := range keys {
		if err := refuseDefault(key.Index); err != nil {
			return 0, err
		}
	}
	if keys == nil {
		return d.deleteAllGroups(ctx)
	}
	now := d.now()
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		gone, err := store.DeleteRelationshipGroups(ctx, tx, keys)
		deleted = int64(len(gone))
		if err != nil {
			return err
		}
		return dissolve(ctx, tx, gone, store.DefaultRelationshipGroup, now)
	})
	return deleted, err
}

// deleteAllGroups deletes all groups except the default ones, in batches.
func (d *Directory) deleteAllGroups(ctx context.Context) (deleted int64, err error) {
	now := d.now()
	for {
		var gone []store.RelationshipGroupKey
		err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			if gone, err = store.DeleteSomeRelationshipGroups(ctx, tx, deletionBatch); err != nil {
				return err
			}
			return dissolve(ctx, tx, gone, store.DefaultRelationshipGroup, now)
		})
		if err != nil {
			return deleted, err
		}
		deleted += int64(len(gone))
		if len(gone) < deletionBatch {
			return deleted, nil
		}
	}
}

func refuseDefault(index int32) error {
	if index == store.DefaultRelationshipGroup {
		return apierr.New(apierr.IllegalArgument, "the relationship group %d is the default group, which cannot be deleted", index)
	}
	return nil
}

// DeleteGroup deletes a group of the owner and moves its members to another one; the default is the
// default group. It reports whether the group existed, and returns its members.
func (d *Directory) DeleteGroup(ctx context.Context, key store.RelationshipGroupKey, target *int32) (deleted bool, members []int64, err error) {
	if err := refuseDefault(key.Index); err != nil {
		return false, nil, err
	}
	to := orDefault(target)
	if to == key.Index {
		return false, nil, apierr.New(apierr.IllegalArgument, "the members of relationship group %d cannot move to that group itself", to)
	}
	now := d.now()
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := requireGroup(ctx, tx, key.OwnerID, to); err != nil {
			return err
		}
		if members, err = store.RelationshipGroupMemberIDsAfter(ctx, tx, key, nil, 0); err != nil {
			return err
		}
		gone, err := store.DeleteRelationshipGroups(ctx, tx, []store.RelationshipGroupKey{key})
		if err != nil {
			return err
		}
		deleted = len(gone) > 0
		return dissolve(ctx, tx, gone, to, now)
	})
	return deleted, members, err
}

// dissolve moves the members of deleted groups.
func dissolve(ctx context.Context, tx store.Tx, gone []store.RelationshipGroupKey, target int32, now time.Time) error {
	moved, err := store.MoveRelationshipGroupMembers(ctx, tx, gone, target)
	if err != nil {
		return err
	}
	if target == store.DefaultRelationshipGroup {
		if err := EnsureDefaultGroups(ctx, tx, now, moved...); err != nil {
			return err
		}
	}
	if err := bumpBoth(ctx, tx, now, moved...); err != nil {
		return err
	}
	return bumpGroups(ctx, tx, now, gone)
}

// bumpGroups increments the version of the owners' lists of groups.
func bumpGroups(ctx context.Context, tx store.Tx, now time.Time, groups []store.RelationshipGroupKey) error {
	var owners []int64
	for _, key := range groups {
		owners = append(owners, key.OwnerID)
	}
	return store.BumpUserVersion(ctx, tx, store.VersionRelationshipGroups, now, owners...)
}

// RenameGroup renames a group of the owner and reports whether anything changed.
func (d *Directory) RenameGroup(ctx context.Context, key store.RelationshipGroupKey, name string) (changed bool, err error) {
	result, err := d.UpdateGroups(ctx, []store.RelationshipGroupKey{key}, store.RelationshipGroupChange{Name: &name})
	return result.Modified > 0, err
}
