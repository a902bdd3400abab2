// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"fmt"
	"reflect"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
)

// listen passes functions of the server to a started extension.
func (x *extension) listen(ctx context.Context) {
	for l, f := range x.listeners {
		_, err := x.do(&call{ctx: ctx, extension: x, function: f.function, label: f.label, listener: l})
		if err != nil {
			x.module.log.WarnContext(ctx, "an extension took no listener", "extension", x.class, "function", l.Name, "error", err)
		}
	}
}

// listener returns the function that passes events to the server. It returns a promise.
func (f *serverFunctions) listener(label string, l *plugin.Listener) engine.Func {
	return func(_ engine.Value, args []engine.Value) (engine.Value, error) {
		s := f.m.host.opts.Server
		if s == nil {
			return engine.Undefined, fmt.Errorf("%s is not there on this server", label)
		}
		if err := f.loadedOnly(label); err != nil {
			return engine.Undefined, err
		}
		v := argument(args, 0)
		if !engine.IsObject(v) {
			return engine.Undefined, at(f.m.t.expected("an object", v), label)
		}
		c, err := codecOf(l.Event)
		if err != nil {
			return engine.Undefined, err
		}
		event := reflect.New(l.Event)
		if err := f.m.t.read(c, v, event.Elem()); err != nil {
			return engine.Undefined, at(err, label)
		}
		return f.m.operations.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
			return nil, l.Tell(ctx, s, f.m.descriptor, event.Elem().Interface())
		})
	}
}
