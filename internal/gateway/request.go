// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/link"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/wire"
)

// receive takes a payload from the goroutine that reads. The payload belongs to it. It returns soon, unless as many
// requests of the connection are being worked on as may be: then the client has to wait.
func (c *connection) receive(payload []byte) {
	session, phase := c.current()
	switch {
	case phase == closing:
		return
	case len(payload) == 0:
		c.heartbeat(session)
		return
	}
	g, begin := c.gateway, time.Now()
	head, err := wire.ParseHead(payload)
	if err != nil {
		c.refuse(head.ID, apierr.New(apierr.InvalidRequest, "%s", err))
		g.trigger(c.remoteIP(), session, blocklist.CorruptedRequest)
		return
	}
	if head.Kind == wire.KindCreateSession && !g.available() {
		c.refuse(head.ID, apierr.New(apierr.ServerUnavailable, ""))
		return
	}
	if ip := c.remoteIP(); !g.take(ip) {
		c.refuse(head.ID, apierr.New(apierr.ClientRequestsTooFrequent, ""))
		g.trigger(ip, session, blocklist.FrequentRequest)
		return
	}
	if session != nil {
		session.touch(&session.request)
	}
	switch {
	case head.Kind == wire.KindCreateSession:
		c.work(head.ID, begin, func() { c.openSession(head.ID, payload) })
	case session == nil:
		c.refuse(head.ID, apierr.New(apierr.SendRequestFromNonexistentSession, ""))
	case head.Kind == wire.KindDeleteSession:
		g.end(session, CloseReason{Status: wire.ClosedByClient})
	case !session.permissions.Allows(head.Kind):
		c.refuse(head.ID, apierr.New(apierr.UnauthorizedRequest, "the session may not send requests of the kind %s", head.Kind))
	case head.Kind == wire.KindCreateMessage:
		c.forwardInOrder(session, head, begin, payload)
	default:
		c.work(head.ID, begin, func() { c.forward(session, head, begin, payload, cluster.Route{Repeatable: head.Kind.Query()}) })
	}
}

// forwardInOrder lets a service answer a request after those before it were handed over, so that they arrive in the order
// in which the client sent them. It does not wait for their answers.
func (c *connection) forwardInOrder(session *Session, head wire.Head, begin time.Time, payload []byte) {
	before, handed := c.handed, make(chan struct{})
	once := sync.OnceFunc(func() { close(handed) })
	began := c.work(head.ID, begin, func() {
		defer once()
		if before != nil {
			<-before
		}
		c.forward(session, head, begin, payload, cluster.Route{Key: wire.ConversationKey(session.UserID, payload), Sent: once})
	})
	if began {
		c.handed = handed
	}
}

// work runs a request in another goroutine. It reports false for one that was refused because the server stops.
func (c *connection) work(id int64, begin time.Time, fn func()) bool {
	g := c.gateway
	if !g.work.begin() {
		c.refuse(id, apierr.New(apierr.ServerUnavailable, ""))
		return false
	}
	c.requests <- struct{}{}
	g.workers.do(func() {
		defer func() {
			<-c.requests
			g.work.done()
			g.options.Metrics.ClientRequest.Since(begin)
		}()
		fn()
	})
	return true
}

// refuse answers a request that the gateway does not carry out.
func (c *connection) refuse(id int64, e *apierr.Error) {
	c.respond(id, int32(e.Code), c.gateway.reasonOf(e), nil)
}

// reasonOf returns the reason that a client may read: failures of the server are explained only if that is configured.
func (g *Gateway) reasonOf(e *apierr.Error) string {
	if e.Code >= 1200 && e.Code < 1300 && !g.settings().ClientAPI.ReturnReasonForServerError {
		return ""
	}
	return e.Reason
}

// heartbeat answers an empty payload.
func (c *connection) heartbeat(session *Session) {
	if session != nil {
		session.touch(&session.heartbeat)
	}
	switch {
	case !c.gateway.available():
		c.refuse(wire.HeartbeatID, apierr.New(apierr.ServerUnavailable, ""))
	case session == nil:
		c.refuse(wire.HeartbeatID, apierr.New(apierr.UpdateHeartbeatOfNonexistentSession, ""))
	default:
		_ = c.stream.send(empties[c.transport.framing])
	}
}

// forward lets a service answer a request.
func (c *connection) forward(session *Session, head wire.Head, begin time.Time, payload []byte, route cluster.Route) {
	g, id, size := c.gateway, head.ID, len(payload)
	ip := c.remoteIP()
	resp, err := cluster.CallBy(g.ctx, g.options.Node, link.HandleRequest, route, &link.Request{
		UserID: session.UserID, Device: session.Device, SessionID: session.ID, IP: ip, Payload: payload, Conversation: route.Key,
	})
	if took := time.Since(begin); event.Wants(event.KindClientRequest, took) {
		e := event.ClientRequest{
			Span: event.Span{Start: begin, Duration: took}, Role: "gateway", Request: head.Kind.String(), RequestID: id,
			UserID: session.UserID, Device: session.Device.String(), Bytes: size,
		}
		if err != nil {
			e.Code = int32(apierr.From(err).Code)
		} else {
			e.Code = resp.Code
		}
		event.Record(e)
	}
	switch {
	case errors.Is(err, cluster.ErrTimeout):
		c.refuse(id, apierr.New(apierr.ServerInternalError, "no service answered in time"))
	case err != nil:
		c.refuse(id, apierr.From(err))
	default:
		c.respond(id, resp.Code, resp.Reason, resp.Data)
		if resp.Corrupted {
			g.trigger(ip, session, blocklist.CorruptedRequest)
		}
	}
}

// decodeLogin reads a request to open a session.
func decodeLogin(payload []byte) (*wire.CreateSessionRequest, error) {
	var request wire.AppRequest
	if err := proto.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	r := request.GetCreateSessionRequest()
	if r == nil {
		// Another kind followed.
		return nil, errors.New("the request is no login")
	}
	return r, nil
}
