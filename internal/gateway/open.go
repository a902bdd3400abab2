// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
	"example.org/app/internal/gateway/login"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/im/session"
	"example.org/app/internal/presence"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/telemetry"
	"example.org/app/internal/wire"
)

const (
	// maxLatitude is the limit of the Web Mercator projection.
	maxLatitude = 85.05112878
	// maxLongitude is the antimeridian.
	maxLongitude = 180
	// kickTimeout is how long a login waits for other gateways to close replaced sessions.
	kickTimeout = 3 * time.Second
)

// errBlocked means that the connection must be dropped without a response.
var errBlocked = errors.New("the user is blocked")

// openSession handles a login.
func (c *connection) openSession(in *arrival, payload []byte) {
	ctx, span := telemetry.Start(c.gateway.ctx, in.head.Kind.String(), telemetry.Server)
	defer span.End()
	r, code := c.answerLogin(ctx, in, payload)
	if span.On() {
		setLoginSpan(span, in, r, code)
	}
}

// setLoginSpan sets the attributes of a login's span, without credentials.
func setLoginSpan(span telemetry.Span, in *arrival, r *wire.CreateSessionRequest, code apierr.Code) {
	span.Set(attribute.String("app.request.id", strconv.FormatInt(in.head.ID, 10)), attribute.Int("app.request.bytes", in.size))
	if r != nil {
		span.Set(attribute.Int64("app.user.id", r.UserId), attribute.String("app.device", deviceOf(r.DeviceType).String()))
	}
	if code != 0 {
		span.Set(attribute.Int("app.code", int(code)))
	}
	if code >= 1200 && code < 1300 {
		span.Fail(code.Name())
	}
}

// answerLogin decides about a login and answers it. The protocol defines the order of the checks,
// because the client gets the first error. It returns the decoded request, or nil if it is invalid,
// and the code of the response, or 0 if there was none.
func (c *connection) answerLogin(ctx context.Context, in *arrival, payload []byte) (*wire.CreateSessionRequest, apierr.Code) {
	g, id, begin := c.gateway, in.head.ID, time.Now()
	refuse := func(e *apierr.Error) apierr.Code {
		c.refuseRequest(in, e)
		return e.Code
	}
	r, err := decodeLogin(payload)
	if err != nil {
		code := refuse(apierr.New(apierr.InvalidRequest, "the login cannot be decoded"))
		g.trigger(c.remoteIP(), nil, blocklist.CorruptedRequest)
		return nil, code
	}
	if !c.beginLogin() {
		return r, refuse(apierr.New(apierr.CreateExistingSession, ""))
	}
	s, err := g.login(ctx, c, r)
	if err == nil {
		err = c.bind(s)
	}
	late, gone := c.endLogin(err == nil)
	switch {
	case gone:
		// The client has disconnected.
		if err == nil {
			g.end(s, CloseReason{Status: wire.ClosedUnknownError})
		}
		return r, 0
	case late:
		code := refuse(apierr.New(apierr.LoginTimeout, ""))
		why := CloseReason{Status: wire.ClosedLoginTimeout}
		if err == nil {
			g.end(s, why)
		}
		c.close(why)
		return r, code
	case errors.Is(err, errBlocked):
		c.drop()
		return r, 0
	case err != nil:
		return r, refuse(apierr.From(err))
	}
	if took := time.Since(begin); event.Wants(event.KindSessionOpened, took) {
		event.Record(event.SessionOpened{
			Span: event.Span{Start: begin, Duration: took}, UserID: s.UserID, Device: s.Device.String(), SessionID: s.ID,
			WebSocket: c.transport.framing == webSocketFraming,
		})
	}
	in.session = s
	c.confirmLogin(id, s)
	c.log(in, int32(apierr.OK), 0)
	return r, apierr.OK
}

// beginLogin reports whether a login may begin: there is no session, and no other login is running.
func (c *connection) beginLogin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != waiting {
		return false
	}
	c.phase = loggingIn
	return true
}

// endLogin ends a login. late is true if its time had ended before, gone if the connection is
// closing.
func (c *connection) endLogin(success bool) (late, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.phase == closing:
		return false, true
	case !success && c.phase == loggingIn:
		c.phase = waiting
	}
	return c.late, false
}

// bind binds the session to the connection.
func (c *connection) bind(s *Session) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == loggingIn {
		c.phase, c.session = bound, s
	}
	return nil
}

// confirmLogin sends the response to a successful login.
func (c *connection) confirmLogin(id int64, s *Session) {
	g := c.gateway
	if settings := g.settings(); settings.Session.NotifyClientsOfSessionInfoAfterConnected {
		c.notify(&wire.AppNotification{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserSession{
			UserSession: &wire.UserSession{
				SessionId: strconv.Itoa(int(s.ID)), ServerId: settings.ServiceDiscovery.Identity,
				HeartbeatIntervalSeconds: settings.Session.ToldHeartbeatInterval(),
			},
		}}})
	}
	g.options.Metrics.UserLoggedIn.Inc()
	if g.options.Online != nil {
		g.options.Online(s, g.sessions.of(s.UserID))
	}
	c.respond(id, int32(apierr.OK), "", nil)
}

// login authenticates the user and registers the session in the cluster.
func (g *Gateway) login(ctx context.Context, c *connection, r *wire.CreateSessionRequest) (*Session, error) {
	ip, began := c.remoteIP(), g.options.Node.Cluster().Now()
	rules := rulesOf(g.settings().SimultaneousLogin)
	device := deviceOf(r.DeviceType)
	switch {
	case r.Version != wire.Version:
		return nil, apierr.New(apierr.UnsupportedClientVersion, "the version of the client is %d, it must be %d", r.Version, wire.Version)
	case rules.Forbidden(session.Device(device)):
		return nil, apierr.New(apierr.LoginFromForbiddenDeviceType, "devices of the type %s may not log in", device)
	case r.UserId == 0:
		return nil, apierr.New(apierr.LoginAuthenticationFailed, "")
	case g.options.BlockedUsers.BlockedNow(r.UserId):
		return nil, errBlocked
	}
	permissions, err := g.options.Authenticator.Authenticate(ctx, &login.Request{
		Version: r.Version, UserID: r.UserId, Password: r.Password, Device: device, DeviceDetails: r.DeviceDetails,
		UserStatus: r.UserStatus, Location: r.Location, IP: ip,
	})
	if err != nil {
		return nil, err
	}
	status, err := statusOf(r)
	if err != nil {
		return nil, err
	}
	if s := g.sessions.find(r.UserId, device); s != nil && s.attach(c) {
		// The session had sent its heartbeats over UDP.
		s.touch(&s.request)
		return s, nil
	}
	s := &Session{
		ID: newSessionID(), UserID: r.UserId, Device: device, Version: r.Version, IP: ip, LoginDate: time.Now(),
		Location: r.Location, DeviceDetails: r.DeviceDetails, permissions: permissions, began: began, conn: c,
	}
	s.touch(&s.request)
	s.heartbeat.set(s.LoginDate) // Until the first heartbeat.
	if err := g.register(ctx, s, status, rules); err != nil {
		return nil, err
	}
	return s, nil
}

// register registers the session in the cluster and closes those that it excludes.
func (g *Gateway) register(ctx context.Context, s *Session, status wire.UserStatus, rules session.Rules) error {
	conflicts := make([]wire.DeviceType, 0, len(session.Devices))
	for _, d := range rules.Conflicts(session.Device(s.Device)) {
		conflicts = append(conflicts, wire.DeviceType(d))
	}
	conflict := apierr.New(apierr.SessionSimultaneousConflictsDecline, "")
	replaced, err := g.options.Presence.Open(ctx, g.presenceOf(s), status, func(current presence.Entry) ([]wire.DeviceType, error) {
		if rules.KeepOld && slices.ContainsFunc(current.Sessions, func(other presence.Session) bool {
			return slices.Contains(conflicts, other.Device)
		}) {
			return nil, conflict
		}
		return conflicts, nil
	})
	switch {
	case errors.Is(err, conflict):
		return conflict
	case err != nil:
		if log, ok := g.refused.Take(ctx, g.options.Logger); ok {
			log.WarnContext(ctx, "a session could not be registered", "userId", s.UserID, "error", err)
		}
		if e := (*apierr.Error)(nil); errors.As(err, &e) && e.Code == apierr.ServerUnavailable {
			return e
		}
		return apierr.Wrap(apierr.ServerUnavailable, err)
	}
	why := CloseReason{Status: wire.ClosedByOtherDevice}
	// Of two concurrent logins the later one in the cluster wins, not the later one here.
	if goes := g.sessions.add(s, func(older *Session) bool { return !g.current(s) && g.current(older) }); goes != nil {
		if goes == s {
			s.end()
			g.start(func() { g.options.Presence.Close(g.ctx, s.UserID, s.Device, s.ID) })
			return conflict
		}
		g.end(goes, why)
	}
	g.options.Metrics.UserOnline.Set(float64(g.sessions.users.Load()))
	g.options.Metrics.SessionOpen.Set(float64(g.sessions.count.Load()))
	if !g.current(s) {
		// Another gateway replaced the session before this one could be notified.
		g.end(s, why)
		return conflict
	}
	g.kickAll(ctx, replaced)
	return nil
}

// current reports whether the session has not been replaced, as far as is known. If it is replaced
// later, the gateway is notified.
func (g *Gateway) current(s *Session) bool { return g.options.Presence.Owns(s.key()) }

// presenceOf converts a session to what the cluster stores.
func (g *Gateway) presenceOf(s *Session) presence.Session {
	p := presence.Session{
		UserID: s.UserID, Device: s.Device, ID: s.ID, Version: s.Version, IP: s.IP, LoginDate: s.LoginDate,
		Details: keptDetails(g.settings().Session.DeviceDetails.Items, s.DeviceDetails),
	}
	if l := s.Location; l != nil {
		position := presence.Position{Longitude: l.Longitude, Latitude: l.Latitude, Date: s.LoginDate}
		if l.Timestamp != nil {
			position.Date = time.UnixMilli(*l.Timestamp)
		}
		p.LoginLocation, p.Position = &presence.Location{Position: position, Details: l.Details}, &position
	}
	return p
}

// keptDetails returns the details of a device that the configuration keeps.
func keptDetails(items []config.DeviceDetail, details map[string]string) map[string]string {
	var kept map[string]string
	for _, item := range items {
		if value, ok := details[item.FieldName]; ok {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[item.Name()] = value
		}
	}
	return kept
}

// rulesOf converts the configuration to rules.
func rulesOf(c config.SimultaneousLogin) session.Rules {
	return session.Rules{
		Strategy: session.Strategy(c.Strategy), KeepOld: c.LoginConflictStrategy == config.DisconnectLoggingInDevice,
		AllowUnknown: c.AllowDeviceTypeUnknownLogin, AllowOthers: c.AllowDeviceTypeOthersLogin,
	}
}

// deviceOf maps numbers of a newer client to UNKNOWN.
func deviceOf(d wire.DeviceType) wire.DeviceType {
	if _, ok := wire.DeviceType_name[int32(d)]; !ok {
		return wire.DeviceType_UNKNOWN
	}
	return d
}

// statusOf validates the status and the location of a login and returns the status.
func statusOf(r *wire.CreateSessionRequest) (wire.UserStatus, error) {
	status := r.GetUserStatus()
	if _, ok := wire.UserStatus_name[int32(status)]; !ok {
		status = wire.UserStatus_AVAILABLE
	}
	if status == wire.UserStatus_OFFLINE {
		return 0, apierr.New(apierr.IllegalArgument, "the status of a user who logs in must not be OFFLINE")
	}
	if l := r.Location; l != nil {
		if !(math.Abs(float64(l.Longitude)) <= maxLongitude) {
			return 0, apierr.New(apierr.IllegalArgument, "the longitude %v must be between -180 and 180", l.Longitude)
		}
		if !(math.Abs(float64(l.Latitude)) <= maxLatitude) {
			return 0, apierr.New(apierr.IllegalArgument, "the latitude %v must be between -85.05112878 and 85.05112878", l.Latitude)
		}
	}
	return status, nil
}

// A kickRequest identifies a session that another one has replaced.
type kickRequest struct {
	UserID int64           `json:"userId"`
	Device wire.DeviceType `json:"device"`
	ID     int32           `json:"id"`
}

type kickResponse struct{}

// kick calls a gateway to close a session that one elsewhere has replaced. It goes to a named node.
var kick = cluster.Endpoint[kickRequest, kickResponse]{Name: "session.kick"}

func (g *Gateway) kicked(_ context.Context, req *kickRequest) (*kickResponse, error) {
	g.Lost(req.UserID, req.Device, req.ID)
	return &kickResponse{}, nil
}

// kickAll closes replaced sessions. It waits for other gateways, so that no user is online twice
// when the client gets the response; a gateway that cannot be reached finds out by itself.
func (g *Gateway) kickAll(ctx context.Context, replaced []presence.Session) {
	var remote []presence.Session
	for _, r := range replaced {
		if r.NodeID == g.options.Node.ID() {
			g.Lost(r.UserID, r.Device, r.ID)
		} else {
			remote = append(remote, r)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, kickTimeout)
	defer cancel()
	for _, r := range remote {
		req := &kickRequest{UserID: r.UserID, Device: r.Device, ID: r.ID}
		if _, err := cluster.CallNode(ctx, g.options.Node, r.NodeID, kick, req); err != nil {
			g.options.Logger.Warn("a replaced session could not be closed", "gateway", r.NodeID, "userId", r.UserID, "error", err)
		}
	}
}
