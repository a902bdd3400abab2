// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"

	"example.org/app/internal/ratelimit"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// TestNetworksOfClients proves that a block covers all addresses of a client.
func TestNetworksOfClients(t *testing.T) {
	w := newWorld(t, storetest.MigratedSQLiteURL(t))
	old := w.ips() // a node without networks
	opts := w.options(w.db())
	opts.Client = func(a netip.Addr) netip.Addr { return ratelimit.Client(a, 64) }
	l, err := NewIPs(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	one, two, other, single := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8:0:1::1"), netip.MustParseAddr("192.0.2.1")
	w.must(l.Block(t.Context(), []netip.Addr{one, two, single}, 1e6))
	if !l.BlockedNow(one) || !l.BlockedNow(two) || l.BlockedNow(other) || !l.BlockedNow(single) || l.BlockedNow(single.Next()) {
		t.Error("the wrong addresses are blocked")
	}
	if total, found, err := l.FindPage(t.Context(), store.Page{Limit: 10}); total != 2 || err != nil {
		t.Errorf("%d blocks %v, %v", total, found, err)
	}
	if found, err := l.Find(t.Context(), []netip.Addr{two}); len(found) != 1 || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	w.must(l.Unblock(t.Context(), []netip.Addr{two}))
	if l.BlockedNow(one) || l.BlockedNow(two) {
		t.Error("the network is still blocked")
	}
	// Blocks of single addresses stay valid, and can be lifted.
	w.must(old.Block(t.Context(), []netip.Addr{one}, 1e6))
	w.must(l.Refresh(t.Context()))
	if !l.BlockedNow(one) || l.BlockedNow(two) {
		t.Error("a block of a single address counts for others")
	}
	w.must(l.Unblock(t.Context(), []netip.Addr{one}))
	if l.BlockedNow(one) {
		t.Error("a block of a single address cannot be lifted")
	}
	auto := NewAutoBlocker(l, AutoOptions{Logger: slog.New(slog.DiscardHandler), Rule: func(Cause) Rule {
		return Rule{Enabled: true, Levels: []Level{{Duration: 1e12, Threshold: 2}}}
	}})
	auto.Trigger(one, CorruptedFrame)
	auto.Trigger(two, CorruptedFrame)
	if !l.BlockedNow(netip.MustParseAddr("2001:db8::3")) || l.BlockedNow(other) {
		t.Error("triggers of two addresses of a client do not count together")
	}
}
