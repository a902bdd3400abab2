// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/plugin/js/inspector"
)

// open finds where debuggers attach to the module, if they can.
func (m *module) open(ctx context.Context, src plugin.Source) (err error) {
	o := m.host.opts
	if o.Inspector != nil && (len(o.Debugged) == 0 || slices.Contains(o.Debugged, path.Base(m.name))) {
		m.inspector, m.waits = o.Inspector, true
		return nil
	}
	if !src.Debug {
		return nil
	}
	if o.Inspect == nil {
		return errors.New("plugins cannot be debugged here")
	}
	m.inspector, err = o.Inspect(ctx)
	return err
}

// inspected reports whether debuggers can attach to the module.
func (m *module) inspected() bool { return m.inspector != nil }

// waitsToLoad reports whether the first line of the module waits for a debugger.
func (m *module) waitsToLoad() bool { return m.waits && m.host.opts.WaitToLoad }

// Debugger is where debuggers attach.
func (m *module) Debugger() plugin.Debugger {
	if m.debug == nil {
		return plugin.Debugger{}
	}
	return plugin.Debugger{Address: m.debug.Address(), Link: m.debug.Link(), Configured: m.waits}
}

// inspect lets debuggers attach to the module.
func (m *module) inspect() {
	m.debug = m.inspector.Add(inspector.Plugin{
		Title: m.name, Engine: m.engine, Closing: m.closing, Loads: m.waitsToLoad(), Free: !m.waits,
		Own: func(f func()) {
			m.own(func() {
				if !m.shut {
					m.turn(nil, f)
					m.awaken() // The debugger may have set a timer.
				}
			})
		},
		// The time in which the debugger held a turn that belongs to no call does not count either.
		Resumed: func() { m.limit = time.Time{} },
	})
}

// probeMemory is how many times the memory of a plugin the same plugin with probes may have.
const probeMemory = 8

// memoryLimit is how many bytes the engine may hold. Probes do not count.
func (m *module) memoryLimit() int64 {
	if m.inspected() || m.host.opts.Coverage != nil {
		return probeMemory * m.host.opts.MemoryLimit
	}
	return m.host.opts.MemoryLimit
}

// held waits until a debugger lets a call run. The clock of the call stands while a debugger holds it.
func (m *module) held(ctx context.Context) (leave func(), err error) {
	leave, err = m.debug.Call(ctx, holdOf(ctx))
	return leave, m.unheld(ctx, err)
}

// heldAtLoad waits until a debugger lets the first line of the plugin run, if the host is to wait that early.
func (m *module) heldAtLoad(ctx context.Context) (leave func(), err error) {
	if m.debug == nil || !m.waitsToLoad() {
		return func() {}, nil
	}
	leave, err = m.debug.Load(ctx, holdOf(ctx), m.serveDebugger)
	return leave, m.unheld(ctx, err)
}

// serveDebugger does what debuggers ask for while the plugin is loaded and waits for something.
func (m *module) serveDebugger() { m.turn(nil, m.debug.Serve) }

// debuggerTasks tells that debuggers ask for something; it is nil if none can.
func (m *module) debuggerTasks() <-chan struct{} {
	if m.debug == nil {
		return nil
	}
	return m.debug.Tasks()
}

// holdOf returns what stops the clock of a call, nil if it has none.
func holdOf(ctx context.Context) func() func() {
	if h := plugin.HeldOf(ctx); h != nil {
		return h.Hold
	}
	return nil
}

// unheld is what the error of waiting for a debugger means for the call.
func (m *module) unheld(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, inspector.ErrRetired):
		err = plugin.ErrRetired
	case err != nil && ctx.Err() == nil:
		err = m.gone()
	}
	return err
}

// Retire lets go of the calls that wait for a debugger or are paused, because the module goes away.
func (m *module) Retire() {
	if m.debug != nil {
		m.debug.Retire()
	}
}

// runnable returns the code that runs for a script: itself without its source map, or code that can be debugged. path is
// where the script lies, "" if it is not in a file.
func (m *module) runnable(name, path, script string, isModule bool) string {
	code, reference := m.withoutMap(name, script)
	if m.debug == nil {
		if m.host.opts.Coverage != nil {
			return m.cover(name, code, isModule)
		}
		return code
	}
	s := inspector.Script{Name: name, URL: m.scriptURL(name, path), Source: script, Code: code, Module: isModule}
	if found := m.maps[name]; found != nil {
		s.Map = found.data
		if strings.HasPrefix(reference, "data:") {
			s.MapURL = reference
		}
	}
	return m.debug.Instrument(s)
}

// withoutProbes compiles a script as its author wrote it, because it cannot be compiled as it can be debugged. If that
// fails as well, the script is at fault, and its own error is the one that pends.
func (m *module) withoutProbes(compile func() engine.Value) engine.Value {
	x := m.engine.Exception()
	defer m.engine.Free(x.Value)
	if m.debug != nil {
		m.debug.Forget()
	}
	delete(m.covered, m.name)
	compiled := compile()
	if !engine.IsFailed(compiled) {
		m.log.Warn("a script runs without probes for debuggers and coverage: it cannot be prepared for them", "script", m.name, "error", x.Message)
	}
	return compiled
}

// pathOf is where a script in the folder of the plugin lies.
func (m *module) pathOf(name string) string {
	if m.folder == nil || isURL(name) {
		return ""
	}
	return filepath.Join(m.folder.Name(), filepath.FromSlash(name))
}

// scriptURL is the name of a script for debuggers, which open files by it.
func (m *module) scriptURL(name, path string) string {
	if path == "" {
		return name
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

var (
	_ plugin.Retirer    = (*module)(nil)
	_ plugin.Debuggable = (*module)(nil)
)
