// SPDX-License-Identifier: Apache-2.0

package user

import (
	"maps"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
)

func TestProfiles(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		f := newFixture(t, db, nil)
		for id := range int64(4) {
			f.create(Creation{ID: new(id + 1)})
		}
		f.clock = f.clock.Add(time.Second)
		if _, err := f.Update(t.Context(), []int64{2}, Change{Name: new("two")}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Delete(t.Context(), []int64{3}, new(true)); err != nil {
			t.Fatal(err)
		}
		for what, test := range map[string]struct {
			ids   []int64
			after *time.Time
			want  int
		}{
			"nobody": {nil, nil, 0}, "some": {[]int64{4, 1, 1, 9}, nil, 2}, "deleted": {[]int64{3, 4}, nil, 1},
			"changed": {[]int64{1, 2, 3, 4}, &beginning, 1}, "not changed": {[]int64{1, 2}, &f.clock, 0},
		} {
			if got, err := f.Profiles(t.Context(), test.ids, test.after); err != nil || len(got) != test.want {
				t.Errorf("%s: found %v: %v", what, got, err)
			}
		}
	})
}

func TestChangeOwn(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		f := newFixture(t, db, nil)
		f.create(Creation{ID: new(int64(1)), Password: new("old"), Name: "n", Intro: "i", ProfileAccessStrategy: store.ProfileForFriends})
		f.create(Creation{ID: new(int64(2))})
		if _, err := f.Delete(t.Context(), []int64{2}, new(true)); err != nil {
			t.Fatal(err)
		}
		f.clock = f.clock.Add(time.Second)
		change := func(what string, userID int64, c OwnChange, want Changed, code apierr.Code) {
			t.Helper()
			got, err := f.ChangeOwn(t.Context(), userID, c)
			if wantCode(t, what, err, code); got != want {
				t.Errorf("%s: changed %+v, want %+v", what, got, want)
			}
		}
		long := new(strings.Repeat("x", 101))
		change("nothing", 1, OwnChange{}, Changed{}, 0)
		change("the same", 1, OwnChange{Name: new("n"), Intro: new("i"), ProfileAccessStrategy: new(store.ProfileForFriends)}, Changed{}, 0)
		change("nobody", 9, OwnChange{Name: new("x")}, Changed{}, apierr.UpdateInfoOfNonexistentUser)
		change("deleted", 2, OwnChange{Name: new("x")}, Changed{}, apierr.UpdateInfoOfNonexistentUser)
		change("password", 1, OwnChange{Password: new("12345678901234567")}, Changed{}, apierr.IllegalArgument)
		change("name", 1, OwnChange{Name: new(strings.Repeat("x", 21))}, Changed{}, apierr.IllegalArgument)
		change("intro", 1, OwnChange{Intro: long}, Changed{}, apierr.IllegalArgument)
		change("picture", 1, OwnChange{Name: new("other"), ProfilePicture: long}, Changed{}, apierr.IllegalArgument)
		change("strategy", 1, OwnChange{ProfileAccessStrategy: new(store.ProfileAccessStrategy(3))}, Changed{}, apierr.IllegalArgument)
		if got, _ := f.Profiles(t.Context(), []int64{1}, &beginning); len(got) != 0 {
			t.Errorf("changed to %+v", got)
		}
		change("password", 1, OwnChange{Password: new("new")}, Changed{Anything: true}, 0)
		change("strategy", 1, OwnChange{ProfileAccessStrategy: new(store.ProfileForAll)}, Changed{Anything: true}, 0)
		change("name", 1, OwnChange{Name: new("")}, Changed{Anything: true, Profile: true}, 0)
		change("intro", 1, OwnChange{Intro: new("j")}, Changed{Anything: true, Profile: true}, 0)
		change("picture", 1, OwnChange{ProfilePicture: new("p")}, Changed{Anything: true, Profile: true}, 0)

		attribute := func(name string, immutable bool) config.AllowedAttribute {
			return config.AllowedAttribute{SourceName: name, StoredName: "stored " + name, Immutable: immutable, Value: config.ValueRule{
				Type: "LONG", ValueLimits: config.ValueLimits{LongValue: config.LongValueRule{Max: 10}},
			}}
		}
		rules := &f.rules.Info.UserDefinedAttributes
		rules.AllowedAttributes = []config.AllowedAttribute{attribute("fixed", true), attribute("free", false)}
		give := func(what string, attributes map[string]any, changed bool, code apierr.Code) {
			t.Helper()
			change(what, 1, OwnChange{UserDefinedAttributes: attributes}, Changed{Anything: changed, Profile: changed}, code)
		}
		give("unknown", map[string]any{"free": int64(1), "x": int64(1)}, false, apierr.IllegalArgument)
		give("too large", map[string]any{"free": int64(11)}, false, apierr.IllegalArgument)
		give("one", map[string]any{"fixed": int64(1)}, true, 0)
		give("again", map[string]any{"fixed": int64(1)}, false, 0)
		give("overwritten", map[string]any{"fixed": int64(2)}, false, apierr.IllegalArgument)
		give("another", map[string]any{"free": int64(2)}, true, 0)
		give("the same", map[string]any{"free": int64(2)}, false, 0)
		rules.IgnoreUnknownAttributesOnUpsert = true
		give("unknown", map[string]any{"x": int64(2)}, false, 0)

		got, err := f.Profiles(t.Context(), []int64{1}, &beginning)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		u := got[0]
		if u.Name != "" || u.Intro != "j" || *u.ProfilePicture != "p" || u.ProfileAccessStrategy != store.ProfileForAll || password.Verify(u.Password, "new") != nil {
			t.Errorf("the user is %+v", u)
		}
		if attributes := f.Attributes(u); !maps.Equal(attributes, map[string]any{"fixed": int64(1), "free": int64(2)}) || u.UserDefinedAttributes["stored fixed"] == nil {
			t.Errorf("the attributes are %v, stored as %v", attributes, u.UserDefinedAttributes)
		}
	})
}
