// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"fmt"
	"reflect"

	"example.org/app/internal/plugin/js/engine"
)

// A Function is a function of the host's owner, for its own scripts, such as tests of a plugin. It
// runs in its own goroutine; the script gets a promise.
type Function struct {
	Params []reflect.Type
	// Result is nil if there is none.
	Result reflect.Type
	// Do gets a value for each parameter, zero for missing ones. ctx ends with the script.
	Do func(ctx context.Context, args []any) (any, error)
}

// functionsName is the global object with the functions. A script that keeps it private deletes it.
const functionsName = "__app_functions"

// installFunctions adds the functions of the host to the engine, if there are any.
func (gl *globals) installFunctions() error {
	if len(gl.m.host.opts.Functions) == 0 {
		return nil
	}
	e := gl.m.engine
	object := e.Object()
	for name, f := range gl.m.host.opts.Functions {
		call, err := gl.callable(name, f)
		if err != nil {
			e.Free(object)
			return err
		}
		if !e.DefineName(object, name, e.Function(name, len(f.Params), call)) {
			e.Free(object)
			return gl.m.loading.pendingError()
		}
	}
	global := e.Global()
	defer e.Free(global)
	if !e.DefineName(global, functionsName, object) {
		return gl.m.loading.pendingError()
	}
	return nil
}

// callable returns the engine's function for a Function.
func (gl *globals) callable(name string, f *Function) (engine.Func, error) {
	params := make([]codec, len(f.Params))
	var result codec
	var err error
	for i, t := range f.Params {
		if params[i], err = codecOf(t); err != nil {
			return nil, fmt.Errorf("parameter %d of %s: %w", i+1, name, err)
		}
	}
	if f.Result != nil {
		if result, err = codecOf(f.Result); err != nil {
			return nil, fmt.Errorf("result of %s: %w", name, err)
		}
	}
	return func(_ engine.Value, values []engine.Value) (engine.Value, error) {
		args := make([]any, len(params))
		for i, c := range params {
			p := reflect.New(f.Params[i])
			if v := argument(values, i); !engine.IsNothing(v) {
				if err := gl.m.t.read(c, v, p.Elem()); err != nil {
					return engine.Undefined, at(err, name)
				}
			}
			args[i] = p.Elem().Interface()
		}
		return gl.m.operations.async(func(ctx context.Context) (func() (engine.Value, error), error) {
			r, err := f.Do(ctx, args)
			if err != nil || result == nil {
				return nil, err
			}
			return func() (engine.Value, error) { return gl.m.t.value(gl.m.t.toJS(result, f.Result, r)) }, nil
		})
	}, nil
}
