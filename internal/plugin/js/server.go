// SPDX-License-Identifier: Apache-2.0

package js

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/role"
)

// notificationCodec converts the argument of app.notify.
var notificationCodec = sync.OnceValues(func() (codec, error) { return codecOf(reflect.TypeFor[plugin.Notification]()) })

// serverFunctions are the server's functions for a plugin.
type serverFunctions struct{ m *module }

// values are the constants of the prelude.
func (f *serverFunctions) values() map[string]any {
	ops := []any{}
	if s := f.m.host.opts.Server; s != nil {
		for _, op := range s.Operations() {
			ops = append(ops, []any{op.Group, op.Name})
		}
	}
	return map[string]any{"operations": ops}
}

// node returns the node for which the plugin is running: id, role and version. One process can be
// two nodes.
func (f *serverFunctions) node(engine.Value, []engine.Value) (engine.Value, error) {
	var node plugin.Node
	if s := f.m.host.opts.Server; s != nil {
		node = s.Node(f.role())
	}
	return f.m.t.value(f.m.t.anyToJS([]any{node.ID, string(node.Role), node.Version, node.Shadow}))
}

// role returns the role that called the plugin, or its only role; "" if neither is known.
func (f *serverFunctions) role() role.Role {
	if c := f.m.turns.current.Load(); c != nil && c.extension != nil {
		points := c.extension.points
		if c.point != nil {
			points = []*plugin.Point{c.point}
		}
		if r := plugin.RoleOf(c.ctx, points...); r != "" {
			return r
		}
	}
	if len(f.m.descriptor.Servers) == 1 {
		return f.m.descriptor.Servers[0]
	}
	return ""
}

// loadedOnly returns an error for server functions with effects while the plugin is loaded: loading
// must not change anything, and the plugin is not identified yet.
func (f *serverFunctions) loadedOnly(what string) error {
	if f.m.loaded {
		return nil
	}
	return fmt.Errorf("%s cannot be used while the plugin is loaded; use it in start() or later", what)
}

// all returns the functions for the prelude.
func (f *serverFunctions) all() map[string]engine.Func {
	return map[string]engine.Func{
		"node":          f.node,
		"api":           f.callAPI,
		"config":        f.config,
		"settings":      f.readSettings,
		"schedule":      f.m.tasks.add,
		"unschedule":    f.m.tasks.remove,
		"notify":        f.notify,
		"meetingEnded":  f.listener("app.meetings.ended", plugin.MeetingEnded),
		"storageGet":    f.storageGet,
		"storageSet":    f.storageSet,
		"storageDelete": f.storageDelete,
		"storageKeys":   f.storageKeys,
	}
}

func (f *serverFunctions) config(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s := f.m.host.opts.Server
	if s == nil {
		return engine.Undefined, errors.New("app.config is not there on this server")
	}
	prefix := f.m.t.text(args[0])
	values, err := s.Config(prefix)
	if err != nil {
		return engine.Undefined, fmt.Errorf("app.config(%q): %w", shorten(prefix), err)
	}
	if values == nil {
		values = map[string]any{}
	}
	return f.m.t.value(f.m.t.anyToJS(plain(values)))
}

// settingsPlan converts the settings for onSettingsChanged.
var settingsPlan = sync.OnceValues(func() (*plan, error) {
	t := reflect.TypeFor[map[string]any]()
	c, err := codecOf(t)
	return &plan{types: []reflect.Type{t}, params: []codec{c}}, err
})

// settings returns the effective settings of the plugin.
func (f *serverFunctions) settings() (map[string]any, error) {
	s := f.m.host.opts.Server
	if s == nil {
		return nil, errors.New("app.settings is not there on this server")
	}
	return s.Settings(f.m.descriptor)
}

func (f *serverFunctions) readSettings(engine.Value, []engine.Value) (engine.Value, error) {
	if err := f.loadedOnly("app.settings"); err != nil {
		return engine.Undefined, err
	}
	values, err := f.settings()
	if err != nil {
		return engine.Undefined, err
	}
	return f.m.t.value(f.m.t.anyToJS(values))
}

// plain converts integers of a configuration, which are no ids, to numbers.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = plain(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = plain(x)
		}
		return out
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Int, reflect.Int64:
		return float64(r.Int())
	case reflect.Uint, reflect.Uint64:
		return float64(r.Uint())
	}
	return v
}

// callAPI runs an operation: its number and its input.
func (f *serverFunctions) callAPI(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s := f.m.host.opts.Server
	i, _ := engine.AsNumber(args[0])
	op := s.Operations()[int(i)]
	label := "app.api." + op.Group + "." + op.Name
	if err := f.loadedOnly(label); err != nil {
		return engine.Undefined, err
	}
	var input any = map[string]any{}
	if v := argument(args, 1); !engine.IsNothing(v) {
		x, err := f.m.t.anyFromJS(v)
		if err != nil {
			return engine.Undefined, at(err, label)
		}
		input = x
	}
	data, err := json.Marshal(numbers(input, op.Input))
	if err != nil {
		return engine.Undefined, fmt.Errorf("%s: %w", label, err)
	}
	return f.m.operations.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		out, err := s.Call(ctx, f.m.descriptor, op.ID, data)
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(out)) == 0 {
			return nil, nil
		}
		d := json.NewDecoder(bytes.NewReader(out))
		d.UseNumber()
		var result any
		if err := d.Decode(&result); err != nil {
			return nil, fmt.Errorf("%s: read the result: %w", label, err)
		}
		result = decimals(result, op.Result)
		return func() (engine.Value, error) { return f.m.t.value(f.m.t.anyToJS(result)) }, nil
	})
}

func (f *serverFunctions) notify(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s := f.m.host.opts.Server
	if s == nil {
		return engine.Undefined, errors.New("app.notify is not there on this server")
	}
	if err := f.loadedOnly("app.notify"); err != nil {
		return engine.Undefined, err
	}
	v := argument(args, 0)
	var n plugin.Notification
	if !engine.IsObject(v) {
		return engine.Undefined, at(f.m.t.expected("an object", v), "app.notify")
	}
	c, err := notificationCodec()
	if err != nil {
		return engine.Undefined, err
	}
	if err := f.m.t.read(c, v, reflect.ValueOf(&n).Elem()); err != nil {
		return engine.Undefined, at(err, "app.notify")
	}
	if n.Notification == nil {
		return engine.Undefined, mismatchf("app.notify: the notification is missing")
	}
	return f.m.operations.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		return nil, s.Notify(ctx, f.m.descriptor, n)
	})
}

// storage returns the storage, or an error if there is none.
func (f *serverFunctions) storage() (plugin.Storage, error) {
	if s := f.m.host.opts.Server; s != nil && s.Storage() != nil {
		return s.Storage(), f.loadedOnly("app.storage")
	}
	return nil, errors.New("app.storage is not there on this server")
}

func (f *serverFunctions) storageGet(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s, err := f.storage()
	if err != nil {
		return engine.Undefined, err
	}
	key := f.m.t.text(args[0])
	return f.m.operations.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		data, ok, err := s.Get(ctx, f.m.descriptor.ID, key)
		if err != nil || !ok {
			return nil, err
		}
		return func() (engine.Value, error) { return f.m.t.value(f.m.engine.String(string(data))) }, nil
	})
}

func (f *serverFunctions) storageSet(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s, err := f.storage()
	if err != nil {
		return engine.Undefined, err
	}
	key, data := f.m.t.text(args[0]), []byte(f.m.t.text(args[1]))
	return f.m.operations.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		err := s.Set(ctx, f.m.descriptor.ID, key, data)
		f.m.Stored(f.m.log, err)
		return nil, err
	})
}

func (f *serverFunctions) storageDelete(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s, err := f.storage()
	if err != nil {
		return engine.Undefined, err
	}
	key := f.m.t.text(args[0])
	return f.m.operations.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		there, err := s.Delete(ctx, f.m.descriptor.ID, key)
		return func() (engine.Value, error) { return engine.Bool(there), nil }, err
	})
}

func (f *serverFunctions) storageKeys(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s, err := f.storage()
	if err != nil {
		return engine.Undefined, err
	}
	prefix := f.m.t.text(args[0])
	return f.m.operations.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		keys, err := s.Keys(ctx, f.m.descriptor.ID, prefix)
		if keys == nil {
			keys = []string{}
		}
		return func() (engine.Value, error) { return f.m.t.value(f.m.t.anyToJS(keys)) }, err
	})
}
