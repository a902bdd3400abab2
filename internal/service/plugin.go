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

// has reports whether plugins implement a function. Without plugins it is nearly free.
func has(plugins *plugin.Calls, m *plugin.Method) bool { return plugins != nil && plugins.Has(m) }

// hooks calls plugins for the requests of clients.
type hooks struct {
	plugins  *plugin.Calls
	notifier *Notifier
	logger   *slog.Logger
}

// has reports whether plugins implement a function.
func (h hooks) has(m *plugin.Method) bool { return has(h.plugins, m) }

// recording reports whether the effects of plugins on requests are recorded.
func (h hooks) recording() bool { return h.plugins != nil && h.plugins.Recording() }

// clientRequest converts the request to its form for plugins.
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

// transform lets plugins change a request, except its requester and id.
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

// handle lets plugins answer a request instead of the server; the boolean reports whether one did.
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

// collector collects the notifications of a request until its result is known, because plugins may
// change them.
type collector struct {
	key   int64
	tasks []task
}

// add adds a task for the lane of key.
func (c *collector) add(key int64, e task) {
	if len(c.tasks) == 0 {
		c.key = key
	}
	c.tasks = append(c.tasks, e)
}

// An origin is where a message comes from: the request of its sender, which recipients get, the
// collector of its notification, and its pending sends. All may be nil.
type origin struct {
	request      *wire.AppRequest
	kept         *collector
	pendingSends *pendingSends
}

// tell sends the collected notifications. answer is nil if the request failed; plugins see only
// successful requests.
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
	h.notifier.send(c.key, task{ctx: ctx, pendingSends: r.pendingSends, job: func(l *lane) { h.tellByPlugins(ctx, l, r, c.tasks, answer.Data) }})
}

// tellByPlugins sends the notifications of a request after plugins changed them, and reports
// offline users to the plugins. It runs in the goroutine of the lane.
func (h hooks) tellByPlugins(ctx context.Context, l *lane, r *Request, tasks []task, response *wire.AppNotification_Data) {
	ctx = plugin.ForUser(ctx, r.UserID)
	result := &plugin.RequestHandlerResult{Code: int32(apierr.OK), Response: response}
	for i := range tasks {
		e := &tasks[i]
		recipients, err := h.notifier.readRecipients(e)
		if err != nil {
			h.notifier.lose(e, err)
		}
		result.Notifications = append(result.Notifications, plugin.Notification{
			ForwardToRequesterOtherOnlineSessions: e.self && err == nil, Recipients: recipients, Notification: e.notification.GetRelayedRequest(),
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
		e := &task{
			ctx: ctx, notification: &wire.AppNotification{RequesterId: proto.Int64(r.UserID), RelayedRequest: n.Notification},
			to: users(n.Recipients...), requester: r.UserID, device: r.Device, self: n.ForwardToRequesterOtherOnlineSessions,
			report: h.has(plugin.AfterNotify), pendingSends: r.pendingSends,
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

// NotifyUsers sends users a notification without a request. It returns when that was sent.
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

// noUser is an id that no user has.
const noUser = -1
