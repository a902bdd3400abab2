// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/robfig/cron/v3"

	"example.org/app/internal/sleep"
	"example.org/app/internal/store"
)

// Bounds of the pause before failed work is retried.
const workPauseMin, workPauseMax = time.Second, time.Minute

// cronParser reads six fields, seconds first, and descriptors such as @hourly.
var cronParser = cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// A work is a job of the leader.
type work struct {
	name string
	fn   func(ctx context.Context, fence Fence) error
}

// run does the work during a term, with retries.
func (w *work) run(r *term, n *Node) {
	for pause := workPauseMin; r.ctx.Err() == nil; pause = min(2*pause, workPauseMax) {
		err := w.once(r.ctx, r.fence, n)
		if err == nil || r.ctx.Err() != nil {
			return
		}
		n.logger.Error("the work of the leader failed", "work", w.name, "error", err)
		_ = sleep.For(r.ctx, pause)
	}
}

func (w *work) once(ctx context.Context, fence Fence, n *Node) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v", value)
			n.logger.Error("the work of the leader panicked", "work", w.name, "panic", value, "stack", string(debug.Stack()))
		}
	}()
	return w.fn(ctx, fence)
}

// A job is rare if its runs are at least rare apart. A missed or failed run of such a job is caught
// up on; rareRetry is the pause between attempts.
const rare, rareRetry = 10 * time.Minute, 10 * time.Minute

// Schedule makes the leader call fn at the times of spec: second, minute, hour, day of month, month
// and day of week. Runs on a node never overlap: a time that passes during a run is skipped. If a
// rare job missed runs because there was no leader, it runs once as soon as there is one. The
// context of fn ends when the lease is lost; later writes behind the fence are not committed.
func (n *Node) Schedule(name, spec string, fn func(ctx context.Context, fence Fence) error) (stop func(), err error) {
	times, err := cronParser.Parse(spec)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: the times %q must be six fields, seconds first: %w", name, spec, err)
	}
	s := &schedule{node: n, times: times, work: work{name: name, fn: fn}}
	if next := times.Next(time.Now()); times.Next(next).Sub(next) >= rare {
		s.rare, s.work.fn = true, func(ctx context.Context, fence Fence) error {
			start := time.Now()
			if err := fn(ctx, fence); err != nil {
				return err
			}
			return s.note(ctx, fence, start)
		}
	}
	return n.RunAsLeader(name, s.run)
}

// A schedule is a job of the leader with a cron expression.
type schedule struct {
	node  *Node
	times cron.Schedule
	work  work
	// rare is true if the store keeps when the job last ran.
	rare bool
}

// run does the job at its times until the context ends.
func (s *schedule) run(ctx context.Context, fence Fence) error {
	since, err := s.last(ctx, fence)
	if err != nil {
		return err
	}
	next := s.times.Next(since)
	for !next.IsZero() && sleep.For(ctx, time.Until(next)) == nil {
		next = s.times.Next(time.Now())
		if again := time.Now().Add(rareRetry); !s.attempt(ctx, fence) && again.Before(next) {
			next = again
		}
	}
	return nil
}

// attempt runs the job once and reports whether its next run is at the next time of the schedule.
func (s *schedule) attempt(ctx context.Context, fence Fence) bool {
	start := time.Now()
	err := s.work.once(ctx, fence, s.node)
	if err != nil && ctx.Err() == nil {
		s.node.logger.Error("a scheduled run failed", "work", s.work.name, "error", err)
	}
	s.node.logger.Debug("a scheduled run has ended", "work", s.work.name, "duration", time.Since(start))
	return err == nil || !s.rare
}

// last returns the time after which runs may have been missed.
func (s *schedule) last(ctx context.Context, fence Fence) (at time.Time, err error) {
	now := time.Now()
	if !s.rare {
		return now, nil
	}
	err = s.node.cluster.options.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		at, err = store.FindJobRun(ctx, r, s.work.name)
		return err
	})
	if errors.Is(err, store.ErrNotFound) { // The first leader of all starts counting now.
		return now, s.note(ctx, fence, now)
	}
	if at.After(now) {
		at = now
	}
	return at, err
}

// note stores that the job ran.
func (s *schedule) note(ctx context.Context, fence Fence, at time.Time) error {
	return s.node.cluster.options.Store.Behind(fence.Check).Write(ctx, func(ctx context.Context, tx store.Tx) error {
		return store.SetJobRun(ctx, tx, s.work.name, at)
	})
}
