// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is a database and a clock, on which nodes with lists of users are made.
type world struct {
	t       testing.TB
	url     string
	millis  atomic.Int64
	enabled atomic.Bool
}

// onBothEngines runs a test against each storage engine.
func onBothEngines(t *testing.T, test func(*testing.T, *world)) {
	t.Run("SQLite", func(t *testing.T) { test(t, newWorld(t, storetest.MigratedSQLiteURL(t))) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, newWorld(t, storetest.MigratedURL(t))) })
}

const start = 1_700_000_000_000

func newWorld(t testing.TB, url string) *world {
	w := &world{t: t, url: url}
	w.millis.Store(start)
	w.enabled.Store(true)
	return w
}

func (w *world) now() time.Time          { return time.UnixMilli(w.millis.Load()) }
func (w *world) advance(d time.Duration) { w.millis.Add(d.Milliseconds()) }

func (w *world) options(db *store.DB) Options {
	return Options{
		Store: db, Enabled: w.enabled.Load, Clock: w.now, Interval: 5 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	}
}

// db opens the database once more, as another process would.
func (w *world) db() *store.DB {
	w.t.Helper()
	return storetest.Open(w.t, store.Options{URL: w.url, Timeout: time.Minute, LockTimeout: time.Minute})
}

// node makes a list of users over a connection of its own.
func (w *world) node() *List[int64] {
	w.t.Helper()
	l, err := NewUsers(context.Background(), w.options(w.db()))
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) ips() *List[netip.Addr] {
	w.t.Helper()
	l, err := NewIPs(context.Background(), w.options(w.db()))
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// content returns the users from 0 to 999 that are blocked in memory, with the seconds from the
// start.
func content(l *List[int64]) string {
	text := ""
	for id := range int64(1000) {
		if until, ok := l.Blocked(id); ok {
			text += fmt.Sprintf("%d=%d ", id, (until.UnixMilli()-start)/1000)
		}
	}
	return text
}

func (w *world) want(l *List[int64], want string) {
	w.t.Helper()
	if got := content(l); got != want {
		w.t.Errorf("blocked are %q, want %q", got, want)
	}
}

// wantEverywhere compares the memory of nodes after a refresh, and of a new node.
func (w *world) wantEverywhere(want string, nodes ...*List[int64]) {
	w.t.Helper()
	for _, l := range nodes {
		w.must(l.Refresh(context.Background()))
		w.want(l, want)
	}
	w.want(w.node(), want)
}

func TestParseIP(t *testing.T) {
	for text, want := range map[string]string{
		"1.2.3.4": "1.2.3.4", "::ffff:1.2.3.4": "1.2.3.4", "::FFFF:0102:0304": "1.2.3.4",
		"2001:DB8:0:0:0:0:0:1": "2001:db8::1", "::1.2.3.4": "::102:304",
	} {
		if got, err := ParseIP(text); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4:80", "[::1]", "::1%lo", "::ffff:1.2.3.4%x", "1.2.3.0/24", " 1.2.3.4"} {
		_, err := ParseIP(text)
		if e, ok := errors.AsType[*apierr.Error](err); !ok || e.Code != apierr.IllegalArgument {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestEqualAddresses(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		a, b := w.ips(), w.ips()
		ctx := t.Context()
		w.must(a.Block(ctx, []netip.Addr{netip.MustParseAddr("::ffff:1.2.3.4"), netip.MustParseAddr("fe80::1%eth0")}, 1000))
		w.must(b.Refresh(ctx))
		for _, l := range []*List[netip.Addr]{a, b, w.ips()} {
			for text, want := range map[string]bool{
				"1.2.3.4": true, "::ffff:1.2.3.4": true, "::1.2.3.4": false, "1.2.3.5": false,
				"fe80::1": true, "fe80::1%eth1": true, "fe80::2": false,
			} {
				if got := l.BlockedNow(netip.MustParseAddr(text)); got != want {
					t.Errorf("%s blocked %v, want %v", text, got, want)
				}
			}
		}
		found, err := b.Find(ctx, []netip.Addr{netip.MustParseAddr("::ffff:1.2.3.4")})
		if err != nil || len(found) != 1 || found[0].Key != netip.MustParseAddr("1.2.3.4") {
			t.Errorf("found %v, %v", found, err)
		}
		w.must(b.Unblock(ctx, []netip.Addr{netip.MustParseAddr("1.2.3.4")}))
		w.must(a.Refresh(ctx))
		if a.BlockedNow(netip.MustParseAddr("::ffff:1.2.3.4")) {
			t.Error("still blocked")
		}
		if err := a.Block(ctx, []netip.Addr{{}}, 1000); apierr.From(err).Code != apierr.IllegalArgument {
			t.Errorf("the zero address: %v", err)
		}
	})
}

func TestPropagation(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		a, b := w.node(), w.node()
		var told []int64
		b.OnBlocked(func(keys []int64) { told = append(told, keys...) })
		heard := func(want ...int64) {
			t.Helper()
			slices.Sort(told)
			if !slices.Equal(told, want) {
				t.Errorf("told of %v, want %v", told, want)
			}
			told = nil
		}
		w.must(a.Block(ctx, []int64{1, 2, 3}, 60_000))
		w.want(a, "1=60 2=60 3=60 ")
		w.want(b, "")
		w.wantEverywhere("1=60 2=60 3=60 ", a, b)
		heard(1, 2, 3)

		// A changed block is no new block.
		w.must(a.Block(ctx, []int64{2, 4}, 30_000))
		w.wantEverywhere("1=60 2=30 3=60 4=30 ", a, b)
		heard(4)

		w.must(b.Unblock(ctx, []int64{1, 9}))
		w.want(b, "2=30 3=60 4=30 ")
		w.wantEverywhere("2=30 3=60 4=30 ", a, b)
		w.must(a.Block(ctx, []int64{1}, 10_000))
		w.wantEverywhere("1=10 2=30 3=60 4=30 ", a, b)
		heard(1)

		w.must(a.UnblockAll(ctx))
		w.want(a, "")
		w.must(a.Block(ctx, []int64{3}, 5000))
		w.wantEverywhere("3=5 ", a, b)

		// Changes made while the list was disabled take effect when it is enabled.
		w.enabled.Store(false)
		if err := a.Block(ctx, []int64{8}, 1000); apierr.From(err).Code != apierr.UserIDBlocklistIsDisabled {
			t.Errorf("block while disabled: %v", err)
		}
		w.must(a.Unblock(ctx, []int64{3}))
		w.must(a.UnblockAll(ctx))
		w.want(a, "")
		w.enabled.Store(true)
		w.wantEverywhere("3=5 ", a, b)
	})
}

func TestExpiry(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		a, b := w.node(), w.node()
		w.must(a.Block(t.Context(), []int64{1, 2}, 10_000))
		w.must(a.Block(t.Context(), []int64{3}, 20_000))
		w.must(b.Refresh(t.Context()))
		w.advance(10*time.Second - time.Millisecond)
		w.wantEverywhere("1=10 2=10 3=20 ", a, b)
		w.advance(time.Millisecond)
		w.wantEverywhere("3=20 ", a, b)
		total, found, err := a.FindPage(t.Context(), store.Page{Limit: 10})
		if err != nil || total != 1 || len(found) != 1 {
			t.Errorf("found %d %v, %v", total, found, err)
		}
		if b.Len() != 3 {
			t.Errorf("%d in memory before the sweep", b.Len())
		}
		for i := range shardCount {
			b.memory.sweep(i, b.now())
		}
		if b.Len() != 1 {
			t.Errorf("%d in memory after the sweep", b.Len())
		}
		// A client whose block has ended is newly blocked.
		told := 0
		b.OnBlocked(func(keys []int64) { told += len(keys) })
		w.must(a.Block(t.Context(), []int64{1, 3}, 30_000))
		w.wantEverywhere("1=40 3=40 ", a, b)
		if told != 1 {
			t.Errorf("told of %d", told)
		}
	})
}

func TestSweep(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		sweep := func(l *List[int64], want int64) {
			t.Helper()
			if n, err := l.Sweep(ctx, l.opts.Store); err != nil || n != want {
				t.Errorf("swept %d, %v, want %d", n, err, want)
			}
		}
		many := make([]int64, 3*sweepBatch)
		for i := range many {
			many[i] = int64(i + 1000)
		}
		a, b, late := w.node(), w.node(), w.node()
		w.must(a.Block(ctx, append(many, 1, 2, 3), 60_000))
		w.must(a.Block(ctx, []int64{4}, 3_600_000))
		for _, l := range []*List[int64]{b, late} {
			w.must(l.Refresh(ctx))
		}
		// Blocked for an hour, then lifted: only b sees that before the row is deleted.
		w.must(a.Block(ctx, []int64{1, 2}, 3_600_000))
		w.must(late.Refresh(ctx))
		w.must(a.Unblock(ctx, []int64{1}))
		w.must(b.Refresh(ctx))
		sweep(a, 0)
		w.want(late, "1=3600 2=3600 3=60 4=3600 ")
		w.advance(sweepAge)
		sweep(a, 1)
		w.want(late, "1=3600 2=3600 4=3600 ")
		w.must(late.Refresh(ctx))
		w.want(late, "2=3600 4=3600 ")
		w.wantEverywhere("2=3600 4=3600 ", a, b, late)
		w.advance(time.Minute)
		sweep(b, 3*sweepBatch+1)
		sweep(b, 0)
		w.must(b.Block(ctx, []int64{5}, 3_600_000))
		w.wantEverywhere("2=3600 4=3600 5=4260 ", a, b, late)

		// Rows of a list that was emptied go at once.
		w.must(a.UnblockAll(ctx))
		w.must(a.Block(ctx, []int64{6}, 3_600_000))
		sweep(a, 3)
		w.wantEverywhere("6=4260 ", a, b, late)
	})
}

// TestIncremental proves that a node reads only the changed rows.
func TestIncremental(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		a, b := w.node(), w.node()
		many := make([]int64, 2*chunk+1)
		for i := range many {
			many[i] = int64(i)
		}
		w.must(a.Block(t.Context(), many, 60_000))
		w.must(b.Refresh(t.Context()))
		if b.Len() != len(many) || w.node().Len() != len(many) {
			t.Fatalf("%d in memory, want %d", b.Len(), len(many))
		}
		counted := &countingRecords{records: b.records}
		b.records = counted
		w.must(a.Block(t.Context(), []int64{1, 2}, 1000))
		w.must(a.Unblock(t.Context(), []int64{3}))
		w.must(b.Refresh(t.Context()))
		if counted.rows != 3 || b.Len() != len(many)-1 {
			t.Errorf("read %d rows, %d in memory", counted.rows, b.Len())
		}
		w.must(b.Refresh(t.Context()))
		w.must(a.UnblockAll(t.Context()))
		w.must(b.Refresh(t.Context()))
		if counted.rows != 3 || b.Len() != 0 {
			t.Errorf("read %d rows, %d in memory", counted.rows, b.Len())
		}
	})
}

// countingRecords counts the rows read, and runs a function once before the first.
type countingRecords struct {
	records[int64]
	rows   int
	before func()
}

func (c *countingRecords) changes(after int64, limit int) func(context.Context, store.Reader, func(int64, int64, int64)) (int, error) {
	next := c.records.changes(after, limit)
	if do := c.before; do != nil {
		c.before = nil
		do()
	}
	return func(ctx context.Context, r store.Reader, each func(int64, int64, int64)) (int, error) {
		n, err := next(ctx, r, each)
		c.rows += n
		return n, err
	}
}

// TestChangesDuringReading makes changes after a node has read the revision and before it reads the
// rows.
func TestChangesDuringReading(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		a, b := w.node(), w.node()
		hooked := &countingRecords{records: b.records}
		b.records = hooked
		w.must(a.Block(ctx, []int64{1}, 3_600_000))
		w.must(b.Refresh(ctx))

		// The list is emptied: the rows that are read are newer than that.
		w.must(a.Block(ctx, []int64{2}, 3_600_000))
		hooked.before = func() {
			w.must(a.UnblockAll(ctx))
			w.must(a.Block(ctx, []int64{3}, 3_600_000))
		}
		w.must(b.Refresh(ctx))
		w.wantEverywhere("3=3600 ", a, b)

		// The row of a lifted block is swept before it is read.
		w.must(a.Block(ctx, []int64{4}, 3_600_000))
		hooked.before = func() {
			w.must(a.Unblock(ctx, []int64{3}))
			w.advance(sweepAge)
			if n, err := a.Sweep(ctx, a.opts.Store); n != 3 || err != nil {
				t.Errorf("swept %d, %v", n, err)
			}
		}
		w.must(b.Refresh(ctx))
		w.want(b, "4=3600 ")
		w.wantEverywhere("4=3600 ", a, b)
	})
}

// TestConvergence changes overlapping sets concurrently on two nodes.
func TestConvergence(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		for _, test := range []struct {
			name     string
			clearing bool
		}{{"blocks", false}, {"with emptying", true}} {
			t.Run(test.name, func(t *testing.T) {
				nodes := []*List[int64]{w.node(), w.node()}
				var group sync.WaitGroup
				for g := range 64 {
					group.Go(func() {
						l := nodes[g%2]
						keys := []int64{int64(g % 8), int64(g % 5), int64(g % 3)}
						for n := range 3 {
							var err error
							switch {
							case test.clearing && (g+n)%8 == 0:
								err = l.UnblockAll(context.Background())
							case (g+n)%3 == 0:
								err = l.Unblock(context.Background(), keys)
							default:
								err = l.Block(context.Background(), keys, int64(1000*(1+g+n)))
							}
							if err != nil {
								t.Error(err)
							}
						}
					})
				}
				group.Wait()
				want := content(w.node())
				w.wantEverywhere(want, nodes...)
				_, found, err := nodes[0].FindPage(t.Context(), store.Page{Limit: 1000})
				if err != nil || len(found) != nodes[0].Len() || len(found) != nodes[1].Len() {
					t.Errorf("%d in the store, %d and %d in memory, %v", len(found), nodes[0].Len(), nodes[1].Len(), err)
				}
			})
		}
	})
}

// TestReadYourWrites proves that a change is visible on its node when the call returns.
func TestReadYourWrites(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		l := w.node()
		var group sync.WaitGroup
		for id := range int64(16) {
			group.Go(func() {
				for range 5 {
					if err := l.Block(context.Background(), []int64{id}, 1000); err != nil || !l.BlockedNow(id) {
						t.Errorf("%d is not blocked: %v", id, err)
					}
					if err := l.Unblock(context.Background(), []int64{id}); err != nil || l.BlockedNow(id) {
						t.Errorf("%d is blocked: %v", id, err)
					}
				}
			})
		}
		group.Wait()
	})
}

// running starts a Run function and returns a function that stops it.
func running(t *testing.T, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestRun(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		a, b := w.node(), w.node()
		told := make(chan []int64)
		b.OnBlocked(func(keys []int64) { told <- keys })
		stop := running(t, b.Run)
		defer stop()
		for id := range int64(3) {
			w.must(a.Block(t.Context(), []int64{id}, 60_000))
			if keys := <-told; !slices.Equal(keys, []int64{id}) || !b.BlockedNow(id) {
				t.Errorf("told of %v, want %d", keys, id)
			}
		}
	})
}

// TestStoreOutage closes the store: the last known state is used.
func TestStoreOutage(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		db := w.db()
		l, err := NewUsers(t.Context(), w.options(db))
		w.must(err)
		w.must(l.Block(t.Context(), []int64{1}, 60_000))
		w.must(db.Close())
		if err := l.Refresh(t.Context()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("refresh: %v", err)
		}
		if err := l.Block(t.Context(), []int64{2}, 60_000); !errors.Is(err, store.ErrClosed) {
			t.Errorf("block: %v", err)
		}
		if _, err := l.Sweep(t.Context(), db); !errors.Is(err, store.ErrClosed) {
			t.Errorf("sweep: %v", err)
		}
		w.want(l, "1=60 ")
		if _, err := NewUsers(t.Context(), w.options(db)); !errors.Is(err, store.ErrClosed) {
			t.Errorf("new list: %v", err)
		}
	})
}
