// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"

	"example.org/app/internal/link"
	"example.org/app/internal/requestlog"
)

// deliver writes a notification to the sessions of its recipients. The frame is made once for all of them, and nobody
// waits for a client to read it.
func (g *Gateway) deliver(_ context.Context, d *link.Delivery) (*link.Delivered, error) {
	b := broadcast{payload: d.Notification}
	result := &link.Delivered{}
	for _, id := range d.Recipients {
		reached, excepted := 0, false
		for _, s := range g.sessions.of(id) {
			if d.Except != nil && d.Except.UserID == id && d.Except.Device == s.Device {
				excepted = true
				continue
			}
			if g.write(s, &b) {
				reached++
			}
		}
		result.Sessions += reached
		if reached == 0 && !excepted {
			result.Missed = append(result.Missed, id)
		}
	}
	g.options.Metrics.NotificationSent.Add(float64(result.Sessions))
	g.options.Requests.WriteNotification(requestlog.Notification{
		Payload: d.Notification, Recipients: len(d.Recipients), Missed: len(result.Missed), Sessions: result.Sessions,
	})
	if g.options.Notified != nil {
		g.options.Notified(d, result.Missed)
	}
	return result, nil
}

// write hands a notification to the connection of a session. A client that lives on heartbeats over UDP is asked to
// connect again; it catches up by itself.
func (g *Gateway) write(s *Session, b *broadcast) bool {
	c, open := s.connection()
	switch {
	case !open:
		return false
	case c == nil:
		g.call(s)
		return false
	}
	return c.stream.send(b.frame(c.transport.framing)) == nil
}
