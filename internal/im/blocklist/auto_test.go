// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

// defaultRule is the rule of the default configuration.
var defaultRule = Rule{Enabled: true, Levels: []Level{
	{10 * time.Minute, time.Minute, 5}, {30 * time.Minute, time.Minute, 1}, {time.Hour, time.Minute, 1},
}}

func (w *world) auto(l *List[int64], rule Rule) *AutoBlocker[int64] {
	return NewAutoBlocker(l, AutoOptions{
		Rule: func(Cause) Rule { return rule }, Logger: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	})
}

// TestAutoBlock runs steps: "3" triggers three times, "+1m" advances the time, "lift" unblocks;
// after each, the rest of the block is compared.
func TestAutoBlock(t *testing.T) {
	type step struct {
		do   any // int: triggers; time.Duration: time; string: lift
		want time.Duration
	}
	const m = time.Minute
	one := Rule{Enabled: true, Levels: []Level{{time.Minute, 0, 2}}}
	steep := Rule{Enabled: true, Levels: []Level{{10 * m, m, 2}, {20 * m, m, 3}}}
	for _, test := range []struct {
		name  string
		rule  Rule
		steps []step
	}{
		{"below the threshold", defaultRule, []step{{4, 0}}},
		{"the threshold", defaultRule, []step{{4, 0}, {1, 10 * m}}},
		{"levels while blocked", defaultRule, []step{{5, 10 * m}, {1, 30 * m}, {1, 60 * m}, {m, 59 * m}, {1, 60 * m}, {3, 60 * m}}},
		{"one is forgotten in a minute", defaultRule, []step{{4, 0}, {m, 0}, {1, 0}, {1, 10 * m}}},
		{"not before a minute", defaultRule, []step{{4, 0}, {m - time.Millisecond, 0}, {1, 10 * m}}},
		{"parts of minutes add up", defaultRule, []step{{1, 0}, {m / 2, 0}, {3, 0}, {m / 2, 0}, {1, 0}, {1, 10 * m}}},
		{"a slow client is never blocked", defaultRule, []step{{1, 0}, {m, 0}, {1, 0}, {m, 0}, {1, 0}, {m, 0}, {1, 0}, {m, 0}, {1, 0}, {m, 0}, {1, 0}}},
		{"the next level after the block", defaultRule, []step{{5, 10 * m}, {10 * m, 0}, {1, 30 * m}, {30 * m, 0}, {1, 60 * m}, {60 * m, 0}, {1, 60 * m}}},
		{"the level holds while something is remembered", defaultRule, []step{{5, 10 * m}, {15*m - time.Millisecond, 0}, {1, 30 * m}}},
		{"the level falls when all is forgotten", defaultRule, []step{{5, 10 * m}, {15 * m, 0}, {4, 0}, {1, 10 * m}}},
		{"remembering is bounded", defaultRule, []step{{1000, 60 * m}, {67*m - time.Millisecond, 0}, {1, 60 * m}, {67 * m, 0}, {4, 0}, {1, 10 * m}}},
		{"a lifted block resets the count", defaultRule, []step{{6, 30 * m}, {"lift", 0}, {4, 0}, {1, 10 * m}}},
		{"a block that ended does not", defaultRule, []step{{5, 10 * m}, {10 * m, 0}, {"lift", 0}, {1, 30 * m}}},
		{"nothing is forgotten", one, []step{{1, 0}, {1000 * time.Hour, 0}, {1, m}, {m, 0}, {1, 0}, {1, m}}},
		{"thresholds count anew", steep, []step{{2, 10 * m}, {2, 10 * m}, {1, 20 * m}, {m, 19 * m}, {2, 19 * m}, {1, 20 * m}}},
		{"disabled", Rule{Levels: one.Levels}, []step{{10, 0}}},
		{"no levels", Rule{Enabled: true}, []step{{10, 0}}},
		{"no threshold", Rule{Enabled: true, Levels: []Level{{Duration: m}}}, []step{{1, m}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, storetest.MigratedSQLiteURL(t))
			l := w.node()
			b := w.auto(l, test.rule)
			for i, s := range test.steps {
				blocked := false
				switch do := s.do.(type) {
				case int:
					for range do {
						blocked = b.Trigger(1, CorruptedFrame)
					}
				case time.Duration:
					w.advance(do)
				case string:
					// Until Run stores it, the block is only in memory.
					w.must(l.Block(t.Context(), []int64{1}, 1))
					w.must(l.Unblock(t.Context(), []int64{1}))
				}
				until, ok := l.Blocked(1)
				if got := max(0, until.Sub(w.now())); got != s.want || ok != (s.want > 0) {
					t.Fatalf("step %d: blocked for %v, want %v", i, got, s.want)
				}
				if _, triggered := s.do.(int); triggered && blocked != ok {
					t.Errorf("step %d: Trigger says %v, the list %v", i, blocked, ok)
				}
			}
		})
	}
}

func TestCausesAndClientsAreApart(t *testing.T) {
	w := newWorld(t, storetest.MigratedSQLiteURL(t))
	l := w.node()
	b := NewAutoBlocker(l, AutoOptions{Logger: slog.New(slog.DiscardHandler), Rule: func(c Cause) Rule {
		return Rule{Enabled: c != FrequentRequest, Levels: []Level{{time.Minute, time.Minute, 2}}}
	}})
	if b.Trigger(1, CorruptedFrame) || b.Trigger(1, CorruptedRequest) || b.Trigger(2, CorruptedFrame) || b.Trigger(1, FrequentRequest) {
		t.Error("blocked too early")
	}
	if !b.Trigger(1, CorruptedRequest) || l.BlockedNow(2) {
		t.Error("the second trigger of the same cause does not block")
	}
	if !b.Trigger(1, FrequentRequest) {
		t.Error("a disabled cause does not tell that the client is blocked")
	}
	w.enabled.Store(false)
	if b.Trigger(2, CorruptedFrame) {
		t.Error("blocked by a disabled list")
	}
	w.enabled.Store(true)
	if l.BlockedNow(2) {
		t.Error("counted while disabled")
	}
	ips := w.ips()
	auto := NewAutoBlocker(ips, AutoOptions{Rule: func(Cause) Rule { return defaultRule }, Logger: slog.New(slog.DiscardHandler)})
	for range 10 {
		if auto.Trigger(netip.Addr{}, CorruptedFrame) {
			t.Error("the zero address was blocked")
		}
	}
}

// TestAutoBlockIsStored follows automatic blocks to another node.
func TestAutoBlockIsStored(t *testing.T) {
	need.Time(t)
	onBothEngines(t, func(t *testing.T, w *world) {
		a, other := w.node(), w.node()
		var told atomic.Int32
		a.OnBlocked(func(keys []int64) { told.Add(int32(len(keys))) })
		elsewhere := make(chan int64, 100)
		other.OnBlocked(func(keys []int64) {
			for _, key := range keys {
				elsewhere <- key
			}
		})
		b := w.auto(a, Rule{Enabled: true, Levels: []Level{{time.Minute, time.Minute, 1}, {2 * time.Minute, time.Minute, 1}}})
		stopOther, stop := running(t, other.Run), running(t, b.Run)
		defer stopOther()
		// A block by an administrator that lasts longer stays.
		w.must(a.Block(t.Context(), []int64{1}, 3_600_000))
		for id := range int64(20) {
			if !b.Trigger(id, FrequentRequest) || !a.BlockedNow(id) {
				t.Errorf("%d is not blocked at once", id)
			}
		}
		b.Trigger(3, FrequentRequest)
		var seen []int64
		for range 20 {
			seen = append(seen, <-elsewhere)
		}
		stop()
		if slices.Sort(seen); len(slices.Compact(seen)) != 20 {
			t.Errorf("other node was told of %v", seen)
		}
		if told.Load() != 20 {
			t.Errorf("told of %d", told.Load())
		}
		want := "0=60 1=3600 2=60 3=120 "
		for id := 4; id < 20; id++ {
			want += fmt.Sprintf("%d=60 ", id)
		}
		w.wantEverywhere(want, a, other)
	})
}

// TestAutoBlockIsStoredAtTheEnd triggers before Run gets a chance.
func TestAutoBlockIsStoredAtTheEnd(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		a, other := w.node(), w.node()
		// This node does not know yet that one of them is blocked for longer.
		w.must(other.Block(t.Context(), []int64{7}, 3_600_000))
		b := w.auto(a, Rule{Enabled: true, Levels: []Level{{time.Minute, time.Minute, 1}}})
		for id := range int64(2 * recordBatch) {
			b.Trigger(id, FrequentRequest)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.must(b.Run(ctx))
		if n := w.node().Len(); n != 2*recordBatch {
			t.Errorf("%d are stored", n)
		}
		if until, ok := a.Blocked(7); !ok || until.Sub(w.now()) != time.Hour {
			t.Errorf("a longer block was replaced by one until %v", until)
		}
	})
}

func TestAutoBlockWithoutStore(t *testing.T) {
	w := newWorld(t, storetest.MigratedSQLiteURL(t))
	db := w.db()
	l, err := NewUsers(t.Context(), w.options(db))
	w.must(err)
	b := w.auto(l, Rule{Enabled: true, Levels: []Level{{time.Minute, time.Minute, 1}}})
	w.must(db.Close())
	for id := range int64(queueSize + 10) {
		if !b.Trigger(id, FrequentRequest) {
			t.Fatal("not blocked")
		}
	}
	if b.Dropped() != 10 || l.Len() != queueSize+10 {
		t.Errorf("%d dropped, %d blocked", b.Dropped(), l.Len())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.must(b.Run(ctx))
}

func TestCountersAreBounded(t *testing.T) {
	w := newWorld(t, storetest.MigratedSQLiteURL(t))
	b := w.auto(w.node(), defaultRule)
	for range 4 {
		b.Trigger(-1, CorruptedFrame)
	}
	for id := range int64(maxCounters + 1000) {
		b.Trigger(id, CorruptedFrame)
	}
	if n := b.Counters(); n != maxCounters {
		t.Errorf("%d counters", n)
	}
	if !b.Trigger(-1, CorruptedFrame) {
		t.Error("a client with many triggers made room for those with few")
	}
	w.advance(time.Minute)
	b.tidy()
	if n := b.Counters(); n != 1 {
		t.Errorf("%d counters after a minute", n)
	}
	w.advance(15 * time.Minute)
	b.tidy()
	if n := b.Counters(); n != 0 {
		t.Errorf("%d counters when all is forgotten", n)
	}
}

func TestConcurrentTriggers(t *testing.T) {
	w := newWorld(t, storetest.MigratedSQLiteURL(t))
	l := w.node()
	b := w.auto(l, Rule{Enabled: true, Levels: []Level{{time.Minute, time.Minute, 100}, {time.Hour, time.Minute, 1}}})
	stop := running(t, b.Run)
	var said atomic.Int32
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			for range 10 {
				if b.Trigger(1, CorruptedRequest) {
					said.Add(1)
				}
			}
		})
	}
	group.Wait()
	stop()
	if until, ok := l.Blocked(1); !ok || until.Sub(w.now()) != time.Minute || said.Load() != 1 {
		t.Errorf("blocked %v until %v, said %d times", ok, until, said.Load())
	}
}

// refusingRecords refuses the first writes.
type refusingRecords struct {
	records[int64]
	refusals atomic.Int32
}

func (r *refusingRecords) put(ctx context.Context, tx store.Tx, keys []int64, end time.Time, extend bool) error {
	if r.refusals.Add(-1) >= 0 {
		return store.ErrUnavailable
	}
	return r.records.put(ctx, tx, keys, end, extend)
}

// TestAutoBlockIsStoredLater lets the store refuse for a while.
func TestAutoBlockIsStoredLater(t *testing.T) {
	need.Time(t)
	w := newWorld(t, storetest.MigratedSQLiteURL(t))
	a, other := w.node(), w.node()
	refusing := &refusingRecords{records: a.records}
	refusing.refusals.Store(1)
	a.records = refusing
	told := make(chan []int64)
	other.OnBlocked(func(keys []int64) { told <- keys })
	b := w.auto(a, Rule{Enabled: true, Levels: []Level{{time.Minute, time.Minute, 1}}})
	stopOther, stop := running(t, other.Run), running(t, b.Run)
	defer stopOther()
	defer stop()
	if !b.Trigger(1, FrequentRequest) || !a.BlockedNow(1) {
		t.Error("not blocked at once")
	}
	if keys := <-told; !slices.Equal(keys, []int64{1}) {
		t.Errorf("told of %v", keys)
	}
}
