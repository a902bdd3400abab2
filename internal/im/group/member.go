// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// batch bounds how many records of one kind a transaction deletes if the caller did not name them.
const batch = 5000

// Members manages the members of groups. It caches only the members of active groups; see Roster.
type Members struct {
	records[store.GroupMemberFilter, store.GroupMember]
	now     func() time.Time
	rosters *rosters
}

func newMembers(db *store.DB, now func() time.Time) *Members {
	return &Members{records[store.GroupMemberFilter, store.GroupMember]{db, store.FindGroupMembers, store.CountGroupMembers}, now, newRosters()}
}

// Add adds a member, but no owner: ownership is transferred.
func (m *Members) Add(ctx context.Context, added store.GroupMember, joinDate *time.Time) (store.GroupMember, error) {
	now := m.now()
	added.JoinDate = deref(joinDate, now)
	if err := check.NotFuture("joinDate", joinDate, now); err != nil {
		return store.GroupMember{}, err
	}
	err := m.store.Write(ctx, func(ctx context.Context, tx store.Tx) error { return m.Join(ctx, tx, added.GroupID, added) })
	if err != nil {
		return store.GroupMember{}, err
	}
	return added, nil
}

// Join adds members to a group in the caller's transaction. It returns an error for owners, a
// missing group, and more members than the type allows. The caller must check blocks and whether
// the group is active.
func (m *Members) Join(ctx context.Context, tx store.Tx, groupID int64, members ...store.GroupMember) error {
	for _, m := range members {
		if m.Role == store.GroupOwner {
			return apierr.New(apierr.IllegalArgument, "role: a group has one owner; hand the group over to change it")
		}
	}
	now := m.now()
	room, err := store.TakeGroupRoom(ctx, tx, groupID, len(members), now)
	if err != nil {
		return err
	}
	if room == nil {
		return apierr.New(apierr.IllegalArgument, "groupId: there is no group %d", groupID)
	}
	if room.Limit == nil {
		t, err := TypeOf(ctx, tx, DefaultTypeID)
		if err != nil {
			return err
		}
		room.Limit = &t.GroupSizeLimit
	}
	return settle(ctx, tx, groupID, room.Members, *room.Limit, now, members...)
}

// join adds members of any role, up to the limit of the group.
func join(ctx context.Context, tx store.Tx, groupID int64, limit int32, now time.Time, members ...store.GroupMember) error {
	n, err := store.AddGroupMemberCount(ctx, tx, groupID, len(members), now)
	if err != nil {
		return err
	}
	return settle(ctx, tx, groupID, n, limit, now, members...)
}

// settle stores members after they were counted: the group has n with them.
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

// fits returns an error for more members than a limit.
func fits(groupID int64, n, limit int32) error {
	if n <= limit {
		return nil
	}
	return apierr.New(apierr.AddUserToGroupWithSizeLimitReached, "group %d would have %d members, and its type allows %d", groupID, n, limit)
}

// Update changes the memberships with these keys, all or none. It cannot change the owner.
func (m *Members) Update(ctx context.Context, keys []store.GroupUserKey, c store.GroupMemberChange) (store.UpdateResult, error) {
	if c == (store.GroupMemberChange{}) {
		return store.UpdateResult{}, nil
	}
	now := m.now()
	if err := check.NotFuture("joinDate", c.JoinDate, now); err != nil {
		return store.UpdateResult{}, err
	}
	var result store.UpdateResult
	err := m.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
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

// Delete deletes the memberships with these keys, all or none. The owner of a group cannot leave
// it.
func (m *Members) Delete(ctx context.Context, keys []store.GroupUserKey) (deleted int64, err error) {
	err = m.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		deleted, err = m.Leave(ctx, tx, keys)
		return err
	})
	return deleted, err
}

// Leave deletes memberships in the caller's transaction and returns how many there were. It returns
// an error if one of them is an owner's.
func (m *Members) Leave(ctx context.Context, tx store.Tx, keys []store.GroupUserKey) (int64, error) {
	members, err := store.GetGroupMembers(ctx, tx, keys)
	if err != nil || len(members) == 0 {
		return 0, err
	}
	owners, rest, err := splitOwners(ctx, tx, members)
	if err != nil {
		return 0, err
	}
	if len(owners) > 0 {
		return 0, apierr.New(apierr.GroupOwnerQuitWithoutSpecifyingSuccessor,
			"user %d owns group %d: hand the group over or delete it first", owners[0].UserID, owners[0].GroupID)
	}
	return int64(len(rest)), leave(ctx, tx, rest, m.now())
}

// splitOwners separates the owners of groups that were not deleted from other members.
func splitOwners(ctx context.Context, r store.Reader, members []store.GroupMember) (owners, rest []store.GroupUserKey, err error) {
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

// leave deletes existing memberships.
func leave(ctx context.Context, tx store.Tx, keys []store.GroupUserKey, now time.Time) error {
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

// DeleteAll removes every member of every group except the owners, in several transactions. Members
// who join meanwhile may stay.
func (m *Members) DeleteAll(ctx context.Context) (deleted int64, err error) {
	var after *store.GroupUserKey
	for {
		var last *store.GroupUserKey
		var n int
		err := m.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
			members, err := store.GroupMembersAfter(ctx, tx, nil, after, batch)
			last, n = nil, 0
			if err != nil || len(members) == 0 {
				return err
			}
			last = &members[len(members)-1].GroupUserKey
			_, rest, err := splitOwners(ctx, tx, members)
			if err != nil {
				return err
			}
			n = len(rest)
			return leave(ctx, tx, rest, m.now())
		})
		if err != nil || last == nil {
			return deleted, err
		}
		after, deleted = last, deleted+int64(n)
	}
}

// findMember returns the membership of a user; the boolean is false if there is none.
func findMember(ctx context.Context, r store.Reader, groupID, userID int64) (store.GroupMember, bool, error) {
	members, err := store.GetGroupMembers(ctx, r, []store.GroupUserKey{{GroupID: groupID, UserID: userID}})
	if err != nil || len(members) == 0 {
		return store.GroupMember{}, false, err
	}
	return members[0], true, nil
}

// IsMember reports whether a user is a member of a group.
func IsMember(ctx context.Context, r store.Reader, groupID, userID int64) (bool, error) {
	_, found, err := findMember(ctx, r, groupID, userID)
	return found, err
}

// Managers returns the owner and the managers of a group.
func (m *Members) Managers(ctx context.Context, groupID int64) ([]int64, error) {
	f := store.GroupMemberFilter{GroupIDs: []int64{groupID}, Roles: []store.GroupMemberRole{store.GroupOwner, store.GroupManager}}
	found, err := m.Find(ctx, f, 0, 0)
	return convert(found, func(m store.GroupMember) int64 { return m.UserID }), err
}

// List returns the members of a group for one of them.
func (m *Members) List(ctx context.Context, requester, groupID int64, since *time.Time) ([]store.GroupMember, *time.Time, error) {
	return list[store.GroupMember]{
		allowed: func(ctx context.Context, r store.Reader) error { return maySeeMembers(ctx, r, requester, groupID) },
		version: versionOfGroup(store.GroupMembers, groupID),
		items: func(ctx context.Context, r store.Reader) ([]store.GroupMember, error) {
			return store.FindGroupMembers(ctx, r, store.GroupMemberFilter{GroupIDs: []int64{groupID}}, store.Page{})
		},
	}.read(ctx, m.store, since)
}

// FindSome returns the members of a group among the users, for one of its members.
func (m *Members) FindSome(ctx context.Context, requester, groupID int64, userIDs []int64) (found []store.GroupMember, err error) {
	err = m.store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if err := maySeeMembers(ctx, r, requester, groupID); err != nil {
			return err
		}
		found = nil
		if len(userIDs) > 0 {
			found, err = store.FindGroupMembers(ctx, r, store.GroupMemberFilter{GroupIDs: []int64{groupID}, UserIDs: userIDs}, store.Page{})
		}
		return err
	})
	return found, err
}

func maySeeMembers(ctx context.Context, r store.Reader, requester, groupID int64) error {
	member, err := IsMember(ctx, r, groupID, requester)
	if err == nil && !member {
		err = apierr.New(apierr.NotGroupMemberToQueryGroupMemberInfo, "")
	}
	return err
}
