// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

func TestMembers(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		a := w.group(1, 2)
		w.advance(time.Minute)
		w.wantBumps(a, []int64{1, 3}, func() error { w.join(a, 3); return nil }, "members", "joined_groups:3")
		_, err := w.Members.Add(ctx, member(a, 3, store.GroupGuest), nil)
		if !errors.Is(err, store.ErrDuplicateKey) {
			w.Errorf("a member joined twice: %v", err)
		}
		_, err = w.Members.Add(ctx, member(a, 4, store.GroupOwner), nil)
		wantCode(w, err, apierr.IllegalArgument)
		_, err = w.Members.Add(ctx, member(a+1, 4, store.GroupGuest), nil)
		wantCode(w, err, apierr.IllegalArgument)
		_, err = w.Members.Add(ctx, member(a, 4, store.GroupGuest), new(w.clock().Add(time.Second)))
		wantCode(w, err, apierr.IllegalArgument)

		update := func(c store.GroupMemberChange, want store.UpdateResult, keys ...store.GroupUserKey) {
			w.Helper()
			if got := must(w.Members.Update(ctx, keys, c))(w); got != want {
				w.Errorf("updated %+v, want %+v", got, want)
			}
		}
		update(store.GroupMemberChange{}, store.UpdateResult{}, key(a, 2))
		w.wantBumps(a, []int64{2}, func() error {
			update(store.GroupMemberChange{Role: new(store.GroupManager), Name: new("n")}, store.UpdateResult{Matched: 2, Modified: 2}, key(a, 2), key(a, 3), key(a, 99))
			return nil
		}, "members")
		w.wantBumps(a, nil, func() error {
			update(store.GroupMemberChange{Role: new(store.GroupManager)}, store.UpdateResult{Matched: 1}, key(a, 2))
			return nil
		})
		update(store.GroupMemberChange{Role: new(store.GroupOwner), Name: new("boss")}, store.UpdateResult{Matched: 1, Modified: 1}, key(a, 1))
		for _, c := range []struct {
			role store.GroupMemberRole
			keys []store.GroupUserKey
		}{{store.GroupOwner, []store.GroupUserKey{key(a, 1), key(a, 2)}}, {store.GroupManager, []store.GroupUserKey{key(a, 2), key(a, 1)}}} {
			_, err := w.Members.Update(ctx, c.keys, store.GroupMemberChange{Role: &c.role})
			wantCode(w, err, apierr.IllegalArgument)
		}
		_, err = w.Members.Update(ctx, []store.GroupUserKey{key(a, 2)}, store.GroupMemberChange{JoinDate: new(w.clock().Add(time.Second))})
		wantCode(w, err, apierr.IllegalArgument)
		w.wantRoles(a, "1:OWNER 2:MANAGER 3:MANAGER ")

		_, err = w.Members.Delete(ctx, []store.GroupUserKey{key(a, 3), key(a, 1)})
		wantCode(w, err, apierr.GroupOwnerQuitWithoutSpecifyingSuccessor)
		w.wantRoles(a, "1:OWNER 2:MANAGER 3:MANAGER ")
		w.wantBumps(a, []int64{2, 3}, func() error {
			if n := must(w.Members.Delete(ctx, []store.GroupUserKey{key(a, 3), key(a, 3), key(a, 9)}))(w); n != 1 {
				w.Errorf("deleted %d", n)
			}
			return nil
		}, "members", "joined_groups:3")
		w.wantRoles(a, "1:OWNER 2:MANAGER ")

		b := w.group(2, 1, 3)
		if n := must(w.Members.DeleteAll(ctx))(w); n != 3 {
			w.Errorf("deleted %d", n)
		}
		w.wantRoles(a, "1:OWNER ")
		w.wantRoles(b, "2:OWNER ")
	})
}

// TestDanglingType proves that groups of a deleted type follow the default one.
func TestDanglingType(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		wantCode(w, func() error { _, err := w.Types.Delete(ctx, []int64{0, 5}); return err }(), apierr.IllegalArgument)
		custom := must(w.Types.Create(ctx, store.GroupType{Name: "CLUB", GroupSizeLimit: 1}))(w)
		a := w.group(1)
		must(w.Update(ctx, []int64{a}, store.GroupChange{TypeID: &custom.ID}))(w)
		_, err := w.Members.Add(ctx, member(a, 2, store.GroupGuest), nil)
		wantCode(w, err, apierr.AddUserToGroupWithSizeLimitReached)
		if n := must(w.Types.Delete(ctx, []int64{custom.ID, 99}))(w); n != 1 {
			w.Errorf("deleted %d", n)
		}
		w.join(a, 2)
		w.wantRoles(a, "1:OWNER 2:MEMBER ")

		// The default type applies even if it was deleted from the database.
		if err := w.db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
			_, err := store.DeleteGroupTypes(ctx, tx, []int64{0})
			return err
		}); err != nil {
			w.Fatal(err)
		}
		w.join(a, 3)
		w.group(5)
		must(New(ctx, w.opts))(w)
		total, types, err := w.Types.FindPage(ctx, nil, store.Page{Limit: 10})
		if err != nil || total != 1 || types[0] != DefaultType() {
			w.Errorf("types are %v, error %v", types, err)
		}
		for _, limit := range []int32{0, -1} {
			_, err := w.Types.Create(ctx, store.GroupType{GroupSizeLimit: limit})
			wantCode(w, err, apierr.IllegalArgument)
			_, err = w.Types.Update(ctx, []int64{0}, store.GroupTypeChange{GroupSizeLimit: &limit})
			wantCode(w, err, apierr.IllegalArgument)
		}
	})
}

// TestLimitRace has many users join a small group concurrently.
func TestLimitRace(t *testing.T) {
	onBothEngines(t, func(w *world) {
		const limit, workers = 10, 40
		must(w.Types.Update(w.Context(), []int64{0}, store.GroupTypeChange{GroupSizeLimit: new(int32(limit))}))(w)
		a := w.group(1)
		var joined, refused atomic.Int32
		together(workers, func(i int) {
			_, err := w.Members.Add(w.Context(), member(a, int64(100+i), store.GroupRegularMember), nil)
			switch {
			case err == nil:
				joined.Add(1)
			case apierr.From(err).Code == apierr.AddUserToGroupWithSizeLimitReached:
				refused.Add(1)
			default:
				w.Error(err)
			}
		})
		if joined.Load() != limit-1 || refused.Load() != workers-limit+1 {
			w.Errorf("%d joined, %d were refused", joined.Load(), refused.Load())
		}
		w.sound(a)
	})
}

// TestOwnedRace has a user create many groups concurrently.
func TestOwnedRace(t *testing.T) {
	onBothEngines(t, func(w *world) {
		must(w.users.UpdateRoles(w.Context(), []int64{0}, store.UserRoleChange{OwnedGroupLimit: new(int32(3))}))(w)
		var created atomic.Int32
		together(20, func(int) {
			_, err := w.Create(w.Context(), Creation{CreatorID: 1})
			if err == nil {
				created.Add(1)
			} else if apierr.From(err).Code != apierr.MaxOwnedGroupsReached {
				w.Error(err)
			}
		})
		if n := must(w.Count(w.Context(), store.GroupFilter{OwnerIDs: []int64{1}}))(w); n != 3 || created.Load() != 3 {
			w.Errorf("%d groups, %d creations", n, created.Load())
		}
	})
}

// TestOwnerRace concurrently transfers a group, changes its owner and removes members: there is
// always one owner.
func TestOwnerRace(t *testing.T) {
	onBothEngines(t, func(w *world) {
		const workers = 12
		members := make([]int64, workers)
		for i := range members {
			members[i] = int64(2 + i)
		}
		a := w.group(1, members...)
		ctx := w.Context()
		together(workers, func(i int) {
			me := members[i]
			for n := range 6 {
				var err error
				switch (n + i) % 3 {
				case 0:
					_, err = w.Transfer(ctx, []int64{a}, me, n%2 == 0)
				case 1:
					_, err = w.Update(ctx, []int64{a}, store.GroupChange{OwnerID: &me})
				default:
					_, err = w.Members.Delete(ctx, []store.GroupUserKey{key(a, me)})
				}
				if code := apierr.From(err).Code; err != nil && code != apierr.GroupOwnerQuitWithoutSpecifyingSuccessor {
					w.Errorf("%d: %v", n, err)
				}
				w.read(func(ctx context.Context, r store.Reader) error {
					n, err := store.CountGroupMembers(ctx, r, store.GroupMemberFilter{GroupIDs: []int64{a}, Roles: []store.GroupMemberRole{store.GroupOwner}})
					if err == nil && n != 1 {
						w.Errorf("%d owners", n)
					}
					return err
				})
			}
		})
		w.sound(a)
	})
}

// TestDeleteRace deletes a group while others join it: no membership remains.
func TestDeleteRace(t *testing.T) {
	onBothEngines(t, func(w *world) {
		for round := range 3 {
			a := w.group(1)
			together(12, func(i int) {
				if i == 5 {
					must(w.Delete(w.Context(), []int64{a}, new(round%2 == 0)))(w)
					return
				}
				_, err := w.Members.Add(w.Context(), member(a, int64(100+i), store.GroupRegularMember), nil)
				if err != nil && apierr.From(err).Code != apierr.IllegalArgument {
					w.Error(err)
				}
			})
			w.wantRoles(a, "")
		}
	})
}

func TestSpeaker(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		a := w.group(1, 2)
		must(w.Members.Add(ctx, store.GroupMember{GroupUserKey: key(a, 3), Role: store.GroupGuest, MuteEndDate: new(w.clock().Add(time.Minute))}, nil))(w)
		must(w.Blocklist.Block(ctx, store.GroupBlockedUser{GroupUserKey: key(a, 8), RequesterID: 1}, nil))(w)
		want := func(groupID, userID int64, check bool, want apierr.Code) {
			w.Helper()
			w.read(func(ctx context.Context, r store.Reader) error {
				s, err := w.Members.Speaker(ctx, r, groupID, userID)
				if err != nil {
					return err
				}
				got := apierr.Code(0)
				if err := s.MaySend(check); err != nil {
					got = apierr.From(err).Code
				}
				if got != want {
					w.Errorf("user %d in group %d (check %v): %v, want %v", userID, groupID, check, got, want)
				}
				return nil
			})
		}
		want(a, 1, true, 0)
		want(a, 2, true, 0)
		want(a, 3, true, apierr.MutedGroupMemberSendMessage)
		want(a, 3, false, 0)
		want(a, 7, true, apierr.NotSpeakableGroupGuestToSendMessage)
		want(a+1, 1, true, apierr.SendMessageToInactiveGroup)
		want(a+1, 1, false, apierr.SendMessageToInactiveGroup)
		must(w.Types.Update(ctx, []int64{0}, store.GroupTypeChange{GuestSpeakable: new(true)}))(w)
		want(a, 7, true, 0)
		want(a, 8, true, apierr.BlockedUserSendGroupMessage)
		must(w.Update(ctx, []int64{a}, store.GroupChange{MuteEndDate: new(w.clock().Add(2 * time.Minute))}))(w)
		want(a, 1, true, apierr.SendMessageToMutedGroup)
		want(a, 1, false, apierr.SendMessageToMutedGroup)
		want(a, 7, false, apierr.SendMessageToMutedGroup)
		w.advance(time.Minute)
		want(a, 3, false, apierr.SendMessageToMutedGroup)
		w.advance(time.Minute)
		want(a, 3, true, 0)
		want(a, 7, true, 0)
		must(w.Update(ctx, []int64{a}, store.GroupChange{IsActive: new(false)}))(w)
		want(a, 1, true, apierr.SendMessageToInactiveGroup)
		want(a, 1, false, 0)
		want(a, 7, false, apierr.SendMessageToInactiveGroup)
		w.read(func(ctx context.Context, r store.Reader) error {
			g, found, err := Get(ctx, r, a)
			joined, err2 := store.JoinedGroupIDs(ctx, r, 2)
			is, err3 := IsMember(ctx, r, a, 7)
			if g.OwnerID != 1 || !found || is || len(joined) != 1 || joined[0] != a {
				w.Errorf("owner %d %v, joined %v, member %v", g.OwnerID, found, joined, is)
			}
			return errors.Join(err, err2, err3)
		})
	})
}

func TestStrategies(t *testing.T) {
	roles := []store.GroupMemberRole{store.GroupOwner, store.GroupManager, store.GroupRegularMember, store.GroupGuest, store.GroupAnonymousGuest}
	show := func(may func(store.GroupMemberRole) bool) (text string) {
		for _, role := range roles {
			if may(role) {
				text += fmt.Sprint(int(role))
			}
		}
		return text
	}
	for s, want := range map[store.GroupUpdateStrategy]string{
		store.UpdateByAll: "01234", store.UpdateByOwnerManagerMember: "012", store.UpdateByOwnerManager: "01", store.UpdateByOwner: "0",
	} {
		if got := show(func(r store.GroupMemberRole) bool { return MayUpdate(s, r) }); got != want {
			t.Errorf("%v admits %s, want %s", s, got, want)
		}
	}
	for s := store.InviteAllRequiringApproval; s <= store.InviteOwner; s++ {
		if got, want := InvitationNeedsApproval(s), s <= store.InviteOwnerRequiringApproval; got != want {
			t.Errorf("%v needs approval: %v", s, got)
		}
	}
}
