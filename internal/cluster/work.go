// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/robfig/cron/v3"

	"example.org/app/internal/store"
)

// Bounds of the pause after which work that failed is begun again.
const workPauseMin, workPauseMax = time.Second, time.Minute

// cronParser reads six fields, seconds first, and descriptors such as @hourly.
var cronParser = cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// A work is something that the leader does.
type work struct {
	name string
	fn   func(ctx context.Context, fence Fence) error
}

// run does the work during a reign, again and again while it fails.
func (w *work) run(r *reign, n *Node) {
	for pause := workPauseMin; r.ctx.Err() == nil; pause = min(2*pause, workPauseMax) {
		err := w.once(r.ctx, r.fence, n)
		if err == nil || r.ctx.Err() != nil {
			return
		}
		n.logger.Error("the work of the leader failed", "work", w.name, "error", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-r.ctx.Done():
		}
		timer.Stop()
	}
}

func (w *work) once(ctx context.Context, fence Fence, n *Node) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v", value)
			n.logger.Error("the work of the leader panicked", "work", w.name, "panic", value, "stack", string(debug.Stack()))
		}
	}()
	return w.fn(store.WithGuard(ctx, fence.Check), fence)
}

// Schedule has fn called by the leader at the times of spec: second, minute, hour, day of month, month and day of
// week. It never overlaps itself on a node: a time that passes while it runs is skipped. Its context ends when the
// lease is lost.
func (n *Node) Schedule(name, spec string, fn func(ctx context.Context, fence Fence) error) (stop func(), err error) {
	times, err := cronParser.Parse(spec)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: the times %q must be six fields, seconds first: %w", name, spec, err)
	}
	w := &work{name: name, fn: fn}
	return n.RunAsLeader(name, func(ctx context.Context, fence Fence) error {
		for {
			next := times.Next(time.Now())
			if next.IsZero() {
				return nil
			}
			timer := time.NewTimer(time.Until(next))
			select {
			case <-ctx.Done():
				timer.Stop()
				return nil
			case <-timer.C:
			}
			start := time.Now()
			if err := w.once(ctx, fence, n); err != nil && ctx.Err() == nil {
				n.logger.Error("a scheduled run failed", "work", name, "error", err)
			}
			n.logger.Debug("a scheduled run has ended", "work", name, "duration", time.Since(start))
		}
	})
}
