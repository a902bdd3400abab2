// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// Edit is a user's change of a group. Nil fields stay unchanged.
type Edit struct {
	Name, Intro, Announcement *string
	MinimumScore              *int32
	TypeID                    *int64
	MuteEndDate               *time.Time
	// Attributes are merged into those of the group.
	Attributes map[string]any
}

func (e Edit) nothing() bool {
	return e.Name == nil && e.Intro == nil && e.Announcement == nil && e.MinimumScore == nil && e.TypeID == nil && e.MuteEndDate == nil && len(e.Attributes) == 0
}

// UpdateBy changes a group on behalf of a requester, completely or not at all, and reports whether
// anything changed. The type of the group defines who may change it; only the owner may change the
// type, if the settings allow it.
func (d *Directory) UpdateBy(ctx context.Context, requester, groupID int64, e Edit) (changed bool, err error) {
	if e.nothing() {
		return false, nil
	}
	now := d.now()
	if err := checkGroup(e.MinimumScore, nil, nil, now); err != nil {
		return false, err
	}
	c := store.GroupChange{
		Name: e.Name, Intro: e.Intro, Announcement: e.Announcement, MinimumScore: e.MinimumScore,
		MuteEndDate: e.MuteEndDate, LastUpdatedDate: &now,
	}
	err = d.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		at, err := standingOf(ctx, tx, groupID, requester)
		if err != nil {
			return err
		}
		if !at.active() {
			return apierr.New(apierr.UpdateInfoOfNonexistentGroup, "")
		}
		err = at.mayChange(at.kind.GroupInfoUpdateStrategy, refusals{
			owner: apierr.NotGroupOwnerToUpdateGroupInfo, manager: apierr.NotGroupOwnerOrManagerToUpdateGroupInfo, member: apierr.NotGroupMemberToUpdateGroupInfo,
		})
		if err != nil {
			return err
		}
		if c.TypeID = e.TypeID; e.TypeID != nil && *e.TypeID == at.group.TypeID {
			c.TypeID = nil
		}
		if c.TypeID != nil {
			if !d.opts.Settings().AllowGroupOwnerChangeGroupType {
				return apierr.New(apierr.UpdatingGroupTypeIsDisabled, "")
			}
			if err := d.ownership.mayChangeType(ctx, tx, at, *e.TypeID); err != nil {
				return err
			}
		}
		if len(e.Attributes) > 0 {
			merged, err := d.mergeAttributes(at.group.Attributes, e.Attributes)
			if err != nil {
				return err
			}
			c.Attributes = &merged
		}
		if err := mayUpdate(ctx, tx, []store.Group{at.group}, c); err != nil {
			return err
		}
		modified, err := store.UpdateGroups(ctx, tx, []int64{groupID}, c)
		if err != nil {
			return err
		}
		changed = len(modified) > 0
		return store.BumpGroupVersions(ctx, tx, store.GroupInfo, modified, now)
	})
	return changed, err
}

// mayChangeType returns an error if a user may not change the type of the group.
func (o ownership) mayChangeType(ctx context.Context, r store.Reader, at standing, typeID int64) error {
	if !at.owns() {
		return apierr.New(apierr.NotGroupOwnerToUpdateGroupType, "")
	}
	if _, found, err := findType(ctx, r, typeID); err != nil || !found {
		if err != nil {
			return err
		}
		return apierr.New(apierr.UpdateGroupToNonexistentGroupType, "there is no group type %d", typeID)
	}
	owner := at.group.OwnerID
	role, err := o.role(ctx, r, owner)
	if err != nil {
		return err
	}
	if !slices.Contains(role.CreatableGroupTypeIDs, typeID) {
		return apierr.New(apierr.NoPermissionToUpdateGroupToGroupType, "the role %d of user %d does not allow groups of type %d", role.ID, owner, typeID)
	}
	return belowTypeLimit(ctx, r, owner, typeID, role)
}
