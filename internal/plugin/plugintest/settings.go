// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"strings"
	"testing"

	"example.org/app/internal/plugin"
)

// testSettings tests the settings of a plugin: those at its start, changed ones, and invalid ones.
func testSettings(t *testing.T, w *world) {
	const id, defaults = "suite-settled", "count=9007199254740991,greeting=hi,limits={rates=[0.5]}"
	m := w.manager()
	p, err := m.Load(t.Context(), w.host.Language(), w.source(Settled))
	if err != nil {
		t.Fatal(err)
	}
	// A required setting has no value, so the extension does not start until it has one.
	steps := m.Do(t.Context(), p, plugin.Start)
	if err := steps[0].Err; err == nil || !strings.Contains(err.Error(), "plugins.suite-settled.token: is required") || steps[0].State != plugin.Loaded {
		t.Fatalf("started without a token: %+v", steps[0])
	}
	w.server.settle(map[string]any{"token": "abc"})
	m.SettingsChanged()
	await(t, "settings", func() bool { return stateOf(p) == plugin.Started })
	w.server.wantNote(t, id, "start", "{"+defaults+",token=abc}")
	changed := func(want string) {
		t.Helper()
		await(t, "settings", func() bool { got, _ := w.server.note(t, id, "changed"); return got == want })
	}
	set := func(values map[string]any) {
		w.server.settle(values)
		m.SettingsChanged()
	}
	set(map[string]any{"token": "abc", "greeting": "ä€👋", "limits": map[string]any{"rates": []any{1.5, 2.25}}})
	changed("{count=9007199254740991,greeting=ä€👋,limits={rates=[1.5,2.25]},token=abc}")
	// A paused extension is notified of a change as well, and stays paused.
	if steps := m.Do(t.Context(), p, plugin.Pause); steps[0].Err != nil {
		t.Fatal(steps[0].Err)
	}
	set(map[string]any{"token": "abcd", "unknown": 1})
	changed("{" + defaults + ",token=abcd}")
	if s := stateOf(p); s != plugin.Paused {
		t.Errorf("the state is %s", s)
	}
	// Invalid settings are not delivered; exceptions of the hook are recorded and change no state.
	set(map[string]any{"token": "secret\n", "count": -1})
	await(t, "settings", func() bool {
		f := p.Extensions()[0].LastFailure
		return f != nil && strings.Contains(f.Error, "plugins.suite-settled.count: ")
	})
	w.server.wantNote(t, id, "changed", "{"+defaults+",token=abcd}")
	set(map[string]any{"token": "abc", "greeting": "fail"})
	await(t, "settings", func() bool {
		f := p.Extensions()[0].LastFailure
		return f.In == "onSettingsChanged" && strings.Contains(f.Error, "told to fail")
	})
	if s := stateOf(p); s != plugin.Paused {
		t.Errorf("the state is %s", s)
	}
	if _, err := m.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}
