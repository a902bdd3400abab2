// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"context"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/ids"
	"example.org/app/internal/role"
)

// testClock runs nodes whose clocks are hours apart: calls are carried out, and an id made after
// another event is greater.
func testClock(t *testing.T, s *suite) {
	skewed := func(id string, kind role.Role, by time.Duration) *cluster.Node {
		return Join(t, s.connect(t, func(o *cluster.Options) {
			o.Clock = func() time.Time { return time.Now().Add(by) }
			o.Store = s.db()
		}), cluster.NodeOptions{ID: id, Type: kind})
	}
	ahead, behind := skewed("ahead", role.Gateway, time.Hour), skewed("behind", role.Service, -time.Hour)
	if difference := ahead.Cluster().Now().Sub(behind.Cluster().Now()).Abs(); difference > time.Minute {
		t.Errorf("the times of the nodes differ by %v", difference)
	}
	made := make(chan int64, 1)
	handle(t, behind, func(_ context.Context, req *greeting) (*greeting, error) {
		if req.Text != "" {
			made <- behind.IDs().Next()
		}
		return nil, nil
	})
	awaitCall(t, ahead)
	for range 20 {
		before := ahead.IDs().Next()
		if _, err := cluster.Call(t.Context(), ahead, greet, &greeting{Text: "make an id"}); err != nil {
			t.Fatal(err)
		}
		during := receive(t, "an id", made)
		after := ahead.IDs().Next()
		for _, pair := range [][2]int64{{before, during}, {during, after}} {
			if ids.Time(pair[1]).Before(ids.Time(pair[0])) {
				t.Errorf("the id of %v was made after that of %v", ids.Time(pair[1]), ids.Time(pair[0]))
			}
		}
	}
}
