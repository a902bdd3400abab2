// SPDX-License-Identifier: Apache-2.0

package ratelimit

import (
	"net/netip"
	"testing"
	"time"
)

func TestForget(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := New(func() time.Time { return now })
	rule := Rule{Capacity: 10, InitialTokens: 10, TokensPerPeriod: 10, RefillInterval: time.Second}
	for i := range 1000 {
		l.Take(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), rule)
	}
	now = now.Add(purgeInterval)
	for i := range 16 {
		l.Take(netip.AddrFrom4([4]byte{10, 1, 0, byte(i)}), rule)
	}
	n := 0
	for i := range l.shards {
		n += len(l.shards[i].buckets)
	}
	if n > 16 {
		t.Errorf("%d buckets are kept, want 16", n)
	}
}

func TestTake(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := New(func() time.Time { return now })
	addr := netip.MustParseAddr("192.0.2.1")
	for i, step := range []struct {
		pass time.Duration
		rule Rule
		want bool
	}{
		{rule: Rule{Capacity: 2, InitialTokens: 1, TokensPerPeriod: 1, RefillInterval: time.Second}, want: true},
		{rule: Rule{Capacity: 2, InitialTokens: 1, TokensPerPeriod: 1, RefillInterval: time.Second}},
		{time.Hour, Rule{Capacity: 2, InitialTokens: 1, TokensPerPeriod: 1}, false},
		{0, Rule{Capacity: 1, InitialTokens: 1, TokensPerPeriod: 9, RefillInterval: time.Second}, true},
		{0, Rule{Capacity: 1, InitialTokens: 1, TokensPerPeriod: 9, RefillInterval: time.Second}, false},
		{time.Second, Rule{Capacity: 9, InitialTokens: 1, TokensPerPeriod: 1, RefillInterval: time.Second}, true},
	} {
		now = now.Add(step.pass)
		if got := l.Take(addr, step.rule); got != step.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
}

func TestClient(t *testing.T) {
	for _, test := range []struct {
		addr string
		bits int
		want string
	}{
		{"192.0.2.1", 64, "192.0.2.1"},
		{"::ffff:192.0.2.1", 64, "192.0.2.1"},
		{"2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::"},
		{"2001:db8:1:2:3:4:5:6", 48, "2001:db8:1::"},
		{"2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2:3:4:5:6"},
		{"2001:db8:1:2:3:4:5:6", 0, "2001:db8:1:2:3:4:5:6"},
		{"fe80::1%eth0", 64, "fe80::"},
	} {
		if got := Client(netip.MustParseAddr(test.addr), test.bits); got.String() != test.want {
			t.Errorf("Client(%s, %d) = %s, want %s", test.addr, test.bits, got, test.want)
		}
	}
	if got := Client(netip.Addr{}, 64); got.IsValid() {
		t.Errorf("the zero address becomes %s", got)
	}
}

func TestHas(t *testing.T) {
	l := New(time.Now)
	addr, rule := netip.MustParseAddr("192.0.2.1"), Rule{Capacity: 1, InitialTokens: 1, TokensPerPeriod: 1}
	for range 3 {
		if !l.Has(addr, rule) {
			t.Fatal("Has took a token")
		}
	}
	if !l.Take(addr, rule) || l.Has(addr, rule) {
		t.Error("the token was not taken")
	}
}
