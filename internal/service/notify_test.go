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

// TestNotifierStopsInTime proves that Stop returns when its context ends, even if a sender waits
// for space in a blocked lane, and that the queue is processed when the lane continues.
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
		synctest.Wait() // One runs, the queue is full, and one waits for space.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := n.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopping ended with %v", err)
		}
		close(release)
		if err := n.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		// The last one was queued after the notifier had begun to stop.
		if done != laneLength+2 {
			t.Errorf("%d notifications were worked on", done)
		}
	})
}
