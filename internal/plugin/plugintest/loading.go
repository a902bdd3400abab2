// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
)

func testDescriptor(t *testing.T, w *world) {
	d := w.load(Echo).Descriptor()
	if d.ID != "suite-echo" || d.Version != "1.2.3" || d.Provider != "the suite" || d.License != "MIT" || d.Description != "answers 👋" {
		t.Errorf("the descriptor is %+v", d)
	}
	servers := slices.Sorted(slices.Values(d.Servers))
	if !slices.Equal(servers, []role.Role{role.Gateway, role.Service}) {
		t.Errorf("it is made for %v", d.Servers)
	}
	d = w.load(Life).Descriptor()
	if d.ID != "suite-life" || d.Version != "1" || d.Provider+d.License+d.Description != "" || len(d.Servers) != 0 {
		t.Errorf("the descriptor is %+v", d)
	}
}

func testExtensions(t *testing.T, w *world) {
	m := w.load(Echo)
	gate, serve := extension(t, m, "Gate"), extension(t, m, "Serve")
	if len(m.Extensions()) != 2 {
		t.Errorf("there are %d extensions", len(m.Extensions()))
	}
	for _, p := range plugin.Points {
		if slices.Contains(gate.Points(), p) == slices.Contains(serve.Points(), p) {
			t.Errorf("%s is named by both extensions or by none", p.Name)
		}
		for _, method := range p.Methods {
			if gate.Implements(method) == serve.Implements(method) {
				t.Errorf("%s.%s is implemented by both extensions or by none", p.Name, method.Name)
			}
		}
	}
	m = w.load(Life)
	var classes []string
	for _, x := range m.Extensions() {
		classes = append(classes, simple(x.Class()))
	}
	if !slices.Equal(classes, []string{"First", "Bare"}) {
		t.Errorf("the extensions are %v", classes)
	}
	bare := extension(t, m, "Bare")
	if len(bare.Points()) != 2 || bare.Implements(plugin.TransformRequest) || bare.Implements(plugin.HandleRequest) || bare.Implements(plugin.Authenticate) {
		t.Error("Bare implements what it has no function for, or names what it does not name")
	}
}

func testBroken(t *testing.T, w *world) {
	for range 3 {
		m, err := w.host.Load(t.Context(), w.source(Broken))
		if err == nil {
			m.Close(t.Context())
			t.Fatal("the plugin was loaded")
		}
		if !strings.Contains(err.Error(), "born dead") {
			t.Errorf("the error is %v", err)
		}
	}
	w.load(Acts) // The host survives.
	_, err := w.manager().Load(t.Context(), w.host.Language(), w.source(Broken))
	if e, ok := errors.AsType[*apierr.Error](err); !ok || e.Code != apierr.IllegalArgument || !strings.HasPrefix(e.Reason, string(Broken)+w.Suffix+": ") || !strings.Contains(e.Reason, "born dead") {
		t.Errorf("the error is %v", err)
	}
}

func testGarbage(t *testing.T, w *world) {
	good := w.Fixture(t, Acts)
	for name, data := range map[string][]byte{
		"empty": {}, "text": []byte("this is no plugin"), "bytes": {0, 1, 2, 0xff, 0xfe}, "cut off": good[:len(good)/2],
	} {
		m, err := w.host.Load(t.Context(), plugin.Source{Name: "garbage" + w.Suffix, Data: data})
		if err == nil {
			m.Close(t.Context())
			t.Errorf("%s: it was loaded", name)
		} else if err.Error() == "" {
			t.Errorf("%s: the error says nothing", name)
		}
	}
	w.load(Acts)
}

// loadsForever are the fixtures that never finish loading.
var loadsForever = []Fixture{Endless, Pending}

// loadAside loads a fixture in the background, and returns when loading has begun.
func (w *world) loadAside(ctx context.Context, m *plugin.Manager, f Fixture) (done <-chan error) {
	w.t.Helper()
	ended := make(chan error, 1)
	src := w.source(f)
	go func() {
		_, err := m.Load(ctx, w.host.Language(), src)
		ended <- err
	}()
	for receive(w.t, "the beginning of a load", w.loading) != src.Name {
		continue
	}
	return ended
}

// testLoadingIsCancelled proves that a host stops loading a plugin on cancellation, and that it can
// load others afterwards.
func testLoadingIsCancelled(t *testing.T, w *world) {
	m := w.manager()
	for _, f := range loadsForever {
		ctx, cancel := context.WithCancel(t.Context())
		done := w.loadAside(ctx, m, f)
		select {
		case err := <-done:
			t.Errorf("%s was loaded: %v", f, err)
		default:
		}
		cancel()
		if err := receive(t, "the end of the load", done); err == nil {
			t.Errorf("%s was loaded", f)
		}
	}
	if len(m.Plugins()) != 0 {
		t.Error("plugins that were not loaded are listed")
	}
	w.start(m, Acts)
}

// testLoadingTimeLimit proves that the manager cancels loading at its time limit and names the
// file.
func testLoadingTimeLimit(t *testing.T, w *world) {
	m := w.manager()
	p := w.start(m, Acts) // The host has started before the time limit matters.
	w.set(func(s *config.Plugin) { s.LoadTimeoutMillis = 300 })
	for _, f := range loadsForever {
		src := w.source(f)
		_, err := m.Load(t.Context(), w.host.Language(), src)
		e, ok := errors.AsType[*apierr.Error](err)
		if !ok || e.Code != apierr.IllegalArgument || !strings.HasPrefix(e.Reason, src.Name+": ") || !strings.Contains(e.Reason, "loading took") {
			t.Errorf("%s: %v", f, err)
		}
		if _, err := m.Check(t.Context(), w.host.Language(), src, false); err == nil || !strings.Contains(err.Error(), "loading took") {
			t.Errorf("check %s: %v", f, err)
		}
	}
	if _, ok, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command("count", 0)); !ok || err != nil {
		t.Errorf("a call of another plugin: %v %v", ok, err)
	}
	if got, ok := m.Find(p.ID); !ok || got != p {
		t.Error("the other plugin is missing")
	}
}

// testLoadingHoldsUpNobody loads, replaces, calls and removes plugins while others never finish
// loading.
func testLoadingHoldsUpNobody(t *testing.T, w *world) {
	m := w.manager()
	ctx, cancel := context.WithCancel(t.Context())
	var ended []<-chan error
	for _, f := range loadsForever {
		ended = append(ended, w.loadAside(ctx, m, f))
	}
	w.start(m, Acts)
	if _, err := m.Replace(t.Context(), w.host.Language(), w.source(Acts2)); err != nil {
		t.Error(err)
	}
	if got, err := version(t.Context(), m); got != "2" || err != nil {
		t.Errorf("version %q answered: %v", got, err)
	}
	if _, err := m.Remove(t.Context(), "suite-acts"); err != nil {
		t.Error(err)
	}
	cancel()
	for _, done := range ended {
		if err := receive(t, "the end of the load", done); err == nil {
			t.Error("the plugin was loaded")
		}
	}
}

// testLoadingEndsWithTheManager closes a manager while it loads plugins that never finish loading.
func testLoadingEndsWithTheManager(t *testing.T, w *world) {
	m := w.manager()
	var ended []<-chan error
	for _, f := range loadsForever {
		ended = append(ended, w.loadAside(t.Context(), m, f))
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, done := range ended {
		if err := receive(t, "the end of the load", done); apierr.From(err).Code != apierr.ServerUnavailable {
			t.Errorf("the load ended with %v", err)
		}
	}
	if _, err := m.Load(t.Context(), w.host.Language(), w.source(Acts)); apierr.From(err).Code != apierr.ServerUnavailable {
		t.Errorf("a load after the end: %v", err)
	}
}

func testRoles(t *testing.T, w *world) {
	service := w.manager(role.Service)
	_, err := service.Load(t.Context(), w.host.Language(), w.source(ForGateway))
	if e, ok := errors.AsType[*apierr.Error](err); !ok || e.Code != apierr.IllegalArgument || !strings.Contains(e.Reason, string(role.Gateway)) || !strings.Contains(e.Reason, string(role.Service)) {
		t.Errorf("a plugin for the other role: %v", err)
	}
	if len(service.Plugins()) != 0 {
		t.Error("the plugin is listed")
	}
	w.start(service, Echo)
	gateway := w.manager(role.Gateway)
	w.start(gateway, ForGateway)
	if answer, ok, err := plugin.Ask[bool](t.Context(), gateway.Calls, plugin.Authenticate, &plugin.UserLoginInfo{}); !answer || !ok || err != nil {
		t.Errorf("authenticate: %v %v %v", answer, ok, err)
	}
}

// testApart proves that two plugins share nothing, even if they have the same code.
func testApart(t *testing.T, w *world) {
	one, two := w.load(Acts).Extensions()[0], w.load(Acts2).Extensions()[0]
	same := w.load(Acts).Extensions()[0]
	for i, x := range []plugin.Extension{one, one, two, one, same} {
		if got, want := act(t, x, "count", 0).Reason, []string{"1", "2", "1", "3", "1"}[i]; got != want {
			t.Errorf("call %d counted %s, want %s", i, got, want)
		}
	}
}
