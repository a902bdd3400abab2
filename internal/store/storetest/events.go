// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/store"
)

// eventSink collects the events of a test.
type eventSink struct {
	mu              sync.Mutex
	committed, kept bool
	got             []store.Event
}

func (s *eventSink) Wants() (committed, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.committed, s.kept
}

func (s *eventSink) Committed(events []store.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, events...)
}

func (s *eventSink) set(committed, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.committed, s.kept = committed, kept
}

// texts formats the events in order, and clears them.
func (s *eventSink) texts() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := eventTexts(s.got)
	s.got = nil
	return text
}

// eventTexts formats events: the type, the user, the group, the message and the target, each 0 if
// it is absent.
func eventTexts(events []store.Event) string {
	value := func(id *int64) int64 {
		if id == nil {
			return 0
		}
		return *id
	}
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = fmt.Sprintf("%s %d %d %d %d", e.Type, value(e.UserID), value(e.GroupID), value(e.MessageID), value(e.TargetID))
	}
	return strings.Join(list, ", ")
}

// outbox returns the events after a position.
func outbox(t *testing.T, db *store.DB, after int64) (events []store.Event) {
	t.Helper()
	read(t, db, func(ctx context.Context, r store.Reader) (err error) {
		events, err = store.FindEvents(ctx, r, after, 1<<62, 1000)
		return err
	})
	return events
}

// testEvents makes each change that has an event, with and without the outbox.
func testEvents(t *testing.T, db *store.DB) {
	sink := &eventSink{}
	store.ObserveEvents(db, sink)
	now := time.UnixMilli(1_700_000_000_000).UTC()
	later := now.Add(time.Hour)
	member := func(group, user int64) store.GroupMember {
		return store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: group, UserID: user}, Role: store.GroupRegularMember, JoinDate: now}
	}
	for _, step := range []struct {
		name string
		run  store.WriteFunc
		want string
	}{
		{"create users", func(ctx context.Context, tx store.Tx) error {
			return store.InsertUsers(ctx, tx, store.User{ID: 1, RegistrationDate: now}, store.User{ID: 2, RegistrationDate: now}, store.User{ID: 3, RegistrationDate: now})
		}, "USER_CREATED 1 0 0 0, USER_CREATED 2 0 0 0, USER_CREATED 3 0 0 0"},
		{"update a user", func(ctx context.Context, tx store.Tx) error {
			_, err := store.UpdateUsers(ctx, tx, []int64{1, 99}, store.UserChange{Name: new("new")}, now)
			return err
		}, "USER_UPDATED 1 0 0 0"},
		{"update nothing", func(ctx context.Context, tx store.Tx) error {
			_, err := store.UpdateUsers(ctx, tx, []int64{1}, store.UserChange{Name: new("new")}, later)
			return err
		}, ""},
		{"mark a user deleted", func(ctx context.Context, tx store.Tx) error {
			_, err := store.MarkUsersDeleted(ctx, tx, []int64{3, 99}, now)
			return err
		}, "USER_DELETED 3 0 0 0"},
		{"delete users", func(ctx context.Context, tx store.Tx) error {
			n, err := store.DeleteUsers(ctx, tx, []int64{3, 99})
			if n != 1 {
				t.Errorf("%d users were deleted", n)
			}
			return err
		}, "USER_DELETED 3 0 0 0"},
		{"create groups", func(ctx context.Context, tx store.Tx) error {
			return store.InsertGroups(ctx, tx, store.Group{ID: 10, CreationDate: now}, store.Group{ID: 11, CreationDate: now}, store.Group{ID: 12, CreationDate: now})
		}, "GROUP_CREATED 0 10 0 0, GROUP_CREATED 0 11 0 0, GROUP_CREATED 0 12 0 0"},
		{"join groups", func(ctx context.Context, tx store.Tx) error {
			return store.InsertGroupMembers(ctx, tx, member(10, 1), member(10, 2), member(11, 1), member(11, 2))
		}, "MEMBER_JOINED 1 10 0 0, MEMBER_JOINED 2 10 0 0, MEMBER_JOINED 1 11 0 0, MEMBER_JOINED 2 11 0 0"},
		{"update a group", func(ctx context.Context, tx store.Tx) error {
			_, err := store.UpdateGroups(ctx, tx, []int64{10}, store.GroupChange{Name: new("club")})
			return err
		}, "GROUP_UPDATED 0 10 0 0"},
		{"leave a group", func(ctx context.Context, tx store.Tx) error {
			n, err := store.DeleteGroupMembers(ctx, tx, []store.GroupUserKey{{GroupID: 10, UserID: 2}, {GroupID: 10, UserID: 99}})
			if n != 1 {
				t.Errorf("%d members left", n)
			}
			return err
		}, "MEMBER_LEFT 2 10 0 0"},
		{"empty a group", func(ctx context.Context, tx store.Tx) error {
			users, err := store.DeleteMembersOfGroups(ctx, tx, []int64{10})
			if !slices.Equal(users, []int64{1}) {
				t.Errorf("the users were %v", users)
			}
			return err
		}, "MEMBER_LEFT 1 10 0 0"},
		{"dissolve a group", func(ctx context.Context, tx store.Tx) error {
			_, err := store.UpdateGroups(ctx, tx, []int64{11}, store.GroupChange{DeletionDate: &now})
			return err
		}, "GROUP_DISSOLVED 0 11 0 0"},
		{"delete a group", func(ctx context.Context, tx store.Tx) error {
			n, err := store.DeleteGroups(ctx, tx, []int64{12, 99})
			if n != 1 {
				t.Errorf("%d groups were deleted", n)
			}
			return err
		}, "GROUP_DISSOLVED 0 12 0 0"},
		{"store a message", func(ctx context.Context, tx store.Tx) error {
			return store.InsertMessages(ctx, tx, plainMessage(100, 1, 2, 0))
		}, "MESSAGE_STORED 1 0 100 2"},
		{"save messages", func(ctx context.Context, tx store.Tx) error {
			toGroup := plainMessage(102, 1, 10, 0)
			toGroup.IsGroupMessage = true
			return store.SaveMessages(ctx, tx, []store.Message{plainMessage(101, 2, 1, 0), toGroup}, store.ReadDates{}, nil)
		}, "MESSAGE_STORED 2 0 101 1, MESSAGE_STORED 1 10 102 0"},
		{"update a message", func(ctx context.Context, tx store.Tx) error {
			_, err := store.UpdateMessages(ctx, tx, []int64{100, 999}, store.MessageChange{Text: new("hi"), ModificationDate: now})
			return err
		}, "MESSAGE_UPDATED 0 0 100 0"},
		{"mark a message deleted", func(ctx context.Context, tx store.Tx) error {
			_, err := store.MarkMessagesDeleted(ctx, tx, []int64{100}, now)
			return err
		}, "MESSAGE_DELETED 0 0 100 0"},
		{"delete messages", func(ctx context.Context, tx store.Tx) error {
			n, err := store.DeleteMessages(ctx, tx, []int64{100, 999})
			if n != 1 {
				t.Errorf("%d messages were deleted", n)
			}
			return err
		}, "MESSAGE_DELETED 0 0 100 0"},
		{"several changes", func(ctx context.Context, tx store.Tx) error {
			return errors.Join(
				store.InsertUsers(ctx, tx, store.User{ID: 4, RegistrationDate: now}),
				store.InsertGroups(ctx, tx, store.Group{ID: 13, CreationDate: now}),
				store.InsertGroupMembers(ctx, tx, member(13, 4), member(13, 1), member(13, 2)),
			)
		}, "USER_CREATED 4 0 0 0, GROUP_CREATED 0 13 0 0, MEMBER_JOINED 4 13 0 0, MEMBER_JOINED 1 13 0 0, MEMBER_JOINED 2 13 0 0"},
	} {
		undone := errors.New("undone")
		// No listener; then one after the commit, one of the outbox, and both. Only the last stays.
		for _, wants := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			sink.set(wants[0], wants[1])
			last := wants[0] && wants[1]
			err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
				if err := step.run(ctx, tx); err != nil || last {
					return err
				}
				return undone
			})
			if err != nil && (last || !errors.Is(err, undone)) {
				t.Fatalf("%s: %v", step.name, err)
			}
			if !last {
				if got := sink.texts(); got != "" {
					t.Errorf("%s and roll it back: %s", step.name, got)
				}
			}
		}
		if got := sink.texts(); got != step.want {
			t.Errorf("%s\n got %s\nwant %s", step.name, got, step.want)
		}
		events := outbox(t, db, 0)
		if got := eventTexts(events); got != step.want {
			t.Errorf("the outbox: %s\n got %s\nwant %s", step.name, got, step.want)
		}
		if !slices.IsSortedFunc(events, func(a, b store.Event) int { return int(a.ID - b.ID) }) {
			t.Errorf("%s: the events are not in order", step.name)
		}
		if _, _, err := store.TrimEvents(t.Context(), db, db, store.EventRetention{Most: 1 << 40}); err != nil {
			t.Fatal(err)
		}
	}
}

// testEventCost counts the statements of a transaction without listeners, and with them.
func testEventCost(t *testing.T, db *store.DB) {
	sink := &eventSink{}
	id := int64(0)
	cost := func() uint64 {
		id++
		before := db.Stats().Statements
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			return store.InsertMessages(ctx, tx, plainMessage(id, 1, 2, 0))
		})
		return db.Stats().Statements - before
	}
	bare := cost()
	store.ObserveEvents(db, sink)
	if n := cost(); n != bare {
		t.Errorf("a transaction without listeners has %d statements, and %d without events", n, bare)
	}
	sink.set(true, false)
	if n := cost(); n != bare {
		t.Errorf("a transaction with listeners has %d statements, and %d without events", n, bare)
	}
	if n := len(outbox(t, db, 0)); n != 0 {
		t.Errorf("there are %d events in the outbox", n)
	}
	sink.set(false, true)
	if n := cost(); n != bare+1 {
		t.Errorf("a transaction with consumers has %d statements, and %d without events", n, bare)
	}
	if n := len(outbox(t, db, 0)); n != 1 {
		t.Errorf("there are %d events in the outbox", n)
	}
}

// testEventClaims lets nodes claim the delivery of events to a consumer, one at a time.
func testEventClaims(t *testing.T, db *store.DB) {
	sink := &eventSink{kept: true}
	store.ObserveEvents(db, sink)
	putMessages(t, db, plainMessage(1, 1, 2, 0), plainMessage(2, 1, 2, 0))
	last := outbox(t, db, 0)[1].ID
	c := store.EventConsumer{PluginID: "p", Extension: "E"}
	now := time.UnixMilli(1_700_000_000_000)
	claim := func(owner string, at time.Time) (mine bool) {
		write(t, db, func(ctx context.Context, tx store.Tx) (err error) {
			mine, err = store.ClaimEvents(ctx, tx, c, owner, at, at.Add(time.Minute))
			return err
		})
		return mine
	}
	move := func(owner string, to int64) (ok bool) {
		write(t, db, func(ctx context.Context, tx store.Tx) (err error) {
			ok, err = store.MoveEvents(ctx, tx, c, owner, to, now.Add(time.Minute))
			return err
		})
		return ok
	}
	remove := func(owner string, at time.Time) (ok bool) {
		write(t, db, func(ctx context.Context, tx store.Tx) (err error) {
			ok, err = store.DeleteEventConsumer(ctx, tx, c, owner, at)
			return err
		})
		return ok
	}
	want := func(position int64, owner string) {
		t.Helper()
		read(t, db, func(ctx context.Context, r store.Reader) error {
			p, found, err := store.FindEventPosition(ctx, r, c)
			if found != (owner != "") || p.Position != position || p.Owner != owner {
				t.Errorf("the consumer is %+v, %v", p, found)
			}
			return err
		})
	}
	want(0, "")
	if !claim("a", now) || claim("b", now.Add(59*time.Second)) || !claim("a", now) {
		t.Error("two nodes claimed the consumer")
	}
	want(last, "a") // A new one begins after existing events.
	if move("b", last+1) || !move("a", last+1) || move("a", last+1) || move("a", last) {
		t.Error("the consumer went back, or was moved by another node")
	}
	if remove("b", now) || !claim("b", now.Add(2*time.Minute)) || move("a", last+2) {
		t.Error("a lease does not end")
	}
	want(last+1, "b")
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return errors.Join(store.ReleaseEvents(ctx, tx, c, "a", now), store.ReleaseEvents(ctx, tx, c, "b", now.Add(2*time.Minute)))
	})
	if !claim("a", now.Add(2*time.Minute)) {
		t.Error("a lease was not released")
	}
	if !remove("a", now) || remove("a", now) {
		t.Error("the consumer was not deleted once")
	}
	want(0, "")
	// Several nodes claim it at once.
	var winners sync.Map
	parallel(4, func(i int) {
		if claim(fmt.Sprint(i), now) {
			winners.Store(i, true)
		}
	})
	n := 0
	winners.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d nodes have the consumer", n)
	}
}

// testEventRetention deletes events that all consumers have received, that are too old, or that are
// too many.
func testEventRetention(t *testing.T, db *store.DB) {
	store.ObserveEvents(db, &eventSink{kept: true})
	start := time.Now()
	fast, slow := store.EventConsumer{PluginID: "fast", Extension: "E"}, store.EventConsumer{PluginID: "slow", Extension: "E"}
	claim := func(c store.EventConsumer, at time.Time) {
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			_, err := store.ClaimEvents(ctx, tx, c, "a", at, at)
			return err
		})
	}
	claim(fast, start)
	claim(slow, start)
	for id := range int64(10) {
		putMessages(t, db, plainMessage(id+1, 1, 2, 0))
	}
	events := outbox(t, db, 0)
	trim := func(keep store.EventRetention, wantDeleted, wantLost int64) {
		t.Helper()
		deleted, lost, err := store.TrimEvents(t.Context(), db, db, keep)
		if deleted != wantDeleted || lost != wantLost || err != nil {
			t.Errorf("%d events were deleted and %d lost, want %d and %d: %v", deleted, lost, wantDeleted, wantLost, err)
		}
	}
	all := store.EventRetention{Since: start.Add(-time.Hour), Most: 100}
	trim(all, 0, 0)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		_, err1 := store.MoveEvents(ctx, tx, fast, "a", events[9].ID, start)
		_, err2 := store.MoveEvents(ctx, tx, slow, "a", events[1].ID, start)
		return errors.Join(err1, err2)
	})
	trim(all, 2, 0)
	trim(all, 0, 0)
	trim(store.EventRetention{Since: all.Since, Most: 5}, 3, 3) // 8 are left for slow.
	// The last two are newer than the others.
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return Exec(ctx, tx, "UPDATE event_outbox SET date = ? WHERE id >= ?", start.Add(time.Hour).UnixMilli(), events[8].ID)
	})
	claim(fast, start.Add(time.Hour))
	claim(slow, start.Add(time.Hour))
	trim(store.EventRetention{Since: start.Add(time.Minute), Most: 100}, 3, 3)
	read(t, db, func(ctx context.Context, r store.Reader) error {
		p, _, err := store.FindEventPosition(ctx, r, slow)
		if p.Lost != 6 || p.Position != events[7].ID {
			t.Errorf("the slow consumer is %+v", p)
		}
		return err
	})
	// All consumers are removed, and with them all events.
	trim(store.EventRetention{Since: start.Add(90 * time.Minute), Most: 100}, 2, 0)
	read(t, db, func(ctx context.Context, r store.Reader) error {
		has, err := store.HasEventConsumers(ctx, r)
		if has {
			t.Error("an unserved consumer remains")
		}
		return err
	})
}

// testLateEvents commits transactions in a different order than that of their events' ids. No event
// may be skipped.
func testLateEvents(t *testing.T, db *store.DB) {
	if db.Engine() != store.PostgreSQL {
		return // Transactions run one after another.
	}
	insert := func(ctx context.Context, tx store.Tx, user int64) error {
		return Exec(ctx, tx, "INSERT INTO event_outbox (type, date, user_id) VALUES ('USER_CREATED', 0, ?)", user)
	}
	// begin gives the transaction its id.
	begin := func(ctx context.Context, tx store.Tx) error {
		var id string
		return First(ctx, tx, "SELECT CAST(pg_current_xact_id() AS TEXT)", &id)
	}
	run := func(fn store.WriteFunc) {
		if err := db.Write(context.Background(), fn); err != nil {
			t.Error(err)
		}
	}
	// The early transaction begins first and takes the second id; the late one takes the first id
	// and commits last.
	begun, taken, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	announce, take := sync.OnceFunc(func() { close(begun) }), sync.OnceFunc(func() { close(taken) })
	var early, late sync.WaitGroup
	early.Go(func() {
		defer announce()
		run(func(ctx context.Context, tx store.Tx) error {
			if err := begin(ctx, tx); err != nil {
				return err
			}
			announce()
			<-taken
			return insert(ctx, tx, 2)
		})
	})
	<-begun
	late.Go(func() {
		defer take()
		run(func(ctx context.Context, tx store.Tx) error {
			if err := errors.Join(begin(ctx, tx), insert(ctx, tx, 1)); err != nil {
				return err
			}
			take()
			<-release
			return nil
		})
	})
	early.Wait()
	var m store.EventMark
	complete := false
	look := func(ctx context.Context, r store.Reader) (err error) {
		complete, err = m.IsComplete(ctx, r)
		return err
	}
	read(t, db, func(ctx context.Context, r store.Reader) (err error) {
		if m, err = store.MarkEvents(ctx, r, 0); err != nil {
			return err
		}
		return look(ctx, r)
	})
	if m.Last != 2 || complete {
		t.Errorf("the mark %+v is complete: %v", m, complete)
	}
	close(release)
	late.Wait()
	await(t, func() bool {
		read(t, db, look)
		return complete
	})
	if got := eventTexts(outbox(t, db, 0)); got != "USER_CREATED 1 0 0 0, USER_CREATED 2 0 0 0" {
		t.Errorf("the events are %s", got)
	}
}
