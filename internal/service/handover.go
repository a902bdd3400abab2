// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster"
	"example.org/app/internal/link"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// One service at a time has a conversation and delivers everything of it, so that all members get it in one order. Gateways send new
// messages there. What does not name its conversation, or comes from elsewhere, is passed on by the service that gets it.

// handOverTimeout is how long a message may wait for its turn at another service.
const handOverTimeout = 5 * time.Second

// passOn lets the service that has the conversation answer the edit of a message, which does not name the conversation. It
// reports false for other requests, and if no other service can be asked.
func (d *Dispatcher) passOn(ctx context.Context, r *link.Request) (answer *link.Response, passed bool, err error) {
	head, err := wire.ParseHead(r.Payload)
	if err != nil || head.Kind != wire.KindUpdateMessage || d.node.Cluster().Exclusive() {
		return nil, false, nil
	}
	body := new(wire.AppRequest)
	if err := proto.Unmarshal(r.Payload, body); err != nil {
		return nil, false, nil //nolint:nilerr // Dispatch refuses it.
	}
	found, err := d.messages.Find(ctx, store.MessageFilter{IDs: []int64{body.GetUpdateMessageRequest().GetMessageId()}}, store.MessagesByID, 1, 0)
	if err != nil || len(found) == 0 {
		return nil, false, nil //nolint:nilerr // Dispatch meets it again.
	}
	with := *r
	with.Conversation = conversationKey(found[0])
	answer, err = cluster.CallBy(ctx, d.node, link.HandleRequest, cluster.Route{Key: with.Conversation}, &with)
	if errors.Is(err, cluster.ErrNoNode) {
		return nil, false, nil
	}
	return answer, true, err
}

// handOver lets the service that has the conversation of a message deliver it, and delivers it itself if that cannot be. It returns
// when the message is on its way, and does not wait for its turn: a plugin may have sent it because of a message whose turn it is.
func (n *Notifier) handOver(m store.Message, e task) error {
	notification, err := wire.MarshalOptions.Marshal(e.notification)
	if err != nil {
		return fmt.Errorf("encode the notification: %w", err)
	}
	n.mu.Lock()
	stopped := n.stopped
	if !stopped {
		n.handing.Add(1)
	}
	n.mu.Unlock()
	if stopped {
		n.logger.WarnContext(e.ctx, "a notification was dropped because the server stops")
		return nil
	}
	h := &link.Handed{
		Conversation: conversationKey(m), Notification: notification, SenderID: m.SenderID, TargetID: m.TargetID, IsGroup: m.IsGroupMessage,
		ToRecipients: e.to != nil, ToSender: e.self, Device: e.device,
	}
	handed := make(chan struct{})
	sent := sync.OnceFunc(func() { close(handed) })
	go func() {
		defer n.handing.Done()
		defer sent()
		ctx, cancel := context.WithTimeout(e.ctx, handOverTimeout)
		defer cancel()
		if _, err := cluster.CallBy(ctx, n.node, link.HandOver, cluster.Route{Key: h.Conversation, Sent: sent}, h); err != nil {
			n.enqueue(conversationOf(m), &e)
		}
	}()
	<-handed
	return nil
}

// takeOver delivers what another service has stored when it is its turn, or when its time is up. It answers when that is on its way.
func (d *Dispatcher) takeOver(h *link.Handed) func(context.Context) (*struct{}, error) {
	turn := d.turns.Take(h.Conversation)
	return func(ctx context.Context) (*struct{}, error) {
		sent := newDepartures()
		defer sent.wait()
		defer turn.End()
		m := store.Message{SenderID: h.SenderID, TargetID: h.TargetID, IsGroupMessage: h.IsGroup}
		e := task{ctx: context.WithoutCancel(ctx), notification: new(wire.AppNotification), requester: h.SenderID, self: h.ToSender, device: h.Device, departures: sent}
		if err := proto.Unmarshal(h.Notification, e.notification); err != nil {
			return nil, fmt.Errorf("decode the notification: %w", err)
		}
		if h.ToRecipients {
			e.to = d.messages.Recipients(e.ctx, m)
		}
		_ = turn.Await(ctx)
		d.notifier.send(conversationOf(m), e)
		return nil, nil
	}
}
