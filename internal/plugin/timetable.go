// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"example.org/app/internal/telemetry"
)

// Slots decides which process of the cluster runs a schedule that runs only once.
type Slots interface {
	// Leads reports whether this process leads the cluster.
	Leads() bool
	// Claim reports whether this process is the first to claim a slot of a schedule. Earlier slots
	// can no longer be claimed then.
	Claim(ctx context.Context, pluginID, extension, schedule string, slot time.Time) (bool, error)
}

const (
	// lookInterval is how often new schedules, and whether this process leads, are checked.
	lookInterval = time.Second
	// leaderHeadStart is how long others leave a slot to the leader, which may not have the plugin.
	leaderHeadStart = 5 * time.Second
	// claimPause is the pause after a failed claim.
	claimPause = time.Second
)

// A Timetable runs the schedules of a process's plugins, and records the results.
type Timetable struct {
	m       *Manager
	mu      sync.Mutex
	entries map[scheduleKey]*timetableEntry
}

// scheduleKey identifies a schedule across versions of the plugin.
type scheduleKey struct{ plugin, extension, name string }

type timetableEntry struct {
	schedule *Schedule
	// next is the next slot, zero while the extension must not run; idle is when that was last
	// seen.
	next, idle time.Time
	ScheduleRecord
}

// A ScheduleRecord contains the results of a schedule in this process.
type ScheduleRecord struct {
	// Runs counts runs, Failures failed ones, and Skipped slots during a run.
	Runs, Failures, Skipped int64
	Running                 bool
	// LastSlot is the slot of the last run, zero if there was none; LastDuration is its duration,
	// LastError why it failed.
	LastSlot     time.Time
	LastDuration time.Duration
	LastError    string
}

// A ScheduleInfo describes a schedule.
type ScheduleInfo struct {
	*Schedule
	// Next is the next slot, zero if the extension must not run.
	Next time.Time
	ScheduleRecord
}

// info returns the schedules of an extension.
func (t *Timetable) info(b *member) (list []ScheduleInfo) {
	s, ok := b.Extension.(Scheduler)
	if !ok {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, schedule := range s.Schedules() {
		info := ScheduleInfo{Schedule: schedule}
		if e := t.entries[b.keyOf(schedule)]; e != nil {
			info.ScheduleRecord = e.ScheduleRecord
			if e.schedule == schedule && b.started.Load() {
				info.Next = e.next
			}
		}
		list = append(list, info)
	}
	return list
}

// entry returns the entry of a schedule, creating it if necessary. The timetable is locked.
func (t *Timetable) entry(key scheduleKey) *timetableEntry {
	e := t.entries[key]
	if e == nil {
		e = &timetableEntry{}
		t.entries[key] = e
	}
	return e
}

// begin reports whether the schedule may run now: a slot during a run is skipped. The timetable is
// locked.
func (e *timetableEntry) begin() bool {
	if e.Running {
		e.Skipped++
		return false
	}
	e.Running = true
	return true
}

// each visits the schedules of all extensions, started or not.
func (t *Timetable) each(visit func(b *member, s *Schedule)) {
	for _, p := range t.m.Plugins() {
		if p.released.Load() {
			continue
		}
		for _, b := range p.members {
			if s, ok := b.Extension.(Scheduler); ok {
				for _, schedule := range s.Schedules() {
					visit(b, schedule)
				}
			}
		}
	}
}

// runsSchedules reports whether the schedules of the extension run now.
func (m *member) runsSchedules() bool { return m.started.Load() && !m.isDown() }

func (m *member) keyOf(s *Schedule) scheduleKey {
	return scheduleKey{m.plugin.ID, m.Class(), s.Name}
}

// run runs schedules at their times until the manager is closed.
func (t *Timetable) run() {
	for t.m.sleep(t.runDue(time.Now())) {
	}
}

// runDue runs due schedules, and returns how long to wait.
func (t *Timetable) runDue(now time.Time) time.Duration {
	wake := now.Add(lookInterval)
	t.mu.Lock()
	defer t.mu.Unlock()
	known := map[scheduleKey]bool{}
	t.each(func(b *member, s *Schedule) {
		key := b.keyOf(s)
		known[key] = true
		if at := t.look(b, t.entry(key), s, now); !at.IsZero() && at.Before(wake) {
			wake = at
		}
	})
	for key, e := range t.entries {
		if !known[key] && !e.Running {
			delete(t.entries, key)
		}
	}
	return max(time.Until(wake), time.Millisecond)
}

// look runs a schedule if it is due, and returns when to check again; the zero time means any time.
// The timetable is locked.
func (t *Timetable) look(b *member, e *timetableEntry, s *Schedule, now time.Time) time.Time {
	if !b.runsSchedules() {
		e.schedule, e.next, e.idle = s, time.Time{}, now
		return time.Time{}
	}
	if e.next.IsZero() || e.schedule.When != s.When {
		since := s.made
		for _, at := range []time.Time{time.Unix(0, b.since.Load()), e.idle, e.LastSlot} {
			since = later(since, at)
		}
		e.next = s.Next(since)
	}
	e.schedule = s // Another version may have another object, with the same slots.
	if e.next.IsZero() || e.next.After(now) {
		return e.next
	}
	slot := s.latest(e.next, now)
	if s.LeaderOnly && t.m.opts.Slots != nil && !t.m.opts.Slots.Leads() {
		// The others wait, at most half of the time to the next slot.
		wait := leaderHeadStart
		if next := s.Next(slot); !next.IsZero() {
			wait = min(wait, next.Sub(slot)/2)
		}
		if at := slot.Add(wait); at.After(now) {
			e.next = slot
			return at
		}
	}
	e.next = s.Next(slot)
	if until := e.next; e.begin() {
		t.m.watcher.Go(func() { t.runSlot(b, e, s, slot, until) })
	}
	return e.next
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// runSlot runs a schedule if this process claims the slot. until is the next slot.
func (t *Timetable) runSlot(b *member, e *timetableEntry, s *Schedule, slot, until time.Time) {
	mine, err := t.claim(b, s, slot, until)
	if err != nil {
		err = fmt.Errorf("claim the slot: %w", err)
	}
	begin := time.Now()
	if mine {
		err = t.call(b, s, slot)
	}
	took := time.Since(begin)
	if err != nil {
		b.logger.Warn("a schedule failed", "schedule", s.Name, "slot", slot, "error", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Running = false
	if !mine && err == nil {
		e.LastSlot = later(e.LastSlot, slot)
		return // Another node ran it.
	}
	e.Runs++
	e.LastSlot, e.LastDuration, e.LastError = later(e.LastSlot, slot), took, ""
	if err != nil {
		e.Failures++
		e.LastError = err.Error()
	}
}

// claim reports whether this process must run a slot. If the store does not answer, it retries
// until the next slot.
func (t *Timetable) claim(b *member, s *Schedule, slot, until time.Time) (bool, error) {
	if !s.LeaderOnly || t.m.opts.Slots == nil {
		return true, nil
	}
	for {
		mine, err := t.m.opts.Slots.Claim(t.m.ctx, b.plugin.ID, b.Class(), s.Name, slot)
		if err == nil || !until.IsZero() && !time.Now().Add(claimPause).Before(until) {
			return mine, err
		}
		if !t.m.sleep(claimPause) {
			return false, err
		}
	}
}

// call calls the function of a schedule within the limits of calls. If the extension was replaced
// meanwhile, its successor is called.
func (t *Timetable) call(b *member, s *Schedule, slot time.Time) error {
	settings := t.m.opts.Settings()
	limits := bounds{time: time.Duration(settings.ScheduleTimeoutMillis) * time.Millisecond, calls: int64(settings.Limits.ConcurrentCalls)}
	args := []any{s.Name, slot}
	ctx, span := telemetry.Start(context.Background(), "run schedule", telemetry.Internal)
	defer span.End()
	if span.On() {
		span.Set(attribute.String("app.schedule.name", s.Name), attribute.String("app.schedule.slot", slot.UTC().Format(time.RFC3339)))
	}
	for range 2 {
		if !b.started.Load() {
			return nil // It was paused or stopped just now.
		}
		traced := t.m.Calls.tracer.schedule(ctx, s)
		_, err := b.call(traced.begin(ctx, b), RunSchedule, limits, args, nil)
		traced.called(b, err)
		traced.end()
		if !errors.Is(err, errRetired) {
			return err
		}
		next := t.successor(b, s)
		if next == nil {
			return nil
		}
		b = next
	}
	return nil
}

// successor returns the extension of a newer version with the same schedule, or nil.
func (t *Timetable) successor(b *member, s *Schedule) *member {
	for _, p := range t.m.Plugins() {
		for _, other := range p.members {
			if other == b || !other.succeeds(b) {
				continue
			}
			if has, ok := other.Extension.(Scheduler); ok {
				for _, schedule := range has.Schedules() {
					if schedule.Name == s.Name {
						return other
					}
				}
			}
		}
	}
	return nil
}
