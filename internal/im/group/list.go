// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// A list is data that the devices of users cache. A caller passes the date of its copy, or nil if
// it has none, and gets the list and the date of its last change. The date is nil, and the list is
// not read, if the copy is up to date or the list never existed.
type list[T any] struct {
	// allowed returns an error for users who may not see the list; nil allows all.
	allowed func(ctx context.Context, r store.Reader) error
	version version
	items   func(ctx context.Context, r store.Reader) ([]T, error)
}

// version returns the date of the list's last change; nil means never.
type version func(ctx context.Context, r store.Reader) (*time.Time, error)

func versionOfGroup(part store.GroupPart, groupID int64) version {
	return func(ctx context.Context, r store.Reader) (*time.Time, error) {
		at, err := store.FindGroupVersion(ctx, r, part, groupID)
		if isNotFound(err) {
			return nil, nil
		}
		return &at, err
	}
}

func versionOfUser(kind store.UserVersion, userID int64) version {
	return func(ctx context.Context, r store.Reader) (*time.Time, error) {
		return store.FindUserVersion(ctx, r, kind, userID)
	}
}

// managedBy returns an error, with the code, for users who neither own nor manage a group.
func managedBy(requester, groupID int64, code apierr.Code) func(ctx context.Context, r store.Reader) error {
	return func(ctx context.Context, r store.Reader) error {
		_, err := managed(ctx, r, groupID, requester, code)
		return err
	}
}

// read reads the list unless the copy is up to date. It reads the date first: after a concurrent
// change the copy looks too old, never too new.
func (l list[T]) read(ctx context.Context, db *store.DB, since *time.Time) (found []T, date *time.Time, err error) {
	err = db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, date = nil, nil
		if l.allowed != nil {
			if err := l.allowed(ctx, r); err != nil {
				return err
			}
		}
		at, err := l.version(ctx, r)
		if err != nil || at == nil || since != nil && !since.Before(*at) {
			return err
		}
		if found, err = l.items(ctx, r); err != nil {
			return err
		}
		date = at
		return nil
	})
	return found, date, err
}

// ListJoinedIDs returns the ids of the groups that a user is a member of.
func (d *Directory) ListJoinedIDs(ctx context.Context, userID int64, since *time.Time) ([]int64, *time.Time, error) {
	return list[int64]{
		version: versionOfUser(store.VersionJoinedGroups, userID),
		items: func(ctx context.Context, r store.Reader) ([]int64, error) {
			return store.JoinedGroupIDs(ctx, r, userID)
		},
	}.read(ctx, d.store, since)
}

// ListJoined returns the groups that a user is a member of.
func (d *Directory) ListJoined(ctx context.Context, userID int64, since *time.Time) ([]store.Group, *time.Time, error) {
	return list[store.Group]{
		version: versionOfUser(store.VersionJoinedGroups, userID),
		items: func(ctx context.Context, r store.Reader) ([]store.Group, error) {
			return store.FindGroups(ctx, r, store.GroupFilter{MemberIDs: []int64{userID}, Deleted: new(false)}, store.Page{})
		},
	}.read(ctx, d.store, since)
}

// FindChanged returns the groups that are not deleted and, if since is not nil, have changed since.
func (d *Directory) FindChanged(ctx context.Context, groupIDs []int64, since *time.Time) ([]store.Group, error) {
	if len(groupIDs) == 0 {
		return nil, nil
	}
	f := store.GroupFilter{IDs: groupIDs, Deleted: new(false)}
	if since != nil {
		f.LastUpdatedDate.Start = new(since.Add(time.Millisecond))
	}
	return d.Find(ctx, f, 0, 0)
}
