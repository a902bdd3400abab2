// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// ownership checks which groups, and how many, the roles of users allow to own.
type ownership struct{ users Users }

// mayCreate returns an error if a user's role does not allow a group of the type, or the type does
// not exist.
func (o ownership) mayCreate(ctx context.Context, r store.Reader, userID, typeID int64) error {
	if _, found, err := findType(ctx, r, typeID); err != nil || !found {
		if err != nil {
			return err
		}
		return apierr.New(apierr.CreateGroupWithNonexistentGroupType, "there is no group type %d", typeID)
	}
	role, err := o.role(ctx, r, userID)
	if err != nil {
		return err
	}
	if err := belowTotal(ctx, r, userID, role); err != nil {
		return err
	}
	if !slices.Contains(role.CreatableGroupTypeIDs, typeID) {
		return apierr.New(apierr.NoPermissionToCreateGroupWithGroupType, "the role %d of user %d does not allow groups of type %d", role.ID, userID, typeID)
	}
	return belowTypeLimit(ctx, r, userID, typeID, role)
}

// mayOwn returns an error if a user owns as many groups as its role allows.
func (o ownership) mayOwn(ctx context.Context, r store.Reader, userID, typeID int64) error {
	role, err := o.role(ctx, r, userID)
	if err != nil {
		return err
	}
	if err := belowTotal(ctx, r, userID, role); err != nil {
		return err
	}
	return belowTypeLimit(ctx, r, userID, typeID, role)
}

func (o ownership) role(ctx context.Context, r store.Reader, userID int64) (store.UserRole, error) {
	role, ok, err := o.users.GroupRole(ctx, r, userID)
	if err == nil && !ok {
		err = apierr.New(apierr.NotActiveUserToCreateGroup, "user %d is not active or has a role that does not exist", userID)
	}
	return role, err
}

func belowTotal(ctx context.Context, r store.Reader, userID int64, role store.UserRole) error {
	if role.OwnedGroupLimit == store.UnlimitedGroups {
		return nil
	}
	return below(ctx, r, store.GroupFilter{OwnerIDs: []int64{userID}}, role.OwnedGroupLimit)
}

func belowTypeLimit(ctx context.Context, r store.Reader, userID, typeID int64, role store.UserRole) error {
	limit, found := role.GroupTypeIDToLimit[typeID]
	if !found {
		limit = role.OwnedGroupLimitForEachGroupType
	}
	if limit == store.UnlimitedGroups {
		return nil
	}
	return below(ctx, r, store.GroupFilter{OwnerIDs: []int64{userID}, TypeIDs: []int64{typeID}}, limit)
}

// below returns an error if the number of groups that match the filter has reached the limit.
// Deleted groups do not count.
func below(ctx context.Context, r store.Reader, f store.GroupFilter, limit int32) error {
	live := false
	f.Deleted = &live
	owned, err := store.CountGroups(ctx, r, f)
	if err == nil && owned >= int64(limit) {
		err = apierr.New(apierr.MaxOwnedGroupsReached, "user %d owns %d such groups, and its role allows %d", f.OwnerIDs[0], owned, limit)
	}
	return err
}

// Transfer transfers the groups with these ids to a successor, who must be a member and whose role
// must allow to own them. The former owners become plain members or leave. A group that cannot be
// transferred counts as matched only; one that the successor owns already counts as modified.
func (d *Directory) Transfer(ctx context.Context, groupIDs []int64, successor int64, quit bool) (store.UpdateResult, error) {
	var result store.UpdateResult
	err := d.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		result = store.UpdateResult{}
		live := false
		groups, err := store.FindGroups(ctx, tx, store.GroupFilter{IDs: groupIDs, Deleted: &live}, store.Page{})
		if err != nil {
			return err
		}
		for _, g := range groups {
			result.Matched++
			err := d.TransferIn(ctx, tx, g, successor, quit)
			if _, refused := errors.AsType[*apierr.Error](err); refused {
				continue
			}
			if err != nil {
				return err
			}
			result.Modified++
		}
		return nil
	})
	return result, err
}

// TransferIn is Transfer for one group in the caller's transaction. If it returns an *apierr.Error,
// nothing was changed.
func (d *Directory) TransferIn(ctx context.Context, tx store.Tx, g store.Group, successor int64, quit bool) error {
	if g.OwnerID == successor {
		return nil
	}
	members, err := store.GetGroupMembers(ctx, tx, []store.GroupUserKey{{GroupID: g.ID, UserID: successor}})
	if err != nil {
		return err
	}
	if len(members) == 0 {
		return apierr.New(apierr.GroupSuccessorNotGroupMember, "user %d is not a member of group %d", successor, g.ID)
	}
	if err := d.ownership.mayCreate(ctx, tx, successor, g.TypeID); err != nil {
		return err
	}
	now := d.now()
	if err := demoteOwner(ctx, tx, g.ID, quit, now); err != nil {
		return err
	}
	if err := promote(ctx, tx, g.ID, successor, now); err != nil {
		return err
	}
	if _, err := store.UpdateGroups(ctx, tx, []int64{g.ID}, store.GroupChange{OwnerID: &successor, LastUpdatedDate: &now}); err != nil {
		return err
	}
	return store.BumpGroupVersions(ctx, tx, store.GroupInfo, []int64{g.ID}, now)
}

// transferOwnership makes a user, who joins if necessary, the only owner among the members of a
// group. The caller changes the group itself.
func transferOwnership(ctx context.Context, tx store.Tx, g store.Group, owner int64, now time.Time) error {
	if g.OwnerID == owner {
		return nil
	}
	key := store.GroupUserKey{GroupID: g.ID, UserID: owner}
	members, err := store.GetGroupMembers(ctx, tx, []store.GroupUserKey{key})
	if err != nil {
		return err
	}
	if err := demoteOwner(ctx, tx, g.ID, false, now); err != nil {
		return err
	}
	if len(members) > 0 {
		return promote(ctx, tx, g.ID, owner, now)
	}
	t, err := TypeOf(ctx, tx, g.TypeID)
	if err != nil {
		return err
	}
	return join(ctx, tx, g.ID, t.GroupSizeLimit, now, store.GroupMember{GroupUserKey: key, Role: store.GroupOwner, JoinDate: now})
}

// demoteOwner makes the owner a plain member or removes it. It precedes the new owner, because a
// group never has two.
func demoteOwner(ctx context.Context, tx store.Tx, groupID int64, quit bool, now time.Time) error {
	owners, err := store.FindGroupMembers(ctx, tx, store.GroupMemberFilter{GroupIDs: []int64{groupID}, Roles: []store.GroupMemberRole{store.GroupOwner}}, store.Page{})
	if err != nil || len(owners) == 0 {
		return err
	}
	key := []store.GroupUserKey{owners[0].GroupUserKey}
	if quit {
		return leave(ctx, tx, key, now)
	}
	role := store.GroupRegularMember
	_, err = store.UpdateGroupMembers(ctx, tx, key, store.GroupMemberChange{Role: &role})
	return err
}

// promote makes a member the owner.
func promote(ctx context.Context, tx store.Tx, groupID, userID int64, now time.Time) error {
	role := store.GroupOwner
	_, err := store.UpdateGroupMembers(ctx, tx, []store.GroupUserKey{{GroupID: groupID, UserID: userID}}, store.GroupMemberChange{Role: &role})
	if err != nil {
		return err
	}
	return store.BumpGroupVersions(ctx, tx, store.GroupMembers, []int64{groupID}, now)
}

// HandOver transfers a group to a member on behalf of its owner, who becomes a plain member or
// leaves, and reports whether anything changed.
func (d *Directory) HandOver(ctx context.Context, requester, groupID, successor int64, quit bool) (changed bool, err error) {
	err = d.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		g, found, err := Get(ctx, tx, groupID)
		switch {
		case err != nil:
			return err
		case !found:
			return apierr.New(apierr.TransferNonexistentGroup, "")
		case g.OwnerID != requester:
			return apierr.New(apierr.NotGroupOwnerToTransferGroup, "")
		}
		changed = successor != requester
		return d.TransferIn(ctx, tx, g, successor, quit)
	})
	return changed, err
}
