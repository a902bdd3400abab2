// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
)

func testHooks(t *testing.T, w *world) {
	m := w.manager()
	p, err := m.Load(t.Context(), w.host.Language(), w.source(Life))
	if err != nil {
		t.Fatal(err)
	}
	if _, ran := w.server.note(t, "suite-life", "hooks"); ran {
		t.Error("a hook ran when the plugin was loaded")
	}
	want := ""
	for _, h := range []plugin.Hook{plugin.Start, plugin.Pause, plugin.Resume, plugin.Pause, plugin.Resume, plugin.Stop} {
		want += string(h) + " "
		for _, s := range m.Do(t.Context(), p, h) {
			if s.Err != nil || !s.Changed {
				t.Errorf("%s of %s: %+v", h, s.Extension, s)
			}
		}
		w.server.wantNote(t, "suite-life", "hooks", want)
	}
	// Invalid hooks are not passed to the plugin.
	for _, s := range m.Do(t.Context(), p, plugin.Start) {
		if !s.Impossible() {
			t.Errorf("a stopped extension: %+v", s)
		}
	}
	w.server.wantNote(t, "suite-life", "hooks", want)
}

// stateOf returns the state of the extension First.
func stateOf(p *plugin.Plugin) plugin.State { return p.Extensions()[0].State }

func testHookFailures(t *testing.T, w *world) {
	m := w.manager()
	for _, test := range []struct {
		before []plugin.Hook
		hook   plugin.Hook
		state  plugin.State
	}{
		{nil, plugin.Start, plugin.Loaded},
		{[]plugin.Hook{plugin.Start}, plugin.Pause, plugin.Paused},
		{[]plugin.Hook{plugin.Start, plugin.Pause}, plugin.Resume, plugin.Paused},
		{[]plugin.Hook{plugin.Start}, plugin.Stop, plugin.Stopped},
	} {
		t.Run(string(test.hook), func(t *testing.T) {
			w.server.configure(map[string]any{"fail": string(test.hook)})
			p, err := m.Load(t.Context(), w.host.Language(), w.source(Life))
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range test.before {
				for _, s := range m.Do(t.Context(), p, h) {
					if s.Err != nil {
						t.Fatal(s.Err)
					}
				}
			}
			steps := m.Do(t.Context(), p, test.hook)
			e, ok := errors.AsType[*plugin.Exception](steps[0].Err)
			if !ok || !strings.Contains(e.Message, "told to fail") || !located(e) || steps[0].State != test.state {
				t.Errorf("the step is %+v, the exception %+v", steps[0], e)
			}
			if steps[1].Err != nil || !steps[1].Changed {
				t.Errorf("the extension that has no hooks: %+v", steps[1])
			}
			w.server.configure(map[string]any{})
			if test.hook == plugin.Start || test.hook == plugin.Resume { // These may be retried.
				if s := m.Do(t.Context(), p, test.hook)[0]; s.Err != nil || s.State != plugin.Started {
					t.Errorf("the second attempt: %+v", s)
				}
			}
			if _, err := m.Remove(t.Context(), p.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

// testHookTimeout proves that a hook that does not end is abandoned, and that the extension can be
// used afterwards.
func testHookTimeout(t *testing.T, w *world) {
	m := w.manager()
	p, err := m.Load(t.Context(), w.host.Language(), w.source(Life))
	if err != nil {
		t.Fatal(err)
	}
	w.server.configure(map[string]any{"hang": "start"})
	w.set(func(s *config.Plugin) { s.HookTimeoutMillis = 50 })
	if s := m.Do(t.Context(), p, plugin.Start)[0]; !errors.Is(s.Err, context.DeadlineExceeded) || s.State != plugin.Loaded {
		t.Errorf("the step is %+v", s)
	}
	w.server.configure(map[string]any{})
	w.set(func(s *config.Plugin) { s.HookTimeoutMillis = config.Default().Plugin.HookTimeoutMillis })
	if s := m.Do(t.Context(), p, plugin.Start)[0]; s.Err != nil || stateOf(p) != plugin.Started {
		t.Errorf("the step is %+v", s)
	}
}

// located reports whether an exception has a position: a file and a line at least.
func located(e *plugin.Exception) bool {
	_, line, ok := strings.Cut(e.Location, ":")
	return ok && line != "" && strings.Trim(line, "0123456789:") == ""
}

// testStartThatFails proves that requests do not bypass an extension that should run and could not
// be started.
func testStartThatFails(t *testing.T, w *world) {
	m := w.manager()
	p, err := m.Load(t.Context(), w.host.Language(), w.source(BadSuccessor))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := version(t.Context(), m); err != nil {
		t.Errorf("before anybody wants it to run: %v", err)
	}
	if step := m.Do(t.Context(), p, plugin.Start)[0]; step.Err == nil || !strings.Contains(step.Err.Error(), "no database") {
		t.Errorf("the start: %+v", step)
	}
	if _, err := version(t.Context(), m); apierr.From(err).Code != apierr.ServerUnavailable {
		t.Errorf("a request ended with %v", err)
	}
	if got := m.Unavailable(); !strings.Contains(got, `plugin "suite-acts"`) || !strings.Contains(got, "no database") {
		t.Errorf("what is unavailable: %q", got)
	}
	m.Do(t.Context(), p, plugin.Stop)
	if _, err := version(t.Context(), m); err != nil || m.Unavailable() != "" {
		t.Errorf("after it was stopped: %v", err)
	}
}
