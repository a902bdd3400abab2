// SPDX-License-Identifier: Apache-2.0

// Package group holds the rules about groups: ownership, membership, types, blocked users, and the
// questions, invitations and requests for joining. Administrators and clients use it.
//
// It does not know the messages to groups; it only decides who may send them.
package group

import (
	"context"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// Users provides the rules about users.
type Users interface {
	// GroupRole returns the role that defines which groups a user may create and own. A user
	// without account has the default role. ok is false for an account that is inactive or deleted,
	// and for a role that does not exist. It is called inside transactions and must use only r.
	GroupRole(ctx context.Context, r store.Reader, userID int64) (role store.UserRole, ok bool, err error)
}

// Options configure a Directory.
type Options struct {
	Store    *store.DB
	IDs      *ids.Generator
	Settings func() config.Group
	Users    Users
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
	// OnDelete are called in the transaction that deletes groups, logically or not, to delete
	// dependent data. A function may be called more than once for a group.
	OnDelete []func(ctx context.Context, tx store.Tx, groupIDs []int64) error
	// Created and Deleted are called after the commit with the number of created or deleted groups.
	// They may be nil.
	Created, Deleted func(n int)
}

// Directory manages the groups of the cluster, and has the directories of their parts.
type Directory struct {
	records[store.GroupFilter, store.Group]
	opts      Options
	now       func() time.Time
	ownership ownership

	Types        *Types
	Members      *Members
	Blocklist    *Blocklist
	Invitations  *Invitations
	JoinRequests *JoinRequests
	Questions    *Questions
}

// New returns a Directory and ensures that the default type exists.
func New(ctx context.Context, opts Options) (*Directory, error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	db, settings := opts.Store, opts.Settings
	// now returns the time with the precision of the store.
	now := func() time.Time { return opts.Clock().UTC().Truncate(time.Millisecond) }
	d := &Directory{
		records: records[store.GroupFilter, store.Group]{db, store.FindGroups, store.CountGroups},
		opts:    opts, now: now, ownership: ownership{opts.Users},
		Types: newTypes(db, opts.IDs), Members: newMembers(db, now), Blocklist: newBlocklist(db, now),
		Invitations:  newInvitations(db, opts.IDs, now, func() config.GroupInvitation { return settings().Invitation }),
		JoinRequests: newJoinRequests(db, opts.IDs, now, func() config.GroupJoinRequest { return settings().JoinRequest }),
		Questions:    newQuestions(db, opts.IDs, now, func() config.GroupQuestion { return settings().Question }),
	}
	return d, d.Types.ensureDefault(ctx)
}

// Creation defines a new group. Nil fields get defaults or stay unset.
type Creation struct {
	// TypeID is the type; nil means the default type.
	TypeID    *int64
	CreatorID int64
	// OwnerID is the owner; nil means the creator.
	OwnerID                   *int64
	Name, Intro, Announcement *string
	MinimumScore              int32
	CreationDate              *time.Time
	DeletionDate              *time.Time
	MuteEndDate               *time.Time
	// IsActive is true if the group is active; nil means the setting.
	IsActive *bool
	// Attributes are user-defined attributes, by the names that clients use, as far as the settings
	// allow them.
	Attributes map[string]any
	// Key is stored as the key of the request that creates the group; nil means none.
	Key *store.MessageKey
}

// Create creates a group with its owner as the first member. The role of the creator limits the
// types and the number of groups, and so does the role of the owner.
func (d *Directory) Create(ctx context.Context, c Creation) (store.Group, error) {
	now := d.now()
	id, err := d.opts.IDs.NextContext(ctx)
	if err != nil {
		return store.Group{}, err
	}
	g := store.Group{
		ID: id, TypeID: deref(c.TypeID, DefaultTypeID), CreatorID: c.CreatorID, OwnerID: deref(c.OwnerID, c.CreatorID),
		Name: c.Name, Intro: c.Intro, Announcement: c.Announcement, MinimumScore: c.MinimumScore,
		CreationDate: deref(c.CreationDate, now), DeletionDate: c.DeletionDate, LastUpdatedDate: now, MuteEndDate: c.MuteEndDate,
		IsActive: deref(c.IsActive, d.opts.Settings().ActivateGroupWhenCreated),
	}
	if err := checkGroup(&c.MinimumScore, c.CreationDate, c.DeletionDate, now); err != nil {
		return store.Group{}, err
	}
	if err := deletionAfterCreation(g); err != nil {
		return store.Group{}, err
	}
	if g.Attributes, err = d.mergeAttributes(nil, c.Attributes); err != nil {
		return store.Group{}, err
	}
	err = d.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := c.Key.Remember(ctx, tx, g.ID); err != nil {
			return err
		}
		if err := d.ownership.mayCreate(ctx, tx, g.CreatorID, g.TypeID); err != nil {
			return err
		}
		if g.OwnerID != g.CreatorID {
			if err := d.ownership.mayOwn(ctx, tx, g.OwnerID, g.TypeID); err != nil {
				return err
			}
		}
		if err := store.InsertGroups(ctx, tx, g); err != nil {
			return err
		}
		owner := store.GroupMember{
			GroupUserKey: store.GroupUserKey{GroupID: g.ID, UserID: g.OwnerID}, Role: store.GroupOwner, JoinDate: g.CreationDate,
		}
		if err := store.InsertGroupMembers(ctx, tx, owner); err != nil {
			return err
		}
		if err := store.InsertGroupVersion(ctx, tx, g.ID, now, 1); err != nil {
			return err
		}
		return store.BumpUserVersion(ctx, tx, store.VersionJoinedGroups, now, g.OwnerID)
	})
	if err != nil {
		return store.Group{}, err
	}
	tell(d.opts.Created, 1)
	return g, nil
}

func tell(f func(int), n int) {
	if f != nil && n > 0 {
		f(n)
	}
}

func deref[T any](p *T, otherwise T) T {
	if p != nil {
		return *p
	}
	return otherwise
}

// checkGroup validates the independent values of a group.
func checkGroup(minimumScore *int32, creation, deletion *time.Time, now time.Time) error {
	if minimumScore != nil && *minimumScore < 0 {
		return apierr.New(apierr.IllegalArgument, "minimumScore: %d must be at least 0", *minimumScore)
	}
	if err := check.NotFuture("creationDate", creation, now); err != nil {
		return err
	}
	return check.NotFuture("deletionDate", deletion, now)
}

func deletionAfterCreation(g store.Group) error {
	if g.DeletionDate != nil && g.DeletionDate.Before(g.CreationDate) {
		return apierr.New(apierr.IllegalArgument, "deletionDate: %s is before the creation date %s of the group",
			g.DeletionDate.UTC().Format(time.RFC3339), g.CreationDate.UTC().Format(time.RFC3339))
	}
	return nil
}

// Count returns how many groups match the filter.
func (d *Directory) Count(ctx context.Context, f store.GroupFilter) (n int64, err error) {
	err = d.store.Scan(ctx, func(ctx context.Context, r store.Reader) error {
		n, err = store.CountGroups(ctx, r, f)
		return err
	})
	return n, err
}

// Update changes the groups with these ids, all or none. A new owner replaces the former one, who
// becomes a plain member. It sets the last-updated date.
func (d *Directory) Update(ctx context.Context, groupIDs []int64, c store.GroupChange) (store.UpdateResult, error) {
	c.LastUpdatedDate = nil
	if c == (store.GroupChange{}) {
		return store.UpdateResult{}, nil
	}
	now := d.now()
	if err := checkGroup(c.MinimumScore, c.CreationDate, c.DeletionDate, now); err != nil {
		return store.UpdateResult{}, err
	}
	c.LastUpdatedDate = &now
	var result store.UpdateResult
	err := d.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		groups, err := store.FindGroups(ctx, tx, store.GroupFilter{IDs: groupIDs}, store.Page{})
		if err != nil || len(groups) == 0 {
			result = store.UpdateResult{}
			return err
		}
		if err := mayUpdate(ctx, tx, groups, c); err != nil {
			return err
		}
		existing := make([]int64, len(groups))
		for i, g := range groups {
			existing[i] = g.ID
			if c.OwnerID != nil && g.DeletionDate == nil {
				if err := transferOwnership(ctx, tx, g, *c.OwnerID, now); err != nil {
					return err
				}
			}
		}
		modified, err := store.UpdateGroups(ctx, tx, existing, c)
		if err != nil {
			return err
		}
		result = store.UpdateResult{Matched: int64(len(existing)), Modified: int64(len(modified))}
		return store.BumpGroupVersions(ctx, tx, store.GroupInfo, modified, now)
	})
	return result, err
}

// mayUpdate validates a change against the groups to be changed.
func mayUpdate(ctx context.Context, tx store.Tx, groups []store.Group, c store.GroupChange) error {
	var limit int32
	if c.TypeID != nil {
		t, found, err := findType(ctx, tx, *c.TypeID)
		if err != nil {
			return err
		}
		if !found {
			return apierr.New(apierr.UpdateGroupToNonexistentGroupType, "there is no group type %d", *c.TypeID)
		}
		limit = t.GroupSizeLimit
	}
	for _, g := range groups {
		if c.TypeID != nil && *c.TypeID != g.TypeID {
			n, err := store.GroupMemberCount(ctx, tx, g.ID)
			if err != nil {
				return err
			}
			if err := fits(g.ID, n, limit); err != nil {
				return err
			}
		}
		if c.CreationDate != nil || c.DeletionDate != nil {
			g.CreationDate = deref(c.CreationDate, g.CreationDate)
			if c.DeletionDate != nil {
				g.DeletionDate = c.DeletionDate
			}
			if err := deletionAfterCreation(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// idsOf returns the ids of groups.
func idsOf(groups []store.Group) []int64 {
	list := make([]int64, len(groups))
	for i, g := range groups {
		list[i] = g.ID
	}
	return list
}

// Get returns a group, in the caller's transaction; the boolean is false if there is none or it was
// deleted.
func Get(ctx context.Context, r store.Reader, groupID int64) (store.Group, bool, error) {
	live := false
	groups, err := store.FindGroups(ctx, r, store.GroupFilter{IDs: []int64{groupID}, Deleted: &live}, store.Page{})
	if err != nil || len(groups) == 0 {
		return store.Group{}, false, err
	}
	return groups[0], true, nil
}

// distinct returns the distinct numbers in order.
func distinct(numbers []int64) []int64 {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}
