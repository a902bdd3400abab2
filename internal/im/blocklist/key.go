// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// ParseIP parses an address. The result is canonical: an IPv4-mapped address becomes the IPv4
// address. Zones are an error, because they are local to one host.
func ParseIP(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return netip.Addr{}, apierr.New(apierr.IllegalArgument, "%q must be an IPv4 or IPv6 address", clip(text))
	case addr.Zone() != "":
		return netip.Addr{}, apierr.New(apierr.IllegalArgument, "%q must be an address without zone", clip(text))
	}
	return addr.Unmap(), nil
}

// clip shortens input for use in an error.
func clip(text string) string {
	if most := 64; len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// canonical returns the canonical form of an address, equal for the same client.
func canonical(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// valid reports false for the zero address.
func valid[K Key](key K) bool {
	addr, ok := any(key).(netip.Addr)
	return !ok || addr.IsValid()
}

// A slot is the form of keys in memory: small and without pointers, so that the garbage collector
// need not scan a large list. All addresses of a client have the same slot.
type slot struct{ high, low uint64 }

func slotOf[K Key](key K) slot {
	switch key := any(key).(type) {
	case netip.Addr:
		b := key.As16()
		return slot{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
	case int64:
		return slot{low: uint64(key)}
	}
	panic("unreachable: there are no other keys")
}

// records is a table of the store in terms of keys.
type records[K Key] interface {
	revision() string
	state(ctx context.Context, r store.Reader) (store.BlocklistState, error)
	put(ctx context.Context, tx store.Tx, keys []K, end time.Time, extend bool) error
	delete(ctx context.Context, tx store.Tx, keys []K, now time.Time) error
	clear(ctx context.Context, tx store.Tx) error
	sweep(ctx context.Context, tx store.Tx, before time.Time, limit int) (int64, error)
	find(ctx context.Context, r store.Reader, keys []K, now time.Time, page store.Page) ([]Entry[K], error)
	count(ctx context.Context, r store.Reader, now time.Time) (int64, error)
	// changes returns a function that passes at most limit further rows to each, and returns their
	// number.
	changes(after int64, limit int) func(ctx context.Context, r store.Reader, each func(key K, end, seq int64)) (int, error)
}

// table implements records by converting keys.
type table[K Key, S store.Key] struct {
	rows store.Blocklist[S]
	to   func(K) S
	from func(S) (K, error)
}

var (
	ipRecords records[netip.Addr] = table[netip.Addr, string]{
		rows: store.BlockedIPs,
		to:   func(addr netip.Addr) string { return canonical(addr).String() },
		from: netip.ParseAddr,
	}
	userRecords records[int64] = table[int64, int64]{
		rows: store.BlockedUsers,
		to:   func(id int64) int64 { return id },
		from: func(id int64) (int64, error) { return id, nil },
	}
)

func (t table[K, S]) revision() string { return t.rows.Revision() }

func (t table[K, S]) state(ctx context.Context, r store.Reader) (store.BlocklistState, error) {
	return t.rows.State(ctx, r)
}

func (t table[K, S]) stored(keys []K) []S {
	out := make([]S, len(keys))
	for i, key := range keys {
		out[i] = t.to(key)
	}
	return out
}

func (t table[K, S]) put(ctx context.Context, tx store.Tx, keys []K, end time.Time, extend bool) error {
	return t.rows.Put(ctx, tx, t.stored(keys), end, extend)
}

func (t table[K, S]) delete(ctx context.Context, tx store.Tx, keys []K, now time.Time) error {
	_, err := t.rows.Delete(ctx, tx, t.stored(keys), now)
	return err
}

func (t table[K, S]) clear(ctx context.Context, tx store.Tx) error { return t.rows.Clear(ctx, tx) }

func (t table[K, S]) sweep(ctx context.Context, tx store.Tx, before time.Time, limit int) (int64, error) {
	return t.rows.Sweep(ctx, tx, before, limit)
}

func (t table[K, S]) find(ctx context.Context, r store.Reader, keys []K, now time.Time, page store.Page) ([]Entry[K], error) {
	var stored []S
	if keys != nil {
		stored = t.stored(keys)
	}
	rows, err := t.rows.Find(ctx, r, stored, now, page)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry[K], len(rows))
	for i, row := range rows {
		key, err := t.from(row.Key)
		if err != nil {
			return nil, fmt.Errorf("read blocked client %q: %w", fmt.Sprint(row.Key), err)
		}
		entries[i] = Entry[K]{Key: key, Until: row.End}
	}
	return entries, nil
}

func (t table[K, S]) count(ctx context.Context, r store.Reader, now time.Time) (int64, error) {
	return t.rows.Count(ctx, r, now)
}

func (t table[K, S]) changes(after int64, limit int) func(context.Context, store.Reader, func(K, int64, int64)) (int, error) {
	position := store.BlocklistPosition[S]{Seq: after}
	return func(ctx context.Context, r store.Reader, each func(K, int64, int64)) (n int, err error) {
		var bad error
		n, position, err = t.rows.Changes(ctx, r, position, limit, func(row store.Blocked[S]) {
			key, err := t.from(row.Key)
			if err != nil {
				bad = fmt.Errorf("read blocked client %q: %w", fmt.Sprint(row.Key), err)
				return
			}
			each(key, row.End.UnixMilli(), row.Seq)
		})
		if err == nil {
			err = bad
		}
		return n, err
	}
}
