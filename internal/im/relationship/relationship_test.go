// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// fixture is a directory with rules and a clock that a test can change.
type fixture struct {
	*Directory
	t     *testing.T
	db    *store.DB
	rules config.User
	clock time.Time
}

var beginning = time.Date(2024, 3, 28, 12, 0, 0, 0, time.UTC)

func newFixture(t *testing.T, db *store.DB) *fixture {
	t.Helper()
	generator, err := ids.New(1)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, db: db, rules: config.Default().Service.User, clock: beginning}
	f.Directory = New(Options{Store: db, IDs: generator, Settings: func() config.User { return f.rules }, Clock: func() time.Time { return f.clock }})
	return f
}

func onBothEngines(t *testing.T, test func(*testing.T, *fixture)) {
	t.Run("SQLite", func(t *testing.T) { test(t, newFixture(t, storetest.SQLite(t))) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, newFixture(t, storetest.PostgreSQL(t))) })
}

func key(owner, related int64) store.RelationshipKey {
	return store.RelationshipKey{OwnerID: owner, RelatedUserID: related}
}

// everything is all that is stored.
type everything struct {
	relationships []store.Relationship
	groups        []store.RelationshipGroup
	requests      []store.FriendRequest
}

func (f *fixture) everything() (all everything) {
	f.t.Helper()
	err := f.db.Read(f.t.Context(), func(ctx context.Context, r store.Reader) (err error) {
		if all.relationships, err = store.FindRelationshipsWithGroups(ctx, r, store.RelationshipFilter{}, store.Page{}); err != nil {
			return err
		}
		if all.groups, err = store.FindRelationshipGroups(ctx, r, store.RelationshipGroupFilter{}, store.Page{}); err != nil {
			return err
		}
		all.requests, err = store.FindFriendRequests(ctx, r, store.FriendRequestFilter{}, store.Page{})
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

// describe converts everything to a text for comparison: "1>2[0 5]!name" is a blocked user of two
// groups.
func (f *fixture) describe(all everything) string {
	var parts []string
	for _, r := range all.relationships {
		text := fmt.Sprintf("%d>%d%v", r.OwnerID, r.RelatedUserID, r.GroupIndexes)
		if r.BlockDate != nil {
			text += "!"
		}
		if r.Name != nil {
			text += *r.Name
		}
		parts = append(parts, text)
	}
	for _, g := range all.groups {
		parts = append(parts, fmt.Sprintf("%d/%d:%s", g.OwnerID, g.Index, g.Name))
	}
	for _, r := range all.requests {
		parts = append(parts, fmt.Sprintf("%d?%d=%s", r.RequesterID, r.RecipientID, f.FriendRequests.AsOf(r, f.now()).Status))
	}
	return strings.Join(parts, " ")
}

func (f *fixture) state() string {
	f.t.Helper()
	return f.describe(f.everything())
}

func (f *fixture) want(state string) {
	f.t.Helper()
	if got := f.state(); got != state {
		f.t.Errorf("state\n%s\nwant\n%s", got, state)
	}
}

func (f *fixture) version(kind store.UserVersion, user int64) int64 {
	f.t.Helper()
	offset := int64(-1)
	err := f.db.Read(f.t.Context(), func(ctx context.Context, r store.Reader) error {
		date, err := store.FindUserVersion(ctx, r, kind, user)
		if date != nil {
			offset = date.Sub(beginning).Milliseconds()
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return offset
}

func wantCode(t *testing.T, what string, err error, code apierr.Code) {
	t.Helper()
	if code == apierr.OK && err == nil {
		return
	}
	if err == nil || apierr.From(err).Code != code {
		t.Errorf("%s: error %v, want %v", what, err, code)
	}
}

func (f *fixture) group(owner int64, index int32, name string) {
	f.t.Helper()
	if _, err := f.CreateGroup(f.t.Context(), GroupCreation{OwnerID: owner, Index: &index, Name: name}); err != nil {
		f.t.Fatal(err)
	}
}

func TestEstablish(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		f.group(1, 5, "five")
		index, err := f.Establish(t.Context(), key(1, 2), false, nil, nil)
		if err != nil || index != 0 {
			t.Errorf("index %d, %v", index, err)
		}
		index, err = f.Establish(t.Context(), key(1, 3), true, new(int32(5)), new("Carol"))
		if err != nil || index != 5 {
			t.Errorf("index %d, %v", index, err)
		}
		f.want("1>2[0] 1>3[5]!Carol 1/0: 1/5:five")
		for what, test := range map[string]struct {
			key   store.RelationshipKey
			group *int32
			code  apierr.Code
		}{
			"exists":        {key(1, 2), nil, apierr.CreateExistingRelationship},
			"oneself":       {key(1, 1), nil, apierr.IllegalArgument},
			"owner 0":       {key(0, 1), nil, apierr.IllegalArgument},
			"related 0":     {key(1, 0), nil, apierr.IllegalArgument},
			"unknown group": {key(1, 4), new(int32(7)), apierr.IllegalArgument},
			"other's group": {key(2, 1), new(int32(5)), apierr.IllegalArgument},
		} {
			_, err := f.Establish(t.Context(), test.key, false, test.group, nil)
			wantCode(t, what, err, test.code)
		}
		f.want("1>2[0] 1>3[5]!Carol 1/0: 1/5:five")
	})
}

func TestKnowledge(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		for _, k := range []store.RelationshipKey{key(1, 2), key(2, 1), key(1, 3)} {
			if _, err := f.Establish(t.Context(), k, false, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.Establish(t.Context(), key(3, 1), true, nil, nil); err != nil {
			t.Fatal(err)
		}
		ask := func(fn func(context.Context, store.Reader, int64, int64) (bool, error), a, b int64) (answer bool) {
			t.Helper()
			err := f.db.Read(t.Context(), func(ctx context.Context, r store.Reader) (err error) {
				answer, err = fn(ctx, r, a, b)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		for _, test := range []struct {
			a, b          int64
			blocks, knows bool
		}{
			{1, 2, false, true},
			{2, 1, false, true},
			{1, 3, false, true},
			{3, 1, true, false},
			{1, 4, false, false},
			{4, 1, false, false},
		} {
			if ask(Blocks, test.a, test.b) != test.blocks || ask(Knows, test.a, test.b) != test.knows {
				t.Errorf("%d and %d: blocks %v, knows %v", test.a, test.b, ask(Blocks, test.a, test.b), ask(Knows, test.a, test.b))
			}
		}
	})
}

func TestChange(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		f.group(1, 5, "")
		f.group(1, 6, "")
		change := func(c OwnChange, changed bool, state string) {
			t.Helper()
			got, err := f.Change(t.Context(), key(1, 2), c)
			if err != nil || got != changed {
				t.Errorf("changed %v, %v", got, err)
			}
			f.want(state + " 1/0: 1/5: 1/6:")
		}
		index := func(i int32) *int32 { return &i }
		change(OwnChange{Blocked: new(true), NewGroup: index(5)}, true, "1>2[5]!")
		f.clock = f.clock.Add(time.Hour)
		before := f.version(store.VersionRelationships, 1)
		change(OwnChange{Blocked: new(true)}, false, "1>2[5]!")
		change(OwnChange{}, false, "1>2[5]!")
		if got := f.version(store.VersionRelationships, 1); got != before {
			t.Errorf("version %d after no change, was %d", got, before)
		}
		change(OwnChange{Name: new("Bob")}, true, "1>2[5]!Bob")
		change(OwnChange{Blocked: new(false)}, true, "1>2[5]Bob")
		change(OwnChange{NewGroup: index(6)}, true, "1>2[5 6]Bob")
		change(OwnChange{NewGroup: index(6)}, false, "1>2[5 6]Bob")
		change(OwnChange{OldGroup: index(0)}, false, "1>2[5 6]Bob")
		change(OwnChange{OldGroup: index(9)}, false, "1>2[5 6]Bob")
		change(OwnChange{OldGroup: index(6)}, true, "1>2[0 5]Bob")
		change(OwnChange{NewGroup: index(6), OldGroup: index(5)}, true, "1>2[0 6]Bob")
		change(OwnChange{NewGroup: index(6), OldGroup: index(0)}, true, "1>2[6]Bob")
		change(OwnChange{NewGroup: index(0), OldGroup: index(6), Name: new("")}, true, "1>2[0]")
		found, err := f.Find(t.Context(), store.RelationshipFilter{}, false, 0, 0)
		if err != nil || !found[0].EstablishmentDate.Equal(beginning) {
			t.Errorf("the relationship began at %v, %v", found[0].EstablishmentDate, err)
		}
		_, err = f.Change(t.Context(), key(1, 2), OwnChange{NewGroup: index(5), OldGroup: index(5)})
		wantCode(t, "same group", err, apierr.IllegalArgument)
		_, err = f.Change(t.Context(), key(1, 2), OwnChange{NewGroup: index(7)})
		wantCode(t, "unknown group", err, apierr.IllegalArgument)
		_, err = f.Change(t.Context(), key(1, 1), OwnChange{Blocked: new(true)})
		wantCode(t, "oneself", err, apierr.IllegalArgument)
	})
}

func TestEnd(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		f.group(1, 5, "")
		setUp := func(reverseBlocked bool) {
			t.Helper()
			if _, err := f.Delete(t.Context(), []store.RelationshipKey{key(1, 2), key(2, 1)}); err != nil {
				t.Fatal(err)
			}
			_, err := f.Establish(t.Context(), key(1, 2), false, nil, nil)
			_, err2 := f.Change(t.Context(), key(1, 2), OwnChange{NewGroup: new(int32(5))})
			_, err3 := f.Establish(t.Context(), key(2, 1), reverseBlocked, nil, nil)
			if err := errors.Join(err, err2, err3); err != nil {
				t.Fatal(err)
			}
		}
		end := func(group *int32, want Ended, state string) {
			t.Helper()
			got, err := f.End(t.Context(), key(1, 2), group)
			if err != nil || got != want {
				t.Errorf("ended %+v, %v, want %+v", got, err, want)
			}
			f.want(strings.TrimSpace(state + " 1/0: 1/5: 2/0:"))
		}
		zero, five := new(int32(0)), new(int32(5))
		setUp(false)
		end(new(int32(7)), Ended{}, "1>2[0 5] 2>1[0]")
		end(five, Ended{Left: true}, "1>2[0] 2>1[0]")
		end(zero, Ended{Left: true, Deleted: true}, "2>1[0]")
		end(nil, Ended{}, "2>1[0]")
		setUp(false)
		end(nil, Ended{Left: true, Deleted: true}, "2>1[0]")
		f.rules.DeleteTwoSidedRelationships = true
		end(nil, Ended{}, "2>1[0]") // Nothing ends on this side.
		setUp(true)
		end(nil, Ended{Left: true, Deleted: true}, "2>1[0]!")
		setUp(false)
		end(zero, Ended{Left: true}, "1>2[5] 2>1[0]")
		before := f.version(store.VersionRelationships, 2)
		end(five, Ended{Left: true, Deleted: true, ReverseDeleted: true}, "")
		if got := f.version(store.VersionRelationships, 2); got <= before {
			t.Errorf("the version of the other side is %d, was %d", got, before)
		}
	})
}

func TestDeleteGroup(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		for i := range int32(3) {
			f.group(1, i+5, "")
		}
		for other, group := range map[int64]int32{2: 5, 3: 6, 4: 5} {
			if _, err := f.Establish(t.Context(), key(1, other), false, &group, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.Change(t.Context(), key(1, 4), OwnChange{NewGroup: new(int32(6))}); err != nil {
			t.Fatal(err)
		}
		f.want("1>2[5] 1>3[6] 1>4[5 6] 1/0: 1/5: 1/6: 1/7:")
		group := func(index int32) store.RelationshipGroupKey {
			return store.RelationshipGroupKey{OwnerID: 1, Index: index}
		}
		for what, test := range map[string]struct {
			index  int32
			target *int32
		}{
			"default group":  {0, new(int32(5))},
			"into itself":    {5, new(int32(5))},
			"unknown target": {5, new(int32(9))},
		} {
			_, _, err := f.DeleteGroup(t.Context(), group(test.index), test.target)
			wantCode(t, what, err, apierr.IllegalArgument)
		}
		deleted, were, err := f.DeleteGroup(t.Context(), group(5), new(int32(6)))
		if err != nil || !deleted || !slices.Equal(were, []int64{2, 4}) {
			t.Errorf("deleted %v with %v, %v", deleted, were, err)
		}
		f.want("1>2[6] 1>3[6] 1>4[6] 1/0: 1/6: 1/7:")
		deleted, were, err = f.DeleteGroup(t.Context(), group(5), nil)
		if err != nil || deleted || len(were) > 0 {
			t.Errorf("deleted again %v with %v, %v", deleted, were, err)
		}
		members := f.version(store.VersionRelationshipGroupMembers, 1)
		if _, _, err := f.DeleteGroup(t.Context(), group(7), nil); err != nil {
			t.Error(err)
		}
		if got := f.version(store.VersionRelationshipGroupMembers, 1); got != members {
			t.Errorf("the end of an empty group changes the members: %d, was %d", got, members)
		}
		if changed, err := f.RenameGroup(t.Context(), group(6), "six"); err != nil || !changed {
			t.Errorf("renamed %v, %v", changed, err)
		}
		if changed, err := f.RenameGroup(t.Context(), group(6), "six"); err != nil || changed {
			t.Errorf("renamed again %v, %v", changed, err)
		}
		if _, _, err := f.DeleteGroup(t.Context(), group(6), nil); err != nil {
			t.Error(err)
		}
		f.want("1>2[0] 1>3[0] 1>4[0] 1/0:")
	})
}

func TestRandomIndex(t *testing.T) {
	f := newFixture(t, storetest.SQLite(t))
	for range 20 {
		g, err := f.CreateGroup(t.Context(), GroupCreation{OwnerID: 1, Name: "x"})
		if err != nil || g.Index <= 0 {
			t.Errorf("index %d, %v", g.Index, err)
		}
	}
}

// TestConcurrentGroups deletes groups while others add members: everybody stays in at least one
// group, and every group with members exists.
func TestConcurrentGroups(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		const rounds = 6
		var group sync.WaitGroup
		for worker := range int64(4) {
			group.Go(func() {
				for round := range int32(rounds) {
					index := 1 + round%2
					other := 10 + worker
					_, _ = f.CreateGroup(t.Context(), GroupCreation{OwnerID: 1, Index: &index})
					_, _ = f.Change(t.Context(), key(1, other), OwnChange{NewGroup: &index})
					_, _ = f.Change(t.Context(), key(1, other), OwnChange{OldGroup: new(int32(0)), NewGroup: new(3 - index)})
					_, _, _ = f.DeleteGroup(t.Context(), store.RelationshipGroupKey{OwnerID: 1, Index: index}, nil)
					if round%3 == 2 {
						_, _ = f.End(t.Context(), key(1, other), &index)
					}
				}
			})
		}
		group.Wait()
		checkInvariants(t, f)
	})
}

// checkInvariants proves what must hold at all times.
func checkInvariants(t *testing.T, f *fixture) {
	t.Helper()
	relationships, err := f.Find(t.Context(), store.RelationshipFilter{}, true, 0, 0)
	groups, err2 := f.FindGroups(t.Context(), store.RelationshipGroupFilter{}, 0, 0)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	exists := map[store.RelationshipGroupKey]bool{}
	for _, g := range groups {
		exists[g.RelationshipGroupKey] = true
	}
	for _, r := range relationships {
		if len(r.GroupIndexes) == 0 {
			t.Errorf("%v is in no group", r.RelationshipKey)
		}
		for _, index := range append(r.GroupIndexes, store.DefaultRelationshipGroup) {
			if !exists[store.RelationshipGroupKey{OwnerID: r.OwnerID, Index: index}] {
				t.Errorf("%v: the group %d does not exist", r.RelationshipKey, index)
			}
		}
	}
}
