// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"fmt"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
)

// An extension is an instance of a class of the plugin.
type extension struct {
	module  *module
	class   string
	object  engine.Value
	points  []*plugin.Point
	methods map[*plugin.Method]method
	hooks   map[plugin.Hook]method
	// listeners are called after the extension was started.
	listeners map[*plugin.Listener]method
	schedules plugin.Schedules
	endpoints []*plugin.Endpoint
	handlers  map[*plugin.Endpoint]method
}

// A method is a function that the extension has.
type method struct {
	function engine.Value
	plan     *plan
	label    string
}

// hookNames are the names of each hook, in order of precedence.
var hookNames = map[plugin.Hook][]string{
	plugin.Start:  {"start", "onStarted"},
	plugin.Pause:  {"pause", "onPaused"},
	plugin.Resume: {"resume", "onResumed"},
	plugin.Stop:   {"stop", "onStopped"},

	plugin.SettingsChanged: {"onSettingsChanged"},
}

func (x *extension) free(e *engine.Values) {
	for _, f := range x.methods {
		e.Free(f.function)
	}
	for _, f := range x.hooks {
		e.Free(f.function)
	}
	for _, f := range x.listeners {
		e.Free(f.function)
	}
	for _, f := range x.handlers {
		e.Free(f.function)
	}
	e.Free(x.object)
}

// Class is the name of the class.
func (x *extension) Class() string { return x.class }

// Points are the extension points that the extension names.
func (x *extension) Points() []*plugin.Point { return x.points }

// Implements reports whether the extension has the function.
func (x *extension) Implements(m *plugin.Method) bool {
	_, ok := x.methods[m]
	return ok
}

// Hook runs a hook.
func (x *extension) Hook(ctx context.Context, h plugin.Hook) error {
	if f, ok := x.hooks[h]; ok {
		var args []any
		if h == plugin.SettingsChanged {
			s, err := x.module.server.settings()
			if err != nil {
				return err
			}
			p, err := settingsPlan()
			if err != nil {
				return err
			}
			f.plan, args = p, []any{s}
		}
		c := &call{ctx: ctx, extension: x, function: f.function, plan: f.plan, label: f.label, args: args, begins: h == plugin.Start}
		if _, err := x.do(c); err != nil {
			return err
		}
	}
	if h == plugin.Start {
		x.listen(ctx)
	}
	return nil
}

// Call calls a method.
func (x *extension) Call(ctx context.Context, m *plugin.Method, args []any, result any) (bool, error) {
	f, ok := x.methods[m]
	if m == plugin.RunSchedule {
		return x.runSchedule(ctx, args)
	}
	if m == plugin.ServeEndpoint {
		return x.serveEndpoint(ctx, args, result)
	}
	if !ok {
		return false, fmt.Errorf("call %s of %s: the extension does not have it", m.Name, x.class)
	}
	if len(args) != len(m.Params) {
		return false, fmt.Errorf("call %s of %s: %d arguments for %d parameters", m.Name, x.class, len(args), len(m.Params))
	}
	return x.do(&call{ctx: ctx, extension: x, point: m.Point, function: f.function, plan: f.plan, label: f.label, args: args, result: result})
}

// do calls a function of the plugin. All calls go through it.
func (x *extension) do(c *call) (bool, error) {
	if x.module.debug.target != nil {
		leave, err := x.module.debug.hold(c.ctx)
		if err != nil {
			return false, err
		}
		defer leave()
	}
	c.done = signals.Get().(chan struct{})
	return x.module.calls.do(c)
}

var _ plugin.Extension = (*extension)(nil)
