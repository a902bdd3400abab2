// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"example.org/app/internal/ids"
	"example.org/app/internal/link"
	"example.org/app/internal/presence"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/wire"
)

// maxStoring is how long after its id was generated a message is stored at the latest: sessions
// that begin later find it when they query new messages.
const maxStoring = 5 * time.Second

// end closes a session and sends the reason to its client. It reports false if the session was
// already closed.
func (g *Gateway) end(s *Session, why CloseReason) bool {
	c, ok := s.end()
	if !ok {
		return false
	}
	left := g.forget(s)
	if c != nil {
		c.close(why)
	}
	g.announceEnd(s, left, why)
	return true
}

// disconnected is called when a connection has ended by itself, which ends its session.
func (g *Gateway) disconnected(s *Session, c *connection) {
	if current, _ := s.connection(); current != c {
		return
	}
	if _, ok := s.end(); ok {
		g.announceEnd(s, g.forget(s), CloseReason{Status: wire.ClosedUnknownError})
	}
}

// forget removes a session and returns the remaining sessions of its user on this gateway.
func (g *Gateway) forget(s *Session) []*Session {
	left := g.sessions.remove(s)
	g.options.Metrics.UserOnline.Set(float64(g.sessions.users.Load()))
	g.options.Metrics.SessionOpen.Set(float64(g.sessions.count.Load()))
	return left
}

// announceEnd notifies the cluster and the Offline function, in the background, that a session has
// ended.
func (g *Gateway) announceEnd(s *Session, left []*Session, why CloseReason) {
	if life := time.Since(s.LoginDate); event.Wants(event.KindSessionClosed, life) {
		event.Record(event.SessionClosed{
			Span: event.Span{Start: s.LoginDate, Duration: life}, UserID: s.UserID, Device: s.Device.String(), SessionID: s.ID, Status: int32(why.Status),
		})
	}
	g.start(func() {
		g.offline <- struct{}{}
		defer func() { <-g.offline }()
		g.options.Presence.Close(g.ctx, s.UserID, s.Device, s.ID)
		if g.options.Offline != nil {
			g.options.Offline(s, left, why)
		}
	})
}

// Lost implements presence.Holder: another session has replaced this one.
func (g *Gateway) Lost(userID int64, device wire.DeviceType, sessionID int32) {
	if s := g.sessions.find(userID, device); s != nil && s.ID == sessionID {
		g.end(s, CloseReason{Status: wire.ClosedByOtherDevice})
	}
}

// Stray implements presence.Holder: the cluster does not know the session. Its client reconnects
// and queries what is new.
func (g *Gateway) Stray(key presence.SessionKey) {
	if s := g.sessions.find(key.UserID, key.Device); s != nil && s.ID == key.ID {
		g.end(s, CloseReason{Status: wire.ClosedServerUnavailable})
	}
}

// Each implements presence.Holder.
func (g *Gateway) Each(fn func(presence.SessionKey) bool) {
	g.sessions.each(func(s *Session) bool { return fn(s.key()) })
}

// Activity implements presence.Holder.
func (g *Gateway) Activity(userID int64, device wire.DeviceType, sessionID int32) (a presence.Activity, ok bool) {
	s := g.sessions.find(userID, device)
	if s == nil || s.ID != sessionID {
		return a, false
	}
	a = presence.Activity{LastHeartbeat: s.LoginDate.UTC().Truncate(time.Millisecond), LastRequest: dateOf(&s.request)}
	if s.beaten.Load() {
		a.LastHeartbeat = dateOf(&s.shown)
	}
	return a, true
}

// dateOf returns a moment as a date. It may differ by a millisecond from the time that was set,
// because the two clocks of the machine are not read together.
func dateOf(m *moment) time.Time { return m.time().UTC().Truncate(time.Millisecond) }

// Disconnect closes sessions of this gateway.
func (g *Gateway) Disconnect(_ context.Context, d *link.Disconnection) (*link.Disconnected, error) {
	why, closed := CloseReason{Status: d.Status}, 0
	for _, s := range g.selected(d) {
		if d.Before.IsZero() || !s.began.After(d.Before) {
			if g.end(s, why) {
				closed++
			}
		}
	}
	return &link.Disconnected{Sessions: closed}, nil
}

// selected returns the sessions to close.
func (g *Gateway) selected(d *link.Disconnection) (found []*Session) {
	if d.All {
		return g.sessions.all(func(*Session) bool { return true })
	}
	for _, id := range d.UserIDs {
		for _, s := range g.sessions.of(id) {
			if len(d.Devices) == 0 || slices.Contains(d.Devices, s.Device) {
				found = append(found, s)
			}
		}
	}
	if len(d.SessionIDs) > 0 || len(d.IPs) > 0 {
		found = append(found, g.sessions.all(func(s *Session) bool {
			return slices.Contains(d.SessionIDs, s.ID) || slices.ContainsFunc(d.IPs, func(ip netip.Addr) bool { return ip.Unmap() == s.IP })
		})...)
	}
	return found
}

var _ presence.Holder = (*Gateway)(nil)

// healingTime is how long a service may take, after it can reach a gateway again, to tell it which
// users missed something.
const healingTime = 10 * time.Second

// closeUnaware closes the sessions whose users did not get one of the messages, unless they began
// after it was stored. Their clients connect again and query what is new. Messages whose delivery
// would be forgotten by now are ignored. If the gateway was unreachable shortly before the service
// was killed, or since, the service may have taken with it which users missed something: all
// sessions that began before are closed.
func (g *Gateway) closeUnaware(_ context.Context, u *link.Undelivered) (*link.Disconnected, error) {
	result := &link.Disconnected{}
	if since := g.reachable(); !u.Alive.IsZero() && since.After(u.Alive.Add(-healingTime)) {
		for _, s := range g.sessions.all(func(s *Session) bool { return !s.began.After(since) }) {
			if g.end(s, CloseReason{Status: wire.ClosedServerUnavailable}) {
				result.Sessions++
			}
		}
	}
	now := g.options.Node.Cluster().Now()
	for _, c := range u.Conversations {
		for _, id := range c.MessageIDs {
			stored := ids.Time(id)
			aware, known := g.sequences.recipients(c.Conversation, id, now.Sub(stored))
			if !known {
				continue
			}
			users := c.UserIDs
			if len(g.sessions.of(c.SenderID)) > 1 {
				users = append(slices.Clip(users), c.SenderID)
			}
			for _, user := range users {
				if !aware.has(user) {
					result.Sessions += g.endBefore(user, stored.Add(maxStoring))
				}
			}
		}
	}
	return result, nil
}

// reachable returns, in the time of the cluster, since when services have been able to reach the
// gateway without interruption.
func (g *Gateway) reachable() time.Time {
	now := time.Now()
	g.stalls.note(now)
	return g.options.Node.Cluster().Now().Add(-now.Sub(g.stalls.ended()))
}

// endBefore closes the sessions of a user that did not begin after a time, and returns how many.
func (g *Gateway) endBefore(user int64, at time.Time) (closed int) {
	for _, s := range g.sessions.of(user) {
		if !s.began.After(at) && g.end(s, CloseReason{Status: wire.ClosedServerUnavailable}) {
			closed++
		}
	}
	return closed
}
