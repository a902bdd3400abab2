// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"testing"
	"time"

	"example.org/app/internal/plugin"
)

// testShadow runs a version of a plugin on copies of the calls of another one, whose results are
// the only ones used.
func testShadow(t *testing.T, w *world) {
	m := w.manager()
	w.start(m, Acts)
	if _, err := m.Trials.Try(t.Context(), w.host.Language(), w.source(Acts2), plugin.Split{Percentage: 100, Shadow: true}); err != nil {
		t.Fatal(err)
	}
	want := func(want plugin.ShadowCounts) {
		t.Helper()
		var got plugin.ShadowCounts
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if got, _ = m.Trials.Shadow("suite-acts"); got == want {
				return
			}
		}
		t.Fatalf("the shadow counts %+v, want %+v", got, want)
	}
	count := func(want string) {
		t.Helper()
		r, _, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command("count", 1))
		if err != nil || r.Reason != want {
			t.Errorf("counted %v, %v, want %s", r, err, want)
		}
	}
	// Each version counts for itself, and both are called once.
	count("1")
	want(plugin.ShadowCounts{Calls: 1, Equal: 1})
	count("2")
	want(plugin.ShadowCounts{Calls: 2, Equal: 2})
	if v, err := versionFor(t.Context(), m, 1); v != "1" || err != nil {
		t.Errorf("answered by version %q, %v", v, err)
	}
	want(plugin.ShadowCounts{Calls: 3, Equal: 2, Different: 1})
	_, samples := m.Trials.ShadowSamples("suite-acts")
	if len(samples) != 1 || len(samples[0].Differences) != 1 || samples[0].Differences[0].Path != "clientIp" || samples[0].Active.Version != "1" || samples[0].Candidate.Version != "2" {
		t.Errorf("the samples are %+v", samples)
	}
	m.Trials.End(t.Context(), "suite-acts")
	w.server.wantNote(t, "suite-acts", "stopped-2", "yes")
	count("3")
}
