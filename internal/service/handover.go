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

// At any time one service owns a conversation and delivers all its notifications, so that all
// members get them in the same order. Gateways send new messages to the owner. A service that gets
// requests without the conversation, or messages from elsewhere, forwards them to the owner.

// handOverTimeout is how long a message may wait for its turn at another service.
const handOverTimeout = 5 * time.Second

// passOn forwards the edit of a message, which does not name the conversation, to the service that
// owns it. passed is false for other requests, and if no other service can be called.
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

// handOver makes the owner of the message's conversation deliver it, and delivers it itself if that
// fails. It returns when the message was sent and does not wait for its turn: a plugin may have
// sent it while handling a message whose turn it is.
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
	if e.stored != nil {
		h.ID = e.stored.ID
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

// takeOver delivers, when its turn comes or its time is up, what another service has stored. The
// returned function returns when that was sent.
func (d *Dispatcher) takeOver(h *link.Handed) func(context.Context) (*struct{}, error) {
	turn := d.turns.Take(h.Conversation)
	return func(ctx context.Context) (*struct{}, error) {
		sent := newPendingSends()
		defer sent.wait()
		defer turn.End()
		m := store.Message{SenderID: h.SenderID, TargetID: h.TargetID, IsGroupMessage: h.IsGroup}
		e := task{ctx: context.WithoutCancel(ctx), notification: new(wire.AppNotification), requester: h.SenderID, self: h.ToSender, device: h.Device, pendingSends: sent}
		if h.ID != 0 {
			e.stored = &link.StoredMessage{Conversation: h.Conversation, ID: h.ID}
		}
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
