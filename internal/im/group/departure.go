// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"slices"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// RemoveBy removes users from a group on behalf of a requester, all or none, and returns the former
// members. Everybody except the owner may leave; others are removed by higher-ranking members.
func (m *Members) RemoveBy(ctx context.Context, requester, groupID int64, userIDs []int64) (removed []int64, err error) {
	if err := checkCount("memberIds", userIDs); err != nil {
		return nil, err
	}
	users := firstOfEach(userIDs)
	if len(users) == 0 {
		return nil, nil
	}
	keys := convert(users, func(id int64) store.GroupUserKey { return store.GroupUserKey{GroupID: groupID, UserID: id} })
	err = m.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		members, err := store.GetGroupMembers(ctx, tx, keys)
		if err != nil {
			return err
		}
		if slices.Equal(users, []int64{requester}) {
			err = mayLeave(members)
		} else {
			err = mayRemove(ctx, tx, requester, groupID, members)
		}
		if err != nil {
			return err
		}
		removed = convert(members, func(m store.GroupMember) int64 { return m.UserID })
		return leave(ctx, tx, convert(members, func(m store.GroupMember) store.GroupUserKey { return m.GroupUserKey }), m.now())
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}

// mayLeave returns an error for owners.
func mayLeave(members []store.GroupMember) error {
	for _, m := range members {
		if m.Role == store.GroupOwner {
			return apierr.New(apierr.GroupOwnerQuitWithoutSpecifyingSuccessor, "user %d owns group %d: hand the group over or delete it first", m.UserID, m.GroupID)
		}
	}
	return nil
}

// mayRemove returns an error if the requester does not rank above each of the members.
func mayRemove(ctx context.Context, r store.Reader, requester, groupID int64, members []store.GroupMember) error {
	at, err := managed(ctx, r, groupID, requester, apierr.NotGroupOwnerOrManagerToRemoveGroupMember)
	if err != nil {
		return err
	}
	for _, m := range members {
		if !at.above(m) {
			return apierr.New(apierr.NotGroupOwnerToRemoveGroupOwnerOrManager, "user %d is %s of group %d", m.UserID, m.Role, groupID)
		}
	}
	return nil
}
