// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"log/slog"

	"example.org/app/internal/config"
	"example.org/app/internal/im/group"
	"example.org/app/internal/store"
)

// audiences finds out who is told of what.
type audiences struct {
	store    *store.DB
	members  *group.Members
	settings func() config.Service
	logger   *slog.Logger
}

// audienceChunk bounds how many users of an audience are read at once.
const audienceChunk = 1000

// read is users whom the store knows, read while they are asked for. next returns at most limit users whose ids are
// above a given one, in ascending order; nil is the beginning.
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

// membersOf is the audience of the members of a group.
func (a audiences) membersOf(ctx context.Context, groupID int64) Audience {
	return a.read(ctx, func(ctx context.Context, r store.Reader, after *int64, limit int) ([]int64, error) {
		return store.GroupMemberIDsAfter(ctx, r, groupID, after, limit)
	})
}

// knownBy is the audience of the users whom a user knows and has not blocked.
func (a audiences) knownBy(ctx context.Context, userID int64) Audience {
	return a.read(ctx, func(ctx context.Context, r store.Reader, after *int64, limit int) ([]int64, error) {
		return store.KnownUserIDsAfter(ctx, r, userID, after, limit)
	})
}

// sortedInto is the audience of the users in a relationship group.
func (a audiences) sortedInto(ctx context.Context, key store.RelationshipGroupKey) Audience {
	return a.read(ctx, func(ctx context.Context, r store.Reader, after *int64, limit int) ([]int64, error) {
		return store.RelationshipGroupMemberIDsAfter(ctx, r, key, after, limit)
	})
}

// onlyIf is the audience if a switch is on, and nobody otherwise.
func onlyIf(on bool, a Audience) Audience {
	if !on {
		return nil
	}
	return a
}

// distinct is the audience with each user once. It remembers whom it has named.
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

// fellows is the audience of the members of all groups that a user is in. Who is in several comes several times.
func (a audiences) fellows(ctx context.Context, userID int64) Audience {
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
