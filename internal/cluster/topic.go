// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"example.org/app/internal/apierr"
	"example.org/app/internal/role"
)

// A Message was published to a topic. Its payload is read only.
type Message struct {
	Topic string
	// From is the id of the node that published it.
	From    string
	Payload []byte
}

// Publish sends a message to all nodes that subscribe to the topic, this one included. Messages are
// delivered at most once, in the order of each publisher. It does not wait for delivery.
func (n *Node) Publish(ctx context.Context, topic string, payload []byte) error {
	return n.publish(ctx, "all", topic, payload)
}

// PublishRole is Publish to the nodes of one role.
func (n *Node) PublishRole(ctx context.Context, r role.Role, topic string, payload []byte) error {
	return n.publish(ctx, "role."+string(r), topic, payload)
}

// PublishTo is Publish to the node with the id.
func (n *Node) PublishTo(ctx context.Context, id, topic string, payload []byte) error {
	if err := CheckNodeID(id); err != nil {
		return fmt.Errorf("publish to topic %q: %w", topic, err)
	}
	return n.publish(ctx, "to."+id, topic, payload)
}

func (n *Node) publish(ctx context.Context, whom, topic string, payload []byte) error {
	c := n.cluster
	if !namePattern.MatchString(topic) {
		return fmt.Errorf("publish to topic %q: the name must be words of letters, digits, \"_\" and \"-\" with dots between them", topic)
	}
	if !c.up.Load() {
		return unavailable(fmt.Errorf("publish to topic %q: %w", topic, errDown))
	}
	if limit := c.payloadLimit(); len(payload) > limit {
		return apierr.Wrap(apierr.ServerInternalError, &SizeError{What: fmt.Sprintf("the message for topic %q", topic), Size: len(payload), Limit: limit})
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("publish to topic %q: %w", topic, err)
	}
	err := c.conn.PublishMsg(&nats.Msg{Subject: c.topicSubject(whom, topic), Data: payload, Header: nats.Header{
		headerProtocol: {c.protocol},
		headerFrom:     {n.id},
	}})
	if err != nil {
		return unavailable(fmt.Errorf("publish to topic %q: %w", topic, err))
	}
	return nil
}

func (c *Cluster) topicSubject(whom, topic string) string {
	return c.prefix + "topic." + whom + "." + topic
}

// A Subscription delivers the messages of a topic to one function.
type Subscription struct {
	node  *Node
	topic string
	fn    func(ctx context.Context, m Message)
	queue chan *nats.Msg
	subs  []*nats.Subscription
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once
	// refused counts messages in an incompatible protocol.
	refused atomic.Uint64
}

// Subscribe calls fn, sequentially, for the messages of the topic to all nodes, to this node's role
// or to this node. If fn is too slow, messages are dropped and counted by Dropped; nobody else
// waits for it. Its context ends when the node leaves.
func (n *Node) Subscribe(topic string, fn func(ctx context.Context, m Message)) (*Subscription, error) {
	if !namePattern.MatchString(topic) {
		return nil, fmt.Errorf("subscribe to topic %q: the name must be words of letters, digits, \"_\" and \"-\" with dots between them", topic)
	}
	s := &Subscription{
		node: n, topic: topic, fn: fn, queue: make(chan *nats.Msg, n.cluster.options.SubscriberQueue),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.leaving {
		return nil, fmt.Errorf("subscribe to topic %q: %w", topic, ErrClosed)
	}
	c := n.cluster
	// A single queue for all three keeps the order of each publisher.
	for _, whom := range []string{"all", "role." + string(n.options.Type), "to." + n.id} {
		sub, err := c.conn.ChanSubscribe(c.topicSubject(whom, topic), s.queue)
		if err != nil {
			s.unsubscribe()
			return nil, fmt.Errorf("subscribe to topic %q: %w", topic, err)
		}
		s.subs = append(s.subs, sub)
	}
	n.topics = append(n.topics, s)
	go s.run()
	return s, nil
}

func (s *Subscription) unsubscribe() {
	for _, sub := range s.subs {
		_ = sub.Unsubscribe()
	}
}

func (s *Subscription) run() {
	defer close(s.done)
	for {
		select {
		case <-s.stop:
			return
		case msg := <-s.queue:
			if msg == nil {
				return
			}
			if s.node.cluster.checkProtocol(msg.Header) != nil {
				s.refused.Add(1)
				continue
			}
			s.deliver(Message{Topic: s.topic, From: first(msg.Header, headerFrom), Payload: msg.Data})
		}
	}
}

func (s *Subscription) deliver(m Message) {
	defer func() {
		if value := recover(); value != nil {
			s.node.logger.Error("a subscriber panicked", "topic", s.topic, "panic", value, "stack", string(debug.Stack()))
		}
	}()
	s.fn(s.node.ctx, m)
}

// Dropped returns how many messages were lost because the function was too slow or their protocol
// incompatible.
func (s *Subscription) Dropped() uint64 {
	dropped := s.refused.Load()
	for _, sub := range s.subs {
		if count, err := sub.Dropped(); err == nil {
			dropped += uint64(count)
		}
	}
	return dropped
}

// Unsubscribe ends the subscription. It waits for a running call of the function, so the function
// must not call it.
func (s *Subscription) Unsubscribe() {
	n := s.node
	n.mu.Lock()
	n.topics = slices.DeleteFunc(n.topics, func(other *Subscription) bool { return other == s })
	n.mu.Unlock()
	_ = s.close(context.Background())
}

// close ends the subscription and waits until ctx ends.
func (s *Subscription) close(ctx context.Context) error {
	s.once.Do(func() {
		s.unsubscribe()
		close(s.stop)
	})
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the subscriber of topic %q: %w", s.topic, errors.Join(ctx.Err()))
	}
}
