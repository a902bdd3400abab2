// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"context"
	"encoding/binary"
	"testing"

	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
)

const topic = "test.topic"

// subscribe collects the messages of the topic.
func subscribe(t testing.TB, n *cluster.Node) <-chan cluster.Message {
	t.Helper()
	messages := make(chan cluster.Message, 10_000)
	if _, err := n.Subscribe(topic, func(_ context.Context, m cluster.Message) { messages <- m }); err != nil {
		t.Fatal(err)
	}
	return messages
}

// awaitTopic publishes until a message arrives, so that the subscription is known, and drops all
// that arrived.
func awaitTopic(t testing.TB, from, to *cluster.Node, messages <-chan cluster.Message) {
	t.Helper()
	Await(t, from.Cluster(), "a first message", func() bool {
		if err := from.PublishTo(t.Context(), to.ID(), topic, []byte("first")); err != nil {
			t.Fatal(err)
		}
		select {
		case <-messages:
			return true
		default:
			return false
		}
	})
	if err := from.PublishTo(t.Context(), to.ID(), topic, []byte("last")); err != nil {
		t.Fatal(err)
	}
	for string(receive(t, "the last of the first messages", messages).Payload) != "last" {
	}
}

func testTopicFanOut(t *testing.T, s *suite) {
	sender := s.gateway(t, "sender", nil)
	nodes := map[string]*cluster.Node{"gateway": s.gateway(t, "gateway", nil), "service": s.service(t, "service", nil)}
	messages := map[string]<-chan cluster.Message{}
	for id, n := range nodes {
		messages[id] = subscribe(t, n)
		awaitTopic(t, sender, n, messages[id])
	}
	for _, step := range []struct {
		text    string
		publish func() error
		to      []string
	}{
		{"all", func() error { return sender.Publish(t.Context(), topic, []byte("all")) }, []string{"gateway", "service"}},
		{"role", func() error { return sender.PublishRole(t.Context(), role.Service, topic, []byte("role")) }, []string{"service"}},
		{"node", func() error { return sender.PublishTo(t.Context(), "gateway", topic, []byte("node")) }, []string{"gateway"}},
		{"end", func() error { return sender.Publish(t.Context(), topic, []byte("end")) }, []string{"gateway", "service"}},
	} {
		if err := step.publish(); err != nil {
			t.Fatal(err)
		}
		for _, id := range step.to {
			m := receive(t, step.text+" at "+id, messages[id])
			if string(m.Payload) != step.text || m.From != "sender" || m.Topic != topic {
				t.Errorf("%s got %+v, want %q", id, m, step.text)
			}
		}
	}
	if err := sender.Publish(t.Context(), "bad topic", nil); err == nil {
		t.Error("a bad topic was accepted")
	}
}

func testTopicOrder(t *testing.T, s *suite) {
	const count = 2000
	sender, receiver := s.gateway(t, "sender", nil), s.service(t, "receiver", nil)
	messages := subscribe(t, receiver)
	awaitTopic(t, sender, receiver, messages)
	publish := []func(payload []byte) error{
		func(p []byte) error { return sender.Publish(t.Context(), topic, p) },
		func(p []byte) error { return sender.PublishRole(t.Context(), role.Service, topic, p) },
		func(p []byte) error { return sender.PublishTo(t.Context(), "receiver", topic, p) },
	}
	for i := range count {
		if err := publish[i%3](binary.BigEndian.AppendUint32(nil, uint32(i))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range count {
		if got := binary.BigEndian.Uint32(receive(t, "a message", messages).Payload); got != uint32(i) {
			t.Fatalf("message %d came in the place of %d", got, i)
		}
	}
}

func testTopicSlow(t *testing.T, s *suite) {
	sender := s.gateway(t, "sender", nil)
	slow := s.service(t, "slow", func(o *cluster.Options) { o.SubscriberQueue = 4 })
	started, release := make(chan struct{}, 1000), make(chan struct{})
	subscription, err := slow.Subscribe(topic, func(context.Context, cluster.Message) {
		started <- struct{}{}
		<-release
	})
	if err != nil {
		t.Fatal(err)
	}
	// Another subscriber on the same connection receives everything.
	others := subscribe(t, Join(t, slow.Cluster(), cluster.NodeOptions{ID: "quick", Type: role.Gateway}))
	Await(t, sender.Cluster(), "dropped messages", func() bool {
		if err := sender.Publish(t.Context(), topic, nil); err != nil {
			t.Fatal(err)
		}
		return subscription.Dropped() > 10
	})
	for range 12 {
		receive(t, "a message at the quick subscriber", others)
	}
	receive(t, "the slow subscriber", started)
	close(release)
	subscription.Unsubscribe()
}
