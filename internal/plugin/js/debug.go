// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"path"
	"slices"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/inspector"
)

// debuggee is a module as the target of debuggers.
type debuggee struct {
	m *module
	// server is where debuggers attach, nil if they cannot; waits is true if calls wait for one.
	server *inspector.Server
	waits  bool
	// target is the debuggers' target, only in debug mode.
	target *inspector.Target
}

// open determines where debuggers attach to the module, if they can.
func (d *debuggee) open(ctx context.Context, src plugin.Source) (err error) {
	o := d.m.host.opts
	if o.Inspector != nil && (len(o.Debugged) == 0 || slices.Contains(o.Debugged, path.Base(d.m.name))) {
		d.server, d.waits = o.Inspector, true
		return nil
	}
	if !src.Debug {
		return nil
	}
	if o.Inspect == nil {
		return errors.New("plugins cannot be debugged here")
	}
	d.server, err = o.Inspect(ctx)
	return err
}

// possible reports whether debuggers can attach to the module.
func (d *debuggee) possible() bool { return d.server != nil }

// waitsToLoad reports whether the first line of the module waits for a debugger.
func (d *debuggee) waitsToLoad() bool { return d.waits && d.m.host.opts.WaitToLoad }

// Debugger is where debuggers attach.
func (m *module) Debugger() plugin.Debugger {
	if m.debug.target == nil {
		return plugin.Debugger{}
	}
	return plugin.Debugger{Address: m.debug.target.Address(), Link: m.debug.target.Link(), Configured: m.debug.waits}
}

// attach allows debuggers to attach to the module.
func (d *debuggee) attach() {
	d.target = d.server.Add(inspector.Plugin{
		Title: d.m.name, Engine: d.m.engine, Closing: d.m.closing, Loads: d.waitsToLoad(), Free: !d.waits,
		Own: func(f func()) {
			d.m.own(func() {
				if !d.m.shut {
					d.m.turns.run(nil, f)
					d.m.awaken() // The debugger may have set a timer.
				}
			})
		},
		// A debugger's pause of a turn without call does not count either.
		Resumed: func() { d.m.turns.limit = time.Time{} },
	})
}

// probeMemory is how many times its memory limit a plugin with probes may use.
const probeMemory = 8

// memoryLimit is the engine's memory limit in bytes. Probes do not count.
func (m *module) memoryLimit() int64 {
	if m.debug.possible() || m.host.opts.Coverage != nil {
		return probeMemory * m.host.opts.MemoryLimit
	}
	return m.host.opts.MemoryLimit
}

// hold waits until a debugger allows a call to run. The clock of the call is stopped while a
// debugger pauses it.
func (d *debuggee) hold(ctx context.Context) (leave func(), err error) {
	leave, err = d.target.Call(ctx, holdOf(ctx))
	return leave, d.unheld(ctx, err)
}

// holdLoad waits until a debugger allows the plugin's first line to run, if the host is configured
// to.
func (d *debuggee) holdLoad(ctx context.Context) (leave func(), err error) {
	if d.target == nil || !d.waitsToLoad() {
		return func() {}, nil
	}
	leave, err = d.target.Load(ctx, holdOf(ctx), d.serve)
	return leave, d.unheld(ctx, err)
}

// serve serves debuggers' requests while the plugin is being loaded and waits.
func (d *debuggee) serve() { d.m.turns.run(nil, d.target.Serve) }

// tasks signals requests of debuggers; nil if there can be none.
func (d *debuggee) tasks() <-chan struct{} {
	if d.target == nil {
		return nil
	}
	return d.target.Tasks()
}

// holdOf returns the function that stops the clock of a call, nil if it has none.
func holdOf(ctx context.Context) func() func() {
	if h := plugin.HeldOf(ctx); h != nil {
		return h.Hold
	}
	return nil
}

// unheld converts an error of waiting for a debugger to the error of the call.
func (d *debuggee) unheld(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, inspector.ErrRetired):
		err = plugin.ErrRetired
	case err != nil && ctx.Err() == nil:
		err = d.m.gone()
	}
	return err
}

// Retire releases the calls that wait for a debugger or are paused, because the module is being
// removed.
func (m *module) Retire() {
	if m.debug.target != nil {
		m.debug.target.Retire()
	}
}

var (
	_ plugin.Retirer    = (*module)(nil)
	_ plugin.Debuggable = (*module)(nil)
)
