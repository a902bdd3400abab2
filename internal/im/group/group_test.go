// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/user"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is a database with groups and users, and a clock.
type world struct {
	*testing.T
	*Directory
	db       *store.DB
	users    *user.Directory
	millis   atomic.Int64
	settings config.Group
	created  atomic.Int64
	deleted  atomic.Int64
	hooked   []int64
}

// onBothEngines runs a test against each storage engine.
func onBothEngines(t *testing.T, test func(w *world)) {
	t.Run("SQLite", func(t *testing.T) { test(newWorld(t, storetest.SQLite(t))) })
	t.Run("PostgreSQL", func(t *testing.T) { test(newWorld(t, storetest.PostgreSQL(t))) })
}

func newWorld(t *testing.T, db *store.DB) *world {
	t.Helper()
	w := &world{T: t, db: db, settings: config.Default().Service.Group}
	w.millis.Store(1_700_000_000_000)
	generator, err := ids.New(1)
	if err != nil {
		t.Fatal(err)
	}
	w.users = user.New(user.Options{
		Store: db, IDs: generator, Settings: func() config.User { return config.Default().Service.User }, Clock: w.clock,
		Hasher: password.Hasher{Algorithm: password.SaltedSHA256},
	})
	w.Directory, err = New(t.Context(), Options{
		Store: db, IDs: generator, Settings: func() config.Group { return w.settings }, Users: w.users, Clock: w.clock,
		Created: func(n int) { w.created.Add(int64(n)) }, Deleted: func(n int) { w.deleted.Add(int64(n)) },
		OnDelete: []func(context.Context, store.Tx, []int64) error{func(_ context.Context, _ store.Tx, ids []int64) error {
			w.hooked = slices.Clone(ids)
			return nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) clock() time.Time        { return time.UnixMilli(w.millis.Load()) }
func (w *world) advance(d time.Duration) { w.millis.Add(d.Milliseconds()) }

// must fails the test on an error.
func must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// group creates a group with an owner and plain members.
func (w *world) group(owner int64, members ...int64) int64 {
	w.Helper()
	g := must(w.Create(w.Context(), Creation{CreatorID: owner}))(w)
	for _, m := range members {
		w.join(g.ID, m)
	}
	return g.ID
}

func (w *world) join(groupID, userID int64) {
	w.Helper()
	must(w.Members.Add(w.Context(), member(groupID, userID, store.GroupRegularMember), nil))(w)
}

func member(groupID, userID int64, role store.GroupMemberRole) store.GroupMember {
	return store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: groupID, UserID: userID}, Role: role}
}

func key(groupID, userID int64) store.GroupUserKey {
	return store.GroupUserKey{GroupID: groupID, UserID: userID}
}

// roles returns the members of a group with their roles, by user.
func (w *world) roles(groupID int64) string {
	w.Helper()
	text := ""
	for _, m := range must(w.Members.Find(w.Context(), store.GroupMemberFilter{GroupIDs: []int64{groupID}}, 0, 0))(w) {
		text += fmt.Sprintf("%d:%s ", m.UserID, m.Role)
	}
	return text
}

func (w *world) wantRoles(groupID int64, want string) {
	w.Helper()
	if got := w.roles(groupID); got != want {
		w.Errorf("members are %q, want %q", got, want)
	}
	w.sound(groupID)
}

// sound checks the invariants of a group: one owner, who is the group's, and as many members as the
// version record says.
func (w *world) sound(groupID int64) {
	w.Helper()
	w.read(func(ctx context.Context, r store.Reader) error {
		g, found, err := Get(ctx, r, groupID)
		if err != nil || !found {
			return err
		}
		owners, err := store.FindGroupMembers(ctx, r, store.GroupMemberFilter{GroupIDs: []int64{groupID}, Roles: []store.GroupMemberRole{store.GroupOwner}}, store.Page{})
		if err == nil && (len(owners) != 1 || owners[0].UserID != g.OwnerID) {
			w.Errorf("group %d is owned by %d, and its owners are %v", groupID, g.OwnerID, owners)
		}
		n, err := store.CountGroupMembers(ctx, r, store.GroupMemberFilter{GroupIDs: []int64{groupID}})
		if err != nil {
			return err
		}
		counted, err := store.GroupMemberCount(ctx, r, groupID)
		if err == nil && int64(counted) != n {
			w.Errorf("group %d has %d members, and its record says %d", groupID, n, counted)
		}
		return err
	})
}

func (w *world) read(fn func(ctx context.Context, r store.Reader) error) {
	w.Helper()
	if err := w.db.Read(context.Background(), fn); err != nil {
		w.Error(err)
	}
}

func wantCode(t testing.TB, err error, want apierr.Code) {
	t.Helper()
	e, ok := errors.AsType[*apierr.Error](err)
	if !ok || e.Code != want {
		t.Errorf("error %v, want %v", err, want)
	}
}

// versions returns the versions of a group's parts; bumped is a changed version.
func (w *world) versions(groupID int64) map[string]time.Time {
	w.Helper()
	parts := []store.GroupPart{store.GroupInfo, store.GroupMembers, store.GroupBlocklist, store.GroupJoinRequests, store.GroupQuestions, store.GroupInvitations}
	all := map[string]time.Time{}
	w.read(func(ctx context.Context, r store.Reader) error {
		for _, part := range parts {
			at, err := versionOfGroup(part, groupID)(ctx, r)
			if err != nil {
				return err
			}
			if at != nil {
				all[string(part)] = *at
			}
		}
		return nil
	})
	return all
}

// wantBumps runs a change and checks which versions of a group and of users it increments: "members
// joined_groups:7".
func (w *world) wantBumps(groupID int64, userIDs []int64, change func() error, want ...string) {
	w.Helper()
	userVersions := func() map[string]time.Time {
		all := map[string]time.Time{}
		w.read(func(ctx context.Context, r store.Reader) error {
			for _, id := range userIDs {
				for _, kind := range store.UserVersions {
					at, err := store.FindUserVersion(ctx, r, kind, id)
					if err != nil {
						return err
					}
					if at != nil {
						all[fmt.Sprintf("%s:%d", kind, id)] = *at
					}
				}
			}
			return nil
		})
		return all
	}
	group, users := w.versions(groupID), userVersions()
	if err := change(); err != nil {
		w.Error(err)
		return
	}
	got := []string{}
	for part, at := range w.versions(groupID) {
		if at.After(group[part]) {
			got = append(got, part)
		}
	}
	for name, at := range userVersions() {
		if at.After(users[name]) {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		w.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestCreate(t *testing.T) {
	onBothEngines(t, func(w *world) {
		w.wantBumps(0, []int64{1, 2}, func() error {
			g, err := w.Create(w.Context(), Creation{CreatorID: 1, OwnerID: new(int64(2)), Name: new("n"), MinimumScore: 3})
			if err != nil {
				return err
			}
			want := store.Group{
				ID: g.ID, CreatorID: 1, OwnerID: 2, Name: new("n"), MinimumScore: 3, CreationDate: w.clock().UTC(), LastUpdatedDate: w.clock().UTC(), IsActive: true,
			}
			stored := must(w.Find(w.Context(), store.GroupFilter{IDs: []int64{g.ID}}, 10, 0))(w)
			if diff := cmp.Diff([]store.Group{want}, stored); diff != "" {
				w.Errorf("-want +got:\n%s", diff)
			}
			w.wantRoles(g.ID, "2:OWNER ")
			return nil
		}, "joined_groups:2")
		w.settings.ActivateGroupWhenCreated = false
		if g := must(w.Create(w.Context(), Creation{CreatorID: 1}))(w); g.IsActive {
			w.Error("the group is active against the settings")
		}
		if w.created.Load() != 2 {
			w.Errorf("%d creations were told of", w.created.Load())
		}
		later, before := w.clock().Add(time.Millisecond), w.clock().Add(-time.Hour)
		now := w.clock()
		for name, c := range map[string]Creation{
			"score":                    {MinimumScore: -1},
			"creation to come":         {CreationDate: &later},
			"deletion to come":         {DeletionDate: &later},
			"deletion before creation": {CreationDate: &now, DeletionDate: &before},
		} {
			_, err := w.Create(w.Context(), c)
			if e := apierr.From(err); e.Code != apierr.IllegalArgument {
				w.Errorf("%s: %v", name, err)
			}
		}
		_, err := w.Create(w.Context(), Creation{CreatorID: 1, TypeID: new(int64(99))})
		wantCode(w, err, apierr.CreateGroupWithNonexistentGroupType)
	})
}

// TestRights has users of several roles create and take over groups.
func TestRights(t *testing.T) {
	onBothEngines(t, func(w *world) {
		club := must(w.Types.Create(w.Context(), store.GroupType{Name: "CLUB", GroupSizeLimit: 10}))(w)
		role := func(types []int64, total, each int32, limits map[int64]int32) int64 {
			return must(w.users.CreateRole(w.Context(), user.RoleCreation{
				CreatableGroupTypeIDs: types, OwnedGroupLimit: total, OwnedGroupLimitForEachGroupType: each, GroupTypeIDToLimit: limits,
			}))(w).ID
		}
		account := func(roleID int64, active bool) int64 {
			return must(w.users.Create(w.Context(), user.Creation{RoleID: roleID, IsActive: &active}))(w).ID
		}
		create := func(creator int64, typeID int64) error {
			_, err := w.Create(w.Context(), Creation{CreatorID: creator, TypeID: &typeID})
			return err
		}
		wantCode(w, create(1, club.ID), apierr.NoPermissionToCreateGroupWithGroupType)
		two := account(role([]int64{0, club.ID}, 2, store.UnlimitedGroups, nil), true)
		for range 2 {
			if err := create(two, 0); err != nil {
				w.Error(err)
			}
		}
		wantCode(w, create(two, 0), apierr.MaxOwnedGroupsReached)
		wantCode(w, create(two, club.ID), apierr.MaxOwnedGroupsReached)
		each := account(role([]int64{0, club.ID}, 5, 1, map[int64]int32{club.ID: 2}), true)
		if err := errors.Join(create(each, 0), create(each, club.ID), create(each, club.ID)); err != nil {
			w.Error(err)
		}
		wantCode(w, create(each, 0), apierr.MaxOwnedGroupsReached)
		wantCode(w, create(each, club.ID), apierr.MaxOwnedGroupsReached)
		wantCode(w, create(account(0, false), 0), apierr.NotActiveUserToCreateGroup)
		wantCode(w, create(account(77, true), 0), apierr.NotActiveUserToCreateGroup)
		_, err := w.Create(w.Context(), Creation{CreatorID: 1, OwnerID: &two})
		wantCode(w, err, apierr.MaxOwnedGroupsReached)

		// A group that was deleted does not count.
		owned := must(w.Find(w.Context(), store.GroupFilter{OwnerIDs: []int64{two}}, 10, 0))(w)
		must(w.Delete(w.Context(), []int64{owned[0].ID}, new(true)))(w)
		if err := create(two, 0); err != nil {
			w.Error(err)
		}

		// A successor needs the right to own the group.
		mine := w.group(1, two)
		if got := must(w.Transfer(w.Context(), []int64{mine}, two, false))(w); got != (store.UpdateResult{Matched: 1}) {
			w.Errorf("transfer to somebody who owns enough: %+v", got)
		}
		w.wantRoles(mine, fmt.Sprintf("1:OWNER %d:MEMBER ", two))
	})
}

func TestTransfer(t *testing.T) {
	onBothEngines(t, func(w *world) {
		a, b := w.group(1, 2, 3), w.group(1, 3)
		transfer := func(successor int64, quit bool, want store.UpdateResult, ids ...int64) {
			w.Helper()
			if got := must(w.Transfer(w.Context(), ids, successor, quit))(w); got != want {
				w.Errorf("transferred %+v, want %+v", got, want)
			}
		}
		transfer(2, false, store.UpdateResult{Matched: 2, Modified: 1}, a, b, 999)
		w.wantRoles(a, "1:MEMBER 2:OWNER 3:MEMBER ")
		w.wantRoles(b, "1:OWNER 3:MEMBER ")
		transfer(2, true, store.UpdateResult{Matched: 1, Modified: 1}, a)
		w.wantRoles(a, "1:MEMBER 2:OWNER 3:MEMBER ")
		w.advance(time.Minute)
		w.wantBumps(a, []int64{1, 2, 3}, func() error {
			transfer(3, true, store.UpdateResult{Matched: 1, Modified: 1}, a)
			return nil
		}, "info", "members", "joined_groups:2")
		w.wantRoles(a, "1:MEMBER 3:OWNER ")
		if g := must(w.Find(w.Context(), store.GroupFilter{IDs: []int64{a}}, 1, 0))(w); !g[0].LastUpdatedDate.Equal(w.clock()) {
			w.Errorf("last updated %v", g[0].LastUpdatedDate)
		}
		must(w.Delete(w.Context(), []int64{b}, new(true)))(w)
		transfer(3, false, store.UpdateResult{}, b)
	})
}

func TestUpdate(t *testing.T) {
	onBothEngines(t, func(w *world) {
		a, b := w.group(1, 2), w.group(1)
		update := func(c store.GroupChange, want store.UpdateResult, ids ...int64) {
			w.Helper()
			if got := must(w.Update(w.Context(), ids, c))(w); got != want {
				w.Errorf("updated %+v, want %+v", got, want)
			}
		}
		update(store.GroupChange{}, store.UpdateResult{}, a)
		update(store.GroupChange{Name: new("x")}, store.UpdateResult{}, 999)
		w.advance(time.Minute)
		w.wantBumps(a, []int64{1, 2}, func() error {
			update(store.GroupChange{Name: new("x"), IsActive: new(false)}, store.UpdateResult{Matched: 2, Modified: 2}, a, b, 999)
			return nil
		}, "info")
		w.wantBumps(a, []int64{1, 2}, func() error {
			update(store.GroupChange{Name: new("x")}, store.UpdateResult{Matched: 2}, a, b)
			return nil
		})
		w.wantBumps(a, []int64{1, 2}, func() error {
			update(store.GroupChange{OwnerID: new(int64(2))}, store.UpdateResult{Matched: 1, Modified: 1}, a)
			return nil
		}, "info", "members")
		w.wantRoles(a, "1:MEMBER 2:OWNER ")
		w.wantBumps(a, []int64{9}, func() error {
			update(store.GroupChange{OwnerID: new(int64(9))}, store.UpdateResult{Matched: 2, Modified: 2}, a, b)
			return nil
		}, "info", "members", "joined_groups:9")
		w.wantRoles(a, "1:MEMBER 2:MEMBER 9:OWNER ")
		w.wantRoles(b, "1:MEMBER 9:OWNER ")
		small := must(w.Types.Create(w.Context(), store.GroupType{Name: "SMALL", GroupSizeLimit: 2}))(w)
		_, err := w.Update(w.Context(), []int64{a, b}, store.GroupChange{TypeID: &small.ID})
		wantCode(w, err, apierr.AddUserToGroupWithSizeLimitReached)
		update(store.GroupChange{TypeID: &small.ID}, store.UpdateResult{Matched: 1, Modified: 1}, b)
		_, err = w.Update(w.Context(), []int64{b}, store.GroupChange{OwnerID: new(int64(8))})
		wantCode(w, err, apierr.AddUserToGroupWithSizeLimitReached)
		w.wantRoles(b, "1:MEMBER 9:OWNER ")
		_, err = w.Update(w.Context(), []int64{b}, store.GroupChange{TypeID: new(int64(99))})
		wantCode(w, err, apierr.UpdateGroupToNonexistentGroupType)
		early, later := w.clock().Add(-24*time.Hour), w.clock().Add(time.Second)
		for _, c := range []store.GroupChange{{MinimumScore: new(int32(-1))}, {CreationDate: &later}, {DeletionDate: &later}, {DeletionDate: &early}} {
			_, err := w.Update(w.Context(), []int64{a}, c)
			wantCode(w, err, apierr.IllegalArgument)
		}
		update(store.GroupChange{CreationDate: &early, DeletionDate: &early}, store.UpdateResult{Matched: 1, Modified: 1}, a)
		_, err = w.Update(w.Context(), []int64{a}, store.GroupChange{CreationDate: new(w.clock())})
		wantCode(w, err, apierr.IllegalArgument)
	})
}

func TestDelete(t *testing.T) {
	onBothEngines(t, func(w *world) {
		a, b, c := w.group(1, 2, 3), w.group(2), w.group(3, 2)
		ctx := w.Context()
		must(w.Questions.Create(ctx, store.GroupQuestion{GroupID: a, Question: "q", Answers: []string{"a"}}))(w)
		must(w.Blocklist.Block(ctx, store.GroupBlockedUser{GroupUserKey: key(a, 9), RequesterID: 1}, nil))(w)
		must(w.Invitations.Create(ctx, store.GroupInvitation{GroupID: a, InviterID: 1, InviteeID: 5}, nil, nil))(w)
		must(w.JoinRequests.Create(ctx, store.GroupJoinRequest{GroupID: a, RequesterID: 5}, nil, nil))(w)
		w.advance(time.Minute)
		w.wantBumps(0, []int64{1, 2, 3}, func() error {
			if n := must(w.Delete(ctx, []int64{a, a, 999}, nil))(w); n != 1 {
				w.Errorf("deleted %d", n)
			}
			return nil
		}, "joined_groups:1", "joined_groups:2", "joined_groups:3")
		if !slices.Equal(w.hooked, []int64{a}) {
			w.Errorf("hooks were told of %v", w.hooked)
		}
		w.wantRoles(a, "")
		if len(w.versions(a)) != 0 {
			w.Error("the version record is left")
		}
		g := must(w.Find(ctx, store.GroupFilter{IDs: []int64{a}}, 1, 0))(w)[0]
		if g.DeletionDate == nil || !g.DeletionDate.Equal(w.clock()) || !g.IsActive || g.LastUpdatedDate.Equal(w.clock()) {
			w.Errorf("logically deleted: %+v", g)
		}
		// The rows left by the deletion.
		left := []int{
			len(must(w.Questions.Find(ctx, store.GroupQuestionFilter{}, 9, 0))(w)), len(must(w.Blocklist.Find(ctx, store.GroupBlockedUserFilter{}, 9, 0))(w)),
			len(must(w.Invitations.Find(ctx, InvitationFilter{}, 9, 0))(w)), len(must(w.JoinRequests.Find(ctx, JoinRequestFilter{}, 9, 0))(w)),
		}
		if !slices.Equal(left, []int{1, 1, 1, 1}) {
			w.Errorf("left are %v", left)
		}
		if n := must(w.Delete(ctx, []int64{a}, new(true)))(w); n != 0 {
			w.Errorf("deleted %d again", n)
		}
		_, err := w.Members.Add(ctx, member(a, 7, store.GroupRegularMember), nil)
		wantCode(w, err, apierr.IllegalArgument)
		w.settings.DeleteGroupLogicallyByDefault = false
		if n := must(w.Delete(ctx, []int64{a, b}, nil))(w); n != 2 {
			w.Errorf("deleted %d", n)
		}
		w.wantRoles(b, "")
		if n := must(w.DeleteAll(ctx, new(false)))(w); n != 1 {
			w.Errorf("deleted %d", n)
		}
		w.wantRoles(c, "")
		if n := must(w.Count(ctx, store.GroupFilter{}))(w); n != 0 || w.deleted.Load() != 4 {
			w.Errorf("%d groups are left, %d deletions were told of", n, w.deleted.Load())
		}
	})
}

// TestDeleteHookFails proves that a failing hook rolls the deletion back.
func TestDeleteHookFails(t *testing.T) {
	onBothEngines(t, func(w *world) {
		a := w.group(1, 2)
		failure := errors.New("no")
		w.opts.OnDelete = append(w.opts.OnDelete, func(context.Context, store.Tx, []int64) error { return failure })
		if _, err := w.Delete(w.Context(), []int64{a}, nil); !errors.Is(err, failure) {
			w.Errorf("error %v", err)
		}
		w.wantRoles(a, "1:OWNER 2:MEMBER ")
		if w.deleted.Load() != 0 {
			w.Error("a deletion was told of that did not happen")
		}
	})
}

// TestDeleteBig deletes a group with more members than one transaction deletes.
func TestDeleteBig(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		must(w.Types.Update(ctx, []int64{0}, store.GroupTypeChange{GroupSizeLimit: new(int32(1_000_000))}))(w)
		big, small := w.group(1), w.group(1, 2)
		const members = batch + 10
		for from := int64(0); from < members; from += 1000 {
			list := make([]store.GroupMember, 0, 1000)
			for i := from; i < min(from+1000, members); i++ {
				m := member(big, 100+i, store.GroupRegularMember)
				m.JoinDate = w.clock()
				list = append(list, m)
			}
			err := w.db.Write(ctx, func(ctx context.Context, tx store.Tx) error { return w.Members.Join(ctx, tx, big, list...) })
			if err != nil {
				w.Fatal(err)
			}
		}
		w.sound(big)
		var collected []int64
		w.read(func(ctx context.Context, r store.Reader) error {
			var after *int64
			for {
				chunk, err := store.GroupMemberIDsAfter(ctx, r, big, after, 3000)
				if err != nil || len(chunk) == 0 {
					return err
				}
				collected = append(collected, chunk...)
				after = &chunk[len(chunk)-1]
			}
		})
		if len(collected) != members+1 || !slices.IsSorted(collected) {
			w.Errorf("collected %d members", len(collected))
		}
		started := time.Now()
		w.settings.DeleteGroupLogicallyByDefault = false
		left := must(w.DeleteBy(ctx, 1, big))(w)
		if slices.Sort(left); !slices.Equal(left, collected) {
			w.Errorf("%d members left", len(left))
		}
		if n := must(w.Delete(ctx, []int64{big, small}, nil))(w); n != 1 {
			w.Errorf("deleted %d", n)
		}
		w.Logf("deleted %d members in %v", members, time.Since(started))
		if total, _, err := w.Members.FindPage(ctx, store.GroupMemberFilter{}, store.Page{Limit: 1}); err != nil || total != 0 {
			w.Errorf("%d members are left, error %v", total, err)
		}
	})
}

// together runs a function in many goroutines.
func together(n int, run func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { run(i) })
	}
	wg.Wait()
}
