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

// A pendingMessage is a message of a client that a service has not answered yet.
type pendingMessage struct {
	conversation uint64
	// place is which service it was handed to, and how; empty is none. It and next belong to the connection's mu.
	place string
	// next is which service it is about to be handed to.
	next string
	done chan struct{}
}

// forwardInOrder lets a service answer a request after those before it were handed over, so that they arrive in the order
// in which the client sent them. It does not wait for their answers, unless they went to another service.
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

// begin begins a message to a conversation.
func (c *connection) begin(conversation uint64) *pendingMessage {
	m := &pendingMessage{conversation: conversation, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, m)
	return m
}

// hand says that a message was handed to the service that it was about to be handed to.
func (c *connection) hand(m *pendingMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.place = m.next
}

// follow waits until a message can be handed to a service without overtaking those before it: they were answered, or the
// same service got them the same way. One that is sent again waits for all answers.
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

// settle says that nobody need wait for a message any more.
func (c *connection) settle(m *pendingMessage) {
	if m == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = slices.DeleteFunc(c.pending, func(other *pendingMessage) bool { return other == m })
	close(m.done)
}

// keys makes what identifies the requests of one gateway: a random beginning and a number.
type keys struct {
	prefix [8]byte
	count  atomic.Uint64
}

func newKeys() *keys {
	k := new(keys)
	_, _ = rand.Read(k.prefix[:]) // It never fails.
	return k
}

func (k *keys) next() []byte {
	return binary.BigEndian.AppendUint64(slices.Clone(k.prefix[:]), k.count.Add(1))
}
