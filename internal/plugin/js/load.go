// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/role"
)

// load makes the engine, runs the source and reads what the plugin says of itself.
func (m *module) load(ctx context.Context, src plugin.Source) error {
	if err := m.openFolder(src.Path); err != nil {
		return fmt.Errorf("load %q: %w", src.Name, err)
	}
	e, err := engine.New(engine.Limits{Memory: m.memoryLimit(), Stack: m.host.opts.StackSize})
	if err != nil {
		return fmt.Errorf("load %q: %w", src.Name, err)
	}
	m.engine, m.t = e, newTranslator(e)
	e.OnPace(m.pace)
	source, err := m.prepare(src)
	if err != nil {
		return err
	}
	defer func() { m.original, m.imports = "", nil }()
	// The steps of loading run in the name of a call, so that the deadline of loading ends them.
	c := &call{ctx: ctx, label: "the module"}
	c.state.Store(running)
	step := func(f func() error) (err error) {
		m.turn(c, func() { err = f() })
		switch {
		case m.dead.Load() != nil:
			return m.gone()
		case ctx.Err() != nil:
			return m.refuse("", "loading took too long: %v", ctx.Err())
		}
		return err
	}
	if err := step(m.install); err != nil {
		return err
	}
	leave, err := m.heldAtLoad(ctx)
	if err != nil {
		return fmt.Errorf("load %q: wait for a debugger: %w", src.Name, err)
	}
	defer leave()
	exports, err := m.evaluate(ctx, step, source)
	if err != nil {
		return err
	}
	err = step(func() error { return m.describe(exports) })
	e.Free(exports)
	if err != nil {
		return err
	}
	c.state.Store(finished)
	m.loaded = true
	m.log = m.host.opts.Log.With(slog.String("plugin", m.descriptor.ID), slog.String("version", m.descriptor.Version))
	return nil
}

// prepare makes the text that is compiled. It must not move lines.
func (m *module) prepare(src plugin.Source) (string, error) {
	text := strings.TrimPrefix(string(src.Data), "\ufeff")
	if !utf8.ValidString(text) {
		return "", m.refuse("", "the file is not text in UTF-8")
	}
	m.original = text
	if m.inspected() {
		m.inspect()
	}
	return m.runnable(m.name, src.Path, text, true), nil
}

// evaluate runs the source of the plugin, and waits for what it awaits, and returns its exports.
func (m *module) evaluate(ctx context.Context, step func(func() error) error, source string) (engine.Value, error) {
	promise, exports := engine.Undefined, engine.Undefined
	err := step(func() error {
		compiled := m.engine.Compile(m.name, source)
		if engine.IsFailed(compiled) && (m.debug != nil || m.covered != nil) {
			compiled = m.withoutProbes(func() engine.Value { return m.engine.Compile(m.name, m.original) })
		}
		if engine.IsFailed(compiled) {
			return m.pendingError()
		}
		promise, exports = m.engine.RunModule(compiled)
		if engine.IsFailed(promise) {
			return m.pendingError()
		}
		return nil
	})
	if err != nil {
		if m.engine.Err() == nil {
			m.free([]engine.Value{promise, exports})
		}
		return exports, err
	}
	state, v, err := m.await(ctx, promise)
	if state == engine.Rejected && err == nil {
		err = step(func() error {
			m.handled(promise)
			x := m.engine.Describe(v)
			defer m.engine.Free(x.Value)
			return m.explain(m.exception(x))
		})
		v = engine.Undefined
	} else if err != nil && ctx.Err() != nil {
		err = m.refuse("", "loading took too long: the module waits for something at its top level that does not come: %v", ctx.Err())
	}
	if m.engine.Err() == nil {
		m.engine.Free(v)
		m.engine.Free(promise)
		if err != nil {
			m.engine.Free(exports)
		}
	}
	return exports, err
}

// pendingError is the error that the pending exception means while the plugin is loaded.
func (m *module) pendingError() error {
	x := m.engine.Exception()
	defer m.engine.Free(x.Value)
	return m.explain(m.exception(x))
}

// refuse is the error of a plugin that is not what it must be.
func (m *module) refuse(location, format string, args ...any) error {
	if location == "" {
		location = m.name
	}
	return &plugin.Exception{Message: fmt.Sprintf(format, args...), Location: location}
}

// describe makes the plugin, its descriptor and its extensions of the exports.
func (m *module) describe(exports engine.Value) error {
	e := m.engine
	class := e.GetName(exports, "default")
	defer func() { e.Free(class) }()
	switch {
	case engine.IsFailed(class):
		return m.pendingError()
	case engine.IsUndefined(class):
		return m.refuse(m.name+":1", "the module has no default export: it must export a class that extends AppPlugin as its default")
	case !e.IsClass(class):
		return m.refuse(m.classPosition(class), "the default export must be a class that extends AppPlugin, not %s", e.TypeOf(class))
	case !m.extends(class, m.appPlugin):
		return m.refuse(m.classPosition(class), "the class %s is the default export and must extend AppPlugin", m.nameOf(class))
	}
	object := e.Construct(class)
	if engine.IsFailed(object) {
		return m.pendingError()
	}
	defer e.Free(object)
	if err := m.readDescriptor(class, object); err != nil {
		return err
	}
	m.grants.Store(&m.descriptor.Requested)
	return m.readExtensions(class, object)
}

// extends reports whether a class is base or extends it.
func (m *module) extends(class, base engine.Value) bool {
	proto := m.engine.GetName(class, "prototype")
	defer m.engine.Free(proto)
	if !engine.IsObject(proto) {
		if engine.IsFailed(proto) {
			m.engine.Drop()
		}
		return false
	}
	return m.engine.Instance(proto, base)
}

// ask calls a function without parameters that the plugin must have. Where it is stands for messages about its answer.
func (m *module) ask(class, object engine.Value, function, answer string) (v engine.Value, where string, err error) {
	e := m.engine
	f := e.GetName(object, function)
	defer func() { e.Free(f) }()
	if engine.IsFailed(f) {
		return v, "", m.pendingError()
	}
	if !e.IsFunction(f) {
		return v, "", m.refuse(m.classPosition(class), "the class %s has no function %s(), which returns %s", m.nameOf(class), function, answer)
	}
	v = e.Call(f, object)
	if engine.IsFailed(v) {
		return v, "", m.pendingError()
	}
	if e.IsPromise(v) {
		e.Free(v)
		return engine.Undefined, "", m.refuse(m.position(f), "%s() must return %s, not a promise: it cannot be async", function, answer)
	}
	return v, m.position(f), nil
}

func (m *module) readDescriptor(class, object engine.Value) error {
	e := m.engine
	v, where, err := m.ask(class, object, "getDescriptor", "the descriptor")
	if err != nil {
		return err
	}
	defer e.Free(v)
	if !engine.IsObject(v) || e.IsArray(v) {
		return m.refuse(where, "getDescriptor() must return an object with an id, not %s", e.TypeOf(v))
	}
	d := &m.descriptor
	for _, f := range []struct {
		name  string
		value *string
	}{{"id", &d.ID}, {"version", &d.Version}, {"provider", &d.Provider}, {"license", &d.License}, {"description", &d.Description}} {
		p := e.GetName(v, f.name)
		if engine.IsFailed(p) {
			return m.pendingError()
		}
		if engine.IsNothing(p) {
			continue
		}
		if !engine.IsString(p) {
			err := m.refuse(where, "getDescriptor(): %s must be a string, not %s", f.name, e.TypeOf(p))
			e.Free(p)
			return err
		}
		*f.value, _ = e.Text(p)
		e.Free(p)
	}
	if strings.TrimSpace(d.ID) == "" {
		return m.refuse(where, "getDescriptor() must return an object with an id that is not empty")
	}
	if err := m.readSchema(v, where); err != nil {
		return err
	}
	if err := m.readGrants(v, where); err != nil {
		return err
	}
	for _, key := range []string{"compatible-server", "compatible-servers"} {
		p := e.GetName(v, key)
		if engine.IsFailed(p) {
			return m.pendingError()
		}
		if engine.IsNothing(p) {
			continue
		}
		err := m.readServers(p, key, where)
		e.Free(p)
		if err != nil {
			return err
		}
	}
	return nil
}

// readSchema reads the schema of the settings.
func (m *module) readSchema(descriptor engine.Value, where string) error {
	p := m.engine.GetName(descriptor, "settings")
	if engine.IsFailed(p) {
		return m.pendingError()
	}
	if engine.IsNothing(p) {
		return nil
	}
	defer m.engine.Free(p)
	x, err := m.t.anyFromJS(p)
	if err != nil {
		return m.refuse(where, "getDescriptor(): settings: %v", err)
	}
	text, err := json.Marshal(x)
	if err == nil {
		m.descriptor.Settings, err = plugin.NewSchema(text)
	}
	if err != nil {
		return m.refuse(where, "getDescriptor(): settings: %v", err)
	}
	return nil
}

// readGrants reads what the plugin asks for.
func (m *module) readGrants(descriptor engine.Value, where string) error {
	var texts [2][]string
	for i, key := range []string{"permissions", "hosts"} {
		x, err := m.member(descriptor, key, where)
		if err != nil || x == nil {
			if err != nil {
				return err
			}
			continue
		}
		list, ok := x.([]any)
		if !ok {
			return m.refuse(where, "getDescriptor(): %s must be an array of strings", key)
		}
		for _, item := range list {
			s, ok := item.(string)
			if !ok {
				return m.refuse(where, "getDescriptor(): %s must hold strings", key)
			}
			texts[i] = append(texts[i], s)
		}
	}
	x, err := m.member(descriptor, "java", where)
	if err != nil {
		return err
	}
	java, ok := x.(bool)
	if x != nil && !ok {
		return m.refuse(where, "getDescriptor(): java must be true or false")
	}
	if m.descriptor.Requested, err = plugin.NewGrants(texts[0], texts[1], java); err != nil {
		return m.refuse(where, "getDescriptor(): %v", err)
	}
	return nil
}

// member reads a member of the descriptor; nil if it is not there.
func (m *module) member(descriptor engine.Value, key, where string) (any, error) {
	p := m.engine.GetName(descriptor, key)
	if engine.IsFailed(p) {
		return nil, m.pendingError()
	}
	if engine.IsNothing(p) {
		return nil, nil
	}
	defer m.engine.Free(p)
	x, err := m.t.anyFromJS(p)
	if err != nil {
		return nil, m.refuse(where, "getDescriptor(): %s: %v", key, err)
	}
	return x, nil
}

func (m *module) readServers(v engine.Value, key, where string) error {
	x, err := m.t.anyFromJS(v)
	if err != nil {
		return m.refuse(where, "getDescriptor(): %s: %v", key, err)
	}
	var list []string
	switch x := x.(type) {
	case string:
		list = strings.Split(x, ",")
	case []any:
		for _, item := range x {
			s, ok := item.(string)
			if !ok {
				return m.refuse(where, "getDescriptor(): %s must hold strings", key)
			}
			list = append(list, s)
		}
	default:
		return m.refuse(where, "getDescriptor(): %s must be a string or an array of strings, not %s", key, m.engine.TypeOf(v))
	}
	for _, s := range list {
		s = strings.TrimSpace(s)
		r, ok := role.OfServer(s)
		if !ok {
			return m.refuse(where, "getDescriptor(): %s names %q, which is neither GATEWAY (app-gateway) nor SERVICE (app-service)", key, shorten(s))
		}
		if !slices.Contains(m.descriptor.Servers, r) {
			m.descriptor.Servers = append(m.descriptor.Servers, r)
		}
	}
	return nil
}

func (m *module) readExtensions(class, object engine.Value) error {
	e := m.engine
	v, where, err := m.ask(class, object, "getExtensions", "an array of classes")
	if err != nil {
		return err
	}
	defer e.Free(v)
	if !e.IsArray(v) {
		return m.refuse(where, "getExtensions() must return an array of classes that extend AppExtension, not %s", e.TypeOf(v))
	}
	n := e.Len(v)
	if n == 0 {
		return m.refuse(where, "getExtensions() must return at least one class that extends AppExtension")
	}
	for i := range n {
		item := e.Index(v, i)
		err := m.readExtension(item, i, where)
		e.Free(item)
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *module) readExtension(class engine.Value, i int, where string) error {
	e := m.engine
	if !e.IsClass(class) {
		return m.refuse(where, "getExtensions()[%d] must be a class that extends AppExtension, not %s", i, e.TypeOf(class))
	}
	if !m.extends(class, m.appExtension) {
		return m.refuse(m.classPosition(class), "getExtensions()[%d], the class %s, must extend AppExtension", i, m.nameOf(class))
	}
	x := &extension{
		module: m, class: m.nameOf(class), object: e.Construct(class),
		methods: map[*plugin.Method]method{}, hooks: map[plugin.Hook]method{}, listeners: map[*plugin.Listener]method{},
	}
	if engine.IsFailed(x.object) {
		return m.pendingError()
	}
	m.extensions = append(m.extensions, x)
	served := m.has(x.object, "getEndpoints")
	if served {
		if err := m.readEndpoints(class, x); err != nil {
			return err
		}
	}
	if served && !m.has(x.object, "getExtensionPoints") {
		return m.readFunctions(class, x)
	}
	points, where, err := m.ask(class, x.object, "getExtensionPoints", "an array of names of extension points")
	if err != nil {
		return err
	}
	defer e.Free(points)
	if !e.IsArray(points) {
		return m.refuse(where, "getExtensionPoints() of %s must return an array of names, not %s", x.class, e.TypeOf(points))
	}
	for k := range e.Len(points) {
		item := e.Index(points, k)
		s, _ := e.Text(item)
		isString := engine.IsString(item)
		kind := e.TypeOf(item)
		e.Free(item)
		if !isString {
			return m.refuse(where, "getExtensionPoints()[%d] of %s must be a string, not %s", k, x.class, kind)
		}
		p, ok := m.host.point(s)
		if !ok {
			return m.refuse(where, "getExtensionPoints() of %s names %q, which is not an extension point; there are: %s", x.class, shorten(s), m.pointNames())
		}
		if !slices.Contains(x.points, p) {
			x.points = append(x.points, p)
		}
	}
	if len(x.points) == 0 && !served {
		return m.refuse(where, "getExtensionPoints() of %s must name at least one extension point", x.class)
	}
	return m.readFunctions(class, x)
}

func (m *module) pointNames() string {
	list := make([]string, 0, len(m.host.opts.Points))
	for _, p := range m.host.opts.Points {
		list = append(list, p.Name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// readFunctions finds the methods and hooks that an extension has. What it lacks is never called.
func (m *module) readFunctions(class engine.Value, x *extension) error {
	for _, p := range x.points {
		before := len(x.methods)
		var wanted []string
		for _, pm := range p.Methods {
			wanted = append(wanted, pm.Name+"()")
			f, ok, err := m.function(class, x, pm.Name)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			plan, err := planOf(pm)
			if err != nil {
				m.engine.Free(f)
				return err
			}
			x.methods[pm] = method{f, plan, x.class + "." + pm.Name + "()"}
		}
		for _, l := range p.Listeners {
			f, ok, err := m.function(class, x, l.Name)
			if err != nil {
				return err
			}
			if ok {
				x.listeners[l] = method{function: f, label: x.class + "." + l.Name + "()"}
			}
		}
		if len(x.methods) == before {
			m.warnings = append(m.warnings, fmt.Sprintf("%s names %s but has none of its functions: %s (%s)",
				x.class, p.Name, strings.Join(wanted, ", "), m.classPosition(class)))
		}
	}
	for h, list := range hookNames {
		for _, n := range list {
			f, ok, err := m.function(class, x, n)
			if err != nil {
				return err
			}
			if ok {
				x.hooks[h] = method{function: f, label: x.class + "." + n + "()"}
				break
			}
		}
	}
	return nil
}

func (m *module) function(class engine.Value, x *extension, name string) (engine.Value, bool, error) {
	f := m.engine.GetName(x.object, name)
	switch {
	case engine.IsFailed(f):
		return f, false, m.pendingError()
	case engine.IsNothing(f):
		return f, false, nil
	case !m.engine.IsFunction(f):
		err := m.refuse(m.classPosition(class), "%s of %s must be a function, not %s", name, x.class, m.engine.TypeOf(f))
		m.engine.Free(f)
		return f, false, err
	}
	return f, true, nil
}

// explain adds what helps to the error of a source that cannot be loaded.
func (m *module) explain(x *plugin.Exception) error {
	if strings.HasPrefix(x.Message, "SyntaxError") {
		line := lineOf(x.Location)
		lines := strings.Split(m.original, "\n")
		if line > 0 && line <= len(lines) && strings.HasPrefix(strings.TrimSpace(lines[line-1]), "@") {
			x.Message += "; decorators are not part of ECMAScript 2022: functions are found by their names"
		}
	}
	if x.Location == "" {
		for full, spec := range m.imports {
			if strings.Contains(x.Message, fmt.Sprintf("import %q", shorten(full))) {
				x.Location = m.find(fmt.Sprintf("'%s'", spec), fmt.Sprintf("%q", spec))
			}
		}
	}
	return x
}

// classPosition is where a class begins. The engine knows only where its constructor is, which may be one that nobody
// wrote, so it is found by its text.
func (m *module) classPosition(class engine.Value) string {
	if m.engine.IsClass(class) {
		if s := m.find(m.text(class)); s != m.name {
			return s
		}
	}
	return m.position(class)
}

// find is where one of several texts is in the source.
func (m *module) find(texts ...string) string {
	for _, text := range texts {
		if i := strings.Index(m.original, text); i >= 0 && text != "" {
			line := strings.Count(m.original[:i], "\n") + 1
			column := utf8.RuneCountInString(m.original[strings.LastIndex(m.original[:i], "\n")+1:i]) + 1
			return m.sourced(fmt.Sprintf("%s:%d:%d", m.name, line, column))
		}
	}
	return m.name
}
