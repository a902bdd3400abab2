// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.org/app/internal/plugin"
)

// versionFor returns the version of Acts that handles a user's request.
func versionFor(ctx context.Context, m *plugin.Manager, userID int64) (string, error) {
	r, err := plugin.Pass(ctx, m.Calls, plugin.TransformRequest, command("?", userID))
	return r.ClientIP, err
}

// testSplit runs two versions of a plugin in parallel and routes users to one or the other.
func testSplit(t *testing.T, w *world) {
	m := w.manager()
	if _, err := m.Trials.Try(t.Context(), w.host.Language(), w.source(Acts2), plugin.Split{}); err == nil || !strings.Contains(err.Error(), "there is no plugin") {
		t.Errorf("a candidate of nothing: %v", err)
	}
	w.start(m, Acts)
	want := func(versions string) {
		t.Helper()
		for id, v := range versions {
			if got, err := versionFor(t.Context(), m, int64(id)); err != nil || got != string(v) {
				t.Errorf("user %d is answered by version %q, %v, want %c", id, got, err, v)
			}
		}
	}
	if _, err := m.Trials.Try(t.Context(), w.host.Language(), w.source(BadSuccessor), plugin.Split{Percentage: 100}); err == nil || !strings.Contains(err.Error(), "no database") {
		t.Errorf("a candidate that cannot be started: %v", err)
	}
	want("111")
	candidate, err := m.Trials.Try(t.Context(), w.host.Language(), w.source(Acts2), plugin.Split{UserIDs: []int64{1}})
	if err != nil {
		t.Fatal(err)
	}
	want("121")
	if list := m.Plugins(); len(list) != 1 || list[0].Version != "1" {
		t.Errorf("the plugins are %v", list)
	}
	m.Trials.Resplit("suite-acts", plugin.Split{Percentage: 100})
	want("222")
	if p, s, ok := m.Trials.Find("suite-acts"); p != candidate || s.Percentage != 100 || !ok {
		t.Errorf("the candidate is %v, %v, %v", p, s, ok)
	}
	m.Trials.End(t.Context(), "suite-acts")
	w.server.wantNote(t, "suite-acts", "stopped-2", "yes")
	want("111")
	if _, err := m.Trials.Promote(t.Context(), "suite-acts"); err == nil {
		t.Error("a plugin without a candidate was promoted")
	}

	// The promoted candidate is the running one: it keeps its memory.
	if _, err := m.Trials.Try(t.Context(), w.host.Language(), w.source(Acts2), plugin.Split{UserIDs: []int64{1}}); err != nil {
		t.Fatal(err)
	}
	count := func(userID int64, want string) {
		t.Helper()
		r, _, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command("count", userID))
		if err != nil || r.Reason != want {
			t.Errorf("counted %v, %v, want %s", r, err, want)
		}
	}
	count(1, "1")
	count(1, "2")
	count(2, "1")
	if p, err := m.Trials.Promote(t.Context(), "suite-acts"); err != nil || p.Version != "2" || m.Plugins()[0] != p {
		t.Errorf("promoted %v, %v", p, err)
	}
	w.server.wantNote(t, "suite-acts", "stopped-1", "yes")
	count(2, "3")
	want("222")
	if _, err := m.Remove(t.Context(), "suite-acts"); err != nil {
		t.Error(err)
	}
}

// testSplitUnderLoad tries, splits, promotes and ends candidates while users are served: no call
// fails, each is handled by one version, and users outside the candidate's share never get it.
func testSplitUnderLoad(t *testing.T, w *world) {
	m := w.manager()
	w.start(m, Acts)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var calls atomic.Int64
	// outside is true if users other than 7 must get version 1.
	var outside atomic.Bool
	outside.Store(true)
	for worker := range 4 {
		wg.Go(func() {
			for i := int64(worker); ctx.Err() == nil; i += 4 {
				strict := outside.Load()
				got, err := versionFor(t.Context(), m, i%8)
				if err != nil || got != "1" && got != "2" || strict && outside.Load() && i%8 != 7 && got != "1" {
					t.Errorf("user %d got %q, %v", i%8, got, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	calm := func() {
		before := calls.Load()
		await(t, "calls", func() bool { return calls.Load() > before+20 || t.Failed() })
	}
	try := func() {
		t.Helper()
		if _, err := m.Trials.Try(t.Context(), w.host.Language(), w.source(Acts2), plugin.Split{UserIDs: []int64{7}}); err != nil {
			t.Fatal(err)
		}
		calm()
	}
	for range 3 {
		try()
		m.Trials.End(t.Context(), "suite-acts")
		calm()
	}
	try()
	try() // Another candidate replaces the first.
	outside.Store(false)
	m.Trials.Resplit("suite-acts", plugin.Split{Percentage: 50})
	calm()
	if _, err := m.Replace(t.Context(), w.host.Language(), w.source(Acts)); err != nil { // The plugin itself is replaced meanwhile.
		t.Fatal(err)
	}
	calm()
	if _, err := m.Trials.Promote(t.Context(), "suite-acts"); err != nil {
		t.Fatal(err)
	}
	calm()
	cancel()
	wg.Wait()
	if got, err := versionFor(t.Context(), m, 0); err != nil || got != "2" || len(m.Plugins()) != 1 {
		t.Errorf("after the promotion version %q answers, %v", got, err)
	}
}

// testSplitReadings checks the metrics of two versions in parallel.
func testSplitReadings(t *testing.T, w *world) {
	m := w.manager()
	w.start(m, Acts)
	ask := func(what string, userID int64) {
		_, _, _ = plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command(what, userID))
	}
	ask("throw", 1)
	if _, _, ok := m.Trials.Readings("suite-acts"); ok {
		t.Error("there are differences without a candidate")
	}
	if _, err := m.Trials.Try(t.Context(), w.host.Language(), w.source(Acts2), plugin.Split{UserIDs: []int64{1}}); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"ok", "refuse", "throw", "ok"} {
		ask(what, 1)
	}
	ask("ok", 2)
	stable, candidate, ok := m.Trials.Readings("suite-acts")
	if !ok || stable.Calls != 1 || stable.Failed+stable.Refused != 0 || candidate.Calls != 4 || candidate.Failed != 1 || candidate.Refused != 1 {
		t.Errorf("counted were %d, %d, %d and %d, %d, %d", stable.Calls, stable.Failed, stable.Refused, candidate.Calls, candidate.Failed, candidate.Refused)
	}
	if stable.P99() <= 0 || candidate.P99() <= 0 {
		t.Errorf("calls took %s and %s", stable.P99(), candidate.P99())
	}
}
