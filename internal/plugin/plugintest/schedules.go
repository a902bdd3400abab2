// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
)

// testSchedules runs schedules that succeed and fail, and ends them with their extension. Behaviour
// that depends on times is tested without a host.
func testSchedules(t *testing.T, w *world) {
	const id = "suite-scheduled"
	m := w.manager()
	p, err := m.Load(t.Context(), w.host.Language(), w.source(Scheduled))
	if err != nil {
		t.Fatal(err)
	}
	// The first start fails, and must not leave a schedule that conflicts with the second.
	if steps := m.Do(t.Context(), p, plugin.Start); steps[0].Err == nil {
		t.Fatal("the first start succeeded")
	}
	await(t, "the start", func() bool { return stateOf(p) == plugin.Started })
	w.server.wantNote(t, id, "gone", "true false")
	w.server.wantNote(t, id, "refused", fmt.Sprintf("%d %[2]d %[2]d %[2]d", apierr.DuplicateResource, apierr.IllegalArgument))
	await(t, "runs", func() bool {
		tick, fail := scheduleOf(p, "tick"), scheduleOf(p, "fail")
		return tick.Runs > 0 && fail.Failures > 0 && !tick.Next.IsZero()
	})
	w.server.wantNote(t, id, "tick", "yes")
	if s := scheduleOf(p, "fail"); !strings.Contains(s.LastError, "told to fail") || s.LastSlot.IsZero() {
		t.Errorf("the schedule that fails: %+v", s)
	}
	if s := scheduleOf(p, "tick"); s.LastError != "" || s.LeaderOnly || s.When != "1s" {
		t.Errorf("the schedule that runs: %+v", s)
	}
	if s := scheduleOf(p, "0 3 * * *"); !s.LeaderOnly || s.Runs != 0 || s.Next.UTC().Format("15:04:05") != "03:00:00" {
		t.Errorf("the schedule of the night: %+v", s)
	}
	names := []string{}
	for _, s := range p.Extensions()[0].Schedules {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	if want := []string{"0 3 * * *", "fail", "tick"}; !slices.Equal(names, want) {
		t.Errorf("the schedules are %q", names)
	}
	if steps := m.Do(t.Context(), p, plugin.Pause); steps[0].Err != nil {
		t.Fatal(steps[0].Err)
	}
	if s := scheduleOf(p, "tick"); !s.Next.IsZero() {
		t.Errorf("the schedule of a paused extension runs next at %s", s.Next)
	}
	if _, err := m.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// scheduleOf returns the state of a schedule of the only extension.
func scheduleOf(p *plugin.Plugin, name string) plugin.ScheduleInfo {
	for _, s := range p.Extensions()[0].Schedules {
		if s.Name == name {
			return s
		}
	}
	return plugin.ScheduleInfo{Schedule: &plugin.Schedule{}}
}
