// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"context"
	"time"

	"example.org/app/internal/store"
)

// Queries of owners about their own lists. The devices of an owner cache the lists and send the
// date of their copy: the returned version is nil, and the list is not read, if that copy is up to
// date or the list never existed. A nil date means no copy.

// Related returns the relationships of an owner that match the filter, whose owners are ignored,
// each with its groups.
func (d *Directory) Related(ctx context.Context, owner int64, f store.RelationshipFilter, known *time.Time) (found []store.Relationship, version *time.Time, err error) {
	f.OwnerIDs = []int64{owner}
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if version, err = newerVersion(ctx, r, owner, known, store.VersionRelationships); err != nil || version == nil {
			return err
		}
		found, err = store.FindRelationshipsWithGroups(ctx, r, f, store.Page{})
		return err
	})
	return found, version, err
}

// RelatedIDs is Related, but returns only the ids of the related users.
func (d *Directory) RelatedIDs(ctx context.Context, owner int64, f store.RelationshipFilter, known *time.Time) (userIDs []int64, version *time.Time, err error) {
	f.OwnerIDs = []int64{owner}
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if version, err = newerVersion(ctx, r, owner, known, store.VersionRelationships); err != nil || version == nil {
			return err
		}
		found, err := store.FindRelationships(ctx, r, f, store.Page{})
		for _, relationship := range found {
			userIDs = append(userIDs, relationship.RelatedUserID)
		}
		return err
	})
	return userIDs, version, err
}

// GroupsOf returns the groups of an owner.
func (d *Directory) GroupsOf(ctx context.Context, owner int64, known *time.Time) (groups []store.RelationshipGroup, version *time.Time, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if version, err = newerVersion(ctx, r, owner, known, store.VersionRelationshipGroups); err != nil || version == nil {
			return err
		}
		groups, err = store.FindRelationshipGroups(ctx, r, store.RelationshipGroupFilter{OwnerIDs: []int64{owner}}, store.Page{})
		return err
	})
	return groups, version, err
}

// newerVersion returns the version of a list if it is later than the known one, else nil.
func newerVersion(ctx context.Context, r store.Reader, userID int64, known *time.Time, list store.UserVersion) (*time.Time, error) {
	version, err := store.FindUserVersion(ctx, r, list, userID)
	if err != nil || version == nil || known != nil && !known.Before(*version) {
		return nil, err
	}
	return version, nil
}
