// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// TestSlots has the slots of schedules after a time.
func TestSlots(t *testing.T) {
	after := time.Date(2026, 3, 28, 12, 0, 0, 500, time.UTC)
	for when, want := range map[string]string{
		"1s":                               "2026-03-28T12:00:01Z",
		"1500ms":                           "2026-03-28T12:00:01.5Z",
		"15m":                              "2026-03-28T12:15:00Z",
		"@every 24h":                       "2026-03-29T00:00:00Z",
		" 24h ":                            "2026-03-29T00:00:00Z",
		"*/5 * * * *":                      "2026-03-28T12:05:00Z",
		"*/5 * * * * *":                    "2026-03-28T12:00:05Z",
		"@hourly":                          "2026-03-28T13:00:00Z",
		"0 3 * * *":                        "2026-03-29T03:00:00Z",
		"CRON_TZ=Europe/Berlin 0 6 * * *":  "2026-03-29T04:00:00Z",
		"TZ=America/New_York 0 0 12 * * *": "2026-03-28T16:00:00Z",
	} {
		s, err := NewSchedule("", when, false)
		if err != nil {
			t.Errorf("%q: %v", when, err)
			continue
		}
		if got := s.Next(after).Format(time.RFC3339Nano); got != want {
			t.Errorf("after %q comes %s, want %s", when, got, want)
		}
		if s.Name != strings.TrimSpace(when) {
			t.Errorf("%q is named %q", when, s.Name)
		}
	}
	for when, want := range map[string]string{
		"": "must be an interval", "x": "must be an interval", "* * * *": "must be an interval", "61 * * * *": "above maximum",
		"999ms": "from 1s to", "-5s": "from 1s to", "0s": "from 1s to", "9000h": "from 1s to", "@every 1ms": "from 1s to",
		"0 0 30 2 *": "never come", "CRON_TZ=Nowhere/Land * * * * *": "Nowhere/Land", "CRON_TZ=UTC": "fields are missing", "TZ=": "fields are missing",
	} {
		if _, err := NewSchedule("", when, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", when, err)
		}
	}
	for _, name := range []string{strings.Repeat("x", maxScheduled+1), "\x00", "\xff"} {
		if _, err := NewSchedule(name, "1s", false); err == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	for _, when := range []string{"1s", "*/5 * * * *", "CRON_TZ=UTC 0 0 1 1 *", "@every 5m", "TZ=", "@", "? ? ? ? ?"} {
		f.Add("name", when)
	}
	f.Fuzz(func(t *testing.T, name, when string) {
		now := time.Now()
		s, err := NewSchedule(name, when, false)
		if err != nil {
			return
		}
		if next := s.Next(now); !next.After(now) && !next.IsZero() {
			t.Errorf("%q comes at %s, which is not after %s", when, next, now)
		}
	})
}

// TestSchedulesAreLimited has how many schedules an extension can have, and that two cannot have
// the same name.
func TestSchedulesAreLimited(t *testing.T) {
	var list Schedules
	for i := range maxSchedules {
		if err := list.Add(schedule(t, fmt.Sprint(i), "1s", false)); err != nil {
			t.Fatal(err)
		}
	}
	if err := list.Add(schedule(t, "more", "1s", false)); err == nil {
		t.Error("there is no limit")
	}
	if !list.Keep(func(s *Schedule) bool { return s.Name != "7" }) || list.Keep(func(s *Schedule) bool { return s.Name != "7" }) {
		t.Error("a schedule was not removed once")
	}
	if err := list.Add(schedule(t, "8", "2s", true)); err == nil {
		t.Error("two schedules have the same name")
	}
}

func schedule(t *testing.T, name, when string, leaderOnly bool) *Schedule {
	t.Helper()
	s, err := NewSchedule(name, when, leaderOnly)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// scheduled is an extension with a schedule, whose runs are noted with the second of their slot.
func (w *world) scheduled(s *Schedule, fn func(ctx context.Context) error) functions {
	return functions{
		class: "Timer", points: []*Point{AdminActionHandler}, schedules: []*Schedule{s},
		calls: map[*Method]func(context.Context, []any) (any, error){RunSchedule: func(ctx context.Context, args []any) (any, error) {
			w.ran(fmt.Sprintf("%s %s", args[0], args[1].(time.Time).Format("05")))
			if fn == nil {
				return nil, nil
			}
			return nil, fn(ctx)
		}},
	}
}

// ran notes a run.
func (w *world) ran(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, what)
}

// sleepTo sleeps until a second of the minute, and a bit.
func sleepTo(second int) {
	now := time.Now()
	time.Sleep(now.Truncate(time.Minute).Add(time.Duration(second)*time.Second + time.Millisecond).Sub(now))
}

// wantRuns compares the runs since the last call.
func (w *world) wantRuns(want ...string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.runs, want) {
		w.t.Errorf("the runs are %q, want %q", w.runs, want)
	}
	w.runs = nil
}

// TestScheduleFollowsItsExtension runs a schedule while its extension is started, and never twice
// in a slot.
func TestScheduleFollowsItsExtension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		p := w.add("a", w.scheduled(schedule(t, "s", "2s", false), nil))
		sleepTo(4)
		w.wantRuns("s 02", "s 04")
		w.do(p, Pause)
		sleepTo(9)
		w.wantRuns()
		if info := p.Extensions()[0].Schedules[0]; !info.Next.IsZero() || info.Runs != 2 || info.LastSlot.Second() != 4 {
			t.Errorf("the schedule of a paused extension: %+v", info)
		}
		w.do(p, Resume)
		sleepTo(10)
		w.wantRuns("s 10")
		if info := p.Extensions()[0].Schedules[0]; info.Next.Second() != 12 || info.Runs != 3 || info.Running {
			t.Errorf("the schedule: %+v", info)
		}
		// Another version, that is loaded right before a slot and right after it.
		for i, version := range []string{"2", "3"} {
			w.host.mu.Lock()
			w.host.scripts[version] = script{id: "a", version: version, extensions: []functions{w.scheduled(schedule(t, "s", "2s", false), nil)}}
			w.host.mu.Unlock()
			time.Sleep(time.Until(time.Now().Truncate(2 * time.Second).Add(2*time.Second + time.Duration(2*i-1)*time.Millisecond)))
			if _, err := w.Replace(t.Context(), JavaScript, Source{Name: version, Data: []byte(version)}); err != nil {
				t.Fatal(err)
			}
		}
		sleepTo(16)
		w.wantRuns("s 12", "s 14", "s 16")
		p, _ = w.Find("a")
		w.do(p, Stop)
		sleepTo(20)
		w.wantRuns()
		if _, err := w.Remove(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		sleepTo(24)
		w.wantRuns()
	})
}

// TestScheduleIsACall has the limits of calls: a schedule does not overlap itself, ends in time,
// and its failures count.
func TestScheduleIsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.set(func(s *config.Plugin) { s.ScheduleTimeoutMillis = 3500 })
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		p := w.add("a", w.scheduled(schedule(t, "s", "1s", false), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}))
		sleepTo(5)
		w.wantRuns("s 01", "s 05")
		if info := p.Extensions()[0]; info.Timeouts != 1 || info.Schedules[0].Skipped != 3 || info.Schedules[0].Failures != 1 || !info.Schedules[0].Running ||
			!strings.Contains(info.Schedules[0].LastError, "took longer than 3.5s") || info.LastFailure.In != "Schedule.run" {
			t.Errorf("the extension: %+v", info)
		}
		if _, err := w.Remove(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	})
}

// memorySlots are slots without a store. They fail as long as down says so.
type memorySlots struct {
	mu     sync.Mutex
	leader string
	last   map[string]time.Time
	down   bool
}

type slotsOf struct {
	*memorySlots
	node string
}

func (s slotsOf) Leads() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leader == s.node
}

func (s slotsOf) Claim(_ context.Context, pluginID, extension, schedule string, slot time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := pluginID + extension + schedule
	if s.down {
		return false, errors.New("the store is down")
	}
	if !slot.After(s.last[key]) {
		return false, nil
	}
	s.last[key] = slot
	return true, nil
}

// TestOneNodeRunsASlot has three nodes whose leader changes and whose store is down for a while:
// each slot runs once.
func TestOneNodeRunsASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &memorySlots{leader: "0", last: map[string]time.Time{}}
		lead := func(node string) {
			shared.mu.Lock()
			defer shared.mu.Unlock()
			shared.leader = node
		}
		var nodes []*world
		var plugins []*Plugin
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		for i := range 3 {
			w := newWorld(t)
			w.opts.Slots = slotsOf{shared, fmt.Sprint(i)}
			nodes = append(nodes, w)
			plugins = append(plugins, w.add("a", w.scheduled(schedule(t, "s", "10s", true), nil)))
		}
		sleepTo(19)
		nodes[0].wantRuns("s 10")
		nodes[1].wantRuns()
		lead("1") // Right after the slot 20 begins, the leader of before may run it or the new one, not both.
		sleepTo(28)
		nodes[0].wantRuns()
		nodes[1].wantRuns("s 20")
		// The leader does not have the extension: another node runs the slot, later.
		nodes[1].do(plugins[1], Pause)
		sleepTo(34)
		nodes[0].wantRuns()
		nodes[2].wantRuns()
		sleepTo(39)
		nodes[1].wantRuns()
		nodes[0].mu.Lock()
		ran := slices.Concat(nodes[0].runs, nodes[2].runs)
		nodes[0].runs, nodes[2].runs = nil, nil
		nodes[0].mu.Unlock()
		if !slices.Equal(ran, []string{"s 30"}) {
			t.Errorf("the runs of the others are %q", ran)
		}
		// Nobody leads, and nobody can claim the slot at once.
		nodes[1].do(plugins[1], Resume)
		lead("none")
		shared.mu.Lock()
		shared.down = true
		shared.mu.Unlock()
		sleepTo(47)
		shared.mu.Lock()
		shared.down = false
		shared.mu.Unlock()
		sleepTo(49)
		ran = nil
		synctest.Wait()
		for _, w := range nodes {
			w.mu.Lock()
			ran = append(ran, w.runs...)
			w.mu.Unlock()
		}
		if !slices.Equal(ran, []string{"s 40"}) {
			t.Errorf("the runs after the store came back are %q", ran)
		}
	})
}

// TestStoredSlots claims slots in a real store.
func TestStoredSlots(t *testing.T) {
	for engine, open := range map[string]func(testing.TB) *store.DB{"SQLite": storetest.SQLite, "PostgreSQL": storetest.PostgreSQL} {
		t.Run(engine, func(t *testing.T) { testStoredSlots(t, open(t)) })
	}
}

func testStoredSlots(t *testing.T, db *store.DB) {
	slots := NewSlots(db, func() bool { return true })
	slot := time.Now().Truncate(time.Second)
	claimed := make(chan bool, 8)
	var wg sync.WaitGroup
	for range cap(claimed) {
		wg.Go(func() {
			mine, err := slots.Claim(t.Context(), "a", "Timer", "s", slot)
			if err != nil {
				t.Error(err)
			}
			claimed <- mine
		})
	}
	wg.Wait()
	close(claimed)
	n := 0
	for mine := range claimed {
		if mine {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d claimed the slot", n)
	}
	for _, c := range []struct {
		schedule string
		slot     time.Time
		want     bool
	}{{"s", slot.Add(-time.Second), false}, {"s", slot.Add(time.Second), true}, {"other", slot, true}, {"old", slot.Add(-8 * 24 * time.Hour), true}} {
		if mine, err := slots.Claim(t.Context(), "a", "Timer", c.schedule, c.slot); err != nil || mine != c.want {
			t.Errorf("%s %s: %t, %v", c.schedule, c.slot, mine, err)
		}
	}
	if n, err := slots.Clean(t.Context(), db); n != 1 || err != nil {
		t.Errorf("%d claims were deleted, %v", n, err)
	}
}
