// SPDX-License-Identifier: Apache-2.0

package conversation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/store"
)

func TestSettings(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		for i, name := range []string{"sticky", "kept"} {
			w.Rules.Conversation.Settings.AllowedSettings = append(w.Rules.Conversation.Settings.AllowedSettings, config.AllowedSetting{
				SourceName: name, StoredName: "stored " + name, Deletable: i == 0, Value: config.ValueRule{Type: "BOOL"},
			})
		}
		w.Relate(1, 2, false)
		w.Relate(1, 3, true)
		g := w.Group(1)
		private := func(target int64) store.ConversationKey {
			return store.ConversationKey{OwnerID: 1, TargetID: target}
		}
		inGroup := func(owner int64) store.ConversationKey {
			return store.ConversationKey{OwnerID: owner, IsGroup: true, TargetID: g}
		}
		update := func(what string, key store.ConversationKey, settings map[string]any, changed bool, code apierr.Code) {
			t.Helper()
			got, err := w.Conversations.UpdateSettings(t.Context(), key, settings)
			if w.WantCode(what, err, code); got != changed {
				t.Errorf("%s: changed %v", what, got)
			}
		}
		want := func(what string, f store.ConversationSettingFilter, names []string, want string) {
			t.Helper()
			f.OwnerID = 1
			found, err := w.Conversations.FindSettings(t.Context(), f, names)
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, s := range found {
				target := fmt.Sprint(s.TargetID)
				if s.IsGroup {
					target = "g"
				}
				parts = append(parts, fmt.Sprint(target, s.Settings))
			}
			if got := strings.Join(parts, " "); got != want {
				t.Errorf("%s: the settings are %q, want %q", what, got, want)
			}
		}
		everything := store.ConversationSettingFilter{}
		sticky := map[string]any{"sticky": true}
		update("stranger", private(4), sticky, false, apierr.NotRelatedUserToUpdatePrivateConversationSetting)
		update("not a member", inGroup(2), sticky, false, apierr.NotGroupMemberToUpdateGroupConversationSetting)
		update("unknown", private(2), map[string]any{"x": true}, false, apierr.IllegalArgument)
		update("wrong type", private(2), map[string]any{"sticky": "yes"}, false, apierr.IllegalArgument)
		want("nothing", everything, nil, "")
		update("friend", private(2), sticky, true, 0)
		update("again", private(2), sticky, false, 0)
		update("blocked user", private(3), map[string]any{"sticky": false, "kept": true}, true, 0)
		w.Now = w.Now.Add(time.Second)
		update("group", inGroup(1), sticky, true, 0)
		want("all", everything, nil, "2map[sticky:true] 3map[kept:true sticky:false] gmap[sticky:true]")
		want("names", everything, []string{"kept", "x"}, "3map[kept:true]")
		want("users", store.ConversationSettingFilter{UserIDs: []int64{2, 9}}, nil, "2map[sticky:true]")
		want("since", store.ConversationSettingFilter{LastUpdated: store.DateRange{Start: &w.Now}}, nil, "gmap[sticky:true]")

		remove := func(what string, f store.ConversationSettingFilter, names []string, private, groups bool, code apierr.Code) {
			t.Helper()
			f.OwnerID = 1
			gotPrivate, gotGroups, err := w.Conversations.DeleteSettings(t.Context(), f, names)
			if w.WantCode(what, err, code); gotPrivate != private || gotGroups != groups {
				t.Errorf("%s: deleted %v and %v", what, gotPrivate, gotGroups)
			}
		}
		remove("kept", everything, []string{"sticky", "kept"}, false, false, apierr.IllegalArgument)
		remove("unknown", store.ConversationSettingFilter{UserIDs: []int64{9}}, []string{"x"}, false, false, apierr.IllegalArgument)
		remove("of nobody", store.ConversationSettingFilter{UserIDs: []int64{9}}, nil, false, false, 0)
		remove("of a group", store.ConversationSettingFilter{GroupIDs: []int64{g}}, []string{"sticky"}, false, true, 0)
		want("of a group", everything, nil, "2map[sticky:true] 3map[kept:true sticky:false]")
		update("group again", inGroup(1), sticky, true, 0)
		remove("all", everything, nil, true, true, 0)
		want("all", everything, nil, "3map[kept:true]")

		// They are deleted with groups and users.
		update("group again", inGroup(1), sticky, true, 0)
		err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			if err := conversation.DeleteOfGroups(ctx, tx, []int64{g}); err != nil {
				return err
			}
			return conversation.DeleteOfUsers(ctx, tx, []int64{3})
		})
		if err != nil {
			t.Fatal(err)
		}
		want("deleted", everything, nil, "")
	})
}
