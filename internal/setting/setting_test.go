// SPDX-License-Identifier: Apache-2.0

package setting

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func onBothEngines(t *testing.T, test func(*testing.T, *store.DB)) {
	t.Run("SQLite", func(t *testing.T) { test(t, storetest.SQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, storetest.PostgreSQL(t)) })
}

// node is one node of a cluster.
type node struct {
	*Settings
	live *config.Live
	home string
}

func newNode(t *testing.T, db *store.DB, set ...string) *node {
	t.Helper()
	return newNodeAt(t, db, t.TempDir(), set...)
}

func newNodeAt(t *testing.T, db *store.DB, home string, set ...string) *node {
	t.Helper()
	c, err := config.Load(config.Options{Home: home, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{live: config.NewLive(c), home: home}
	if n.Settings, err = New(t.Context(), Options{Store: db, Live: n.live, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) capacity() int32 { return n.live.Current().Service.AdminAPI.RateLimiting.Capacity }

func capacity(v any) map[string]any {
	return map[string]any{"service": map[string]any{"adminApi": map[string]any{"rateLimiting": map[string]any{"capacity": v}}}}
}

func (n *node) update(t *testing.T, r Request) {
	t.Helper()
	if err := n.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error, code apierr.Code, status int, part string) {
	t.Helper()
	if e := apierr.From(err); err == nil || e.Code != code || e.HTTP() != status || !strings.Contains(e.Reason, part) {
		t.Errorf("error %v, want %d/%d with %q", err, code, status, part)
	}
}

// TestEmptyTextEmptiesAList sends what existing consoles send for an emptied list.
func TestEmptyTextEmptiesAList(t *testing.T) {
	n := newNode(t, storetest.SQLite(t))
	list := func(v any) map[string]any {
		return map[string]any{"service": map[string]any{"clientApi": map[string]any{"disabledEndpoints": v}}}
	}
	for _, empty := range []any{"", " ", []any{}} {
		n.update(t, Request{Values: list([]any{"CREATE_MEETING"})})
		if got := n.live.Current().Service.ClientAPI.DisabledEndpoints; len(got) != 1 {
			t.Fatalf("the list is %q", got)
		}
		n.update(t, Request{Values: list(empty)})
		if got := n.live.Current().Service.ClientAPI.DisabledEndpoints; len(got) != 0 {
			t.Errorf("after %q the list is %q", empty, got)
		}
	}
}

func TestChangesReachEveryNode(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		a, b := newNode(t, db), newNode(t, db, "app.service.admin-api.rate-limiting.capacity=70")
		if a.capacity() != 50 || b.capacity() != 70 {
			t.Fatalf("capacities %d, %d", a.capacity(), b.capacity())
		}
		a.update(t, Request{AdminID: 1, Values: capacity("60")})
		if a.capacity() != 60 {
			t.Errorf("not in force where it was changed: %d", a.capacity())
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		for deadline := time.Now().Add(10 * time.Second); b.capacity() != 60; {
			if time.Now().After(deadline) {
				t.Fatal("not in force elsewhere")
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if late := newNode(t, db); late.capacity() != 60 {
			t.Errorf("not in force on a node that starts later: %d", late.capacity())
		}
		if got := b.Local().Service.AdminAPI.RateLimiting.Capacity; got != 70 {
			t.Errorf("local settings changed: %d", got)
		}
	})
}

func TestAllOrNothing(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		n := newNode(t, db)
		for name, tt := range map[string]struct {
			values map[string]any
			part   string
		}{
			"unknown":       {map[string]any{"service": map[string]any{"fly": 1}}, "app.service.fly: unknown property"},
			"immutable":     {map[string]any{"store": map[string]any{"timeoutMillis": 5}}, "app.store.timeout-millis = \"5\": must not be changed while the server runs"},
			"wrong type":    {capacity("many"), "app.service.admin-api.rate-limiting.capacity = \"many\": must be an integer"},
			"out of range":  {capacity(0), "must be at least 1"},
			"across fields": {map[string]any{"service": map[string]any{"adminApi": map[string]any{"defaultAvailableRecordsPerRequest": 5000}}}, "must not be greater than max-available-records-per-request"},
			"one of many":   {map[string]any{"service": map[string]any{"adminApi": map[string]any{"rateLimiting": map[string]any{"capacity": 7, "tokensPerPeriod": 0}}}}, "tokens-per-period"},
		} {
			t.Run(name, func(t *testing.T) {
				refused(t, n.Update(t.Context(), Request{Values: tt.values}), apierr.IllegalArgument, 400, tt.part)
				refused(t, n.UpdateLocal(tt.values), apierr.IllegalArgument, 400, tt.part)
			})
		}
		if _, revision := n.Current(); revision != 0 || n.capacity() != 50 {
			t.Errorf("revision %d, capacity %d", revision, n.capacity())
		}
		total, _, err := n.History(t.Context(), 10, 0)
		if err != nil || total != 0 {
			t.Errorf("%d changes, %v", total, err)
		}
	})
}

func TestHistory(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		n := newNode(t, db, "app.service.admin-api.rate-limiting.capacity=70")
		n.update(t, Request{AdminID: 1, Values: capacity(60)})
		n.update(t, Request{AdminID: 1, Values: capacity(60)}) // nothing new
		n.update(t, Request{AdminID: 2, Values: capacity(61)})
		n.update(t, Request{AdminID: 3, Reset: true})
		if n.capacity() != 50 {
			t.Errorf("after reset: %d", n.capacity())
		}
		one, zero := int64(1), int64(0)
		n.update(t, Request{AdminID: 4, RevertTo: &one})
		if n.capacity() != 60 {
			t.Errorf("after going back to the first revision: %d", n.capacity())
		}
		n.update(t, Request{AdminID: 5, RevertTo: &zero})
		if n.capacity() != 70 {
			t.Errorf("after going back to the beginning: %d", n.capacity())
		}
		nine := int64(9)
		refused(t, n.Update(t.Context(), Request{RevertTo: &nine}), apierr.ResourceNotFound, 404, "no revision 9")
		total, list, err := n.History(t.Context(), 10, 0)
		if err != nil || total != 5 {
			t.Fatalf("%d changes, %v", total, err)
		}
		var got []string
		for _, r := range list {
			line := fmt.Sprintf("%d %d %s", r.Revision, r.AdminID, r.Action)
			for _, c := range r.Changes {
				line += fmt.Sprintf(" %s %v->%v", c.Property[strings.LastIndex(c.Property, ".")+1:], c.Before, c.After)
			}
			got = append(got, line)
		}
		want := []string{
			"5 5 REVERT capacity 60->70", "4 4 REVERT capacity 50->60", "3 3 RESET capacity 61->50",
			"2 2 UPDATE capacity 60->61", "1 1 UPDATE capacity 70->60",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("history\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if _, page, err := n.History(t.Context(), 2, 1); err != nil || len(page) != 2 || page[0].Revision != 4 {
			t.Errorf("page %+v, %v", page, err)
		}
	})
}

func TestConcurrentChanges(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		a, b := newNode(t, db), newNode(t, db)
		zero := int64(0)
		var wg sync.WaitGroup
		var mu sync.Mutex
		won, lost := 0, 0
		for i := range 16 {
			n := []*node{a, b}[i%2]
			wg.Go(func() {
				err := n.Update(t.Context(), Request{Values: capacity(100 + i), IfRevision: &zero})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if e := apierr.From(err); e.HTTP() == 412 {
					lost++
				} else {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won != 1 || lost != 15 {
			t.Errorf("%d won, %d lost", won, lost)
		}
		for i := range 16 {
			n := []*node{a, b}[i%2]
			wg.Go(func() {
				if err := n.Update(t.Context(), Request{Values: capacity(200 + i)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if total, _, err := a.History(t.Context(), 1, 0); err != nil || total != 17 {
			t.Errorf("%d changes, %v", total, err)
		}
		for _, n := range []*node{a, b} {
			if err := n.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if a.capacity() != b.capacity() {
			t.Errorf("the nodes disagree: %d and %d", a.capacity(), b.capacity())
		}
	})
}

func TestLocalSettings(t *testing.T) {
	db := storetest.SQLite(t)
	home := t.TempDir()
	n := newNodeAt(t, db, home)
	other := newNode(t, db)
	if err := n.UpdateLocal(map[string]any{"metrics": map[string]any{"openTo": "10.0.0.0/8, 127.0.0.1"}}); err != nil {
		t.Fatal(err)
	}
	if err := n.UpdateLocal(capacity(33)); err != nil {
		t.Fatal(err)
	}
	if got := n.live.Current(); len(got.Metrics.OpenTo) != 2 || n.capacity() != 33 {
		t.Errorf("open to %v, capacity %d", got.Metrics.OpenTo, n.capacity())
	}
	if other.capacity() != 50 {
		t.Errorf("another node changed: %d", other.capacity())
	}
	again := newNodeAt(t, db, home)
	if got := again.live.Current(); len(got.Metrics.OpenTo) != 2 || again.capacity() != 33 {
		t.Errorf("after the next start: open to %v, capacity %d", got.Metrics.OpenTo, again.capacity())
	}
	again.update(t, Request{Values: capacity(44)})
	if again.capacity() != 44 || again.Local().Service.AdminAPI.RateLimiting.Capacity != 33 {
		t.Errorf("the cluster's value does not win: %d", again.capacity())
	}
}

// TestSettingsThatDoNotFit checks that a node keeps running whose own settings contradict the
// cluster's.
func TestSettingsThatDoNotFit(t *testing.T) {
	db := storetest.SQLite(t)
	a, b := newNode(t, db), newNode(t, db, "app.service.admin-api.max-available-records-per-request=20")
	a.update(t, Request{Values: map[string]any{"service": map[string]any{"adminApi": map[string]any{"defaultAvailableRecordsPerRequest": 30}}}})
	if err := b.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.live.Current().Service.AdminAPI.DefaultAvailableRecordsPerRequest; got != 10 {
		t.Errorf("default %d", got)
	}
	a.update(t, Request{Values: map[string]any{"service": map[string]any{"adminApi": map[string]any{"defaultAvailableRecordsPerRequest": 15}}}})
	if err := b.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.live.Current().Service.AdminAPI.DefaultAvailableRecordsPerRequest; got != 15 {
		t.Errorf("the next change did not fit either: %d", got)
	}
}

// TestIgnoredSettings proves that a node can be started without the cluster's settings, and that
// settings that are invalid on all nodes can be reverted.
func TestIgnoredSettings(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		n := newNode(t, db)
		n.update(t, Request{Values: capacity(7)})
		live := config.NewLive(config.Default())
		ignoring, err := New(t.Context(), Options{Store: db, Live: live, Logger: slog.New(slog.DiscardHandler), Ignore: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := live.Current().Service.AdminAPI.RateLimiting.Capacity; got == 7 {
			t.Error("the settings of the cluster were applied")
		}
		err = db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			return insert(ctx, tx, 2, 0, ActionUpdate, values{overrides: map[string]any{"service.adminApi.rateLimiting.refillIntervalMillis": 0}}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		first := int64(0)
		if err := ignoring.Update(t.Context(), Request{RevertTo: &first}); err != nil {
			t.Errorf("settings that fit no node cannot be taken back: %v", err)
		}
		if err := ignoring.Update(t.Context(), Request{Values: map[string]any{"service": map[string]any{"adminApi": map[string]any{"rateLimiting": map[string]any{"refillIntervalMillis": 0}}}}}); err == nil {
			t.Error("a limit that locks everybody out was accepted")
		}
	})
}

// TestReadableWhileRefreshing checks that the known settings can be read while a slow database
// returns a change.
func TestReadableWhileRefreshing(t *testing.T) {
	db := storetest.PostgreSQL(t)
	a, b := newNode(t, db), newNode(t, db)
	a.update(t, Request{Values: capacity(77)})
	locked, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			if err := storetest.Exec(ctx, tx, "LOCK TABLE setting_revision IN ACCESS EXCLUSIVE MODE"); err != nil {
				return err
			}
			close(locked)
			<-release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-locked
	all.Go(func() {
		if err := b.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
	})
	for waiting := 0; waiting == 0 && !t.Failed(); {
		err := db.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
			return storetest.First(ctx, r, "SELECT count(*) FROM pg_locks WHERE NOT granted", &waiting)
		})
		if err != nil {
			t.Error(err)
		}
	}
	read := make(chan struct{})
	all.Go(func() {
		b.Current()
		close(read)
	})
	select {
	case <-read:
	case <-time.After(10 * time.Second):
		t.Error("what a node knows cannot be read while it waits for the database")
	}
	close(release)
	all.Wait()
	if got := b.capacity(); got != 77 {
		t.Errorf("capacity %d after the refresh", got)
	}
}
