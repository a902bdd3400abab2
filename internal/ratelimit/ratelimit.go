// SPDX-License-Identifier: Apache-2.0

// Package ratelimit keeps a token bucket for each remote address. It decides whether a request is
// within the limit; the caller handles requests that are not.
package ratelimit

import (
	"net/netip"
	"sync"
	"time"
)

// A Rule configures the token bucket of each remote address.
type Rule struct {
	Capacity        int
	InitialTokens   int
	TokensPerPeriod int
	RefillInterval  time.Duration // 0 means that buckets are never refilled
}

// Client returns the address that represents a client: an IPv4 address represents itself, an IPv6
// address is reduced to the network of its first bits, because one client has all addresses of such
// a network.
func Client(addr netip.Addr, ipv6Bits int) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() || ipv6Bits <= 0 || ipv6Bits >= addr.BitLen() {
		return addr
	}
	network, err := addr.Prefix(ipv6Bits)
	if err != nil {
		return addr
	}
	return network.Addr()
}

// A Limiter keeps a token bucket for each remote address. Its rules are passed with each request,
// so that changed settings take effect immediately.
type Limiter struct {
	now    func() time.Time
	shards [16]shard
}

type shard struct {
	mu      sync.Mutex
	buckets map[netip.Addr]*bucket
	purged  time.Time
}

type bucket struct {
	tokens int
	filled time.Time
}

const (
	purgeInterval = 30 * time.Minute
	// purgeSize is the number of buckets that starts a purge early.
	purgeSize = 4096
)

// New returns a limiter without buckets.
func New(now func() time.Time) *Limiter {
	l := &Limiter{now: now}
	for i := range l.shards {
		l.shards[i].buckets = map[netip.Addr]*bucket{}
		l.shards[i].purged = now()
	}
	return l
}

// Take takes a token of the address and reports whether there was one.
func (l *Limiter) Take(addr netip.Addr, r Rule) bool {
	return l.use(addr, r, 1)
}

// Has reports whether Take would succeed.
func (l *Limiter) Has(addr netip.Addr, r Rule) bool {
	return l.use(addr, r, 0)
}

func (l *Limiter) use(addr netip.Addr, r Rule, tokens int) bool {
	b := addr.As16()
	s := &l.shards[(b[15]^b[14]^b[7])%uint8(len(l.shards))]
	now := l.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := now.Sub(s.purged); d >= purgeInterval || len(s.buckets) >= purgeSize && d >= time.Second {
		s.purge(now, r)
	}
	bk := s.buckets[addr]
	if bk == nil {
		bk = &bucket{tokens: r.InitialTokens, filled: now}
		s.buckets[addr] = bk
	}
	bk.tokens = min(bk.tokens, max(r.Capacity, r.InitialTokens))
	if bk.tokens <= 0 {
		bk.refill(now, r)
	}
	if bk.tokens <= 0 {
		return false
	}
	bk.tokens -= tokens
	return true
}

// refill adds the tokens of the whole periods since the last refill.
func (b *bucket) refill(now time.Time, r Rule) {
	if r.RefillInterval <= 0 {
		return
	}
	periods := int64(now.Sub(b.filled) / r.RefillInterval)
	if periods < 1 {
		return
	}
	b.tokens = r.Capacity
	if periods < int64(r.Capacity) {
		b.tokens = int(min(periods*int64(r.TokensPerPeriod), int64(r.Capacity)))
	}
	b.filled = now
}

// purge drops the buckets that would be full again.
func (s *shard) purge(now time.Time, r Rule) {
	s.purged = now
	for addr, b := range s.buckets {
		c := *b
		c.tokens = 0
		c.refill(now, r)
		if b.tokens >= r.Capacity || c.tokens >= r.Capacity {
			delete(s.buckets, addr)
		}
	}
}
