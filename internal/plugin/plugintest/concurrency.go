// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
)

// testConcurrent proves that each of many concurrent callers gets its own result.
func testConcurrent(t *testing.T, w *world) {
	m := w.load(Acts)
	x := m.Extensions()[0]
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() {
			for i := range 50 {
				what := fmt.Sprintf("%d of %d", i, caller)
				var r *plugin.RequestHandlerResult
				if ok, err := x.Call(t.Context(), plugin.HandleRequest, []any{command(what, 0)}, &r); !ok || err != nil || r.Reason != what {
					t.Errorf("%s: %v %v %+v", what, ok, err, r)
				}
				var q *plugin.ClientRequest
				if ok, err := x.Call(t.Context(), plugin.TransformRequest, []any{command(what, int64(caller))}, &q); !ok || err != nil || q.UserID != int64(caller) {
					t.Errorf("%s: %v %v %+v", what, ok, err, q)
				}
			}
		})
	}
	wg.Wait()
}

// outcome is the outcome of a call.
type outcome struct {
	reason string
	err    error
}

// hold calls an extension with a command that the server blocks, and returns channels for its
// outcome and its release.
func (w *world) hold(t *testing.T, ctx context.Context, x plugin.Extension, user int64) (<-chan outcome, chan<- struct{}) {
	t.Helper()
	done := make(chan outcome, 1)
	go func() {
		var r *plugin.RequestHandlerResult
		_, err := x.Call(ctx, plugin.HandleRequest, []any{command("hold", user)}, &r)
		if r == nil {
			r = &plugin.RequestHandlerResult{}
		}
		done <- outcome{r.Reason, err}
	}()
	return done, receive(t, "a request of a call to the server", w.server.held)
}

// testInterleaved proves that calls run while others wait.
func testInterleaved(t *testing.T, w *world) {
	x := w.load(Acts).Extensions()[0]
	type held struct {
		done    <-chan outcome
		release chan<- struct{}
	}
	var calls []held
	for i := range int64(5) {
		done, release := w.hold(t, t.Context(), x, i)
		calls = append(calls, held{done, release})
		act(t, x, "in between", 0)
	}
	for i, c := range slices.Backward(calls) {
		close(c.release)
		if got := receive(t, "the end of a call", c.done); got.err != nil || got.reason != fmt.Sprint(i) {
			t.Errorf("call %d: %+v", i, got)
		}
	}
}

// testCancellation proves that a cancelled call ends, and that the next one works.
func testCancellation(t *testing.T, w *world) {
	x := w.load(Acts).Extensions()[0]
	ctx, cancel := context.WithCancel(t.Context())
	done, release := w.hold(t, ctx, x, 1)
	cancel()
	if got := receive(t, "the end of the call", done); !errors.Is(got.err, context.Canceled) {
		t.Errorf("the call ended with %+v", got)
	}
	act(t, x, "after it", 0)
	close(release)
	act(t, x, "after what it waited for", 0)
	var r *plugin.RequestHandlerResult
	if ok, err := x.Call(ctx, plugin.HandleRequest, []any{command("late", 0)}, &r); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("a call that begins too late: %v %v", ok, err)
	}
}

// testDeadline proves that an endless call affects only itself.
func testDeadline(t *testing.T, w *world) {
	for _, what := range []string{"wait", "spin"} {
		t.Run(what, func(t *testing.T) {
			x := w.load(Acts).Extensions()[0]
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			var r *plugin.RequestHandlerResult
			if ok, err := x.Call(ctx, plugin.HandleRequest, []any{command(what, 0)}, &r); ok || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the call ended with %v %v", ok, err)
			}
			act(t, x, "after it", 0)
		})
	}
}

// testCrowd proves that calls beyond the concurrency limit of a plugin fail immediately, and count
// as its failures.
func testCrowd(t *testing.T, w *world) {
	m := w.manager()
	p := w.start(m, Acts)
	w.set(func(s *config.Plugin) { s.Limits.ConcurrentCalls = 1 })
	ask := func(what string) error {
		_, _, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command(what, 0))
		return err
	}
	done := make(chan error, 1)
	go func() { done <- ask("hold") }()
	release := receive(t, "a request of a call to the server", w.server.held)
	if _, ok := errors.AsType[*plugin.CrowdedError](ask("one more")); !ok {
		t.Error("a call beyond the limit ran")
	}
	if got := p.Extensions()[0]; got.Errors != 1 || got.LastFailure == nil {
		t.Errorf("the record is %+v", got)
	}
	w.set(func(s *config.Plugin) { s.Limits.ConcurrentCalls = 2 })
	if err := ask("one more"); err != nil {
		t.Errorf("a call within the limit: %v", err)
	}
	w.set(func(s *config.Plugin) { s.Limits.ConcurrentCalls = 1 })
	close(release)
	if err := receive(t, "the end of the call", done); err != nil {
		t.Error(err)
	}
	if err := ask("after it"); err != nil {
		t.Errorf("a call after the others: %v", err)
	}
}

func testTimeLimit(t *testing.T, w *world) {
	m := w.manager()
	p := w.start(m, Acts)
	ask := func(what string) (bool, error) {
		_, ok, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command(what, 0))
		return ok, err
	}
	w.set(func(s *config.Plugin) { s.ExtensionPoints.ClientRequestHandler.TimeoutMillis = 100 })
	for i, what := range []string{"wait", "spin"} {
		_, err := ask(what)
		if _, ok := errors.AsType[*plugin.TimeoutError](err); !ok {
			t.Errorf("%s ended with %v", what, err)
		}
		if got := p.Extensions()[0]; got.Timeouts != int64(i+1) || got.Errors != 0 {
			t.Errorf("the record is %+v", got)
		}
	}
	w.set(func(s *config.Plugin) {
		s.ExtensionPoints.ClientRequestHandler.TimeoutMillis = int32(limit.Milliseconds())
	})
	if ok, err := ask("after it"); !ok || err != nil {
		t.Errorf("the next call: %v %v", ok, err)
	}
}
