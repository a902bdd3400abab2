// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"reflect"
	"slices"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

const (
	commonPackage  = "im.app.server.common.infra.plugin.extension"
	gatewayPackage = "im.app.gateway.infra.plugin.extension"
	servicePackage = "im.app.service.infra.plugin.extension"
)

// defaultTimeout is the time limit of a call.
const defaultTimeout = 5 * time.Second

// A Void marks a method without result.
type Void struct{}

// method declares a method with the result type R.
func method[R any](mode Mode, failure Failure, name, doc string, params ...Param) *Method {
	m := &Method{Name: name, Doc: doc, Params: params, Mode: mode, Failure: failure, Timeout: defaultTimeout}
	if t := reflect.TypeFor[R](); t != reflect.TypeFor[Void]() {
		m.Result = t
	}
	return m
}

// pure marks a method whose calls only compute their result.
func pure(m *Method) *Method {
	m.Pure = true
	return m
}

func param[T any](name, doc string) Param {
	return Param{Name: name, Type: reflect.TypeFor[T](), Doc: doc}
}

// optional declares a parameter that may be nil.
func optional[T any](name, doc string) Param {
	p := param[T](name, doc)
	p.Optional = true
	return p
}

func point(p Point) *Point {
	for _, m := range p.Methods {
		m.Point = &p
		m.user = subjectOf(m)
	}
	return &p
}

// The extension points.
var (
	AdminActionHandler = point(Point{
		Name: "AdminActionHandler", Package: commonPackage, Roles: []role.Role{role.Gateway, role.Service},
		Doc:      "Observes the requests of administrators.",
		Methods:  []*Method{HandleAdminAction},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.AdminActionHandler },
	})
	UserAuthenticator = point(Point{
		Name: "UserAuthenticator", Package: gatewayPackage, Roles: []role.Role{role.Gateway},
		Doc:      "Authenticates users before the configured authentication mechanism does.",
		Methods:  []*Method{Authenticate},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.UserAuthenticator },
	})
	UserOnlineStatusChangeHandler = point(Point{
		Name: "UserOnlineStatusChangeHandler", Package: gatewayPackage, Roles: []role.Role{role.Gateway},
		Doc:      "Observes sessions that are opened and closed on this gateway.",
		Methods:  []*Method{GoOnline, GoOffline},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.UserOnlineStatusChangeHandler },
	})
	NotificationHandler = point(Point{
		Name: "NotificationHandler", Package: gatewayPackage, Roles: []role.Role{role.Gateway},
		Doc:      "Observes the notifications that this gateway sends to users.",
		Methods:  []*Method{HandleNotification},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.NotificationHandler },
	})
	ClientRequestHandler = point(Point{
		Name: "ClientRequestHandler", Package: servicePackage, Roles: []role.Role{role.Service},
		Doc:      "Changes, answers or rejects client requests.",
		Methods:  []*Method{TransformRequest, HandleRequest},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.ClientRequestHandler },
	})
	RequestHandlerResultHandler = point(Point{
		Name: "RequestHandlerResultHandler", Package: servicePackage, Roles: []role.Role{role.Service},
		Doc:      "Changes the notifications of a successful request, and learns which recipients are offline.",
		Methods:  []*Method{BeforeNotify, AfterNotify},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.RequestHandlerResultHandler },
	})
	ExpiredMessageDeletionNotifier = point(Point{
		Name: "ExpiredMessageDeletionNotifier", Package: servicePackage, Roles: []role.Role{role.Service},
		Doc:      "Selects which expired messages are deleted. Only the leader node calls it.",
		Methods:  []*Method{MessagesToDelete},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.ExpiredMessageDeletionNotifier },
	})
	StorageServiceProvider = point(Point{
		Name: "StorageServiceProvider", Package: servicePackage, Roles: []role.Role{role.Service}, Singleton: true,
		Doc:      "Stores pictures and attachments.",
		Methods:  storageMethods,
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.StorageServiceProvider },
	})
	ConferenceServiceProvider = point(Point{
		Name: "ConferenceServiceProvider", Package: servicePackage, Roles: []role.Role{role.Service}, Singleton: true,
		Doc:       "Hosts meetings.",
		Methods:   []*Method{CreateMeeting, CancelMeeting, CountActiveMeetings, AcceptMeetingInvitation},
		Listeners: []*Listener{MeetingEnded},
		settings:  func(s config.ExtensionPoints) config.ExtensionPoint { return s.ConferenceServiceProvider },
	})
	DomainEventHandler = point(Point{
		Name: "DomainEventHandler", Package: servicePackage, Roles: []role.Role{role.Gateway, role.Service},
		Doc:      "Observes what happens on this node: on a service the changes of users, groups and messages, after they are committed, and on a gateway sessions. Each event is delivered at most once; what happens while the extension is not started is not delivered.",
		Methods:  []*Method{HandleDomainEvents},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.DomainEventHandler },
	})
	DomainEventConsumer = point(Point{
		Name: "DomainEventConsumer", Package: servicePackage, Roles: []role.Role{role.Service},
		Doc:      "Gets every change of users, groups and messages of the whole cluster from the database, in order and at least once. One node at a time calls it.",
		Methods:  []*Method{ConsumeDomainEvents},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.DomainEventConsumer },
	})
)

// Points are all extension points.
var Points = []*Point{
	AdminActionHandler, UserAuthenticator, UserOnlineStatusChangeHandler, NotificationHandler, ClientRequestHandler,
	RequestHandlerResultHandler, ExpiredMessageDeletionNotifier, StorageServiceProvider, ConferenceServiceProvider,
	DomainEventHandler, DomainEventConsumer,
}

// aliases are names that older plugins use.
var aliases = map[string]*Point{
	"ClientRequestTransformer":                   ClientRequestHandler,
	servicePackage + ".ClientRequestTransformer": ClientRequestHandler,
}

// FindPoint returns the point with a simple or fully qualified name.
func FindPoint(name string) (*Point, bool) {
	if p, ok := aliases[name]; ok {
		return p, true
	}
	i := slices.IndexFunc(Points, func(p *Point) bool { return name == p.Name || name == p.FullName() })
	if i < 0 {
		return nil, false
	}
	return Points[i], true
}

// The methods of the extension points.
var (
	HandleAdminAction = method[Void](Simultaneous, Ignore, "handleAdminAction",
		"Called after every request of an administrator, including rejected ones.",
		param[*AdminAction]("adminAction", "The action, who requested it, and its result."))

	Authenticate = pure(method[bool](FirstAnswer, Refuse, "authenticate",
		"Called when a client logs in. Returns true to accept the login, false to reject it; null leaves the decision to the next extension and, after the last one, to the server.",
		param[*UserLoginInfo]("userLoginInfo", "The credentials and the device of the client.")))

	GoOnline = method[Void](Simultaneous, Ignore, "goOnline", "Called after a session is opened.",
		param[*ClientSessions]("userSessions", "The sessions of the user on this gateway, including the new one."),
		param[*ClientSession]("userSession", "The new session."))
	GoOffline = method[Void](Simultaneous, Ignore, "goOffline", "Called after a session is closed. If no session remains, the user is no longer connected to this gateway.",
		param[*ClientSessions]("userSessions", "The remaining sessions of the user on this gateway."),
		param[*CloseReason]("closeReason", "Why the session was closed."))

	HandleNotification = method[Void](Simultaneous, Ignore, "handle", "Called after a notification is written to the sessions of its recipients.",
		param[*wire.AppNotification]("notification", "The notification."),
		param[[]int64]("recipientIds", "The recipients for whom this gateway received the notification."),
		param[[]int64]("offlineRecipientIds", "The recipients who could not be reached on this gateway."))

	TransformRequest = pure(method[*ClientRequest](Pipeline, Refuse, "transform",
		"Called before a request is handled. Returns the replacement; null leaves the request unchanged.",
		param[*ClientRequest]("clientRequest", "The request.")))
	HandleRequest = method[*RequestHandlerResult](FirstAnswer, Refuse, "handle",
		"Called before the server handles a request. Returns the result to send instead; null leaves the request to the next extension and, after the last one, to the server.",
		param[*ClientRequest]("clientRequest", "The request."))

	BeforeNotify = pure(method[*RequestHandlerResult](Pipeline, Ignore, "beforeNotify",
		"Called before the notifications of a successful request are sent. The notifications in the returned result replace those of the request; null leaves them unchanged.",
		param[*RequestHandlerResult]("result", "The result of the request."),
		param[int64]("requesterId", "The user who made the request."),
		param[wire.DeviceType]("requesterDevice", "The type of the device of the requester.")))
	AfterNotify = method[*RequestHandlerResult](Pipeline, Ignore, "afterNotify",
		"Called after each notification is sent. The returned result is passed to the next extension only; null passes the result unchanged.",
		param[*RequestHandlerResult]("result", "The result of the request, with this notification."),
		param[int64]("requesterId", "The user who made the request."),
		param[wire.DeviceType]("requesterDevice", "The type of the device of the requester."),
		param[[]int64]("offlineRecipientIds", "The recipients who have no session in the cluster."))

	MessagesToDelete = pure(method[[]StoredMessage](Pipeline, Refuse, "getMessagesToDelete",
		"Called with expired messages, in batches. Returns the messages to delete; null deletes all of them, an empty list none.",
		param[[]StoredMessage]("messages", "The messages that are about to be deleted.")))

	CreateMeeting = method[*MeetingAccess](Only, Refuse, "createMeeting",
		"Called when a user creates a meeting that starts immediately. Other users can see the meeting after the call succeeds. Returns what the creator needs to enter the meeting, or null if nothing is needed. For a meeting that starts later, the first call is acceptMeetingInvitation.",
		param[int64]("requesterId", "The user who creates the meeting."),
		param[*Meeting]("meeting", "The meeting."),
		param[*CreateMeetingOptions]("options", "The limits of the meeting."))
	CancelMeeting = method[Void](Only, Refuse, "cancelMeeting",
		"Called when the creator cancels a meeting, which may not have started yet. The meeting is cancelled after the call succeeds. May be called more than once for a meeting.",
		param[int64]("requesterId", "The user who cancels the meeting."),
		param[int64]("meetingId", "The meeting."))
	CountActiveMeetings = method[int32](Only, Refuse, "countActiveMeetingsByUserId",
		"Called before a meeting is created, if the number of active meetings per user is limited. Returns the number of active meetings of the user; null means no limit.",
		param[int64]("userId", "The user who wants to create a meeting."))
	HandleDomainEvents = method[Void](Simultaneous, Ignore, "handleDomainEvents",
		"Called after a transaction that changed something is committed, and after a session is opened or closed. Calls are not in the order of the transactions.",
		param[[]DomainEvent]("events", "The events of the transaction, or the one of the session."))
	ConsumeDomainEvents = method[Void](Repeated, Ignore, "consumeDomainEvents",
		"Called with the events after those of the last call that succeeded, at most 100. If it throws or exceeds its time limit, it is called again with the same events, and maybe more, after 1 second, then 2, 4, …, at most 60.",
		param[[]DomainEvent]("events", "The events in their order."))

	AcceptMeetingInvitation = method[*MeetingAccess](Only, Refuse, "acceptMeetingInvitation",
		"Called when a user, including the creator, enters a meeting. Returns what the client needs to enter it.",
		param[int64]("requesterId", "The user who enters the meeting."),
		param[int64]("meetingId", "The meeting."))
)
