// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"slices"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// Delete deletes the groups with these ids. Logically deleted groups stay with a deletion date. In
// both cases all memberships and what hooks delete are deleted; invitations, requests, questions,
// blocked users and messages stay. If logically is nil, the settings decide. It returns the number
// of groups that were deleted or got a deletion date.
//
// Usually all of it is one transaction. Of groups with very many members, most are removed first,
// in transactions of their own, so that other writers do not wait long: an interrupted deletion
// leaves the group with fewer members, and can be repeated.
func (d *Directory) Delete(ctx context.Context, groupIDs []int64, logically *bool) (deleted int64, err error) {
	how := deletion{directory: d, keep: deref(logically, d.opts.Settings().DeleteGroupLogicallyByDefault)}
	for chunk := range slices.Chunk(distinct(slices.Clone(groupIDs)), groupBatch) {
		n, err := how.chunk(ctx, chunk)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// DeleteBy deletes a group on behalf of its owner, as Delete does, and returns the former members.
func (d *Directory) DeleteBy(ctx context.Context, requester, groupID int64) (members []int64, err error) {
	how := deletion{
		directory: d, keep: d.opts.Settings().DeleteGroupLogicallyByDefault,
		allowed: func(ctx context.Context, tx store.Tx) error {
			g, found, err := Get(ctx, tx, groupID)
			if err == nil && (!found || g.OwnerID != requester) {
				err = apierr.New(apierr.NotGroupOwnerToDeleteGroup, "")
			}
			return err
		},
		left: func(userIDs []int64) { members = append(members, userIDs...) },
	}
	_, err = how.chunk(ctx, []int64{groupID})
	return members, err
}

// deletion configures how groups are deleted.
type deletion struct {
	directory *Directory
	// keep is true for logical deletion.
	keep bool
	// allowed is called at the beginning of each transaction and may return an error; nil allows
	// everything.
	allowed func(ctx context.Context, tx store.Tx) error
	// left is called with the removed members after the commit; it may be nil.
	left func(userIDs []int64)
}

// write runs one transaction of the deletion. change returns the removed members.
func (how deletion) write(ctx context.Context, change func(ctx context.Context, tx store.Tx) ([]int64, error)) error {
	var users []int64
	err := how.directory.store.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		if how.allowed != nil {
			if err := how.allowed(ctx, tx); err != nil {
				return err
			}
		}
		users, err = change(ctx, tx)
		return err
	})
	if err == nil && how.left != nil {
		how.left(users)
	}
	return err
}

// groupBatch bounds how many groups a transaction deletes.
const groupBatch = 1000

// chunk deletes groups in as few transactions as their numbers of members allow.
func (how deletion) chunk(ctx context.Context, groupIDs []int64) (deleted int64, err error) {
	var counts map[int64]int32
	err = how.directory.store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		counts, err = store.GroupMemberCounts(ctx, r, groupIDs)
		return err
	})
	for len(groupIDs) > 0 && err == nil {
		n, members := 0, 0
		for ; n < len(groupIDs); n++ {
			here := int(counts[groupIDs[n]])
			if here > batch {
				if here, err = how.shrink(ctx, groupIDs[n]); err != nil {
					return deleted, err
				}
				counts[groupIDs[n]] = int32(here)
			}
			if n > 0 && members+here > batch {
				break
			}
			members += here
		}
		var gone int64
		gone, err = how.groups(ctx, groupIDs[:n])
		deleted, groupIDs = deleted+gone, groupIDs[n:]
	}
	return deleted, err
}

// DeleteAll deletes all groups that exist at the start, see Delete.
func (d *Directory) DeleteAll(ctx context.Context, logically *bool) (deleted int64, err error) {
	var after *int64
	for {
		var groupIDs []int64
		err := d.store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			groupIDs, err = store.GroupIDsAfter(ctx, r, after, groupBatch)
			return err
		})
		if err != nil || len(groupIDs) == 0 {
			return deleted, err
		}
		n, err := d.Delete(ctx, groupIDs, logically)
		deleted += n
		if err != nil {
			return deleted, err
		}
		after = &groupIDs[len(groupIDs)-1]
	}
}

// shrink removes members of a group, except its owner, until a transaction can delete the rest, and
// returns how many are left.
func (how deletion) shrink(ctx context.Context, groupID int64) (left int, err error) {
	for {
		err := how.directory.store.Read(ctx, func(ctx context.Context, r store.Reader) error {
			n, err := store.GroupMemberCount(ctx, r, groupID)
			left = int(n)
			return err
		})
		if err != nil || left <= batch {
			return left, err
		}
		err = how.write(ctx, func(ctx context.Context, tx store.Tx) ([]int64, error) {
			members, err := store.GroupMembersAfter(ctx, tx, &groupID, nil, batch)
			if err != nil {
				return nil, err
			}
			var keys []store.GroupUserKey
			for _, m := range members {
				if m.Role != store.GroupOwner {
					keys = append(keys, m.GroupUserKey)
				}
			}
			return usersOf(keys), leave(ctx, tx, keys, how.directory.now())
		})
		if err != nil {
			return left, err
		}
	}
}

// groups deletes groups and their remaining members.
func (how deletion) groups(ctx context.Context, groupIDs []int64) (deleted int64, err error) {
	d := how.directory
	now := d.now()
	err = how.write(ctx, func(ctx context.Context, tx store.Tx) ([]int64, error) {
		groups, err := store.FindGroups(ctx, tx, store.GroupFilter{IDs: groupIDs}, store.Page{})
		deleted = 0
		if err != nil || len(groups) == 0 {
			return nil, err
		}
		existing := idsOf(groups)
		users, err := store.DeleteMembersOfGroups(ctx, tx, existing)
		if err != nil {
			return nil, err
		}
		if err := store.BumpUserVersion(ctx, tx, store.VersionJoinedGroups, now, distinct(users)...); err != nil {
			return nil, err
		}
		for _, hook := range d.opts.OnDelete {
			if err := hook(ctx, tx, existing); err != nil {
				return nil, err
			}
		}
		if err := store.DeleteGroupVersions(ctx, tx, existing); err != nil {
			return nil, err
		}
		if !how.keep {
			deleted, err = store.DeleteGroups(ctx, tx, existing)
			return users, err
		}
		var live []int64
		for _, g := range groups {
			if g.DeletionDate == nil {
				live = append(live, g.ID)
			}
		}
		modified, err := store.UpdateGroups(ctx, tx, live, store.GroupChange{DeletionDate: &now})
		deleted = int64(len(modified))
		return users, err
	})
	if err != nil {
		return 0, err
	}
	tell(d.opts.Deleted, int(deleted))
	return deleted, nil
}
