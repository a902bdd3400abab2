// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"errors"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
)

// command returns the request that selects what Acts and Uses do.
func command(what string, user int64) *plugin.ClientRequest {
	return &plugin.ClientRequest{UserID: user, ClientIP: what, Request: request(absent)}
}

// act calls an extension, which must succeed.
func act(t *testing.T, x plugin.Extension, what string, user int64) *plugin.RequestHandlerResult {
	t.Helper()
	var r *plugin.RequestHandlerResult
	ok, err := x.Call(t.Context(), plugin.HandleRequest, []any{command(what, user)}, &r)
	if !ok || err != nil || r == nil || r.Code != int32(apierr.OK) {
		t.Fatalf("%s: %v %v %+v", what, ok, err, r)
	}
	return r
}

// attempt calls an extension, which must fail.
func attempt(t *testing.T, x plugin.Extension, what string) error {
	t.Helper()
	var r *plugin.RequestHandlerResult
	ok, err := x.Call(t.Context(), plugin.HandleRequest, []any{command(what, 0)}, &r)
	if ok || err == nil || r != nil {
		t.Fatalf("%s: %v %v %+v", what, ok, err, r)
	}
	return err
}

func testNothing(t *testing.T, w *world) {
	x := w.load(Acts).Extensions()[0]
	var r *plugin.RequestHandlerResult
	if ok, err := x.Call(t.Context(), plugin.HandleRequest, []any{command("nothing", 0)}, &r); ok || err != nil || r != nil {
		t.Errorf("%v %v %+v", ok, err, r)
	}
	if r := act(t, x, strange, 0); r.Reason != strange {
		t.Errorf("the answer is %q", r.Reason)
	}
	m := w.manager()
	w.start(m, Acts)
	if _, ok, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command("nothing", 0)); ok || err != nil {
		t.Errorf("through the manager: %v %v", ok, err)
	}
}

// testMissingFunctions proves that an extension without the function of a method is skipped.
func testMissingFunctions(t *testing.T, w *world) {
	x := extension(t, w.load(Life), "Bare")
	for _, h := range []plugin.Hook{plugin.Start, plugin.Pause, plugin.Resume, plugin.Stop} {
		if err := x.Hook(t.Context(), h); err != nil {
			t.Errorf("%s: %v", h, err)
		}
	}
	if _, err := x.Call(t.Context(), plugin.Authenticate, []any{&plugin.UserLoginInfo{}}, new(bool)); err == nil {
		t.Error("a missing function was called")
	}
	m := w.manager()
	w.start(m, Life)
	if m.Calls.Has(plugin.TransformRequest) || m.Calls.Has(plugin.Authenticate) {
		t.Error("an extension would be called")
	}
	given := command("x", 3)
	if got, err := plugin.Pass(t.Context(), m.Calls, plugin.TransformRequest, given); got != given || err != nil {
		t.Errorf("a pipeline: %v %v", got, err)
	}
	if _, ok, err := plugin.Ask[bool](t.Context(), m.Calls, plugin.Authenticate, &plugin.UserLoginInfo{}); ok || err != nil {
		t.Errorf("a question: %v %v", ok, err)
	}
}

func testRefusal(t *testing.T, w *world) {
	x := w.load(Acts).Extensions()[0]
	err := attempt(t, x, "refuse")
	if e, ok := errors.AsType[*apierr.Error](err); !ok || e.Code != apierr.MessageIsIllegal || e.Reason != "not you 👋" {
		t.Errorf("the refusal of the plugin: %#v", err)
	}
	err = attempt(t, x, "ask")
	if e, ok := errors.AsType[*apierr.Error](err); !ok || e.Code != apierr.ResourceNotFound || e.Reason != "no such user" {
		t.Errorf("the refusal of the server: %#v", err)
	}
	act(t, x, "after it", 0)
}

func testException(t *testing.T, w *world) {
	x := w.load(Acts).Extensions()[0]
	err := attempt(t, x, "throw")
	e, ok := errors.AsType[*plugin.Exception](err)
	if !ok || !strings.Contains(e.Message, "broken 👋") || !located(e) || !strings.Contains(e.Stack, "handle") {
		t.Errorf("the exception is %#v", err)
	}
	if _, refused := errors.AsType[*apierr.Error](err); refused {
		t.Errorf("the exception refuses: %v", err)
	}
	act(t, x, "after it", 0)
}

func testFailuresThroughTheManager(t *testing.T, w *world) {
	m := w.manager()
	p := w.start(m, Acts)
	ask := func(what string) error {
		_, _, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command(what, 0))
		return err
	}
	if e := apierr.From(ask("refuse")); e.Code != apierr.MessageIsIllegal || e.Reason != "not you 👋" {
		t.Errorf("the refusal is %v", e)
	}
	if err := ask("throw"); apierr.From(err).Code != apierr.ServerInternalError || !strings.Contains(err.Error(), "broken 👋") || strings.Contains(apierr.From(err).Reason, "broken") {
		t.Errorf("the exception is %v", err)
	}
	got := p.Extensions()[0]
	if got.Calls != 2 || got.Errors != 1 || got.LastFailure == nil || got.LastFailure.In != "ClientRequestHandler.handle" || !strings.Contains(got.LastFailure.Error, "broken 👋") {
		t.Errorf("the record is %+v", got)
	}
	w.set(func(s *config.Plugin) { s.ExtensionPoints.ClientRequestHandler.OnFailure = config.FailureIgnore })
	if err := ask("throw"); err != nil {
		t.Errorf("a failure that is ignored: %v", err)
	}
	if e := apierr.From(ask("refuse")); e.Code != apierr.MessageIsIllegal {
		t.Errorf("the refusal is %v", e)
	}
}

// testBackgroundFailures proves that the record of a plugin contains exceptions of code that
// belongs to no call.
func testBackgroundFailures(t *testing.T, w *world) {
	m := w.manager()
	p := w.start(m, Acts)
	if _, _, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command("background", 0)); err != nil {
		t.Fatal(err)
	}
	await(t, "the failure in the record", func() bool { return p.Extensions()[0].LastFailure != nil })
	got := p.Extensions()[0]
	if f := got.LastFailure; f.In != plugin.Background || !strings.Contains(f.Error, "nobody catches this 👋") {
		t.Errorf("the last failure is %+v", f)
	}
	if got.Errors != 0 || got.Timeouts != 0 || got.Quarantine != "" {
		t.Errorf("a failure that was no call counts as one: %+v", got)
	}
}
