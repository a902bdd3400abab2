// SPDX-License-Identifier: Apache-2.0

// Package service handles the requests of clients that gateways forward. It decodes a request,
// calls the rule of package im, answers it and notifies other users.
//
// The rules decide what is permitted and what is stored. This package knows the client protocol and
// who is notified. It has no client connections; gateways do.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime/debug"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/group"
	"example.org/app/internal/im/meeting"
	"example.org/app/internal/im/message"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/im/user"
	"example.org/app/internal/link"
	"example.org/app/internal/logs"
	"example.org/app/internal/plugin"
	"example.org/app/internal/presence"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/requestlog"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// Options configure a Dispatcher.
type Options struct {
	Node          *cluster.Node
	Store         *store.DB
	Users         *user.Directory
	Relationships *relationship.Directory
	Groups        *group.Directory
	Conversations *conversation.Directory
	Messages      *message.Directory
	Meetings      *meeting.Directory
	Notifier      *Notifier
	Presence      *presence.Directory
	// Plugins may transform, answer and observe requests. It may be nil.
	Plugins *plugin.Calls
	// Settings returns the current rules, NearbyLimits how far users may search for others.
	Settings     func() config.Service
	NearbyLimits func() presence.NearbyLimits
	Logger       *slog.Logger
	// Requests logs answered requests. It may be nil.
	Requests *requestlog.Log
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
}

// A Dispatcher handles the requests of clients.
type Dispatcher struct {
	node     *cluster.Node
	handlers map[wire.Kind]handler
	hooks    hooks
	notifier *Notifier
	settings func() config.Service
	requests *requestlog.Log
	logger   *slog.Logger
	failures logs.Limited
	messages *message.Directory
	turns    message.Turns
}

// New returns a dispatcher. It handles no requests before Serve.
func New(o Options) *Dispatcher {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Dispatcher{
		node: o.Node, handlers: newTable(o), hooks: hooks{o.Plugins, o.Notifier, o.Logger}, notifier: o.Notifier,
		settings: o.Settings, requests: o.Requests, logger: o.Logger, messages: o.Messages,
	}
}

// Serve registers the handlers for the calls of gateways.
func (d *Dispatcher) Serve() error {
	if err := cluster.HandleInOrder(d.node, link.HandOver, d.takeOver); err != nil {
		return err
	}
	return cluster.HandleInOrder(d.node, link.HandleRequest, func(r *link.Request) func(context.Context) (*link.Response, error) {
		var turn *message.Turn
		if r.Conversation != 0 {
			turn = d.turns.Take(r.Conversation)
		}
		return func(ctx context.Context) (*link.Response, error) {
			if r.Conversation == 0 {
				if answer, passed, err := d.passOn(ctx, r); passed {
					return answer, err
				}
			}
			return d.Dispatch(ctx, r, turn), nil
		}
	})
}

// A Request is a client's request.
type Request struct {
	*wire.AppRequest
	UserID int64
	// Device and SessionID identify its session.
	Device    wire.DeviceType
	SessionID int32
	IP        netip.Addr
	// key and repeated are those of link.Request.
	key      []byte
	repeated bool
	// once is the key under which the result is stored, so that a repeated request has no further
	// effect; nil means none.
	once *store.MessageKey
	// turn is the position of a new message in its conversation; nil means none.
	turn *message.Turn
	// kept collects the notifications until plugins have seen them; nil sends them at once.
	kept *collector
	// pendingSends waits for the notifications.
	pendingSends *pendingSends
}

// An Answer is the result of a request that succeeded.
type Answer struct {
	// Code is the status code; 0 means OK.
	Code apierr.Code
	// Reason adds details to the code; it is mostly empty.
	Reason string
	// Data is the content of the response, or nil.
	Data *wire.AppNotification_Data
	// Notifications are sent if Code is OK.
	Notifications []Notification
}

// handler handles the requests of one kind.
type handler func(ctx context.Context, r *Request) (Answer, error)

// on returns a handler that calls fn with the body of the request.
func on[Body any](body func(*wire.AppRequest) *Body, fn func(ctx context.Context, r *Request, body *Body) (Answer, error)) handler {
	return func(ctx context.Context, r *Request) (Answer, error) { return fn(ctx, r, body(r.AppRequest)) }
}

// noContent is the answer to a query without results.
var noContent = Answer{Code: apierr.NoContent}

// long returns an answer with a number, mostly the id of a new object.
func long(n int64, notifications ...Notification) Answer {
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_Long{Long: n}}, Notifications: notifications}
}

// told returns an answer with a notification for the requester's other sessions, if self is set,
// and for others; nil means nobody.
func told(self bool, to Audience) Answer {
	return Answer{Notifications: []Notification{{Self: self, To: to}}}
}

// Dispatch handles a request and queues the notifications, which are sent before the response.
// Refused requests have responses too. turn is the position of a new message in its conversation,
// which Dispatch ends; nil means none.
func (d *Dispatcher) Dispatch(ctx context.Context, in *link.Request, turn *message.Turn) *link.Response {
	var sent *pendingSends
	// Without other processes, no session survives this one anyway.
	if !d.node.Cluster().Exclusive() {
		sent = newPendingSends()
		defer sent.wait()
	}
	// The next message of the conversation does not wait for the pending sends.
	defer turn.End()
	return d.record(ctx, in, turn, sent)
}

// record handles a request and logs and records it.
func (d *Dispatcher) record(ctx context.Context, in *link.Request, turn *message.Turn, sent *pendingSends) *link.Response {
	head, _ := wire.ParseHead(in.Payload) // A payload that cannot be parsed has no kind.
	logged := head.Kind != 0 && d.requests.Wants(head.Kind)
	if !logged && !event.On(event.KindClientRequest) {
		return d.dispatch(ctx, in, turn, sent)
	}
	begin := time.Now()
	out := d.dispatch(ctx, in, turn, sent)
	if logged {
		d.requests.Write(requestlog.Entry{
			Kind: head.Kind, RequestID: head.ID, UserID: in.UserID, SessionID: in.SessionID, Device: in.Device, IP: in.IP,
			Size: len(in.Payload), ResponseSize: len(out.Data), Code: out.Code, Begin: begin,
		})
	}
	if took := time.Since(begin); event.Wants(event.KindClientRequest, took) {
		event.Record(event.ClientRequest{
			Span: event.Span{Start: begin, Duration: took}, Role: "service", Request: head.Kind.String(), RequestID: head.ID,
			UserID: in.UserID, Device: in.Device.String(), Code: out.Code, Bytes: len(in.Payload),
		})
	}
	return out
}

func (d *Dispatcher) dispatch(ctx context.Context, in *link.Request, turn *message.Turn, sent *pendingSends) *link.Response {
	body := new(wire.AppRequest)
	if err := proto.Unmarshal(in.Payload, body); err != nil {
		return &link.Response{Code: int32(apierr.InvalidRequest), Reason: "the request cannot be decoded", Corrupted: true}
	}
	r := &Request{AppRequest: body, UserID: in.UserID, Device: in.Device, SessionID: in.SessionID, IP: in.IP, key: in.Key, repeated: in.Repeated, turn: turn, pendingSends: sent}
	if d.hooks.recording() {
		ctx = plugin.ForRequest(ctx, r.UserID, r.GetRequestId(), wire.KindOf(body))
	}
	if d.hooks.has(plugin.BeforeNotify) || d.hooks.has(plugin.AfterNotify) {
		r.kept = &collector{key: r.UserID}
	}
	answer, err := d.answer(ctx, r)
	if r.kept != nil {
		if err == nil && answer.Code == 0 {
			d.hooks.tell(ctx, r, &answer)
		} else {
			d.hooks.tell(ctx, r, nil)
		}
	}
	if err != nil {
		return d.refuse(ctx, r, err)
	}
	out := &link.Response{Code: int32(apierr.OK), Reason: answer.Reason}
	if answer.Code != 0 {
		out.Code = int32(answer.Code)
	}
	if answer.Data != nil {
		if out.Data, err = wire.MarshalOptions.Marshal(answer.Data); err != nil {
			return d.refuse(ctx, r, fmt.Errorf("encode the result: %w", err))
		}
	}
	if answer.Code == 0 && r.kept == nil {
		for _, n := range answer.Notifications {
			d.notifier.notify(ctx, r, n)
		}
	}
	return out
}

func (d *Dispatcher) answer(ctx context.Context, r *Request) (a Answer, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	if d.hooks.has(plugin.TransformRequest) {
		if err := d.hooks.transform(ctx, r); err != nil {
			return a, err
		}
	}
	kind := wire.KindOf(r.AppRequest)
	handle := d.handlers[kind]
	switch {
	case kind == 0:
		return a, apierr.New(apierr.IllegalArgument, "the request has no kind that this server knows")
	case handle == nil:
		return a, apierr.New(apierr.IllegalArgument, "%s cannot be requested of a service", kind)
	case slices.Contains(d.settings().ClientAPI.DisabledEndpoints, kind.String()):
		return a, apierr.New(apierr.IllegalArgument, "%s is disabled on this server", kind)
	}
	if d.hooks.has(plugin.HandleRequest) {
		if a, answered, err := d.hooks.handle(ctx, r); err != nil || answered {
			return a, err
		}
	}
	return handle(ctx, r)
}

// refuse converts an error to a response. Internal errors are only logged.
func (d *Dispatcher) refuse(ctx context.Context, r *Request, err error) *link.Response {
	err = store.Code(err)
	if _, ok := errors.AsType[*apierr.Error](err); !ok && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = apierr.Wrap(apierr.ServerUnavailable, err)
	}
	e := apierr.From(err)
	if e.Code == apierr.ServerInternalError || e.Code == apierr.ServerUnavailable {
		if log, ok := d.failures.Take(ctx, d.logger); ok {
			log.ErrorContext(ctx, "could not answer a client request", "kind", wire.KindOf(r.AppRequest).String(), "user", r.UserID, "error", err)
		}
	}
	return &link.Response{Code: int32(e.Code), Reason: e.Reason}
}
