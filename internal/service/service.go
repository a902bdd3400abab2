// SPDX-License-Identifier: Apache-2.0

// Package service answers the requests of clients that gateways pass on. A request is decoded, handed to the rule of
// package im that it asks for, and answered; then those who shall know of it are told.
//
// What may be done, by whom, and what is stored is the matter of the rules. This package knows the client protocol
// and whom to tell. It knows no connection: that is the matter of gateways.
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
	"example.org/app/internal/plugin"
	"example.org/app/internal/presence"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/requestlog"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// Options are what a Dispatcher is built from.
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
	// Plugins take part in answering requests. It may be nil.
	Plugins *plugin.Calls
	// Settings returns the current rules, NearbyLimits how far users may search for others.
	Settings     func() config.Service
	NearbyLimits func() presence.NearbyLimits
	Logger       *slog.Logger
	// Requests logs the requests that were answered. It may be nil.
	Requests *requestlog.Log
	// Clock is time.Now if it is nil.
	Clock func() time.Time
}

// A Dispatcher answers the requests of clients.
type Dispatcher struct {
	node     *cluster.Node
	handlers map[wire.Kind]handler
	hooks    hooks
	notifier *Notifier
	settings func() config.Service
	requests *requestlog.Log
	logger   *slog.Logger
	messages *message.Directory
	turns    message.Turns
}

// New returns a dispatcher. Serve lets it work.
func New(o Options) *Dispatcher {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Dispatcher{
		node: o.Node, handlers: newTable(o), hooks: hooks{o.Plugins, o.Notifier, o.Logger}, notifier: o.Notifier,
		settings: o.Settings, requests: o.Requests, logger: o.Logger, messages: o.Messages,
	}
}

// Serve takes the requests that gateways send to the node.
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

// A Request is what a client asks.
type Request struct {
	*wire.AppRequest
	UserID int64
	// Device and SessionID name the session that it came from.
	Device    wire.DeviceType
	SessionID int32
	IP        netip.Addr
	// key and repeated are those of link.Request.
	key      []byte
	repeated bool
	// once remembers what the request makes, so that it makes nothing twice; nil does not.
	once *store.MessageKey
	// turn is the place of a new message in its conversation; nil is none.
	turn *message.Turn
	// kept takes the notifications until plugins have seen them; nil sends them at once.
	kept *collector
	// departures are those of the notifications.
	departures *departures
}

// An Answer is the result of a request that was not refused.
type Answer struct {
	// Code is OK if it is 0.
	Code apierr.Code
	// Reason says more than the code; it is mostly empty.
	Reason string
	// Data is nil if there is nothing to say.
	Data *wire.AppNotification_Data
	// Notifications are sent after the answer, if Code is OK.
	Notifications []Notification
}

// handler answers the requests of one kind.
type handler func(ctx context.Context, r *Request) (Answer, error)

// on makes a handler of a function that wants the body of the request.
func on[Body any](body func(*wire.AppRequest) *Body, fn func(ctx context.Context, r *Request, body *Body) (Answer, error)) handler {
	return func(ctx context.Context, r *Request) (Answer, error) { return fn(ctx, r, body(r.AppRequest)) }
}

// noContent is the answer to a query that found nothing.
var noContent = Answer{Code: apierr.NoContent}

// long is an answer that is a number, mostly the id of what was made.
func long(n int64, notifications ...Notification) Answer {
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_Long{Long: n}}, Notifications: notifications}
}

// told is an answer of which the requester's other sessions are told, if self is set, and others; nil is nobody.
func told(self bool, to Audience) Answer {
	return Answer{Notifications: []Notification{{Self: self, To: to}}}
}

// Dispatch answers a request and hands over the notifications, which leave before the answer. Refusals are answers too. turn is the
// place of a new message in its conversation, which Dispatch ends; nil is none.
func (d *Dispatcher) Dispatch(ctx context.Context, in *link.Request, turn *message.Turn) *link.Response {
	var sent *departures
	// If there is no other process, nobody stays connected when this one is killed.
	if !d.node.Cluster().Exclusive() {
		sent = newDepartures()
		defer sent.wait()
	}
	// The next message of the conversation does not wait for the departures.
	defer turn.End()
	return d.record(ctx, in, turn, sent)
}

// record answers a request and tells the log and the recording of it.
func (d *Dispatcher) record(ctx context.Context, in *link.Request, turn *message.Turn, sent *departures) *link.Response {
	head, _ := wire.ParseHead(in.Payload) // What cannot be parsed has no kind.
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

func (d *Dispatcher) dispatch(ctx context.Context, in *link.Request, turn *message.Turn, sent *departures) *link.Response {
	body := new(wire.AppRequest)
	if err := proto.Unmarshal(in.Payload, body); err != nil {
		return &link.Response{Code: int32(apierr.InvalidRequest), Reason: "the request cannot be decoded", Corrupted: true}
	}
	r := &Request{AppRequest: body, UserID: in.UserID, Device: in.Device, SessionID: in.SessionID, IP: in.IP, key: in.Key, repeated: in.Repeated, turn: turn, departures: sent}
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

// refuse turns an error into an answer. What went wrong inside is for the log alone.
func (d *Dispatcher) refuse(ctx context.Context, r *Request, err error) *link.Response {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = apierr.Wrap(apierr.ServerUnavailable, err)
	}
	e := apierr.From(store.Code(err))
	if e.Code == apierr.ServerInternalError || e.Code == apierr.ServerUnavailable {
		d.logger.ErrorContext(ctx, "could not answer a client request", "kind", wire.KindOf(r.AppRequest).String(), "user", r.UserID, "error", err)
	}
	return &link.Response{Code: int32(e.Code), Reason: e.Reason}
}
