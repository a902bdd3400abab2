// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"example.org/app/internal/link"
	"example.org/app/internal/presence"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/wire"
)

// end closes a session and tells its client why. It reports false if the session was closed before.
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

// disconnected is called when a connection has ended by itself. Its session ends with it.
func (g *Gateway) disconnected(s *Session, c *connection) {
	if current, _ := s.connection(); current != c {
		return
	}
	if _, ok := s.end(); ok {
		g.announceEnd(s, g.forget(s), CloseReason{Status: wire.ClosedUnknownError})
	}
}

// forget removes a session from those of this gateway and returns what its user has left.
func (g *Gateway) forget(s *Session) []*Session {
	left := g.sessions.remove(s)
	g.options.Metrics.UserOnline.Set(float64(g.sessions.users.Load()))
	g.options.Metrics.SessionOpen.Set(float64(g.sessions.count.Load()))
	return left
}

// announceEnd tells the cluster and whoever listens that a session has ended. Nobody waits for it.
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

// Lost implements presence.Holder: the place of the session belongs to another one.
func (g *Gateway) Lost(userID int64, device wire.DeviceType, sessionID int32) {
	if s := g.sessions.find(userID, device); s != nil && s.ID == sessionID {
		g.end(s, CloseReason{Status: wire.ClosedByOtherDevice})
	}
}

// Stray implements presence.Holder: the cluster does not know the session. Its client connects again and asks for what is
// new.
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

// dateOf returns a moment as others see it. It may differ from the time that the moment was set to by a millisecond, because the
// two clocks of the machine are not read at once.
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

// selected returns the sessions that are to be closed.
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
