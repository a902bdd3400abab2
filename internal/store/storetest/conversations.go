// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

type (
	privateKey = store.PrivateConversationKey
	memberKey  = store.GroupUserKey
)

func testConversations(t *testing.T, db *store.DB) {
	put := func(minutes int, back bool, want int64, keys ...privateKey) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			n, err := store.PutPrivateReadDates(ctx, tx, keys, messageAt(minutes), back)
			if err == nil && n != want {
				t.Errorf("set %d dates, want %d", n, want)
			}
			return err
		})
	}
	putGroup := func(minutes int, back bool, want int64, keys ...memberKey) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			n, err := store.PutGroupReadDates(ctx, tx, keys, messageAt(minutes), back)
			if err == nil && n != want {
				t.Errorf("set %d dates of members, want %d", n, want)
			}
			return err
		})
	}
	want := func(f store.PrivateConversationFilter, groups []int64, private []store.PrivateConversation, group []store.GroupConversation) {
		t.Helper()
		read(t, db, func(ctx context.Context, r store.Reader) error {
			gotPrivate, err := store.FindPrivateConversations(ctx, r, f)
			gotGroup, err2 := store.FindGroupConversations(ctx, r, groups)
			if diff := cmp.Diff(private, gotPrivate); diff != "" {
				t.Errorf("private conversations differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(group, gotGroup); diff != "" {
				t.Errorf("group conversations differ (-want +got):\n%s", diff)
			}
			return errors.Join(err, err2)
		})
	}
	private := func(owner, target int64, minutes int) store.PrivateConversation {
		return store.PrivateConversation{PrivateConversationKey: privateKey{OwnerID: owner, TargetID: target}, ReadDate: messageAt(minutes)}
	}

	// Dates increase, and decrease only if allowed.
	put(5, false, 0)
	put(5, false, 3, privateKey{OwnerID: 1, TargetID: 2}, privateKey{OwnerID: 2, TargetID: 1}, privateKey{OwnerID: 1, TargetID: math.MaxInt64})
	put(5, false, 0, privateKey{OwnerID: 1, TargetID: 2})
	put(6, false, 2, privateKey{OwnerID: 1, TargetID: 2}, privateKey{OwnerID: 3, TargetID: 1})
	put(4, false, 1, privateKey{OwnerID: 1, TargetID: 2}, privateKey{OwnerID: 4, TargetID: 1})
	put(1, true, 1, privateKey{OwnerID: 2, TargetID: 1})
	putGroup(1, false, 2, memberKey{GroupID: 1, UserID: 2}, memberKey{GroupID: 1, UserID: 3})
	putGroup(9, false, 2, memberKey{GroupID: 1, UserID: 3}, memberKey{GroupID: 2, UserID: 3})
	putGroup(8, false, 0, memberKey{GroupID: 2, UserID: 3})
	putGroup(8, true, 1, memberKey{GroupID: 2, UserID: 3})

	// A result that two parts of a filter select is returned once.
	f := store.PrivateConversationFilter{Keys: []privateKey{{OwnerID: 1, TargetID: 2}, {OwnerID: 3, TargetID: 1}, {OwnerID: 9, TargetID: 9}}, OwnerIDs: []int64{1, 4}}
	want(f, []int64{1, 2, 3},
		[]store.PrivateConversation{private(1, 2, 6), private(1, math.MaxInt64, 5), private(3, 1, 6), private(4, 1, 4)},
		[]store.GroupConversation{{GroupID: 1, ReadDates: map[int64]time.Time{2: messageAt(1), 3: messageAt(9)}}, {GroupID: 2, ReadDates: map[int64]time.Time{3: messageAt(8)}}})
	want(store.PrivateConversationFilter{}, nil, []store.PrivateConversation{}, []store.GroupConversation{})

	write(t, db, func(ctx context.Context, tx store.Tx) error {
		none, err := store.DeletePrivateConversations(ctx, tx, store.PrivateConversationFilter{})
		some, err2 := store.DeletePrivateConversations(ctx, tx, f)
		err3 := store.DeleteGroupReadDatesOfUsers(ctx, tx, []int64{2})
		groups, err4 := store.DeleteGroupConversations(ctx, tx, []int64{1, 3})
		if none != 0 || some != 4 || groups != 1 {
			t.Errorf("deleted %d, %d and %d groups", none, some, groups)
		}
		return errors.Join(err, err2, err3, err4)
	})
	want(store.PrivateConversationFilter{OwnerIDs: []int64{1, 2, 3, 4}}, []int64{1, 2}, []store.PrivateConversation{private(2, 1, 1)},
		[]store.GroupConversation{{GroupID: 2, ReadDates: map[int64]time.Time{3: messageAt(8)}}})
}

// testReadDateRace proves that the latest of many concurrent dates wins.
func testReadDateRace(t *testing.T, db *store.DB) {
	const writers, each = 8, 10
	keys := []privateKey{{OwnerID: 1, TargetID: 2}, {OwnerID: 1, TargetID: 3}}
	parallel(writers, func(i int) {
		for n := range each {
			write(t, db, func(ctx context.Context, tx store.Tx) error {
				_, err := store.PutPrivateReadDates(ctx, tx, keys, messageAt(n*writers+i), false)
				return err
			})
		}
	})
	read(t, db, func(ctx context.Context, r store.Reader) error {
		found, err := store.FindPrivateConversations(ctx, r, store.PrivateConversationFilter{OwnerIDs: []int64{1}})
		for _, c := range found {
			if !c.ReadDate.Equal(messageAt(writers*each - 1)) {
				t.Errorf("%+v is not the latest", c)
			}
		}
		return err
	})
}

func testConversationPlans(t *testing.T, db *store.DB) {
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		var private []privateKey
		var members []memberKey
		for i := range int64(2000) {
			private = append(private, privateKey{OwnerID: i / 10, TargetID: i})
			members = append(members, memberKey{GroupID: i / 10, UserID: i})
		}
		_, err := store.PutPrivateReadDates(ctx, tx, private, messageTime, true)
		_, err2 := store.PutGroupReadDates(ctx, tx, members, messageTime, true)
		return errors.Join(err, err2)
	})
	analyze(t, db)
	for name, find := range map[string]func(ctx context.Context, r store.Reader) error{
		"keys": func(ctx context.Context, r store.Reader) error {
			_, err := store.FindPrivateConversations(ctx, r, store.PrivateConversationFilter{Keys: []privateKey{{OwnerID: 1, TargetID: 2}, {OwnerID: 2, TargetID: 3}}})
			return err
		},
		"owners": func(ctx context.Context, r store.Reader) error {
			_, err := store.FindPrivateConversations(ctx, r, store.PrivateConversationFilter{OwnerIDs: []int64{1, 2}})
			return err
		},
		"groups": func(ctx context.Context, r store.Reader) error {
			_, err := store.FindGroupConversations(ctx, r, []int64{1, 2})
			return err
		},
	} {
		WantIndex(t, db, name, find)
	}
}
