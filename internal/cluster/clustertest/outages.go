// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"context"
	"errors"
	"testing"

	"example.org/app/internal/cluster"
)

// testOutage stops the server and starts it again empty, twice.
func testOutage(t *testing.T, s *suite) {
	caller := s.gateway(t, "gateway", nil)
	callee := s.candidate(t, "service", 1)
	s.candidate(t, "spare", 0)
	handle(t, callee, named(callee))
	awaitCall(t, caller)
	messages := subscribe(t, callee)
	awaitTopic(t, caller, callee, messages)
	priority := int32(77)
	if err := caller.Cluster().UpdateMember(t.Context(), "service", cluster.MemberChange{Priority: &priority}); err != nil {
		t.Fatal(err)
	}
	Await(t, caller.Cluster(), "the change at the node", func() bool { return callee.Member().Priority == priority })
	last := int64(0)
	observe := func() {
		t.Helper()
		AwaitMembers(t, caller.Cluster(), "gateway", "service", "spare")
		awaitCall(t, caller)
		awaitTopic(t, caller, callee, messages)
		fence := int64(0)
		Await(t, caller.Cluster(), "a leader", func() bool {
			_, number, ok := caller.Cluster().Leader()
			fence = number
			return ok
		})
		if fence < last {
			t.Errorf("fence %d follows %d", fence, last)
		}
		last = fence
		Await(t, caller.Cluster(), "the change of the administrator", func() bool {
			m, _ := caller.Cluster().Member("service")
			return m.Priority == priority
		})
	}
	observe()
	for range 2 {
		s.fabric.Stop(t)
		Await(t, caller.Cluster(), "an unhealthy connection", func() bool { return caller.Cluster().Healthy() != nil })
		_, err := cluster.Call(t.Context(), caller, greet, &greeting{})
		if !errors.Is(err, cluster.ErrNoNode) {
			t.Errorf("a call during the outage: %v", err)
		}
		if err := caller.Publish(context.Background(), topic, nil); err == nil {
			t.Error("a message was published during the outage")
		}
		s.fabric.Start(t)
		Await(t, caller.Cluster(), "a healthy connection", func() bool { return caller.Cluster().Healthy() == nil })
		observe()
	}
	// A node can leave during an outage, too.
	s.fabric.Stop(t)
	leave(t, callee)
}
