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

// A Void is the result of a method that has none.
type Void struct{}

// method declares a method whose answer is an R.
func method[R any](mode Mode, failure Failure, name, doc string, params ...Param) *Method {
	m := &Method{Name: name, Doc: doc, Params: params, Mode: mode, Failure: failure, Timeout: defaultTimeout}
	if t := reflect.TypeFor[R](); t != reflect.TypeFor[Void]() {
		m.Result = t
	}
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
	}
	return &p
}

// The extension points.
var (
	AdminActionHandler = point(Point{
		Name: "AdminActionHandler", Package: commonPackage, Roles: []role.Role{role.Gateway, role.Service},
		Doc:      "Sees what administrators do.",
		Methods:  []*Method{HandleAdminAction},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.AdminActionHandler },
	})
	UserAuthenticator = point(Point{
		Name: "UserAuthenticator", Package: gatewayPackage, Roles: []role.Role{role.Gateway},
		Doc:      "Decides who may log in, before the way of authentication that is configured.",
		Methods:  []*Method{Authenticate},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.UserAuthenticator },
	})
	UserOnlineStatusChangeHandler = point(Point{
		Name: "UserOnlineStatusChangeHandler", Package: gatewayPackage, Roles: []role.Role{role.Gateway},
		Doc:      "Sees sessions begin and end on this gateway.",
		Methods:  []*Method{GoOnline, GoOffline},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.UserOnlineStatusChangeHandler },
	})
	NotificationHandler = point(Point{
		Name: "NotificationHandler", Package: gatewayPackage, Roles: []role.Role{role.Gateway},
		Doc:      "Sees what this gateway sends to users.",
		Methods:  []*Method{HandleNotification},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.NotificationHandler },
	})
	ClientRequestHandler = point(Point{
		Name: "ClientRequestHandler", Package: servicePackage, Roles: []role.Role{role.Service},
		Doc:      "Changes, answers or refuses requests of clients.",
		Methods:  []*Method{TransformRequest, HandleRequest},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.ClientRequestHandler },
	})
	RequestHandlerResultHandler = point(Point{
		Name: "RequestHandlerResultHandler", Package: servicePackage, Roles: []role.Role{role.Service},
		Doc:      "Changes who is told of a request that succeeded, and sees who could not be told.",
		Methods:  []*Method{BeforeNotify, AfterNotify},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.RequestHandlerResultHandler },
	})
	ExpiredMessageDeletionNotifier = point(Point{
		Name: "ExpiredMessageDeletionNotifier", Package: servicePackage, Roles: []role.Role{role.Service},
		Doc:      "Sees the messages that are about to be deleted because they are too old, and may keep some. Only the leader calls it.",
		Methods:  []*Method{MessagesToDelete},
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.ExpiredMessageDeletionNotifier },
	})
	StorageServiceProvider = point(Point{
		Name: "StorageServiceProvider", Package: servicePackage, Roles: []role.Role{role.Service}, Singleton: true,
		Doc:      "Keeps pictures and attachments.",
		Methods:  storageMethods,
		settings: func(s config.ExtensionPoints) config.ExtensionPoint { return s.StorageServiceProvider },
	})
	ConferenceServiceProvider = point(Point{
		Name: "ConferenceServiceProvider", Package: servicePackage, Roles: []role.Role{role.Service}, Singleton: true,
		Doc:       "Holds meetings.",
		Methods:   []*Method{CreateMeeting, CancelMeeting, CountActiveMeetings, AcceptMeetingInvitation},
		Listeners: []*Listener{MeetingEnded},
		settings:  func(s config.ExtensionPoints) config.ExtensionPoint { return s.ConferenceServiceProvider },
	})
)

// Points are all extension points.
var Points = []*Point{
	AdminActionHandler, UserAuthenticator, UserOnlineStatusChangeHandler, NotificationHandler, ClientRequestHandler,
	RequestHandlerResultHandler, ExpiredMessageDeletionNotifier, StorageServiceProvider, ConferenceServiceProvider,
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
		"Called after every request of an administrator, also after those that were refused.",
		param[*AdminAction]("adminAction", "What was done, by whom, and how it ended."))

	Authenticate = method[bool](FirstAnswer, Refuse, "authenticate",
		"Called when a client logs in. True lets it in, false refuses it, nothing leaves the decision to the next extension and at last to the server.",
		param[*UserLoginInfo]("userLoginInfo", "What the client says."))

	GoOnline = method[Void](Simultaneous, Ignore, "goOnline", "Called when a session was opened.",
		param[*UserSessions]("userSessions", "The sessions of the user on this gateway, the new one included."),
		param[*UserSession]("userSession", "The new session."))
	GoOffline = method[Void](Simultaneous, Ignore, "goOffline", "Called when a session was closed. The user has left this gateway if no session is left.",
		param[*UserSessions]("userSessions", "The sessions of the user that are left on this gateway."),
		param[*CloseReason]("closeReason", "Why the session ended."))

	HandleNotification = method[Void](Simultaneous, Ignore, "handle", "Called when a notification was written to the sessions of its recipients.",
		param[*wire.AppNotification]("notification", "What was sent."),
		param[[]int64]("recipientIds", "For whom this gateway got it."),
		param[[]int64]("offlineRecipientIds", "Who of them could not be reached here."))

	TransformRequest = method[*ClientRequest](Pipeline, Refuse, "transform",
		"Called before a request is looked at. The answer replaces the request; nothing leaves it as it is.",
		param[*ClientRequest]("clientRequest", "The request."))
	HandleRequest = method[*RequestHandlerResult](FirstAnswer, Refuse, "handle",
		"Called instead of the server's own handling of a request, if it answers.",
		param[*ClientRequest]("clientRequest", "The request."))

	BeforeNotify = method[*RequestHandlerResult](Pipeline, Ignore, "beforeNotify",
		"Called before others are told of a request that succeeded. The notifications of the answer replace those of the result; nothing leaves them as they are.",
		param[*RequestHandlerResult]("result", "The result of the request."),
		param[int64]("requesterId", "Who made the request."),
		param[wire.DeviceType]("requesterDevice", "On which kind of device."))
	AfterNotify = method[*RequestHandlerResult](Pipeline, Ignore, "afterNotify",
		"Called after others were told, once for each notification. The answer goes to the next extension and nowhere else.",
		param[*RequestHandlerResult]("result", "The result of the request, with this notification."),
		param[int64]("requesterId", "Who made the request."),
		param[wire.DeviceType]("requesterDevice", "On which kind of device."),
		param[[]int64]("offlineRecipientIds", "The recipients who are online nowhere."))

	MessagesToDelete = method[[]Message](Pipeline, Refuse, "getMessagesToDelete",
		"Called with messages that are kept no longer, in parts. Those in the answer are deleted; an empty list keeps all.",
		param[[]Message]("messages", "Messages that are about to be deleted."))

	CreateMeeting = method[*MeetingAccess](Only, Refuse, "createMeeting",
		"Called when somebody creates a meeting that begins at once. It is there for others when this has succeeded. The answer lets its creator in; nothing is allowed. A meeting that begins later is announced by nothing but the first acceptMeetingInvitation.",
		param[int64]("requesterId", "Who creates it."),
		param[*Meeting]("meeting", "The meeting."),
		param[*CreateMeetingOptions]("options", "Its limits."))
	CancelMeeting = method[Void](Only, Refuse, "cancelMeeting",
		"Called when the creator cancels a meeting, which may not have begun. It is cancelled when this has succeeded. It may be called more than once for a meeting.",
		param[int64]("requesterId", "Who cancels it."),
		param[int64]("meetingId", "The meeting."))
	CountActiveMeetings = method[int32](Only, Refuse, "countActiveMeetingsByUserId",
		"Called before a meeting is created, if users may have only so many at a time. The answer is how many of the user's are under way; with nothing there is no limit.",
		param[int64]("userId", "Who wants to create one."))
	AcceptMeetingInvitation = method[*MeetingAccess](Only, Refuse, "acceptMeetingInvitation",
		"Called when somebody who may enter a meeting does so, its creator included. The answer is what the client gets to enter it.",
		param[int64]("requesterId", "Who enters."),
		param[int64]("meetingId", "The meeting."))
)
