// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"example.org/app/internal/cluster"
	"example.org/app/internal/wire"
)

// A pendingMessage is a message of a client that has no response yet.
type pendingMessage struct {
	conversation uint64
	// place is the service and the connection over which it was sent; empty means none. The
	// connection's mu guards it and next.
	place string
	// next is the place to which it is about to be sent.
	next string
	done chan struct{}
}

// forwardInOrder forwards a request after those before it were sent, so that they arrive in the
// client's order. It does not wait for their responses, unless they went to another service.
func (c *connection) forwardInOrder(in *arrival, payload []byte) {
	before, handed := c.handed, make(chan struct{})
	once := sync.OnceFunc(func() { close(handed) })
	conversation := wire.ConversationKey(in.session.UserID, payload)
	var m *pendingMessage
	if !c.gateway.options.Node.Cluster().Exclusive() {
		m = c.begin(conversation)
	}
	began := c.work(in, func() {
		defer c.settle(m)
		defer once()
		if before != nil {
			<-before
		}
		request := c.requestOf(in, payload)
		request.Conversation = conversation
		route := cluster.Route{Key: conversation, Sent: once}
		if m != nil {
			request.Key, route.Once = c.gateway.keys.next(), true
			route.To = func(ctx context.Context, place string, again bool) error {
				request.Repeated = again
				return c.follow(ctx, m, place, again)
			}
			route.Sent = func() {
				c.hand(m)
				once()
			}
		}
		c.forward(in, request, route)
	})
	if began {
		c.handed = handed
	} else {
		c.settle(m)
	}
}

// begin adds a message of a conversation.
func (c *connection) begin(conversation uint64) *pendingMessage {
	m := &pendingMessage{conversation: conversation, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, m)
	return m
}

// hand records that a message was sent to its next place.
func (c *connection) hand(m *pendingMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.place = m.next
}

// follow waits until a message can be sent without overtaking those before it: they have responses,
// or were sent to the same place. A message that is sent again waits for all responses.
func (c *connection) follow(ctx context.Context, m *pendingMessage, place string, again bool) error {
	var before []*pendingMessage
	c.mu.Lock()
	m.place, m.next = "", place
	for _, other := range c.pending[:slices.Index(c.pending, m)] {
		if other.conversation == m.conversation && (again || other.place != place) {
			before = append(before, other)
		}
	}
	c.mu.Unlock()
	for _, other := range before {
		select {
		case <-other.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// settle removes a finished message.
func (c *connection) settle(m *pendingMessage) {
	if m == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = slices.DeleteFunc(c.pending, func(other *pendingMessage) bool { return other == m })
	close(m.done)
}

// keys generates unique keys of requests: a random prefix and a number.
type keys struct {
	prefix [8]byte
	count  atomic.Uint64
}

func newKeys() *keys {
	k := new(keys)
	_, _ = rand.Read(k.prefix[:]) // Never fails.
	return k
}

func (k *keys) next() []byte {
	return binary.BigEndian.AppendUint64(slices.Clone(k.prefix[:]), k.count.Add(1))
}
