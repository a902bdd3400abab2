// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/link"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/requestlog"
	"example.org/app/internal/telemetry"
	"example.org/app/internal/wire"
)

// receive handles a payload, which it owns, in the reading goroutine. It returns soon unless
// maxRequests requests of the connection are running: then the client has to wait.
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
	in := &arrival{head: head, session: session, begin: begin, size: len(payload)}
	if head.Kind == wire.KindCreateSession {
		if e := g.unavailable(); e != nil {
			c.refuseRequest(in, e)
			return
		}
	}
	if ip := c.remoteIP(); !g.take(ip) {
		c.refuseRequest(in, apierr.New(apierr.ClientRequestsTooFrequent, ""))
		g.trigger(ip, session, blocklist.FrequentRequest)
		return
	}
	if session != nil {
		session.touch(&session.request)
	}
	switch {
	case head.Kind == wire.KindCreateSession:
		c.work(in, func() { c.openSession(in, payload) })
	case session == nil:
		c.refuseRequest(in, apierr.New(apierr.SendRequestFromNonexistentSession, ""))
	case head.Kind == wire.KindDeleteSession:
		g.end(session, CloseReason{Status: wire.ClosedByClient})
		c.log(in, int32(apierr.OK), 0)
	case !session.permissions.Allows(head.Kind):
		c.refuseRequest(in, apierr.New(apierr.UnauthorizedRequest, "the session may not send requests of the kind %s", head.Kind))
	case head.Kind == wire.KindCreateMessage:
		c.forwardInOrder(in, payload)
	default:
		c.work(in, func() { c.forward(in, c.requestOf(in, payload), cluster.Route{Repeatable: head.Kind.Query()}) })
	}
}

// work runs a request in another goroutine. It reports false if the request was refused because the
// server is stopping.
func (c *connection) work(in *arrival, fn func()) bool {
	g := c.gateway
	if !g.work.begin() {
		c.refuseRequest(in, apierr.New(apierr.ServerUnavailable, ""))
		return false
	}
	c.requests <- struct{}{}
	g.workers.do(func() {
		defer func() {
			<-c.requests
			g.work.done()
			g.options.Metrics.ClientRequest.Since(in.begin)
		}()
		fn()
	})
	return true
}

// An arrival is a request with its metadata. A heartbeat has no head.
type arrival struct {
	head wire.Head
	// session is nil before the login.
	session *Session
	begin   time.Time
	size    int
}

// log logs an answered request if the settings select it.
func (c *connection) log(in *arrival, code int32, responseSize int) {
	requests := c.gateway.options.Requests
	if !requests.Wants(in.head.Kind) {
		return
	}
	e := requestlog.Entry{
		Kind: in.head.Kind, RequestID: in.head.ID, IP: c.remoteIP(), Size: in.size, ResponseSize: responseSize, Code: code, Begin: in.begin,
	}
	if s := in.session; s != nil {
		e.UserID, e.SessionID, e.Device = s.UserID, s.ID, s.Device
	}
	requests.Write(e)
}

// refuseRequest answers a request with an error and logs it.
func (c *connection) refuseRequest(in *arrival, e *apierr.Error) {
	c.refuse(in.head.ID, e)
	c.log(in, int32(e.Code), 0)
}

// refuse answers a request with an error.
func (c *connection) refuse(id int64, e *apierr.Error) {
	c.respond(id, int32(e.Code), c.gateway.reasonOf(e), nil)
}

// reasonOf returns the reason for the client: internal errors are explained only if that is
// configured.
func (g *Gateway) reasonOf(e *apierr.Error) string {
	if e.Code >= 1200 && e.Code < 1300 && !g.settings().ClientAPI.ReturnReasonForServerError {
		return ""
	}
	return e.Reason
}

// heartbeat answers a heartbeat, which has no payload.
func (c *connection) heartbeat(session *Session) {
	begin := time.Now()
	if session != nil {
		session.beat(c.gateway.minHeartbeatInterval())
	}
	switch unavailable := c.gateway.unavailable(); {
	case unavailable != nil:
		c.refuse(wire.HeartbeatID, unavailable)
	case session == nil:
		c.refuse(wire.HeartbeatID, apierr.New(apierr.UpdateHeartbeatOfNonexistentSession, ""))
	default:
		_ = c.stream.send(empties[c.transport.framing])
		c.log(&arrival{session: session, begin: begin}, int32(apierr.OK), 0)
	}
}

// minHeartbeatInterval is the minimum age of the published heartbeat before a new one is published.
func (g *Gateway) minHeartbeatInterval() time.Duration {
	return time.Duration(g.settings().Session.MinHeartbeatIntervalSeconds) * time.Second
}

// requestOf returns the request in the form for services.
func (c *connection) requestOf(in *arrival, payload []byte) *link.Request {
	s := in.session
	return &link.Request{UserID: s.UserID, Device: s.Device, SessionID: s.ID, IP: c.remoteIP(), Payload: payload}
}

// forward forwards a request to a service and sends the response.
func (c *connection) forward(in *arrival, request *link.Request, route cluster.Route) {
	g, session, id := c.gateway, in.session, in.head.ID
	ctx, span := telemetry.Start(g.ctx, "client request", telemetry.Server)
	defer span.End()
	resp, err := cluster.CallBy(ctx, g.options.Node, link.HandleRequest, route, request)
	if span.On() {
		setSpan(span, in, resp, err)
	}
	if took := time.Since(in.begin); event.Wants(event.KindClientRequest, took) {
		e := event.ClientRequest{
			Span: event.Span{Start: in.begin, Duration: took}, Role: "gateway", Request: in.head.Kind.String(), RequestID: id,
			UserID: session.UserID, Device: session.Device.String(), Bytes: in.size,
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
		c.refuseRequest(in, apierr.New(apierr.ServerInternalError, "no service answered in time"))
	case errors.Is(err, cluster.ErrLost) && !in.head.Kind.Query():
		c.refuseRequest(in, apierr.New(apierr.ServerInternalError, "the service ended; the request may have been carried out"))
	case err != nil:
		c.refuseRequest(in, apierr.From(err))
	default:
		c.respond(id, resp.Code, resp.Reason, resp.Data)
		c.log(in, resp.Code, len(resp.Data))
		if resp.Corrupted {
			g.trigger(request.IP, session, blocklist.CorruptedRequest)
		}
	}
}

// setSpan sets the attributes of a request's span.
func setSpan(span telemetry.Span, in *arrival, resp *link.Response, err error) {
	span.Rename(in.head.Kind.String())
	span.Set(attribute.String("app.request.id", strconv.FormatInt(in.head.ID, 10)), attribute.Int64("app.user.id", in.session.UserID),
		attribute.String("app.device", in.session.Device.String()), attribute.Int("app.request.bytes", in.size))
	if err != nil {
		code := apierr.From(err).Code
		span.Set(attribute.Int("app.code", int(code)))
		span.Fail(code.Name())
		return
	}
	span.Set(attribute.Int("app.code", int(resp.Code)))
}

// decodeLogin reads a request to open a session.
func decodeLogin(payload []byte) (*wire.CreateSessionRequest, error) {
	var request wire.AppRequest
	if err := proto.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	r := request.GetCreateSessionRequest()
	if r == nil {
		// Another kind follows.
		return nil, errors.New("the request is no login")
	}
	return r, nil
}
