// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/inspector"
)

// inspect lets debuggers attach to the module.
func (m *module) inspect() {
	m.debug = m.host.opts.Inspector.Add(inspector.Plugin{
		Title: m.name, Engine: m.engine, Closing: m.closing,
		Own: func(f func()) {
			m.own(func() {
				if !m.shut {
					m.turn(nil, f)
				}
			})
		},
		// The time in which the debugger held a turn that belongs to no call does not count either.
		Resumed: func() { m.limit = time.Time{} },
	})
}

// held waits until a debugger lets a call run. The clock of the call stands while a debugger holds it.
func (m *module) held(ctx context.Context) (leave func(), err error) {
	var hold func() func()
	if h := plugin.HeldOf(ctx); h != nil {
		hold = h.Hold
	}
	leave, err = m.debug.Call(ctx, hold)
	switch {
	case errors.Is(err, inspector.ErrRetired):
		err = plugin.ErrRetired
	case err != nil && ctx.Err() == nil:
		err = m.gone()
	}
	return leave, err
}

// Retire lets go of the calls that wait for a debugger or are paused, because the module goes away.
func (m *module) Retire() {
	if m.debug != nil {
		m.debug.Retire()
	}
}

// debuggable returns the code that runs for a source: itself, or the one that can be debugged.
func (m *module) debuggable(name, source string, isModule bool) string {
	if m.debug == nil {
		return source
	}
	path := ""
	if m.folder != nil && !isURL(name) {
		path = filepath.Join(m.folder.Name(), filepath.FromSlash(name))
	}
	return m.debug.Instrument(name, m.scriptURL(name, path), source, isModule)
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

var _ plugin.Retirer = (*module)(nil)
