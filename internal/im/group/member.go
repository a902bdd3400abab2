// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// batch bounds how many records of one kind a transaction deletes when a
// deletion concerns more than its caller named.
const batch = 5000

// AddMember adds a member. Nobody becomes an owner this way: ownership is handed
// over.
func (d *Directory) AddMember(ctx context.Context, m store.GroupMember, joinDate *time.Time) (store.GroupMember, error) {
	now := d.now()
	m.JoinDate = deref(joinDate, now)
	if err := check.NotFuture("joinDate", joinDate, now); err != nil {
		return store.GroupMember{}, err
	}
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error { return d.Join(ctx, tx, m.GroupID, m) })
	if err != nil {
		return store.GroupMember{}, err
	}
	return m, nil
}

// Join adds members to a group in the transaction of another rule. It refuses
// owners, a group that does not exist, and more members than the type allows.
// Whether somebody is blocked or the group is active is up to the caller.
func (d *Directory) Join(ctx context.Context, tx store.Tx, groupID int64, members ...store.GroupMember) error {
	for _, m := range members {
		if m.Role == store.GroupOwner {
			return apierr.New(apierr.IllegalArgument, "role: a group has one owner; hand the group over to change it")
		}
	}
	now := d.now()
	room, err := store.TakeGroupRoom(ctx, tx, groupID, len(members), now)
	if err != nil {
		return err
	}
	if room == nil {
		return apierr.New(apierr.IllegalArgument, "groupId: there is no group %d", groupID)
	}
	if room.Limit == nil {
		t, err := d.Type(ctx, tx, DefaultTypeID)
		if err != nil {
			return err
		}
		room.Limit = &t.GroupSizeLimit
	}
	return settle(ctx, tx, groupID, room.Members, *room.Limit, now, members...)
}

// join adds members of any role to a group that may have so many.
func (d *Directory) join(ctx context.Context, tx store.Tx, groupID int64, limit int32, now time.Time, members ...store.GroupMember) error {
	n, err := store.AddGroupMemberCount(ctx, tx, groupID, len(members), now)
	if err != nil {
		return err
	}
	return settle(ctx, tx, groupID, n, limit, now, members...)
}

// settle stores members who are counted already: the group has n with them.
func settle(ctx context.Context, tx store.Tx, groupID int64, n, limit int32, now time.Time, members ...store.GroupMember) error {
	if err := store.InsertGroupMembers(ctx, tx, members...); err != nil {
		return err
	}
	if err := fits(groupID, n, limit); err != nil {
		return err
	}
	users := convert(members, func(m store.GroupMember) int64 { return m.UserID })
	return store.BumpUserVersion(ctx, tx, store.VersionJoinedGroups, now, users...)
}

// usersOf returns the users of memberships.
func usersOf(keys []store.GroupUserKey) []int64 {
	return convert(keys, func(key store.GroupUserKey) int64 { return key.UserID })
}

// fits refuses more members than a limit.
func fits(groupID int64, n, limit int32) error {
	if n <= limit {
		return nil
	}
	return apierr.New(apierr.AddUserToGroupWithSizeLimitReached, "group %d would have %d members, and its type allows %d", groupID, n, limit)
}

// FindMembers returns memberships in the order of group and user, or of the first
// date that the filter asks for.
func (d *Directory) FindMembers(ctx context.Context, f store.GroupMemberFilter, limit, offset int) ([]store.GroupMember, error) {
	return find(ctx, d, f, limit, offset, store.FindGroupMembers)
}

// FindMemberPage returns a page of memberships and how many there are in all, as far as
// store.ForTotal counts.
func (d *Directory) FindMemberPage(ctx context.Context, f store.GroupMemberFilter, page store.Page) (int64, []store.GroupMember, error) {
	return findPage(ctx, d, f, page, store.CountGroupMembers, store.FindGroupMembers)
}

// UpdateMembers changes the memberships with these keys, all of them or none.
// Who is the owner cannot be changed.
func (d *Directory) UpdateMembers(ctx context.Context, keys []store.GroupUserKey, c store.GroupMemberChange) (store.UpdateResult, error) {
	if c == (store.GroupMemberChange{}) {
		return store.UpdateResult{}, nil
	}
	now := d.now()
	if err := check.NotFuture("joinDate", c.JoinDate, now); err != nil {
		return store.UpdateResult{}, err
	}
	var result store.UpdateResult
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		members, err := store.GetGroupMembers(ctx, tx, keys)
		if err != nil {
			return err
		}
		if c.Role != nil {
			for _, m := range members {
				if (m.Role == store.GroupOwner) != (*c.Role == store.GroupOwner) {
					return apierr.New(apierr.IllegalArgument, "role: user %d cannot get the role %s in group %d: a group has one owner; hand the group over to change it",
						m.UserID, *c.Role, m.GroupID)
				}
			}
		}
		modified, err := store.UpdateGroupMembers(ctx, tx, keys, c)
		if err != nil {
			return err
		}
		result = store.UpdateResult{Matched: int64(len(members)), Modified: int64(len(modified))}
		return store.BumpGroupVersions(ctx, tx, store.GroupMembers, modified, now)
	})
	return result, err
}

// DeleteMembers removes the memberships with these keys, all of them or none.
// The owner of a group cannot leave it.
func (d *Directory) DeleteMembers(ctx context.Context, keys []store.GroupUserKey) (deleted int64, err error) {
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		deleted, err = d.Leave(ctx, tx, keys)
		return err
	})
	return deleted, err
}

// Leave removes memberships in the transaction of another rule and returns how
// many there were. It refuses if one of them is that of an owner.
func (d *Directory) Leave(ctx context.Context, tx store.Tx, keys []store.GroupUserKey) (int64, error) {
	members, err := store.GetGroupMembers(ctx, tx, keys)
	if err != nil || len(members) == 0 {
		return 0, err
	}
	owners, rest, err := d.splitOwners(ctx, tx, members)
	if err != nil {
		return 0, err
	}
	if len(owners) > 0 {
		return 0, apierr.New(apierr.GroupOwnerQuitWithoutSpecifyingSuccessor,
			"user %d owns group %d: hand the group over or delete it first", owners[0].UserID, owners[0].GroupID)
	}
	return int64(len(rest)), d.leave(ctx, tx, rest, d.now())
}

// splitOwners tells the owners of groups that were not deleted from other
// members.
func (d *Directory) splitOwners(ctx context.Context, r store.Reader, members []store.GroupMember) (owners, rest []store.GroupUserKey, err error) {
	var owned []int64
	for _, m := range members {
		if m.Role == store.GroupOwner {
			owned = append(owned, m.GroupID)
		}
	}
	existing := map[int64]bool{}
	if len(owned) > 0 {
		live := false
		groups, err := store.FindGroups(ctx, r, store.GroupFilter{IDs: owned, Deleted: &live}, store.Page{})
		if err != nil {
			return nil, nil, err
		}
		for _, g := range groups {
			existing[g.ID] = true
		}
	}
	for _, m := range members {
		if m.Role == store.GroupOwner && existing[m.GroupID] {
			owners = append(owners, m.GroupUserKey)
		} else {
			rest = append(rest, m.GroupUserKey)
		}
	}
	return owners, rest, nil
}

// leave removes memberships that exist.
func (d *Directory) leave(ctx context.Context, tx store.Tx, keys []store.GroupUserKey, now time.Time) error {
	if len(keys) == 0 {
		return nil
	}
	if _, err := store.DeleteGroupMembers(ctx, tx, keys); err != nil {
		return err
	}
	perGroup := map[int64]int{}
	var groups, users []int64
	for _, key := range keys {
		if perGroup[key.GroupID]++; perGroup[key.GroupID] == 1 {
			groups = append(groups, key.GroupID)
		}
		users = append(users, key.UserID)
	}
	for _, group := range groups {
		if _, err := store.AddGroupMemberCount(ctx, tx, group, -perGroup[group], now); err != nil {
			return err
		}
	}
	return store.BumpUserVersion(ctx, tx, store.VersionJoinedGroups, now, distinct(users)...)
}

// DeleteAllMembers removes every member of every group except the owners, in
// several transactions. Those who join meanwhile may stay.
func (d *Directory) DeleteAllMembers(ctx context.Context) (deleted int64, err error) {
	var after *store.GroupUserKey
	for {
		var last *store.GroupUserKey
		var n int
		err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
			members, err := store.GroupMembersAfter(ctx, tx, nil, after, batch)
			last, n = nil, 0
			if err != nil || len(members) == 0 {
				return err
			}
			last = &members[len(members)-1].GroupUserKey
			_, rest, err := d.splitOwners(ctx, tx, members)
			if err != nil {
				return err
			}
			n = len(rest)
			return d.leave(ctx, tx, rest, d.now())
		})
		if err != nil || last == nil {
			return deleted, err
		}
		after, deleted = last, deleted+int64(n)
	}
}

// RemoveUser removes a user from all groups in the transaction of another rule.
// Groups that the user owns keep their owner: somebody must hand them over or
// delete them.
func (d *Directory) RemoveUser(ctx context.Context, tx store.Tx, userID int64) error {
	members, err := store.FindGroupMembers(ctx, tx, store.GroupMemberFilter{UserIDs: []int64{userID}}, store.Page{})
	if err != nil {
		return err
	}
	_, rest, err := d.splitOwners(ctx, tx, members)
	if err != nil {
		return err
	}
	return d.leave(ctx, tx, rest, d.now())
}

// Member returns the membership of a user, and false if there is none.
func (d *Directory) Member(ctx context.Context, r store.Reader, groupID, userID int64) (store.GroupMember, bool, error) {
	members, err := store.GetGroupMembers(ctx, r, []store.GroupUserKey{{GroupID: groupID, UserID: userID}})
	if err != nil || len(members) == 0 {
		return store.GroupMember{}, false, err
	}
	return members[0], true, nil
}

// IsMember reports whether a user is a member of a group.
func (d *Directory) IsMember(ctx context.Context, r store.Reader, groupID, userID int64) (bool, error) {
	_, found, err := d.Member(ctx, r, groupID, userID)
	return found, err
}

// MemberIDs returns the members of a group whose ids are above a given one, in
// ascending order, at most limit of them; nil is the beginning.
func (d *Directory) MemberIDs(ctx context.Context, r store.Reader, groupID int64, after *int64, limit int) ([]int64, error) {
	return store.GroupMemberIDsAfter(ctx, r, groupID, after, limit)
}

// JoinedGroupIDs returns the groups that a user is a member of.
func (d *Directory) JoinedGroupIDs(ctx context.Context, r store.Reader, userID int64) ([]int64, error) {
	return store.JoinedGroupIDs(ctx, r, userID)
}

// Owner returns the owner of a group that was not deleted, and false if there is
// no such group.
func (d *Directory) Owner(ctx context.Context, r store.Reader, groupID int64) (int64, bool, error) {
	g, found, err := d.Get(ctx, r, groupID)
	return g.OwnerID, found, err
}

// Managers returns the owner and the managers of a group.
func (d *Directory) Managers(ctx context.Context, groupID int64) ([]int64, error) {
	f := store.GroupMemberFilter{GroupIDs: []int64{groupID}, Roles: []store.GroupMemberRole{store.GroupOwner, store.GroupManager}}
	found, err := d.FindMembers(ctx, f, 0, 0)
	return convert(found, func(m store.GroupMember) int64 { return m.UserID }), err
}
