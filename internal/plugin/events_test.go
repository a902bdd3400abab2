// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

// bridge is a plugin that gets events at least once.
type bridge struct {
	mu   sync.Mutex
	got  []string
	fail int // how many calls fail; below 0 it is all
}

func (b *bridge) functions() functions {
	return functions{class: "Bridge", points: []*Point{DomainEventConsumer}, calls: map[*Method]func(context.Context, []any) (any, error){
		ConsumeDomainEvents: func(_ context.Context, args []any) (any, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.fail != 0 {
				b.fail--
				return nil, errors.New("the other system is down")
			}
			for _, e := range args[0].([]DomainEvent) {
				b.got = append(b.got, fmt.Sprintf("%s %d", e.Type, *e.UserID))
			}
			return nil, nil
		},
	}}
}

func (b *bridge) set(fail int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = fail
}

func (b *bridge) has(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.got) >= n
}

// serveEvents runs events for a world as a process does, until stop is called.
func (w *world) serveEvents(db *store.DB, node string) (e *Events, stop func()) {
	e = NewEvents(db, w.Manager, func() string { return node }, func() config.PluginEvents { return config.Default().Plugin.Events }, slog.New(slog.DiscardHandler))
	w.opts.Gone = e.Removed
	store.ObserveEvents(db, e)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = e.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	w.t.Cleanup(stop)
	return e, stop
}

// createUser creates a user and, in another transaction, renames it.
func createUser(t *testing.T, db *store.DB, id int64) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return store.InsertUsers(ctx, tx, store.User{ID: id, Name: "a", RegistrationDate: now, LastUpdatedDate: now})
	})
	if err == nil {
		err = db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := store.UpdateUsers(ctx, tx, []int64{id}, store.UserChange{Name: new("b")}, now)
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// outbox is how many events and consumers the store has.
func outbox(t *testing.T, db *store.DB) (events, consumers int64) {
	t.Helper()
	err := db.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
		if err := storetest.First(ctx, r, "SELECT count(*) FROM event_outbox", &events); err != nil {
			return err
		}
		return storetest.First(ctx, r, "SELECT count(*) FROM event_consumer", &consumers)
	})
	if err != nil {
		t.Fatal(err)
	}
	return events, consumers
}

// TestEventsComeAtLeastOnce lets a plugin fail, its process go away before it has got anything, and
// another one go on.
func TestEventsComeAtLeastOnce(t *testing.T) {
	need.Time(t)
	for engine, open := range map[string]func(testing.TB) *store.DB{"SQLite": storetest.SQLite, "PostgreSQL": storetest.PostgreSQL} {
		t.Run(engine, func(t *testing.T) {
			db, first, second := open(t), &bridge{fail: -1}, &bridge{fail: 1}
			w := newWorld(t)
			e, stop := w.serveEvents(db, "node1")
			await(t, "that nobody listens", func() bool { return !e.kept.Load() })
			createUser(t, db, 1)
			if n, consumers := outbox(t, db); n != 0 || consumers != 0 {
				t.Errorf("nobody listens, and there are %d events for %d", n, consumers)
			}
			w.add("bridge", first.functions())
			await(t, "the consumer", func() bool { _, n := outbox(t, db); return n == 1 && e.kept.Load() })
			for id := range int64(3) {
				createUser(t, db, 2+id)
			}
			p, _ := w.Find("bridge")
			await(t, "a failure", func() bool {
				d := p.Extensions()[0].Delivery
				return d != nil && d.Node == "node1" && d.Failures > 0 && d.Waiting > 0 && !d.Next.IsZero() && strings.Contains(d.LastError, "the other system is down")
			})
			stop()
			if d := p.Extensions()[0].Delivery; d != nil {
				t.Errorf("the delivery goes on: %+v", d)
			}
			if n, _ := outbox(t, db); n != 6 || first.has(1) {
				t.Errorf("%d events are kept", n)
			}
			// Another node has the plugin as well. It fails once there.
			other := newWorld(t)
			e, _ = other.serveEvents(db, "node2")
			other.add("bridge", second.functions())
			await(t, "all events", func() bool { return second.has(6) })
			want := []string{"USER_CREATED 2", "USER_UPDATED 2", "USER_CREATED 3", "USER_UPDATED 3", "USER_CREATED 4", "USER_UPDATED 4"}
			if !slices.Equal(second.got, want) {
				t.Errorf("the events are %q", second.got)
			}
			createUser(t, db, 5)
			await(t, "what follows", func() bool { return second.has(8) })
			await(t, "the end of the outbox", func() bool {
				_, err := e.Trim(t.Context(), e.db)
				n, _ := outbox(t, db)
				return err == nil && n == 0
			})
			// Without the plugin nothing is kept.
			second.set(-1)
			createUser(t, db, 6)
			if _, err := other.Remove(t.Context(), "bridge"); err != nil {
				t.Fatal(err)
			}
			if n, consumers := outbox(t, db); n != 0 || consumers != 0 {
				t.Errorf("the plugin is gone, and there are %d events for %d", n, consumers)
			}
		})
	}
}

// TestEventsComeAfterTheCommit tells an extension of what is committed, and of nothing else.
func TestEventsComeAfterTheCommit(t *testing.T) {
	db, w := storetest.SQLite(t), newWorld(t)
	e, _ := w.serveEvents(db, "node1")
	await(t, "that nobody consumes", func() bool { return !e.kept.Load() })
	w.add("watch", functions{class: "Watch", points: []*Point{DomainEventHandler}, calls: map[*Method]func(context.Context, []any) (any, error){
		HandleDomainEvents: func(_ context.Context, args []any) (any, error) {
			for _, e := range args[0].([]DomainEvent) {
				if e.ID != nil {
					t.Errorf("the event has the id %d", *e.ID)
				}
				w.ran(fmt.Sprintf("%s %d", e.Type, *e.UserID))
			}
			return nil, nil
		},
	}})
	refused := errors.New("no")
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return errors.Join(store.InsertUsers(ctx, tx, store.User{ID: 9, RegistrationDate: time.Now()}), refused)
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	createUser(t, db, 1)
	await(t, "two events", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		slices.Sort(w.runs)
		return strings.Join(w.runs, ",") == "USER_CREATED 1,USER_UPDATED 1"
	})
	if n, consumers := outbox(t, db); n != 0 || consumers != 0 {
		t.Errorf("there are %d events for %d", n, consumers)
	}
}

// TestEventsOfSeveralNodes lets three nodes change things at once and one of them bring the events
// to a plugin that all have. The node that does so stops after a call and before it has noted that,
// so that another one begins with the same events.
func TestEventsOfSeveralNodes(t *testing.T) {
	url := storetest.MigratedURL(t)
	var mu sync.Mutex
	var got []string
	ids, again, calls := map[int64]bool{}, 0, map[string]int{}
	stops := map[string]func(){}
	var dbs []*store.DB
	for i := range 3 {
		node := fmt.Sprint("node", i)
		db := storetest.Open(t, store.Options{URL: url, Timeout: time.Minute, LockTimeout: time.Minute})
		w := newWorld(t)
		dbs = append(dbs, db)
		var stopping sync.WaitGroup
		t.Cleanup(stopping.Wait)
		f := functions{class: "Bridge", points: []*Point{DomainEventConsumer}, calls: map[*Method]func(context.Context, []any) (any, error){
			ConsumeDomainEvents: func(ctx context.Context, args []any) (any, error) {
				mu.Lock()
				defer mu.Unlock()
				for _, e := range args[0].([]DomainEvent) {
					if ids[*e.ID] {
						again++
						continue
					}
					ids[*e.ID] = true
					got = append(got, fmt.Sprintf("%s %d", e.Type, *e.UserID))
				}
				if calls[node]++; calls[node] == 1 && len(calls) == 1 {
					stopping.Go(stops[node])
					<-ctx.Done() // The call has done its work, and its end comes too late.
				}
				return nil, nil
			},
		}}
		mu.Lock()
		_, stops[node] = w.serveEvents(db, node)
		mu.Unlock()
		w.add("bridge", f)
	}
	await(t, "a consumer", func() bool { _, n := outbox(t, dbs[0]); return n == 1 })
	// What a node changes before it knows of the consumer is not kept.
	await(t, "the first event of each", func() bool {
		nodes := int64(len(dbs))
		for i, db := range dbs {
			createUser(t, db, time.Now().UnixNano()/nodes*nodes+int64(i)) // The id tells who made it.
		}
		mu.Lock()
		defer mu.Unlock()
		known := map[int64]bool{}
		for _, e := range got {
			var kind string
			var id int64
			if _, err := fmt.Sscan(e, &kind, &id); err == nil {
				known[id%nodes] = true
			}
		}
		return len(known) == len(dbs) && len(calls) == 2
	})
	var writers sync.WaitGroup
	const each = 8
	for i, db := range dbs {
		for j := range 3 {
			writers.Go(func() {
				for n := range each {
					createUser(t, db, int64(1+n+each*(j+3*i)))
				}
			})
		}
	}
	writers.Wait()
	mine := func() (list []string) {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range got {
			var kind string
			var id int64
			if _, err := fmt.Sscan(e, &kind, &id); err == nil && id <= 9*each {
				list = append(list, e)
			}
		}
		return list
	}
	await(t, "all events", func() bool { return len(mine()) == 2*9*each })
	for id := range 9 * each {
		list := mine()
		if c, u := slices.Index(list, fmt.Sprint("USER_CREATED ", id+1)), slices.Index(list, fmt.Sprint("USER_UPDATED ", id+1)); c < 0 || u < c {
			t.Errorf("user %d was created at %d and updated at %d", id+1, c, u)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if again == 0 || len(calls) != 2 {
		t.Errorf("%d events came again, and %d nodes called the plugin", again, len(calls))
	}
}
