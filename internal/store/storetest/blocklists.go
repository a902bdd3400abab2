// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

// blocklist is a blocklist of a database with the operations under test.
type blocklist[K store.Key] struct {
	store.Blocklist[K]
	t  *testing.T
	db *store.DB
}

// blockTime is the base time of the tests of blocklists.
var blockTime = time.UnixMilli(1_700_000_000_000).UTC()

func blockEnd(minutes int) time.Time { return blockTime.Add(time.Duration(minutes) * time.Minute) }

func (b blocklist[K]) put(end time.Time, extend bool, keys ...K) {
	b.t.Helper()
	write(b.t, b.db, func(ctx context.Context, tx store.Tx) error { return b.Put(ctx, tx, keys, end, extend) })
}

func (b blocklist[K]) delete(now time.Time, want int64, keys ...K) {
	b.t.Helper()
	write(b.t, b.db, func(ctx context.Context, tx store.Tx) error {
		n, err := b.Delete(ctx, tx, keys, now)
		if err == nil && n != want {
			b.t.Errorf("deleted %d, want %d", n, want)
		}
		return err
	})
}

func (b blocklist[K]) clear() {
	b.t.Helper()
	write(b.t, b.db, func(ctx context.Context, tx store.Tx) error { return b.Clear(ctx, tx) })
}

func (b blocklist[K]) sweep(before time.Time, limit int, want int64) {
	b.t.Helper()
	write(b.t, b.db, func(ctx context.Context, tx store.Tx) error {
		n, err := b.Sweep(ctx, tx, before, limit)
		if err == nil && n != want {
			b.t.Errorf("swept %d, want %d", n, want)
		}
		return err
	})
}

// want compares the results of Find and Count at a time: keys and the minutes until they expire.
func (b blocklist[K]) want(now time.Time, keys []K, page store.Page, want string) {
	b.t.Helper()
	read(b.t, b.db, func(ctx context.Context, r store.Reader) error {
		found, err := b.Find(ctx, r, keys, now, page)
		if err != nil {
			return err
		}
		got := ""
		for _, row := range found {
			got += fmt.Sprintf("%v:%v ", row.Key, row.End.Sub(blockTime).Minutes())
		}
		if got != want {
			b.t.Errorf("found %q, want %q", got, want)
		}
		if keys != nil || page != (store.Page{}) {
			return nil
		}
		count, err := b.Count(ctx, r, now)
		if err == nil && count != int64(len(found)) {
			b.t.Errorf("counted %d, found %d", count, len(found))
		}
		return err
	})
}

func (b blocklist[K]) wantState(want store.BlocklistState) {
	b.t.Helper()
	read(b.t, b.db, func(ctx context.Context, r store.Reader) error {
		got, err := b.State(ctx, r)
		if err == nil && got != want {
			b.t.Errorf("state is %+v, want %+v", got, want)
		}
		return err
	})
	wantRevision(b.t, b.db, b.Revision(), want.Revision)
}

// changes reads all rows after a number in small pages.
func (b blocklist[K]) changes(after int64) []string {
	b.t.Helper()
	got := []string{}
	position := store.BlocklistPosition[K]{Seq: after}
	for n := 2; n == 2; {
		read(b.t, b.db, func(ctx context.Context, r store.Reader) (err error) {
			n, position, err = b.Changes(ctx, r, position, 2, func(row store.Blocked[K]) {
				got = append(got, fmt.Sprintf("%d:%v:%v", row.Seq, row.Key, row.End.After(blockTime)))
			})
			return err
		})
	}
	return got
}

func testBlocklists(t *testing.T, db *store.DB) {
	t.Run("IPs", func(t *testing.T) {
		testBlocklist(blocklist[string]{store.BlockedIPs, t, db}, "1.2.3.4", "10.0.0.1", "2001:db8::1", "::1")
	})
	t.Run("Users", func(t *testing.T) {
		testBlocklist(blocklist[int64]{store.BlockedUsers, t, db}, -9223372036854775808, 0, 7, 9223372036854775807)
	})
}

// testBlocklist takes four keys in ascending order.
func testBlocklist[K store.Key](b blocklist[K], k1, k2, k3, k4 K) {
	text := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	all := store.Page{}
	b.wantState(store.BlocklistState{})
	b.want(blockTime, nil, all, "")
	b.put(blockEnd(1), false)
	b.wantState(store.BlocklistState{})

	b.put(blockEnd(10), false, k2, k1, k2)
	b.put(blockEnd(20), false, k3)
	b.want(blockTime, nil, all, text("%v:10 %v:10 %v:20 ", k1, k2, k3))
	b.want(blockTime, nil, store.Page{Limit: 1, Offset: 1}, text("%v:10 ", k2))
	b.want(blockTime, []K{k3, k4}, all, text("%v:20 ", k3))
	b.want(blockTime, []K{}, all, "")
	b.want(blockEnd(10), nil, all, text("%v:20 ", k3))

	// A block replaces another; an extension does so only if it lasts longer.
	b.put(blockEnd(5), false, k3)
	b.put(blockEnd(7), true, k1, k3)
	b.want(blockTime, nil, all, text("%v:10 %v:10 %v:7 ", k1, k2, k3))
	b.wantState(store.BlocklistState{Revision: 4})
	if diff := cmp.Diff([]string{text("1:%v:true", k1), text("1:%v:true", k2), text("4:%v:true", k3)}, b.changes(0)); diff != "" {
		b.t.Errorf("all changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{text("4:%v:true", k3)}, b.changes(1)); diff != "" {
		b.t.Errorf("later changes (-want +got):\n%s", diff)
	}

	// A removed block appears once as a change.
	b.delete(blockEnd(1), 1, k2, k4)
	b.delete(blockEnd(1), 0, k2, k4)
	b.delete(blockEnd(1), 0)
	b.want(blockTime, nil, all, text("%v:10 %v:7 ", k1, k3))
	if diff := cmp.Diff([]string{text("5:%v:false", k2)}, b.changes(4)); diff != "" {
		b.t.Errorf("changes by a deletion (-want +got):\n%s", diff)
	}

	// Blocks that expired or were removed long ago are swept, the rest is kept.
	b.sweep(blockTime, 10, 0)
	b.sweep(blockEnd(1), 10, 1)
	b.wantState(store.BlocklistState{Revision: 5, Swept: 5})
	b.sweep(blockEnd(7), 10, 1)
	b.wantState(store.BlocklistState{Revision: 5, Swept: 5})
	b.want(blockTime, nil, all, text("%v:10 ", k1))

	// A cleared list is empty immediately, whatever rows remain.
	b.put(blockEnd(30), false, k2, k3)
	b.clear()
	b.wantState(store.BlocklistState{Revision: 7, Cleared: 7, Swept: 5})
	b.want(blockTime, nil, all, "")
	b.delete(blockEnd(1), 0, k2)
	b.put(blockEnd(8), true, k2)
	b.put(blockEnd(9), false, k4)
	b.want(blockTime, nil, all, text("%v:8 %v:9 ", k2, k4))
	b.sweep(blockTime, 1, 1)
	b.sweep(blockTime, 10, 1)
	b.sweep(blockTime, 10, 0)
	b.wantState(store.BlocklistState{Revision: 9, Cleared: 7, Swept: 5})
	b.want(blockTime, nil, all, text("%v:8 %v:9 ", k2, k4))
	b.sweep(blockEnd(9), 1, 1)
	b.sweep(blockEnd(9), 1, 1)
	b.sweep(blockEnd(9), 1, 0)
	b.wantState(store.BlocklistState{Revision: 9, Cleared: 7, Swept: 9})
}

// testBlocklistOrder proves that a reader who has seen a number has seen all lower ones.
func testBlocklistOrder(t *testing.T, db *store.DB) {
	const writers, each = 8, 10
	b := blocklist[int64]{store.BlockedUsers, t, db}
	done := make(chan struct{})
	go func() {
		defer close(done)
		parallel(writers, func(i int) {
			for n := range each {
				b.put(blockEnd(1), false, int64(i*each+n))
			}
		})
	}()
	seen, position := 0, store.BlocklistPosition[int64]{}
	next := func() {
		read(t, db, func(ctx context.Context, r store.Reader) (err error) {
			_, position, err = b.Changes(ctx, r, position, 1000, func(row store.Blocked[int64]) {
				if seen++; row.Seq != int64(seen) {
					t.Errorf("row %d has the number %d", seen, row.Seq)
				}
			})
			return err
		})
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		next()
	}
	if seen != writers*each {
		t.Errorf("saw %d rows, want %d", seen, writers*each)
	}
}
