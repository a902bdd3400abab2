// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

func testUserSettings(t *testing.T, db *store.DB) {
	want := func(userID int64, want *store.UserSettings) {
		t.Helper()
		read(t, db, func(ctx context.Context, r store.Reader) error {
			got, err := store.FindUserSettings(ctx, r, userID)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the settings of %d differ (-want +got):\n%s", userID, diff)
			}
			return err
		})
	}
	put := func(minutes int, userID int64, settings map[string]any) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			return store.PutUserSettings(ctx, tx, store.UserSettings{UserID: userID, Settings: settings, LastUpdatedDate: messageAt(minutes)})
		})
	}
	want(1, nil)
	put(1, 1, nil)
	want(1, nil)
	put(1, 1, map[string]any{"a": 1, "b": "text", "c": true, "d": []any{1.5, nil, int64(math.MaxInt64)}})
	want(1, &store.UserSettings{UserID: 1, LastUpdatedDate: messageAt(1), Settings: map[string]any{
		"a": json.Number("1"), "b": "text", "c": true, "d": []any{json.Number("1.5"), nil, json.Number("9223372036854775807")},
	}})
	put(2, math.MaxInt64, map[string]any{"a": "other"})
	put(3, 1, map[string]any{"b": "now"})
	want(1, &store.UserSettings{UserID: 1, LastUpdatedDate: messageAt(3), Settings: map[string]any{"b": "now"}})
	put(4, 1, map[string]any{})
	want(1, nil)
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return store.PutUserSettings(ctx, tx, store.UserSettings{UserID: 1, Settings: map[string]any{"a": math.NaN()}, LastUpdatedDate: messageTime})
	})
	if !errors.Is(err, store.ErrInvalidValue) {
		t.Errorf("a value without JSON form gives %v", err)
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return store.DeleteUserSettings(ctx, tx, []int64{math.MaxInt64, 7})
	})
	want(math.MaxInt64, nil)
}

func testConversationSettings(t *testing.T, db *store.DB) {
	settings := func(owner int64, isGroup bool, target int64, minutes int) store.ConversationSettings {
		return store.ConversationSettings{
			ConversationKey: store.ConversationKey{OwnerID: owner, IsGroup: isGroup, TargetID: target},
			Settings:        map[string]any{"n": json.Number("5")}, LastUpdatedDate: messageAt(minutes),
		}
	}
	put := func(s store.ConversationSettings) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error { return store.PutConversationSettings(ctx, tx, s) })
	}
	want := func(what string, f store.ConversationSettingFilter, want ...store.ConversationSettings) {
		t.Helper()
		read(t, db, func(ctx context.Context, r store.Reader) error {
			got, err := store.FindConversationSettings(ctx, r, f)
			if diff := cmp.Diff(append([]store.ConversationSettings{}, want...), got); diff != "" {
				t.Errorf("%s: the settings differ (-want +got):\n%s", what, diff)
			}
			return err
		})
	}
	all := []store.ConversationSettings{settings(1, false, 2, 1), settings(1, false, 3, 2), settings(1, true, 2, 3), settings(2, false, 1, 4)}
	for _, s := range all {
		put(s)
	}
	want("all of an owner", store.ConversationSettingFilter{OwnerID: 1}, all[:3]...)
	want("users", store.ConversationSettingFilter{OwnerID: 1, UserIDs: []int64{2, 9}}, all[0])
	want("groups", store.ConversationSettingFilter{OwnerID: 1, GroupIDs: []int64{2, 3}}, all[2])
	want("both", store.ConversationSettingFilter{OwnerID: 1, UserIDs: []int64{3}, GroupIDs: []int64{2}}, all[1], all[2])
	want("since", store.ConversationSettingFilter{OwnerID: 1, LastUpdated: store.DateRange{Start: new(messageAt(2))}}, all[1], all[2])
	want("nobody", store.ConversationSettingFilter{OwnerID: 9})

	all[0].Settings, all[0].LastUpdatedDate = map[string]any{"x": "y"}, messageAt(9)
	put(all[0])
	empty := all[1]
	empty.Settings = nil
	put(empty)
	want("changed", store.ConversationSettingFilter{OwnerID: 1}, all[0], all[2])

	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return store.DeleteConversationSettingsOfGroups(ctx, tx, []int64{2})
	})
	want("a group is gone", store.ConversationSettingFilter{OwnerID: 1}, all[0])
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return store.DeleteConversationSettingsOfUsers(ctx, tx, []int64{2})
	})
	want("the other is gone", store.ConversationSettingFilter{OwnerID: 1})
	want("and its own", store.ConversationSettingFilter{OwnerID: 2})

	write(t, db, func(ctx context.Context, tx store.Tx) error {
		var err error
		for i := range int64(2000) {
			err = errors.Join(err, store.PutConversationSettings(ctx, tx, settings(i/10, i%2 == 0, i, 1)))
		}
		return err
	})
	analyze(t, db)
	for name, f := range map[string]store.ConversationSettingFilter{
		"owner": {OwnerID: 1}, "users": {OwnerID: 1, UserIDs: []int64{2, 3}}, "groups": {OwnerID: 1, GroupIDs: []int64{2, 3}},
		"both": {OwnerID: 1, UserIDs: []int64{2}, GroupIDs: []int64{3}}, "since": {OwnerID: 1, LastUpdated: store.DateRange{Start: new(messageAt(2))}},
	} {
		WantIndex(t, db, name, func(ctx context.Context, r store.Reader) error {
			_, err := store.FindConversationSettings(ctx, r, f)
			return err
		})
	}
}
