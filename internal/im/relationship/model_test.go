// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// model implements the directory with maps. Its operations return the expected codes.
type model struct {
	relations map[store.RelationshipKey]*modelRelation
	groups    map[store.RelationshipGroupKey]string
	requests  map[int64]*store.FriendRequest
	now       time.Time
	twoSided  bool
}

type modelRelation struct {
	blocked bool
	name    string
	groups  map[int32]bool
}

const modelLifetime = time.Hour

func (m *model) status(r *store.FriendRequest) store.RequestStatus {
	if r.Status == store.RequestPending && r.CreationDate.Add(modelLifetime).Before(m.now) {
		return store.RequestExpired
	}
	return r.Status
}

func (m *model) state() string {
	var parts []string
	relations := slices.SortedFunc(maps.Keys(m.relations), func(a, b store.RelationshipKey) int {
		return int(100*(a.OwnerID-b.OwnerID) + a.RelatedUserID - b.RelatedUserID)
	})
	for _, k := range relations {
		r := m.relations[k]
		text := fmt.Sprintf("%d>%d%v", k.OwnerID, k.RelatedUserID, slices.Sorted(maps.Keys(r.groups)))
		if r.blocked {
			text += "!"
		}
		parts = append(parts, text+r.name)
	}
	groups := slices.SortedFunc(maps.Keys(m.groups), func(a, b store.RelationshipGroupKey) int {
		return int(100*(a.OwnerID-b.OwnerID)) + int(a.Index-b.Index)
	})
	for _, g := range groups {
		parts = append(parts, fmt.Sprintf("%d/%d:%s", g.OwnerID, g.Index, m.groups[g]))
	}
	for _, id := range slices.Sorted(maps.Keys(m.requests)) {
		r := m.requests[id]
		parts = append(parts, fmt.Sprintf("%d?%d=%s", r.RequesterID, r.RecipientID, m.status(r)))
	}
	return strings.Join(parts, " ")
}

func (m *model) hasGroup(owner int64, index int32) bool {
	_, ok := m.groups[store.RelationshipGroupKey{OwnerID: owner, Index: index}]
	return ok || index == 0
}

func (m *model) ensureDefault(owner int64) {
	k := store.RelationshipGroupKey{OwnerID: owner}
	if _, ok := m.groups[k]; !ok {
		m.groups[k] = ""
	}
}

func (m *model) add(k store.RelationshipKey, blocked bool, index int32, name string) {
	m.ensureDefault(k.OwnerID)
	m.relations[k] = &modelRelation{blocked, name, map[int32]bool{index: true}}
}

func (m *model) establish(k store.RelationshipKey, blocked bool, index int32, name string) apierr.Code {
	switch {
	case k.OwnerID == k.RelatedUserID || !m.hasGroup(k.OwnerID, index):
		return apierr.IllegalArgument
	case m.relations[k] != nil:
		return apierr.CreateExistingRelationship
	}
	m.add(k, blocked, index, name)
	return apierr.OK
}

func (m *model) change(k store.RelationshipKey, c OwnChange) apierr.Code {
	if k.OwnerID == k.RelatedUserID || c.NewGroup != nil && c.OldGroup != nil && *c.NewGroup == *c.OldGroup {
		return apierr.IllegalArgument
	}
	if c == (OwnChange{}) {
		return apierr.OK
	}
	if c.NewGroup != nil && !m.hasGroup(k.OwnerID, *c.NewGroup) {
		return apierr.IllegalArgument
	}
	r := m.relations[k]
	if r == nil {
		m.add(k, c.Blocked != nil && *c.Blocked, orDefault(c.NewGroup), "")
		if c.Name != nil {
			m.relations[k].name = *c.Name
		}
		return apierr.OK
	}
	if c.Blocked != nil {
		r.blocked = *c.Blocked
	}
	if c.Name != nil {
		r.name = *c.Name
	}
	if c.NewGroup != nil {
		r.groups[*c.NewGroup] = true
	}
	switch {
	case c.OldGroup == nil:
	case c.NewGroup != nil:
		delete(r.groups, *c.OldGroup)
	case *c.OldGroup != 0 && r.groups[*c.OldGroup]:
		delete(r.groups, *c.OldGroup)
		r.groups[0] = true
	}
	return apierr.OK
}

func (m *model) end(k store.RelationshipKey, index *int32) {
	r := m.relations[k]
	if r == nil {
		return
	}
	if index != nil {
		if !r.groups[*index] {
			return
		}
		delete(r.groups, *index)
		if len(r.groups) > 0 {
			return
		}
	}
	delete(m.relations, k)
	if reverse := m.relations[k.Reverse()]; m.twoSided && reverse != nil && !reverse.blocked {
		delete(m.relations, k.Reverse())
	}
}

func (m *model) deleteGroup(k store.RelationshipGroupKey, target int32) apierr.Code {
	if k.Index == 0 || k.Index == target || !m.hasGroup(k.OwnerID, target) {
		return apierr.IllegalArgument
	}
	if !m.hasGroup(k.OwnerID, k.Index) {
		return apierr.OK
	}
	delete(m.groups, k)
	for rk, r := range m.relations {
		if rk.OwnerID == k.OwnerID && r.groups[k.Index] {
			delete(r.groups, k.Index)
			r.groups[target] = true
		}
	}
	return apierr.OK
}

func (m *model) send(requester, recipient int64) apierr.Code {
	if requester == recipient {
		return apierr.IllegalArgument
	}
	if r := m.relations[store.RelationshipKey{OwnerID: recipient, RelatedUserID: requester}]; r != nil && r.blocked {
		return apierr.BlockedUserToSendFriendRequest
	}
	for _, r := range m.requests {
		if r.RequesterID != requester || r.RecipientID != recipient {
			continue
		}
		switch m.status(r) {
		case store.RequestPending, store.RequestDeclined, store.RequestIgnored, store.RequestExpired:
			return apierr.CreateExistingFriendRequest
		}
	}
	return apierr.OK
}

func (m *model) reply(by, id int64, answer store.RequestStatus) apierr.Code {
	r := m.requests[id]
	switch {
	case r == nil || r.RecipientID != by:
		return apierr.NotRecipientToUpdateFriendRequest
	case m.status(r) != store.RequestPending:
		return apierr.UpdateNonPendingFriendRequest
	}
	r.Status = answer
	if answer != store.RequestAccepted {
		return apierr.OK
	}
	k := store.RelationshipKey{OwnerID: r.RequesterID, RelatedUserID: r.RecipientID}
	for _, k := range []store.RelationshipKey{k, k.Reverse()} {
		m.ensureDefault(k.OwnerID)
		switch known := m.relations[k]; {
		case known == nil:
			m.add(k, false, 0, "")
		case known.blocked:
			known.blocked, known.groups[0] = false, true
		}
	}
	return apierr.OK
}

func (m *model) recall(by, id int64) apierr.Code {
	r := m.requests[id]
	switch {
	case r == nil || r.RequesterID != by:
		return apierr.NotSenderToRecallFriendRequest
	case m.status(r) != store.RequestPending:
		return apierr.RecallNonPendingFriendRequest
	}
	r.Status = store.RequestCanceled
	return apierr.OK
}

func (m *model) erase(user int64) {
	maps.DeleteFunc(m.relations, func(k store.RelationshipKey, _ *modelRelation) bool {
		return k.OwnerID == user || k.RelatedUserID == user
	})
	maps.DeleteFunc(m.groups, func(k store.RelationshipGroupKey, _ string) bool { return k.OwnerID == user })
}

// TestModel applies thousands of random operations to the directory and to a model and compares
// them after each. It also checks that each change of a list increments its version; otherwise
// clients would keep outdated copies.
func TestModel(t *testing.T) {
	run := func(t *testing.T, db *store.DB, operations int) {
		const users = 5
		const seed = 20240328
		f := newFixture(t, db)
		f.rules.FriendRequest.FriendRequestExpireAfterSeconds = int32(modelLifetime / time.Second)
		f.rules.FriendRequest.AllowRecallPendingFriendRequestBySender = true
		f.rules.FriendRequest.DeleteExpiredRequestsWhenCronTriggered = true
		m := &model{relations: map[store.RelationshipKey]*modelRelation{}, groups: map[store.RelationshipGroupKey]string{}, requests: map[int64]*store.FriendRequest{}, now: f.clock}
		random := rand.New(rand.NewPCG(seed, uint64(operations)))
		user := func() int64 { return 1 + random.Int64N(users) }
		index := func() int32 { return random.Int32N(4) }
		maybe := func() *int32 {
			if random.IntN(2) == 0 {
				return nil
			}
			return new(index())
		}
		request := func() int64 {
			known := slices.Sorted(maps.Keys(m.requests))
			if len(known) == 0 {
				return 1
			}
			return known[random.IntN(len(known))]
		}
		lists := f.lists(f.everything())
		for step := range operations {
			k := key(user(), user())
			var what string
			var err error
			code := apierr.OK
			switch random.IntN(14) {
			case 0:
				blocked, group := random.IntN(3) == 0, index()
				what, code = fmt.Sprintf("establish %v %v %d", k, blocked, group), m.establish(k, blocked, group, "n")
				_, err = f.Establish(t.Context(), k, blocked, &group, new("n"))
			case 1, 2:
				c := OwnChange{NewGroup: maybe(), OldGroup: maybe()}
				if random.IntN(2) == 0 {
					c.Blocked = new(random.IntN(2) == 0)
				}
				if random.IntN(2) == 0 {
					c.Name = new(string(rune('a' + random.IntN(3))))
				}
				what, code = fmt.Sprintf("change %v %+v", k, c), m.change(k, c)
				_, err = f.Change(t.Context(), k, c)
			case 3:
				group := maybe()
				m.twoSided = random.IntN(2) == 0
				f.rules.DeleteTwoSidedRelationships = m.twoSided
				what = fmt.Sprintf("end %v %v", k, group)
				m.end(k, group)
				_, err = f.End(t.Context(), k, group)
			case 4, 5:
				g := store.RelationshipGroupKey{OwnerID: user(), Index: index()}
				what = fmt.Sprintf("create group %v", g)
				if _, exists := m.groups[g]; exists {
					code = apierr.ServerInternalError // The interface translates it.
				} else {
					m.groups[g] = "g"
				}
				_, err = f.CreateGroup(t.Context(), GroupCreation{OwnerID: g.OwnerID, Index: &g.Index, Name: "g"})
			case 6:
				g, target := store.RelationshipGroupKey{OwnerID: user(), Index: index()}, maybe()
				what, code = fmt.Sprintf("delete group %v", g), m.deleteGroup(g, orDefault(target))
				_, _, err = f.DeleteGroup(t.Context(), g, target)
			case 7, 8:
				what, code = fmt.Sprintf("send %v", k), m.send(k.OwnerID, k.RelatedUserID)
				var sent FriendRequest
				sent, err = f.FriendRequests.Send(t.Context(), k.OwnerID, k.RelatedUserID, "", nil)
				if err == nil {
					m.requests[sent.ID] = &sent.FriendRequest
				}
			case 9, 10:
				id := request()
				by := user()
				if r := m.requests[id]; r != nil && random.IntN(4) > 0 {
					by = r.RecipientID
				}
				answer := []store.RequestStatus{store.RequestAccepted, store.RequestDeclined, store.RequestIgnored}[random.IntN(3)]
				what, code = fmt.Sprintf("reply %d by %d %v", id, by, answer), m.reply(by, id, answer)
				_, err = f.FriendRequests.Reply(t.Context(), by, id, answer, nil)
			case 11:
				id, by := request(), user()
				what, code = fmt.Sprintf("recall %d by %d", id, by), m.recall(by, id)
				_, err = f.FriendRequests.Recall(t.Context(), by, id)
			case 12:
				f.clock = f.clock.Add(time.Duration(random.IntN(10)) * time.Minute)
				m.now = f.clock
				if what = "time passes"; random.IntN(4) == 0 {
					what = "delete expired"
					maps.DeleteFunc(m.requests, func(_ int64, r *store.FriendRequest) bool { return m.status(r) == store.RequestExpired })
					_, err = f.FriendRequests.DeleteExpired(t.Context(), f.db)
				}
			case 13:
				if random.IntN(4) > 0 {
					continue
				}
				id := user()
				what = fmt.Sprintf("erase %d", id)
				m.erase(id)
				err = db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return DeleteOf(ctx, tx, f.now(), []int64{id}) })
			}
			if code == apierr.OK && err != nil || code != apierr.OK && (err == nil || apierr.From(err).Code != code) {
				t.Fatalf("seed %d, step %d: %s: error %v, want %v", seed, step, what, err, code)
			}
			all := f.everything()
			if got, want := f.describe(all), m.state(); got != want {
				t.Fatalf("seed %d, step %d: %s:\nstate %s\nmodel %s", seed, step, what, got, want)
			}
			after := f.lists(all)
			for list, before := range lists {
				if now := after[list]; now.content != before.content && now.version <= before.version {
					t.Fatalf("seed %d, step %d: %s: %s changed from %s to %s, but its version from %d to %d", seed, step, what, list, before.content, now.content, before.version, now.version)
				}
			}
			lists = after
		}
		checkInvariants(t, f)
	}
	t.Run("SQLite", func(t *testing.T) { run(t, storetest.SQLite(t), 2000) })
	t.Run("PostgreSQL", func(t *testing.T) { run(t, storetest.PostgreSQL(t), 300) })
}

// list is a list of one user as its devices see it.
type list struct {
	content string
	version int64
}

// lists returns the lists of all users, with stored statuses.
func (f *fixture) lists(all everything) map[string]list {
	f.t.Helper()
	lists := map[string]list{}
	err := f.db.Read(f.t.Context(), func(ctx context.Context, r store.Reader) error {
		versions, err := storetest.Rows(ctx, r, "SELECT user_id, relationships, relationship_groups, relationship_group_members, sent_friend_requests, "+
			"received_friend_requests FROM user_version")
		if err != nil {
			return err
		}
		add := func(user int64, kind, content string) {
			name := fmt.Sprintf("%s of %d", kind, user)
			l := lists[name]
			l.content += content + " "
			lists[name] = l
		}
		for _, v := range all.relationships {
			name, blocked := "", v.BlockDate != nil
			if v.Name != nil {
				name = *v.Name
			}
			add(v.OwnerID, "relationships", fmt.Sprint(v.RelatedUserID, blocked, name, v.EstablishmentDate.UnixMilli()))
			add(v.OwnerID, "relationship_group_members", fmt.Sprint(v.RelatedUserID, v.GroupIndexes))
		}
		for _, v := range all.groups {
			add(v.OwnerID, "relationship_groups", fmt.Sprint(v.Index, v.Name))
		}
		for _, v := range all.requests {
			add(v.RequesterID, "sent_friend_requests", fmt.Sprint(v.ID, v.Status))
			add(v.RecipientID, "received_friend_requests", fmt.Sprint(v.ID, v.Status))
		}
		for _, v := range versions {
			for kind, date := range v {
				if date, ok := date.(int64); ok && kind != "user_id" {
					name := fmt.Sprintf("%s of %d", kind, v["user_id"])
					lists[name] = list{lists[name].content, date}
				}
			}
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return lists
}
