// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
)

// on connects with the database.
func (s *suite) on(t testing.TB, db *store.DB) *cluster.Cluster {
	t.Helper()
	return s.connect(t, func(o *cluster.Options) { o.Store = db })
}

// testMemberStore joins with another database. That fails with a one-line error while a node uses
// the first one, and succeeds when none does.
func testMemberStore(t *testing.T, s *suite) {
	first := s.on(t, s.db())
	one := Join(t, first, cluster.NodeOptions{ID: "one", Type: role.Service})
	other := s.on(t, s.newDB())
	for _, r := range []role.Role{role.Gateway, role.Service} {
		ctx, cancel := context.WithTimeout(t.Context(), Timeout)
		_, err := other.Join(ctx, cluster.NodeOptions{ID: "other", Type: r})
		cancel()
		if !errors.Is(err, cluster.ErrOtherStore) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "app.store.url") {
			t.Fatalf("a %s with another database joined with the error %v", r, err)
		}
	}
	AwaitMembers(t, first, "one")
	two := Join(t, s.on(t, s.db()), cluster.NodeOptions{ID: "two", Type: role.Gateway})
	leave(t, one)
	leave(t, two)
	node := Join(t, other, cluster.NodeOptions{ID: "other", Type: role.Service})
	Await(t, other, "the node is healthy", func() bool { return node.Healthy() == nil })
}

// testMemberStoreOutage restarts NATS empty: the nodes claim their database again, and nodes with
// another one cannot join.
func testMemberStoreOutage(t *testing.T, s *suite) {
	first := s.on(t, s.db())
	node := Join(t, first, cluster.NodeOptions{ID: "one", Type: role.Service})
	s.fabric.Stop(t)
	s.fabric.Start(t)
	Await(t, first, "the node is back", func() bool {
		_, known := first.Member("one")
		return known && first.Healthy() == nil && node.Healthy() == nil
	})
	other := s.on(t, s.newDB())
	AwaitMembers(t, other, "one")
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	if _, err := other.Join(ctx, cluster.NodeOptions{ID: "other", Type: role.Service}); !errors.Is(err, cluster.ErrOtherStore) {
		t.Errorf("a node with another database joined with the error %v", err)
	}
}
