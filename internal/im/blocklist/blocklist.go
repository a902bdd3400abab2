// SPDX-License-Identifier: Apache-2.0

// Package blocklist holds the rules about blocked clients: which addresses and users are blocked
// and until when, and which offences lead to automatic blocks. It closes no connections and does
// not know HTTP; gateways query it and are notified of new blocks.
package blocklist

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// A Key is what can be blocked: an address or a user.
type Key interface{ netip.Addr | int64 }

// Options configure a List.
type Options struct {
	Store *store.DB
	// Enabled is called for every use. While it returns false, nothing is blocked; the stored
	// blocks apply again when it returns true.
	Enabled func() bool
	// Interval is how often Run looks for changes by other nodes; 0 is DefaultInterval.
	Interval time.Duration
	Logger   *slog.Logger
	// Client maps an address to the one that is blocked; nil means the address itself.
	Client func(netip.Addr) netip.Addr
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
}

// DefaultInterval makes changes of other nodes visible within a second.
const DefaultInterval = time.Second

// A List contains the blocked clients. The store is authoritative; every node has a copy in memory
// for fast look-ups. A change is visible on its node when the call returns, and on the others after
// a notification, see OnChange, or the next poll. It is safe for concurrent use.
type List[K Key] struct {
	opts     Options
	records  records[K]
	disabled apierr.Code
	memory   *memory

	// seen is the revision up to which memory is complete.
	seen atomic.Int64
	// syncing guards the fields below it and admits one reader of changes.
	syncing  sync.Mutex
	position int64
	cleared  int64
	stale    bool

	subscribers atomic.Pointer[[]func([]K)]
	subscribing sync.Mutex
	changed     atomic.Pointer[func()]
}

// NewIPs reads the blocked addresses. Run must be called next, to follow the changes of other
// nodes. An IPv4-mapped address is the same client as the IPv4 address, and zones are ignored.
func NewIPs(ctx context.Context, opts Options) (*List[netip.Addr], error) {
	return newList(ctx, opts, apierr.IPBlocklistIsDisabled, ipRecords)
}

// NewUsers reads the blocked users. Run must be called next, to follow the changes of other nodes.
// Users need not exist.
func NewUsers(ctx context.Context, opts Options) (*List[int64], error) {
	return newList(ctx, opts, apierr.UserIDBlocklistIsDisabled, userRecords)
}

func newList[K Key](ctx context.Context, opts Options, disabled apierr.Code, r records[K]) (*List[K], error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Interval <= 0 {
		opts.Interval = DefaultInterval
	}
	l := &List[K]{opts: opts, records: r, disabled: disabled, memory: newMemory(), stale: true}
	l.seen.Store(-1)
	if err := l.Refresh(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// Enabled reports whether the list blocks anybody at all.
func (l *List[K]) Enabled() bool { return l.opts.Enabled() }

// Blocked returns the end of a client's block; ok is false if it is not blocked.
func (l *List[K]) Blocked(key K) (until time.Time, ok bool) {
	now := l.now()
	e, found := l.memory.get(slotOf(key))
	if !found || e.until <= now {
		client := l.client(key)
		if client == key {
			return time.Time{}, false
		}
		e, found = l.memory.get(slotOf(client))
	}
	if !found || !l.opts.Enabled() || e.until <= now {
		return time.Time{}, false
	}
	return time.UnixMilli(e.until).UTC(), true
}

// client returns the key that is blocked for a key.
func (l *List[K]) client(key K) K {
	if addr, ok := any(key).(netip.Addr); ok && l.opts.Client != nil && addr.IsValid() {
		key, _ = any(l.opts.Client(addr)).(K)
	}
	return key
}

// clients maps keys to the keys that are blocked, without duplicates.
func (l *List[K]) clients(keys []K) []K {
	list := make([]K, 0, len(keys))
	seen := make(map[K]bool, len(keys))
	for _, key := range keys {
		if c := l.client(key); !seen[c] {
			seen[c] = true
			list = append(list, c)
		}
	}
	return list
}

// both returns the keys and those that are blocked for them: blocks from before the setting are of
// single addresses.
func (l *List[K]) both(keys []K) []K {
	if l.opts.Client == nil {
		return keys
	}
	return append(slices.Clone(keys), slices.DeleteFunc(l.clients(keys), func(c K) bool { return slices.Contains(keys, c) })...)
}

// BlockedNow reports whether a client is blocked.
func (l *List[K]) BlockedNow(key K) bool {
	_, ok := l.Blocked(key)
	return ok
}

// Len returns the number of clients in memory; some blocks may just have ended.
func (l *List[K]) Len() int { return l.memory.len() }

// OnBlocked registers a function that is called with newly blocked clients, whatever the node and
// the reason, except those that the list contains at the start. It is called by the goroutine that
// changes the list or by Run, possibly concurrently, and delays that: long work should be done
// elsewhere. A client may already be unblocked when it is called.
func (l *List[K]) OnBlocked(f func(keys []K)) {
	l.subscribing.Lock()
	defer l.subscribing.Unlock()
	var list []func([]K)
	if old := l.subscribers.Load(); old != nil {
		list = append(list, *old...)
	}
	list = append(list, f)
	l.subscribers.Store(&list)
}

// OnChange sets a function that is called after each change by this node, so that others can be
// told to Refresh. It must return soon.
func (l *List[K]) OnChange(f func()) { l.changed.Store(&f) }

func (l *List[K]) notify(keys []K) {
	if list := l.subscribers.Load(); list != nil && len(keys) > 0 && l.opts.Enabled() {
		for _, f := range *list {
			f(keys)
		}
	}
}

// maxEnd is the last date with a year of four digits. It is below 2^53, so that JSON numbers can
// represent it.
var maxEnd = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli()

// endAfter adds a duration to a moment, both in milliseconds.
func endAfter(now, millis int64) int64 {
	if millis >= maxEnd-now {
		return maxEnd
	}
	return now + millis
}

// now returns the time in milliseconds.
func (l *List[K]) now() int64 { return l.opts.Clock().UnixMilli() }

// Block blocks clients for some milliseconds from now, at most until the year 9999. It replaces the
// end of existing blocks. Without clients, or if the duration is not positive, it does nothing. It
// returns an error while the list is disabled.
func (l *List[K]) Block(ctx context.Context, keys []K, millis int64) error {
	if !l.opts.Enabled() {
		return apierr.New(l.disabled, "%s", l.disabled.Text())
	}
	if len(keys) == 0 || millis <= 0 {
		return nil
	}
	if slices.ContainsFunc(keys, func(key K) bool { return !valid(key) }) {
		return apierr.New(apierr.IllegalArgument, "the zero address cannot be blocked")
	}
	if l.opts.Client != nil {
		keys = l.clients(keys)
	}
	end := time.UnixMilli(endAfter(l.now(), millis))
	return l.change(ctx, func(ctx context.Context, tx store.Tx) error {
		return l.records.put(ctx, tx, keys, end, false)
	})
}

// Unblock lifts the blocks of clients. It does nothing while the list is disabled.
func (l *List[K]) Unblock(ctx context.Context, keys []K) error {
	if !l.opts.Enabled() || len(keys) == 0 {
		return nil
	}
	now, keys := l.opts.Clock(), l.both(keys)
	return l.change(ctx, func(ctx context.Context, tx store.Tx) error {
		return l.records.delete(ctx, tx, keys, now)
	})
}

// UnblockAll lifts all blocks. It does nothing while the list is disabled.
func (l *List[K]) UnblockAll(ctx context.Context) error {
	if !l.opts.Enabled() {
		return nil
	}
	return l.change(ctx, l.records.clear)
}

// change runs a change in one transaction and makes it visible on this node
// before it returns.
func (l *List[K]) change(ctx context.Context, fn store.WriteFunc) error {
	if err := l.opts.Store.Write(ctx, fn); err != nil {
		return fmt.Errorf("change the blocklist: %w", err)
	}
	if f := l.changed.Load(); f != nil {
		(*f)()
	}
	// The change is committed: return success even if reading fails now. Run retries.
	if err := l.Refresh(context.WithoutCancel(ctx)); err != nil {
		l.opts.Logger.Warn("blocked clients could not be read again after a change", "error", err)
	}
	return nil
}

// An Entry is a blocked client.
type Entry[K Key] struct {
	Key   K
	Until time.Time
}

// Find returns those of the clients who are blocked, in the order of the store. While the list is
// disabled there are none.
func (l *List[K]) Find(ctx context.Context, keys []K) (found []Entry[K], err error) {
	if !l.opts.Enabled() || len(keys) == 0 {
		return nil, nil
	}
	keys = l.both(keys)
	err = l.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, err = l.records.find(ctx, r, keys, l.opts.Clock(), store.Page{})
		return err
	})
	return found, err
}

// FindPage returns a page of the blocked clients and how many there are in all.
func (l *List[K]) FindPage(ctx context.Context, page store.Page) (total int64, found []Entry[K], err error) {
	if !l.opts.Enabled() {
		return 0, nil, nil
	}
	now := l.opts.Clock()
	err = l.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total, err = l.records.count(ctx, r, now); err != nil || total == 0 {
			return err
		}
		found, err = l.records.find(ctx, r, nil, now, page)
		return err
	})
	return total, found, err
}
