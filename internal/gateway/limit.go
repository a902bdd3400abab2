// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"
	"time"

	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/ratelimit"
	"example.org/app/internal/wire"
)

// take takes one token of an address and reports whether there was one.
func (g *Gateway) take(ip netip.Addr) bool {
	c := g.settings().ClientAPI.RateLimiting
	return g.limiter.Take(g.client(ip), ratelimit.Rule{
		Capacity: int(c.Capacity), InitialTokens: int(c.InitialTokens), TokensPerPeriod: int(c.TokensPerPeriod),
		RefillInterval: time.Duration(c.RefillIntervalMillis) * time.Millisecond,
	})
}

// client returns the address that counts for rate limits.
func (g *Gateway) client(ip netip.Addr) netip.Addr {
	if g.options.Client == nil {
		return ip
	}
	return g.options.Client(ip)
}

// trigger records an offence of a client. If that leads to a block, its sessions are closed.
// session may be nil.
func (g *Gateway) trigger(ip netip.Addr, session *Session, cause blocklist.Cause) {
	g.options.AutoIPs.Trigger(ip, cause)
	if session != nil {
		g.options.AutoUsers.Trigger(session.UserID, cause)
	}
}

// blockIPs closes the sessions and connections of newly blocked addresses.
func (g *Gateway) blockIPs(ips []netip.Addr) {
	blocked := make(map[netip.Addr]struct{}, len(ips))
	for _, ip := range ips {
		blocked[ip.Unmap()] = struct{}{}
	}
	isBlocked := func(ip netip.Addr) bool {
		_, ok := blocked[ip]
		if client := g.client(ip); !ok && client != ip {
			_, ok = blocked[client]
		}
		return ok
	}
	why := CloseReason{Status: wire.ClosedUserBlocked}
	for _, s := range g.sessions.all(func(s *Session) bool { return isBlocked(s.IP) }) {
		g.end(s, why)
	}
	for _, c := range g.open() {
		if isBlocked(c.remoteIP()) {
			c.close(why)
		}
	}
}

// blockUsers closes the sessions of newly blocked users.
func (g *Gateway) blockUsers(ids []int64) {
	for _, id := range ids {
		for _, s := range g.sessions.of(id) {
			g.end(s, CloseReason{Status: wire.ClosedUserBlocked})
		}
	}
}
