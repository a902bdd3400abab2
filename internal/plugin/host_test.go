// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/role"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// goHost runs plugins that are Go functions: the source names one of them.
type goHost struct {
	mu      sync.Mutex
	scripts map[string]script
	open    int
}

// script is a plugin of goHost.
type script struct {
	id, version string
	servers     []role.Role
	// extensions has the functions of each extension by the names of methods and hooks.
	extensions []functions
	// usage is what it uses; nil is unknown.
	usage *usage
	err   error
}

// usage is what a plugin uses.
type usage struct{ cpu, memory, allocated atomic.Int64 }

type functions struct {
	class  string
	points []*Point
	hooks  map[Hook]func(context.Context) error
	calls  map[*Method]func(ctx context.Context, args []any) (any, error)
	// schedules are those of the extension.
	schedules []*Schedule
}

func (h *goHost) Language() Language          { return JavaScript }
func (h *goHost) Close(context.Context) error { return nil }

func (h *goHost) Load(_ context.Context, src Source) (Module, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.scripts[string(src.Data)]
	switch {
	case !ok:
		return nil, errors.New("line 1: this is not a plugin")
	case s.err != nil:
		return nil, s.err
	}
	h.open++
	return &goModule{host: h, script: s}, nil
}

type goModule struct {
	host   *goHost
	script script
	once   sync.Once
}

func (m *goModule) Descriptor() Descriptor {
	return Descriptor{ID: m.script.id, Version: m.script.version, Servers: m.script.servers}
}

func (m *goModule) Memory() int64 {
	if m.script.usage == nil {
		return 0
	}
	return m.script.usage.memory.Load()
}

func (m *goModule) CPU() time.Duration {
	if m.script.usage == nil {
		return 0
	}
	return time.Duration(m.script.usage.cpu.Load())
}

func (m *goModule) Allocated() int64 {
	if m.script.usage == nil {
		return 0
	}
	return m.script.usage.allocated.Load()
}

func (m *goModule) Extensions() (list []Extension) {
	for _, f := range m.script.extensions {
		list = append(list, &goExtension{f})
	}
	return list
}

func (m *goModule) Close(context.Context) error {
	m.once.Do(func() {
		m.host.mu.Lock()
		defer m.host.mu.Unlock()
		m.host.open--
	})
	return nil
}

type goExtension struct{ functions }

func (e *goExtension) Class() string { return e.class }
func (e *goExtension) Points() []*Point {
	return e.points
}
func (e *goExtension) Schedules() []*Schedule    { return e.schedules }
func (e *goExtension) Implements(m *Method) bool { return e.calls[m] != nil }

func (e *goExtension) Hook(ctx context.Context, h Hook) error {
	if fn := e.hooks[h]; fn != nil {
		return fn(ctx)
	}
	return nil
}

func (e *goExtension) Call(ctx context.Context, m *Method, args []any, result any) (bool, error) {
	answer, err := e.calls[m](ctx, args)
	if err != nil || answer == nil {
		return false, err
	}
	if result != nil {
		reflect.ValueOf(result).Elem().Set(reflect.ValueOf(answer))
	}
	return true, nil
}

// world is a manager with a host.
type world struct {
	*Manager
	t        *testing.T
	host     *goHost
	settings config.Plugin
	mu       sync.Mutex
	seen     []string
	runs     []string // of schedules
}

func newWorld(t *testing.T, roles ...role.Role) *world {
	if len(roles) == 0 {
		roles = []role.Role{role.Gateway, role.Service}
	}
	w := &world{t: t, host: &goHost{scripts: make(map[string]script)}, settings: config.Default().Plugin}
	w.Manager = NewManager(Options{
		Roles: roles, Hosts: []Host{w.host}, Logger: slog.New(slog.DiscardHandler),
		Settings: func() config.Plugin {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.settings
		},
		Observe: func(p *Plugin, extension string, m *Method, _ time.Duration, outcome string) {
			w.note(fmt.Sprintf("%s/%s %s %s", p.ID, extension, m.Name, outcome))
		},
	})
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if w.host.open != 0 {
			t.Errorf("%d modules are left open", w.host.open)
		}
	})
	return w
}

// set changes the settings.
func (w *world) set(fn func(*config.Plugin)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn(&w.settings)
}

func (w *world) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, what)
}

// saw returns what was noted since the last call.
func (w *world) saw() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// add loads and starts a plugin with one extension.
func (w *world) add(id string, f functions) *Plugin {
	w.t.Helper()
	return w.addScript(id, script{id: id, version: "1", extensions: []functions{f}})
}

func (w *world) addScript(source string, s script) *Plugin {
	w.t.Helper()
	w.host.mu.Lock()
	w.host.scripts[source] = s
	w.host.mu.Unlock()
	p, err := w.Load(w.t.Context(), JavaScript, Source{Name: source + ".js", Data: []byte(source)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.do(p, Start)
	return p
}

// do runs a hook that must succeed.
func (w *world) do(p *Plugin, h Hook) {
	w.t.Helper()
	for _, s := range w.Do(w.t.Context(), p, h) {
		if s.Err != nil {
			w.t.Fatal(s.Err)
		}
	}
}

// transforms makes an extension that changes requests.
func transforms(fn func(ctx context.Context, r *ClientRequest) (any, error)) functions {
	return functions{class: "Transformer", points: []*Point{ClientRequestHandler}, calls: map[*Method]func(context.Context, []any) (any, error){
		TransformRequest: func(ctx context.Context, args []any) (any, error) { return fn(ctx, args[0].(*ClientRequest)) },
	}}
}

// ids are those of the loaded plugins.
func (w *world) ids() (list []string) {
	for _, p := range w.Plugins() {
		list = append(list, p.ID)
	}
	slices.Sort(list)
	return list
}
