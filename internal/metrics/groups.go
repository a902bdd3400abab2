// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"
	"time"

	"example.org/app/internal/role"
)

// roleTag distinguishes the roles of a process, which share its metrics.
var roleTag = []string{"role"}

// Service contains the instruments of the business rules.
type Service struct {
	UserRegistered *Counter
	UserDeleted    *Counter
	GroupCreated   *Counter
	GroupDeleted   *Counter
	MessageSent    *Counter
}

// Service returns the instruments of the business rules.
func (r *Registry) Service() *Service { return r.service }

func newService(r *Registry) *Service {
	counter := func(name, description string) *Counter {
		return r.CounterVec(Declaration{Name: name, Description: description, Tags: roleTag}).With(string(role.Service))
	}
	return &Service{
		UserRegistered: counter("user.registered", "Users registered by this process."),
		UserDeleted:    counter("user.deleted", "Users deleted by this process."),
		GroupCreated:   counter("group.created", "Groups created by this process."),
		GroupDeleted:   counter("group.deleted", "Groups deleted by this process."),
		MessageSent:    counter("message.sent", "Messages accepted by this process."),
	}
}

// Gateway contains the instruments of client connections.
type Gateway struct {
	UserOnline       *Gauge
	UserLoggedIn     *Counter
	ClientRequest    *Timer
	SessionOpen      *Gauge
	ConnectionOpen   *Gauge
	NotificationSent *Counter
	SessionLate      *Counter
	// SessionHealed has the role and the kind of fault as tags.
	SessionHealed *CounterVec
}

// Gateway returns the instruments of client connections.
func (r *Registry) Gateway() *Gateway { return r.gateway }

func newGateway(r *Registry) *Gateway {
	declare := func(name, description string) Declaration {
		return Declaration{Name: name, Description: description, Tags: roleTag}
	}
	gauge := func(name, description string) *Gauge {
		return r.GaugeVec(declare(name, description)).With(string(role.Gateway))
	}
	counter := func(name, description string) *Counter {
		return r.CounterVec(declare(name, description)).With(string(role.Gateway))
	}
	return &Gateway{
		UserOnline:       gauge("user.online", "Users with a session on this process."),
		UserLoggedIn:     counter("user.logged_in", "Successful logins on this process."),
		ClientRequest:    r.TimerVec(declare("app.client.request", "Time from the arrival of a client request to its response.")).With(string(role.Gateway)),
		SessionOpen:      gauge("app.client.sessions", "Sessions on this process; a user may have several."),
		ConnectionOpen:   gauge("app.client.connections", "Connections of clients to this process, with a session or without."),
		NotificationSent: counter("app.client.notifications", "Notifications that this process wrote to sessions, each session counted."),
		SessionLate:      counter("app.client.sessions.late", "Sessions that were told to connect again because a message came after newer ones."),
		SessionHealed: r.CounterVec(Declaration{
			Name: "app.client.sessions.healed", Description: "Sessions that this process and the cluster did not agree on, and that were mended.",
			Tags: []string{"role", "fault"},
		}),
	}
}

// Node contains the instruments of the node's load state.
type Node struct{ Strained, Refusing *Gauge }

// Node returns the instruments of the node's load state.
func (r *Registry) Node() *Node { return r.node }

func newNode(r *Registry) *Node {
	return &Node{
		Strained: r.Gauge(Declaration{Name: "app.node.degraded", Description: "1 while this process does not work as it should, 0 otherwise."}),
		Refusing: r.Gauge(Declaration{Name: "app.node.refusing", Description: "1 while this process refuses requests because of that, 0 otherwise."}),
	}
}

// RPC contains the instruments of calls between nodes.
type RPC struct{ Request *Timer }

// RPC returns the instruments of calls between nodes.
func (r *Registry) RPC() *RPC { return r.rpc }

func newRPC(r *Registry) *RPC {
	return &RPC{Request: r.Timer(Declaration{Name: "rpc.request", Description: "Duration of calls to other nodes."})}
}

// HTTP contains the instruments of the admin interface.
type HTTP struct {
	requests *TimerVec
	statuses [600]string
}

// HTTP returns the instruments of the admin interface.
func (r *Registry) HTTP() *HTTP { return r.http }

func newHTTP(r *Registry) *HTTP {
	h := &HTTP{requests: r.TimerVec(Declaration{
		Name:        "http.server.requests",
		Description: "Duration of requests to the administrative interface.",
		Tags:        []string{"role", "method", "uri", "status", "outcome"},
	})}
	for i := range h.statuses {
		h.statuses[i] = strconv.Itoa(i)
	}
	return h
}

// Observe records one finished request to the interface of a role. The uri is the declared path of
// the operation, never the requested one; if empty (no operation matched), it is published as
// "UNKNOWN". Methods that HTTP does not define are published as "OTHER", so that callers cannot
// create arbitrary series.
func (h *HTTP) Observe(of role.Role, method, uri string, status int, d time.Duration) {
	if uri == "" {
		uri = "UNKNOWN"
	}
	switch method {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT":
	default:
		method = "OTHER"
	}
	text, outcome := "UNKNOWN", "UNKNOWN"
	if status >= 100 && status < len(h.statuses) {
		text = h.statuses[status]
		outcome = [...]string{"INFORMATIONAL", "SUCCESS", "REDIRECTION", "CLIENT_ERROR", "SERVER_ERROR"}[status/100-1]
	}
	h.requests.With(string(of), method, uri, text, outcome).Observe(d)
}
