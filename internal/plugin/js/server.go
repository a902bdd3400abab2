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
	"unsafe"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/role"
)

// notificationCodec reads what app.notify gets.
var notificationCodec = sync.OnceValues(func() (codec, error) { return codecOf(reflect.TypeFor[plugin.Notification]()) })

// serverValues are the constants of the prelude.
func (m *module) serverValues() map[string]any {
	ops := []any{}
	if s := m.host.opts.Server; s != nil {
		for _, op := range s.Operations() {
			ops = append(ops, []any{op.Group, op.Name})
		}
	}
	return map[string]any{"operations": ops}
}

// node is the node for which the plugin runs at present: id, role and version. One process can be two.
func (m *module) node(engine.Value, []engine.Value) (engine.Value, error) {
	var node plugin.Node
	if s := m.host.opts.Server; s != nil {
		node = s.Node(m.role())
	}
	return m.value(m.t.anyToJS([]any{node.ID, string(node.Role), node.Version, node.Shadow}))
}

// role is the role that called the plugin, or the only one that it is made for; "" if neither is known.
func (m *module) role() role.Role {
	if c := m.current.Load(); c != nil && c.extension != nil {
		points := c.extension.points
		if c.point != nil {
			points = []*plugin.Point{c.point}
		}
		if r := plugin.RoleOf(c.ctx, points...); r != "" {
			return r
		}
	}
	if len(m.descriptor.Servers) == 1 {
		return m.descriptor.Servers[0]
	}
	return ""
}

// loadedOnly refuses what acts on the server while the plugin is loaded: loading must change nothing, and who acts is
// not known yet.
func (m *module) loadedOnly(what string) error {
	if m.loaded {
		return nil
	}
	return fmt.Errorf("%s cannot be used while the plugin is loaded; use it in start() or later", what)
}

// serverFunctions are the functions of the server that plugins use.
func (m *module) serverFunctions() map[string]engine.Func {
	return map[string]engine.Func{
		"node":          m.node,
		"api":           m.callAPI,
		"config":        m.config,
		"settings":      m.readSettings,
		"schedule":      m.schedule,
		"unschedule":    m.unschedule,
		"notify":        m.notify,
		"meetingEnded":  m.listener("app.meetings.ended", plugin.MeetingEnded),
		"storageGet":    m.storageGet,
		"storageSet":    m.storageSet,
		"storageDelete": m.storageDelete,
		"storageKeys":   m.storageKeys,
	}
}

func (m *module) config(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s := m.host.opts.Server
	if s == nil {
		return engine.Undefined, errors.New("app.config is not there on this server")
	}
	prefix := m.text(args[0])
	values, err := s.Config(prefix)
	if err != nil {
		return engine.Undefined, fmt.Errorf("app.config(%q): %w", shorten(prefix), err)
	}
	if values == nil {
		values = map[string]any{}
	}
	return m.value(m.t.anyToJS(plain(values)))
}

// settingsPlan is how the settings reach onSettingsChanged.
var settingsPlan = sync.OnceValues(func() (*plan, error) {
	t := reflect.TypeFor[map[string]any]()
	c, err := codecOf(t)
	return &plan{types: []reflect.Type{t}, params: []codec{c}}, err
})

// settings are the settings of the plugin that hold.
func (m *module) settings() (map[string]any, error) {
	s := m.host.opts.Server
	if s == nil {
		return nil, errors.New("app.settings is not there on this server")
	}
	return s.Settings(m.descriptor)
}

func (m *module) readSettings(engine.Value, []engine.Value) (engine.Value, error) {
	if err := m.loadedOnly("app.settings"); err != nil {
		return engine.Undefined, err
	}
	values, err := m.settings()
	if err != nil {
		return engine.Undefined, err
	}
	return m.value(m.t.anyToJS(values))
}

// plain makes numbers of the integers of a configuration, which are no ids.
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

// callAPI carries out an operation: its number and its input.
func (m *module) callAPI(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s := m.host.opts.Server
	i, _ := engine.AsNumber(args[0])
	op := s.Operations()[int(i)]
	label := "app.api." + op.Group + "." + op.Name
	if err := m.loadedOnly(label); err != nil {
		return engine.Undefined, err
	}
	var input any = map[string]any{}
	if v := argument(args, 1); !engine.IsNothing(v) {
		x, err := m.t.anyFromJS(v)
		if err != nil {
			return engine.Undefined, at(err, label)
		}
		input = x
	}
	data, err := json.Marshal(numbers(input, op.Input))
	if err != nil {
		return engine.Undefined, fmt.Errorf("%s: %w", label, err)
	}
	return m.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		out, err := s.Call(ctx, m.descriptor, op.ID, data)
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
		return func() (engine.Value, error) { return m.value(m.t.anyToJS(result)) }, nil
	})
}

func (m *module) notify(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s := m.host.opts.Server
	if s == nil {
		return engine.Undefined, errors.New("app.notify is not there on this server")
	}
	if err := m.loadedOnly("app.notify"); err != nil {
		return engine.Undefined, err
	}
	v := argument(args, 0)
	var n plugin.Notification
	if !engine.IsObject(v) {
		return engine.Undefined, at(m.t.expected("an object", v), "app.notify")
	}
	c, err := notificationCodec()
	if err != nil {
		return engine.Undefined, err
	}
	if err := m.t.read(c, v, unsafe.Pointer(&n)); err != nil {
		return engine.Undefined, at(err, "app.notify")
	}
	if n.Notification == nil {
		return engine.Undefined, mismatchf("app.notify: the notification is missing")
	}
	return m.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		return nil, s.Notify(ctx, m.descriptor, n)
	})
}

// storage returns the storage, or why there is none.
func (m *module) storage() (plugin.Storage, error) {
	if s := m.host.opts.Server; s != nil && s.Storage() != nil {
		return s.Storage(), m.loadedOnly("app.storage")
	}
	return nil, errors.New("app.storage is not there on this server")
}

func (m *module) storageGet(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s, err := m.storage()
	if err != nil {
		return engine.Undefined, err
	}
	key := m.text(args[0])
	return m.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		data, ok, err := s.Get(ctx, m.descriptor.ID, key)
		if err != nil || !ok {
			return nil, err
		}
		return func() (engine.Value, error) { return m.value(m.engine.String(string(data))) }, nil
	})
}

func (m *module) storageSet(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s, err := m.storage()
	if err != nil {
		return engine.Undefined, err
	}
	key, data := m.text(args[0]), []byte(m.text(args[1]))
	return m.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		return nil, s.Set(ctx, m.descriptor.ID, key, data)
	})
}

func (m *module) storageDelete(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s, err := m.storage()
	if err != nil {
		return engine.Undefined, err
	}
	key := m.text(args[0])
	return m.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		there, err := s.Delete(ctx, m.descriptor.ID, key)
		return func() (engine.Value, error) { return engine.Bool(there), nil }, err
	})
}

func (m *module) storageKeys(_ engine.Value, args []engine.Value) (engine.Value, error) {
	s, err := m.storage()
	if err != nil {
		return engine.Undefined, err
	}
	prefix := m.text(args[0])
	return m.onServer(func(ctx context.Context) (func() (engine.Value, error), error) {
		keys, err := s.Keys(ctx, m.descriptor.ID, prefix)
		if keys == nil {
			keys = []string{}
		}
		return func() (engine.Value, error) { return m.value(m.t.anyToJS(keys)) }, err
	})
}
