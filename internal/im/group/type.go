// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"slices"

	"example.org/app/internal/apierr"
	"example.org/app/internal/ids"
	"example.org/app/internal/store"
)

// DefaultTypeID is the id of the default type.
const DefaultTypeID int64 = 0

// DefaultType is the initial default type. It can be changed, but not deleted.
func DefaultType() store.GroupType {
	return store.GroupType{
		ID: DefaultTypeID, Name: "DEFAULT", GroupSizeLimit: 500,
		InvitationStrategy:      store.InviteOwnerManagerMemberRequiringApproval,
		JoinStrategy:            store.JoinByInvitation,
		GroupInfoUpdateStrategy: store.UpdateByOwnerManager, MemberInfoUpdateStrategy: store.UpdateByOwnerManager,
		SelfInfoUpdatable: true, EnableReadReceipt: true, MessageEditable: true,
	}
}

// Types manages the types of groups, which define what is allowed in them.
type Types struct {
	records[[]int64, store.GroupType]
	ids *ids.Generator
}

func newTypes(db *store.DB, generator *ids.Generator) *Types {
	count := func(ctx context.Context, r store.Reader, _ []int64) (int64, error) {
		return store.CountGroupTypes(ctx, r)
	}
	return &Types{records[[]int64, store.GroupType]{db, store.FindGroupTypes, count}, generator}
}

// ensureDefault stores the default type if it is missing. Most starts only read.
func (t *Types) ensureDefault(ctx context.Context) error {
	found := false
	err := t.store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		types, err := store.FindGroupTypes(ctx, r, []int64{DefaultTypeID}, store.Page{})
		found = len(types) > 0
		return err
	})
	if err != nil || found {
		return err
	}
	return t.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		return store.EnsureGroupType(ctx, tx, DefaultType())
	})
}

// Create adds a type with a generated id.
func (t *Types) Create(ctx context.Context, created store.GroupType) (_ store.GroupType, err error) {
	if err := checkSizeLimit(&created.GroupSizeLimit); err != nil {
		return store.GroupType{}, err
	}
	if created.ID, err = t.ids.NextContext(ctx); err != nil {
		return store.GroupType{}, err
	}
	err = t.store.Write(ctx, func(ctx context.Context, tx store.Tx) error { return store.InsertGroupType(ctx, tx, created) })
	return created, err
}

func checkSizeLimit(limit *int32) error {
	if limit != nil && *limit < 1 {
		return apierr.New(apierr.IllegalArgument, "groupSizeLimit: %d must be at least 1", *limit)
	}
	return nil
}

// Update changes the types with these ids. Groups with more members than a new limit keep them.
func (t *Types) Update(ctx context.Context, typeIDs []int64, c store.GroupTypeChange) (result store.UpdateResult, err error) {
	if c == (store.GroupTypeChange{}) {
		return store.UpdateResult{}, nil
	}
	if err := checkSizeLimit(c.GroupSizeLimit); err != nil {
		return store.UpdateResult{}, err
	}
	err = t.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		result, err = store.UpdateGroupTypes(ctx, tx, typeIDs, c)
		return err
	})
	return result, err
}

// Delete deletes the types with these ids. Their groups keep the ids and follow the default type.
func (t *Types) Delete(ctx context.Context, typeIDs []int64) (deleted int64, err error) {
	if slices.Contains(typeIDs, DefaultTypeID) {
		return 0, apierr.New(apierr.IllegalArgument, "the default group type (id %d) cannot be deleted", DefaultTypeID)
	}
	err = t.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		deleted, err = store.DeleteGroupTypes(ctx, tx, typeIDs)
		return err
	})
	return deleted, err
}

// findType returns a type and whether it exists; the default type always does.
func findType(ctx context.Context, r store.Reader, typeID int64) (store.GroupType, bool, error) {
	types, err := store.FindGroupTypes(ctx, r, []int64{typeID}, store.Page{})
	switch {
	case err != nil:
		return store.GroupType{}, false, err
	case len(types) > 0:
		return types[0], true, nil
	case typeID == DefaultTypeID:
		return DefaultType(), true, nil
	}
	return store.GroupType{}, false, nil
}

// TypeOf returns the type of a group or, if that was deleted, the default type.
func TypeOf(ctx context.Context, r store.Reader, typeID int64) (store.GroupType, error) {
	t, found, err := findType(ctx, r, typeID)
	if err == nil && !found {
		t, _, err = findType(ctx, r, DefaultTypeID)
	}
	return t, err
}

// InvitationNeedsApproval reports whether invited users must accept.
func InvitationNeedsApproval(s store.GroupInvitationStrategy) bool { return s < store.InviteAll }

// MayUpdate reports whether a strategy allows a role to change something.
func MayUpdate(s store.GroupUpdateStrategy, role store.GroupMemberRole) bool {
	switch s {
	case store.UpdateByAll:
		return true
	case store.UpdateByOwnerManagerMember:
		return role <= store.GroupRegularMember
	case store.UpdateByOwnerManager:
		return role <= store.GroupManager
	default:
		return role == store.GroupOwner
	}
}

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }
