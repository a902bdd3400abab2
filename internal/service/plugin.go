// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"log/slog"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

// has reports whether plugins take part in something. Without plugins it costs next to nothing.
func has(plugins *plugin.Calls, m *plugin.Method) bool { return plugins != nil && plugins.Has(m) }

// hooks lets plugins take part in the requests of clients.
type hooks struct {
	plugins  *plugin.Calls
	notifier *Notifier
	logger   *slog.Logger
}

// has reports whether plugins take part in something.
func (h hooks) has(m *plugin.Method) bool { return has(h.plugins, m) }

// recording reports whether what plugins do to requests is recorded.
func (h hooks) recording() bool { return h.plugins != nil && h.plugins.Recording() }

// clientRequest is the request as plugins see it.
func clientRequest(r *Request) *plugin.ClientRequest {
	out := &plugin.ClientRequest{UserID: r.UserID, DeviceType: r.Device, RequestID: r.GetRequestId(), Request: r.AppRequest}
	if r.IP.IsValid() {
		out.ClientIP = r.IP.String()
	}
	return out
}

// forRequester marks a call as made for the user who is its first argument.
func forRequester(ctx context.Context, args []any) context.Context {
	id, _ := args[0].(int64)
	return plugin.ForUser(ctx, id)
}

// transform lets plugins change a request. Who made it, and which request of the client's it answers, stays.
func (h hooks) transform(ctx context.Context, r *Request) error {
	changed, err := plugin.Pass(plugin.ForUser(ctx, r.UserID), h.plugins, plugin.TransformRequest, clientRequest(r))
	if err != nil {
		return err
	}
	if changed.Request == nil {
		return fmt.Errorf("the answer of %s.%s has no request", plugin.ClientRequestHandler.Name, plugin.TransformRequest.Name)
	}
	if changed.Request != r.AppRequest {
		id := r.RequestId
		r.AppRequest = changed.Request
		r.RequestId = id
	}
	return nil
}

// handle lets plugins answer a request instead of the server, and reports whether one did.
func (h hooks) handle(ctx context.Context, r *Request) (Answer, bool, error) {
	result, ok, err := plugin.Ask[*plugin.RequestHandlerResult](plugin.ForUser(ctx, r.UserID), h.plugins, plugin.HandleRequest, clientRequest(r))
	if err != nil || !ok {
		return Answer{}, false, err
	}
	a := Answer{Code: apierr.Code(result.Code), Reason: result.Reason, Data: result.Response}
	switch {
	case a.Code == apierr.OK:
		a.Code = 0
	case a.Code != 0 && a.Code.Name() == "":
		return Answer{}, false, fmt.Errorf("a plugin answered with the code %d, which does not exist", result.Code)
	}
	for _, n := range result.Notifications {
		a.Notifications = append(a.Notifications, Notification{Relay: n.Notification, To: users(n.Recipients...), Self: n.ForwardToRequesterOtherOnlineSessions})
	}
	return a, true, nil
}

// collector keeps the notifications of a request until its result is known, because plugins may change them.
type collector struct {
	key   int64
	tasks []task
}

// add keeps a job that goes to the lane of key.
func (c *collector) add(key int64, e task) {
	if len(c.tasks) == 0 {
		c.key = key
	}
	c.tasks = append(c.tasks, e)
}

// An origin is what a message comes from: the request of its sender, which recipients get, and where its notification is
// kept for plugins, and its departures. All may be nil.
type origin struct {
	request    *wire.AppRequest
	kept       *collector
	departures *departures
}

// tell hands over what was collected. The request was answered with success if answer is not nil; plugins see only
// those.
func (h hooks) tell(ctx context.Context, r *Request, answer *Answer) {
	c := r.kept
	if answer == nil {
		for _, e := range c.tasks {
			h.notifier.send(c.key, e)
		}
		return
	}
	for _, n := range answer.Notifications {
		if e, ok := newTask(ctx, r, n); ok {
			c.tasks = append(c.tasks, e)
		}
	}
	ctx = context.WithoutCancel(ctx)
	h.notifier.send(c.key, task{ctx: ctx, departures: r.departures, job: func(l *lane) { h.tellByPlugins(ctx, l, r, c.tasks, answer.Data) }})
}

// tellByPlugins tells what plugins leave of the notifications of a request, and lets them know who could not be told. It
// runs in the goroutine of the lane.
func (h hooks) tellByPlugins(ctx context.Context, l *lane, r *Request, tasks []task, response *wire.AppNotification_Data) {
	ctx = plugin.ForUser(ctx, r.UserID)
	result := &plugin.RequestHandlerResult{Code: int32(apierr.OK), Response: response}
	for _, e := range tasks {
		recipients, err := e.recipients()
		if err != nil {
			h.logger.ErrorContext(ctx, "could not find out whom to notify", "error", err)
		}
		result.Notifications = append(result.Notifications, plugin.Notification{
			ForwardToRequesterOtherOnlineSessions: e.self, Recipients: recipients, Notification: e.notification.GetRelayedRequest(),
		})
	}
	result, err := plugin.Pass(ctx, h.plugins, plugin.BeforeNotify, result, r.UserID, r.Device)
	if err != nil {
		h.logger.WarnContext(ctx, "nobody was notified of a request because a plugin failed", "user", r.UserID, "error", err)
		return
	}
	for i, n := range result.Notifications {
		if len(n.Recipients) == 0 && !n.ForwardToRequesterOtherOnlineSessions || n.Notification == nil {
			continue
		}
		e := task{
			ctx: ctx, notification: &wire.AppNotification{RequesterId: proto.Int64(r.UserID), RelayedRequest: n.Notification},
			to: users(n.Recipients...), requester: r.UserID, device: r.Device, self: n.ForwardToRequesterOtherOnlineSessions,
			report: h.has(plugin.AfterNotify), departures: r.departures,
		}
		if i < len(tasks) {
			e.notification.RequesterId, e.notification.RequestId = tasks[i].notification.RequesterId, tasks[i].notification.RequestId
			e.message = tasks[i].message
		}
		offline := h.notifier.run(l, e)
		if e.report {
			one := *result
			one.Notifications = []plugin.Notification{n}
			h.notifier.later(func() {
				if _, err := plugin.Pass(ctx, h.plugins, plugin.AfterNotify, &one, r.UserID, r.Device, offline); err != nil {
					h.logger.WarnContext(ctx, "a plugin failed after a notification", "user", r.UserID, "error", err)
				}
			})
		}
	}
}

// recipients are all users of the task but the requester.
func (e task) recipients() (all []int64, err error) {
	if e.to == nil {
		return nil, nil
	}
	for ids, err := range e.to {
		if err != nil {
			return all, err
		}
		all = append(all, withoutUser(ids, e.requester)...)
	}
	return all, nil
}

// NotifyUsers tells users of something that nobody requested. It returns when that is on its way.
func (n *Notifier) NotifyUsers(ctx context.Context, relay *wire.AppRequest, userIDs []int64) error {
	if relay == nil || wire.KindOf(relay) == 0 {
		return apierr.New(apierr.IllegalArgument, "notification: a request of a known kind is required")
	}
	if len(userIDs) == 0 {
		return apierr.New(apierr.IllegalArgument, "recipients: somebody must be told")
	}
	n.send(userIDs[0], task{
		ctx: context.WithoutCancel(ctx), to: users(userIDs...), requester: noUser,
		notification: &wire.AppNotification{RequestId: proto.Int64(0), RequesterId: proto.Int64(0), RelayedRequest: relay},
	})
	return nil
}

// noUser is nobody's id.
const noUser = -1
