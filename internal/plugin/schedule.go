// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // Time zones of schedules must not depend on the machine.
	"unicode/utf8"

	"github.com/robfig/cron/v3"

	"example.org/app/internal/apierr"
)

// The limits of schedules.
const (
	minPeriod    = time.Second
	maxPeriod    = 366 * 24 * time.Hour
	maxSchedules = 100
	maxScheduled = 128 // bytes of a name
)

// RunSchedule runs the function of a schedule. It belongs to no extension point: it is called on
// Schedulers, with the name of the schedule, a string, and the slot, a time.Time.
var RunSchedule = &Method{Point: &Point{Name: "Schedule"}, Name: "run", Mode: Only, Failure: Ignore}

// A Scheduler is an extension that may have schedules. Its Call supports RunSchedule.
type Scheduler interface {
	// Schedules returns the extension's current schedules. It is cheap.
	Schedules() []*Schedule
}

// A Schedule defines when a function of an extension runs. The times at which it runs are its
// slots. They depend only on the schedule and the clock, so that all nodes agree on them.
type Schedule struct {
	// Name is unique among the extension's schedules.
	Name string
	// When is the plugin's cron expression or interval.
	When string
	// LeaderOnly is true if only one node of the cluster runs it: the leader, if it has the
	// extension.
	LeaderOnly bool

	every time.Duration // of an interval, else 0
	times cron.Schedule // of a cron expression
	made  time.Time
}

// cronParser reads five fields, or six with seconds first, and descriptors such as @hourly.
var cronParser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// NewSchedule returns a schedule for a cron expression or for an interval such as 90s, 15m or 24h.
// The default name is the expression.
func NewSchedule(name, when string, leaderOnly bool) (*Schedule, error) {
	when = strings.TrimSpace(when)
	s := &Schedule{Name: name, When: when, LeaderOnly: leaderOnly, made: time.Now()}
	if s.Name == "" {
		s.Name = when
	}
	if len(s.Name) > maxScheduled || !utf8.ValidString(s.Name) || strings.ContainsRune(s.Name, 0) {
		return nil, apierr.New(apierr.IllegalArgument, "the name of a schedule must have at most %d bytes of UTF-8 without U+0000", maxScheduled)
	}
	if d, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(when, "@every "))); err == nil {
		if d < minPeriod || d > maxPeriod {
			return nil, apierr.New(apierr.IllegalArgument, "schedule %q: the interval must be from %s to %s", clip(s.Name), minPeriod, maxPeriod)
		}
		s.every = d
		return s, nil
	}
	spec := when
	if !strings.HasPrefix(spec, "TZ=") && !strings.HasPrefix(spec, "CRON_TZ=") {
		spec = "CRON_TZ=UTC " + spec
	}
	times, err := parseCron(spec)
	if err != nil {
		return nil, apierr.New(apierr.IllegalArgument, "schedule %q: %q must be an interval, such as 90s or 15m, or a cron expression of five fields, or six with seconds first: %v",
			clip(s.Name), clip(when), err)
	}
	if times.Next(time.Now()).IsZero() {
		return nil, apierr.New(apierr.IllegalArgument, "schedule %q: the times %q never come", clip(s.Name), clip(when))
	}
	s.times = times
	return s, nil
}

// parseCron parses a cron expression. The library panics on a time zone without a following blank.
func parseCron(spec string) (cron.Schedule, error) {
	if !strings.Contains(spec, " ") {
		return nil, fmt.Errorf("the fields are missing")
	}
	times, err := cronParser.Parse(spec)
	if err != nil {
		return nil, fmt.Errorf("read the expression: %w", err)
	}
	return times, nil
}

// Next returns the first slot after a time, or the zero time if there is none.
func (s *Schedule) Next(after time.Time) time.Time {
	if s.every > 0 {
		// Time.Truncate counts from the year 1, which is a multiple of intervals of whole days,
		// hours and minutes as well.
		return after.UTC().Truncate(s.every).Add(s.every)
	}
	return s.times.Next(after).UTC()
}

// latest returns the last slot, starting with the given one, that is not after now.
func (s *Schedule) latest(slot, now time.Time) time.Time {
	if s.every > 0 && now.After(slot) {
		return now.UTC().Truncate(s.every)
	}
	for next := s.Next(slot); !next.IsZero() && !next.After(now); next = s.Next(next) {
		slot = next
	}
	return slot
}

// Schedules are the schedules of one extension. Hosts keep them.
type Schedules struct {
	mu   sync.Mutex
	list []*Schedule // Immutable; replaced on changes.
}

// Add adds a schedule. Names must be unique in an extension.
func (s *Schedules) Add(n *Schedule) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.list, func(other *Schedule) bool { return other.Name == n.Name }) {
		return apierr.New(apierr.DuplicateResource, "the extension has a schedule %q already: give one of them another name", clip(n.Name))
	}
	if len(s.list) >= maxSchedules {
		return apierr.New(apierr.IllegalArgument, "the extension has %d schedules already, the most that it may have", maxSchedules)
	}
	s.list = append(slices.Clone(s.list), n)
	return nil
}

// Keep removes the schedules for which keep returns false, and reports whether there were any.
func (s *Schedules) Keep(keep func(*Schedule) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.list)
	s.list = slices.DeleteFunc(slices.Clone(s.list), func(n *Schedule) bool { return !keep(n) })
	return len(s.list) < before
}

// List returns the schedules, which are read only.
func (s *Schedules) List() []*Schedule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}
