// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestNotifierStopsInTime proves that Stop returns when its context ends, even if somebody waits for room in a lane that
// does not move, and that nothing is left when the lane moves again.
func TestNotifierStopsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNotifier(nil, nil, slog.New(slog.DiscardHandler), nil)
		release, done := make(chan struct{}), 0
		work := task{ctx: t.Context(), job: func(*lane) {
			<-release
			done++
		}}
		go func() {
			for range laneLength + 3 {
				n.send(0, work)
			}
		}()
		synctest.Wait() // One is worked on, the lane is full, and one waits for room.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := n.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopping ended with %v", err)
		}
		close(release)
		if err := n.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		// The last one was handed over after the notifier had begun to stop.
		if done != laneLength+2 {
			t.Errorf("%d notifications were worked on", done)
		}
	})
}
