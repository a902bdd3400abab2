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

// version returns the version of Acts that handles a request.
func version(ctx context.Context, m *plugin.Manager) (string, error) {
	r, err := plugin.Pass(ctx, m.Calls, plugin.TransformRequest, command("?", 0))
	return r.ClientIP, err
}

// testRetire proves that running calls end normally when their module is retired.
func testRetire(t *testing.T, w *world) {
	m := w.load(Acts)
	done, release := w.hold(t, t.Context(), m.Extensions()[0], 5)
	if r, ok := m.(plugin.Retirer); ok {
		r.Retire()
	}
	close(release)
	if got := receive(t, "the end of the call", done); got.err != nil || got.reason != "5" {
		t.Errorf("the call ended with %+v", got)
	}
	if err := m.Extensions()[0].Hook(t.Context(), plugin.Stop); err != nil {
		t.Error(err)
	}
	w.server.wantNote(t, "suite-acts", "stopped-1", "yes")
}

// testHotSwap replaces a plugin repeatedly while it is called: no call fails, and each is handled
// by one version.
func testHotSwap(t *testing.T, w *world) {
	m := w.manager()
	w.start(m, Acts)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var calls atomic.Int64
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if got, err := version(t.Context(), m); err != nil || got != "1" && got != "2" {
					t.Errorf("a call was answered by %q, %v", got, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for i := range 6 {
		before := calls.Load()
		await(t, "calls between two swaps", func() bool { return calls.Load() > before+20 || t.Failed() })
		next := []Fixture{Acts2, Acts}[i%2]
		p, err := m.Replace(t.Context(), w.host.Language(), w.source(next))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := version(t.Context(), m); got != p.Version || err != nil {
			t.Errorf("after the swap version %q answers, %v, want %q", got, err, p.Version)
		}
	}
	cancel()
	wg.Wait()
	if len(m.Plugins()) != 1 || m.Plugins()[0].Extensions()[0].State != plugin.Started {
		t.Error("there is not exactly one started plugin")
	}
	w.server.wantNote(t, "suite-acts", "stopped-1", "yes")
	w.server.wantNote(t, "suite-acts", "stopped-2", "yes")
}

// testHeldCallOutlivesTheSwap proves that a call that runs in the old version ends there, while new
// ones run in the new version, and that the old one is stopped only afterwards.
func testHeldCallOutlivesTheSwap(t *testing.T, w *world) {
	m := w.manager()
	w.start(m, Acts)
	done := make(chan outcome, 1)
	go func() {
		r, _, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command("hold", 9))
		if r == nil {
			r = &plugin.RequestHandlerResult{}
		}
		done <- outcome{r.Reason, err}
	}()
	release := receive(t, "a request of a call to the server", w.server.held)
	swapped := make(chan error, 1)
	go func() {
		_, err := m.Replace(t.Context(), w.host.Language(), w.source(Acts2))
		swapped <- err
	}()
	await(t, "the new version", func() bool {
		got, err := version(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		return got == "2"
	})
	if _, stopped := w.server.note(t, "suite-acts", "stopped-1"); stopped {
		t.Error("the old version was stopped while a call ran in it")
	}
	close(release)
	if got := receive(t, "the end of the call", done); got.err != nil || got.reason != "9" {
		t.Errorf("the call ended with %+v", got)
	}
	if err := receive(t, "the end of the swap", swapped); err != nil {
		t.Error(err)
	}
	w.server.wantNote(t, "suite-acts", "stopped-1", "yes")
}

// testBadSuccessor proves that the old version keeps running if the new one cannot be loaded or
// started.
func testBadSuccessor(t *testing.T, w *world) {
	m := w.manager()
	w.start(m, Acts)
	if _, err := m.Replace(t.Context(), w.host.Language(), w.source(BadSuccessor)); err == nil || !strings.Contains(err.Error(), "no database") {
		t.Errorf("a version that cannot be started: %v", err)
	}
	if _, err := m.Replace(t.Context(), w.host.Language(), w.source(Broken)); err == nil {
		t.Error("a broken plugin replaced another")
	}
	if got, err := version(t.Context(), m); got != "1" || err != nil {
		t.Errorf("version %q answers, %v", got, err)
	}
	if _, stopped := w.server.note(t, "suite-acts", "stopped-1"); stopped {
		t.Error("the old version was stopped")
	}
}
