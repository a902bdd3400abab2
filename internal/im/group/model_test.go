// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// modelGroup is a group of the model.
type modelGroup struct {
	owner   int64
	deleted bool
	members map[int64]store.GroupMemberRole
}

// model implements the rules with maps.
type model struct {
	limit  int
	groups map[int64]*modelGroup
	order  []int64 // ids of current and recent groups
}

// maxModelGroups bounds how many groups there are at a time.
const maxModelGroups = 15

func (m *model) live(id int64) *modelGroup {
	if g := m.groups[id]; g != nil && !g.deleted {
		return g
	}
	return nil
}

// hand makes a user the owner.
func (g *modelGroup) hand(to int64, quit bool) {
	if quit {
		delete(g.members, g.owner)
	} else {
		g.members[g.owner] = store.GroupRegularMember
	}
	g.owner, g.members[to] = to, store.GroupOwner
}

// step applies one random operation to the rules and to the model and describes it.
func (m *model) step(w *world, r *rand.Rand) string {
	ctx := w.Context()
	userID := r.Int64N(8) + 1
	var id int64 = 404
	if len(m.order) > 0 && r.IntN(20) > 0 {
		id = m.order[r.IntN(len(m.order))]
	}
	g := m.live(id)
	expect := func(err error, want apierr.Code) {
		if want == 0 && err == nil || want != 0 && err != nil && apierr.From(err).Code == want {
			return
		}
		w.Errorf("error %v, want %v", err, want)
	}
	switch r.IntN(9) {
	case 0:
		if len(m.groups) >= maxModelGroups {
			n, err := w.Delete(ctx, []int64{id}, new(false))
			expect(err, 0)
			if (n == 1) != (m.groups[id] != nil) {
				w.Errorf("deleted %d", n)
			}
			delete(m.groups, id)
			return fmt.Sprintf("delete %d for ever", id)
		}
		owner := r.Int64N(8) + 1
		created, err := w.Create(ctx, Creation{CreatorID: userID, OwnerID: &owner})
		expect(err, 0)
		m.groups[created.ID] = &modelGroup{owner: owner, members: map[int64]store.GroupMemberRole{owner: store.GroupOwner}}
		m.order = append(m.order[max(0, len(m.order)-2*maxModelGroups):], created.ID)
		return fmt.Sprintf("create %d for %d", created.ID, owner)
	case 1, 2, 3:
		role := store.GroupMemberRole(r.IntN(5))
		_, err := w.Members.Add(ctx, member(id, userID, role), nil)
		switch {
		case role == store.GroupOwner || g == nil:
			expect(err, apierr.IllegalArgument)
		case g.has(userID):
			if err == nil {
				w.Error("somebody joined twice")
			}
		case len(g.members) >= m.limit:
			expect(err, apierr.AddUserToGroupWithSizeLimitReached)
		default:
			expect(err, 0)
			g.members[userID] = role
		}
		return fmt.Sprintf("add %d to %d as %v", userID, id, role)
	case 4:
		n, err := w.Members.Delete(ctx, []store.GroupUserKey{key(id, userID)})
		switch {
		case g != nil && g.owner == userID:
			expect(err, apierr.GroupOwnerQuitWithoutSpecifyingSuccessor)
		case g != nil && g.has(userID):
			expect(err, 0)
			delete(g.members, userID)
			if n != 1 {
				w.Errorf("%d left", n)
			}
		default:
			expect(err, 0)
		}
		return fmt.Sprintf("remove %d from %d", userID, id)
	case 5:
		role := store.GroupMemberRole(r.IntN(5))
		_, err := w.Members.Update(ctx, []store.GroupUserKey{key(id, userID)}, store.GroupMemberChange{Role: &role})
		if g != nil && g.has(userID) && (g.owner == userID) != (role == store.GroupOwner) {
			expect(err, apierr.IllegalArgument)
		} else {
			expect(err, 0)
			if g != nil && g.has(userID) {
				g.members[userID] = role
			}
		}
		return fmt.Sprintf("make %d in %d %v", userID, id, role)
	case 6:
		quit := r.IntN(2) == 0
		result, err := w.Transfer(ctx, []int64{id}, userID, quit)
		expect(err, 0)
		want := store.UpdateResult{}
		if g != nil {
			want.Matched = 1
			if g.owner == userID {
				want.Modified = 1
			} else if g.has(userID) {
				want.Modified = 1
				g.hand(userID, quit)
			}
		}
		if result != want {
			w.Errorf("transferred %+v, want %+v", result, want)
		}
		return fmt.Sprintf("transfer %d to %d (quit %v)", id, userID, quit)
	case 7:
		_, err := w.Update(ctx, []int64{id}, store.GroupChange{OwnerID: &userID})
		switch {
		case g == nil || g.owner == userID:
			expect(err, 0)
			if deleted := m.groups[id]; deleted != nil {
				deleted.owner = userID
			}
		case !g.has(userID) && len(g.members) >= m.limit:
			expect(err, apierr.AddUserToGroupWithSizeLimitReached)
		default:
			expect(err, 0)
			g.hand(userID, false)
		}
		return fmt.Sprintf("transfer to %d in %d", userID, id)
	default:
		logically := r.IntN(3) > 0
		if r.IntN(3) > 0 {
			return "nothing"
		}
		n, err := w.Delete(ctx, []int64{id}, &logically)
		expect(err, 0)
		want := int64(0)
		if stored := m.groups[id]; stored != nil {
			if !logically || !stored.deleted {
				want = 1
			}
			stored.deleted, stored.members = true, nil
			if !logically {
				delete(m.groups, id)
			}
		}
		if n != want {
			w.Errorf("deleted %d, want %d", n, want)
		}
		return fmt.Sprintf("delete %d (logically %v)", id, logically)
	}
}

func (g *modelGroup) has(userID int64) bool {
	_, found := g.members[userID]
	return found
}

// compare compares the store with the model.
func (m *model) compare(w *world) {
	w.Helper()
	ctx := w.Context()
	stored := must(w.Find(ctx, store.GroupFilter{}, 0, 0))(w)
	if got, want := idsOf(stored), slices.Sorted(maps.Keys(m.groups)); !slices.Equal(got, want) {
		w.Fatalf("groups are %v, want %v", got, want)
	}
	found := map[int64]map[int64]store.GroupMemberRole{}
	for _, mem := range must(w.Members.Find(ctx, store.GroupMemberFilter{}, 0, 0))(w) {
		if found[mem.GroupID] == nil {
			found[mem.GroupID] = map[int64]store.GroupMemberRole{}
		}
		found[mem.GroupID][mem.UserID] = mem.Role
	}
	for _, g := range stored {
		want := m.groups[g.ID]
		if g.OwnerID != want.owner || (g.DeletionDate != nil) != want.deleted || !maps.Equal(found[g.ID], want.members) {
			w.Fatalf("group %d is owned by %d (deleted %v) and has %v; want %+v", g.ID, g.OwnerID, g.DeletionDate != nil, found[g.ID], want)
		}
		delete(found, g.ID)
		w.sound(g.ID)
	}
	if len(found) > 0 {
		w.Fatalf("members of no group: %v", found)
	}
}

// TestModel applies thousands of random operations and compares the store with a model.
func TestModel(t *testing.T) {
	for name, test := range map[string]struct {
		open  func(testing.TB) *store.DB
		steps int
	}{"SQLite": {storetest.SQLite, 3000}, "PostgreSQL": {storetest.PostgreSQL, 600}} {
		t.Run(name, func(t *testing.T) {
			const seed = 20240328
			w := newWorld(t, test.open(t))
			m := &model{limit: 5, groups: map[int64]*modelGroup{}}
			must(w.Types.Update(t.Context(), []int64{0}, store.GroupTypeChange{GroupSizeLimit: new(int32(m.limit))}))(w)
			r := rand.New(rand.NewPCG(seed, 0))
			for i := range test.steps {
				w.millis.Add(int64(r.IntN(3)))
				what := m.step(w, r)
				if t.Failed() {
					t.Fatalf("step %d: %s", i, what)
				}
				if i%50 == 0 {
					m.compare(w)
				}
				if t.Failed() {
					t.Fatalf("after step %d: %s", i, what)
				}
			}
			m.compare(w)
		})
	}
}
