// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"log/slog"

	"example.org/app/internal/config"
	"example.org/app/internal/im/group"
	"example.org/app/internal/store"
)

// audiences computes who receives a notification.
type audiences struct {
	store    *store.DB
	members  *group.Members
	settings func() config.Service
	logger   *slog.Logger
}

// audienceChunk bounds how many users of an audience are read at once.
const audienceChunk = 1000

// read returns an audience that is read from the store while it is iterated. next returns at most
// limit users whose ids are above after, in ascending order; nil means from the beginning.
func (a audiences) read(ctx context.Context, next func(ctx context.Context, r store.Reader, after *int64, limit int) ([]int64, error)) Audience {
	ctx = context.WithoutCancel(ctx)
	return func(yield func([]int64, error) bool) {
		var after *int64
		for {
			var part []int64
			err := a.store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
				part, err = next(ctx, r, after, audienceChunk)
				return err
			})
			if err != nil {
				yield(nil, err)
				return
			}
			if len(part) == 0 || !yield(part, nil) || len(part) < audienceChunk {
				return
			}
			after = new(part[len(part)-1])
		}
	}
}

// membersOf returns the members of a group.
func (a audiences) membersOf(ctx context.Context, groupID int64) Audience {
	return a.read(ctx, func(ctx context.Context, r store.Reader, after *int64, limit int) ([]int64, error) {
		return store.GroupMemberIDsAfter(ctx, r, groupID, after, limit)
	})
}

// managersOf returns the owner and the managers of a group.
func (a audiences) managersOf(ctx context.Context, groupID int64) Audience {
	ctx = context.WithoutCancel(ctx)
	return func(yield func([]int64, error) bool) { yield(a.members.Managers(ctx, groupID)) }
}

// knownBy returns the users who are related to a user and not blocked.
func (a audiences) knownBy(ctx context.Context, userID int64) Audience {
	return a.read(ctx, func(ctx context.Context, r store.Reader, after *int64, limit int) ([]int64, error) {
		return store.KnownUserIDsAfter(ctx, r, userID, after, limit)
	})
}

// inRelationshipGroup returns the users in a relationship group.
func (a audiences) inRelationshipGroup(ctx context.Context, key store.RelationshipGroupKey) Audience {
	return a.read(ctx, func(ctx context.Context, r store.Reader, after *int64, limit int) ([]int64, error) {
		return store.RelationshipGroupMemberIDsAfter(ctx, r, key, after, limit)
	})
}

// onlyIf returns the audience if on is true, else nobody.
func onlyIf(on bool, a Audience) Audience {
	if !on {
		return nil
	}
	return a
}

// distinct removes duplicates from an audience. It keeps the ids that it has returned.
func distinct(a Audience) Audience {
	return func(yield func([]int64, error) bool) {
		seen := make(map[int64]struct{})
		for ids, err := range a {
			fresh := make([]int64, 0, len(ids))
			for _, id := range ids {
				if _, known := seen[id]; !known {
					seen[id] = struct{}{}
					fresh = append(fresh, id)
				}
			}
			if !yield(fresh, err) {
				return
			}
		}
	}
}

// coMembers returns the members of all groups of a user, with duplicates.
func (a audiences) coMembers(ctx context.Context, userID int64) Audience {
	ctx = context.WithoutCancel(ctx)
	return func(yield func([]int64, error) bool) {
		var groups []int64
		err := a.store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			groups, err = store.JoinedGroupIDs(ctx, r, userID)
			return err
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, id := range groups {
			for members, err := range a.membersOf(ctx, id) {
				if !yield(members, err) {
					return
				}
			}
		}
	}
}
