// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"time"

	"example.org/app/internal/link"
	"example.org/app/internal/requestlog"
	"example.org/app/internal/wire"
)

// deliver delivers a notification to its recipients. Messages wait briefly if earlier ones may
// still come.
func (g *Gateway) deliver(ctx context.Context, d *link.Delivery) (*link.Delivered, error) {
	if d.Message == nil {
		result := g.hand(d, time.Time{})
		if d.Stored != nil {
			g.sequences.remember(d.Stored, d.Recipients)
		}
		g.noteDelivery(d, result)
		return result, nil
	}
	result := &link.Delivered{}
	q := g.sequences.find(d.Message, g.options.Node.Cluster().Now())
	q.mu.Lock()
	if d = q.unseen(d); d == nil {
		q.mu.Unlock()
		return result, nil
	}
	place := q.add(d, time.Now())
	switch place {
	case placeNext:
		result = g.hand(d, time.Time{})
	case placeLate:
		if g.late.begins(time.Now()) {
			g.options.Logger.WarnContext(ctx, "messages came after newer ones; users who may have got those are told to connect again")
		}
		result = g.hand(d, g.orderly(q, d))
	case placeFirstHeld:
		g.start(func() { g.release(q) })
	case placeHeld:
	}
	q.mu.Unlock()
	if place == placeNext || place == placeLate {
		g.noteDelivery(d, result)
	}
	return result, nil
}

// orderly returns, in the time of the cluster, since when a session must have begun to get a late
// message: it need not have got the message before, because its client has queried what was stored,
// and did not get a newer one.
func (g *Gateway) orderly(q *sequence, d *link.Delivery) time.Time {
	now := time.Now()
	overtaken := g.options.Node.Cluster().Now().Add(q.overtaken(d.Message.ID, now).Sub(now))
	if queried := d.Message.Stored.Add(maxSkew); queried.After(overtaken) {
		return queried
	}
	return overtaken
}

// release waits until the former service of a conversation has delivered its messages, and delivers
// the messages that arrived meanwhile, in order.
func (g *Gateway) release(q *sequence) {
	timer := time.NewTimer(g.handover)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.ctx.Done():
	}
	q.mu.Lock()
	held := q.take()
	results := make([]*link.Delivered, len(held))
	for i, d := range held {
		results[i] = g.hand(d, time.Time{})
	}
	q.mu.Unlock()
	for i, d := range held {
		g.noteDelivery(d, results[i])
	}
}

// hand writes a notification to the sessions of its recipients. It encodes the frame once for all,
// and does not wait for clients to read it. Sessions that began before the given time are closed
// instead.
func (g *Gateway) hand(d *link.Delivery, before time.Time) *link.Delivered {
	b := broadcast{payload: d.Notification}
	defer b.flush()
	result := &link.Delivered{}
	for _, id := range d.Recipients {
		reached, excepted := 0, false
		for _, s := range g.sessions.of(id) {
			if d.Except != nil && d.Except.UserID == id && d.Except.Device == s.Device {
				excepted = true
				continue
			}
			if !s.began.After(before) {
				if g.end(s, CloseReason{Status: wire.ClosedServerUnavailable}) {
					g.options.Metrics.SessionLate.Add(1)
				}
			} else if g.write(s, &b) {
				reached++
			}
		}
		result.Sessions += reached
		if reached == 0 && !excepted {
			result.Missed = append(result.Missed, id)
		}
	}
	return result
}

// noteDelivery passes the result of a delivery to the log and the Notified function.
func (g *Gateway) noteDelivery(d *link.Delivery, result *link.Delivered) {
	g.options.Metrics.NotificationSent.Add(float64(result.Sessions))
	g.options.Requests.WriteNotification(requestlog.Notification{
		Payload: d.Notification, Recipients: len(d.Recipients), Missed: len(result.Missed), Sessions: result.Sessions,
	})
	if g.options.Notified != nil {
		g.options.Notified(d, result.Missed)
	}
}

// write queues a notification on the connection of a session. A client that sends its heartbeats
// over UDP is asked to reconnect; it then queries what it missed.
func (g *Gateway) write(s *Session, b *broadcast) bool {
	c, open := s.connection()
	switch {
	case !open:
		return false
	case c == nil:
		g.datagrams.call(s)
		return false
	}
	return b.send(c) == nil
}
