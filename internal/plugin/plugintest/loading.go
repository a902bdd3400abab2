// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
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
			t.Fatal("it was loaded")
		}
		if !strings.Contains(err.Error(), "born dead") {
			t.Errorf("the error is %v", err)
		}
	}
	w.load(Acts) // The host lives on.
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

func testLoadingThatIsCancelled(t *testing.T, w *world) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := w.host.Load(ctx, w.source(Acts)); err == nil {
		// A host may be done before it looks; then what it made is whole.
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	w.load(Acts)
}

func testRoles(t *testing.T, w *world) {
	service := w.manager(role.Service)
	_, err := service.Load(t.Context(), w.host.Language(), w.source(ForGateway))
	if e, ok := errors.AsType[*apierr.Error](err); !ok || e.Code != apierr.IllegalArgument || !strings.Contains(e.Reason, string(role.Gateway)) || !strings.Contains(e.Reason, string(role.Service)) {
		t.Errorf("a plugin for the other role: %v", err)
	}
	if len(service.Plugins()) != 0 {
		t.Error("it is listed")
	}
	w.start(service, Echo)
	gateway := w.manager(role.Gateway)
	w.start(gateway, ForGateway)
	if answer, ok, err := plugin.Ask[bool](t.Context(), gateway, plugin.Authenticate, &plugin.UserLoginInfo{}); !answer || !ok || err != nil {
		t.Errorf("authenticate: %v %v %v", answer, ok, err)
	}
}

// testApart proves that two plugins share nothing, not even if they have the same code.
func testApart(t *testing.T, w *world) {
	one, two := w.load(Acts).Extensions()[0], w.load(Acts2).Extensions()[0]
	same := w.load(Acts).Extensions()[0]
	for i, x := range []plugin.Extension{one, one, two, one, same} {
		if got, want := act(t, x, "count", 0).Reason, []string{"1", "2", "1", "3", "1"}[i]; got != want {
			t.Errorf("call %d counted %s, want %s", i, got, want)
		}
	}
}
