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

// A loading is the state of loading a module from a source.
type loading struct {
	m *module
	t *translator
	// original is the source, and imports are the imported names by their replacement.
	original string
	imports  map[string]string
}

// load creates the engine, runs the source and reads the plugin's description.
func (m *module) load(ctx context.Context, src plugin.Source) error {
	if err := m.scripts.open(src.Path); err != nil {
		return fmt.Errorf("load %q: %w", src.Name, err)
	}
	e, err := engine.New(engine.Limits{Memory: m.memoryLimit(), Stack: m.host.opts.StackSize})
	if err != nil {
		return fmt.Errorf("load %q: %w", src.Name, err)
	}
	m.engine, m.t = e, newTranslator(&e.Functions)
	m.loading = &loading{m: m, t: m.t, imports: map[string]string{}}
	defer func() { m.loading = nil }()
	e.OnPace(m.turns.pace)
	source, err := m.loading.prepare(src)
	if err != nil {
		return err
	}
	// The steps of loading run for a call, so that its deadline ends them.
	c := &call{ctx: ctx, label: "the module"}
	c.state.Store(running)
	step := func(f func() error) (err error) {
		m.turns.run(c, func() { err = f() })
		switch {
		case m.dead.Load() != nil:
			return m.gone()
		case ctx.Err() != nil:
			return m.refuse("", "loading took too long: %v", ctx.Err())
		}
		return err
	}
	if err := step(m.globals.install); err != nil {
		return err
	}
	leave, err := m.debug.holdLoad(ctx)
	if err != nil {
		return fmt.Errorf("load %q: wait for a debugger: %w", src.Name, err)
	}
	defer leave()
	exports, err := m.loading.evaluate(ctx, step, source)
	if err != nil {
		return err
	}
	err = step(func() error { return m.loading.describe(exports) })
	e.Free(exports)
	if err != nil {
		return err
	}
	c.state.Store(finished)
	m.loaded = true
	m.log = m.host.opts.Log.With(slog.String("plugin", m.descriptor.ID), slog.String("version", m.descriptor.Version))
	return nil
}

// prepare returns the text to compile. It must not move lines.
func (ld *loading) prepare(src plugin.Source) (string, error) {
	text := strings.TrimPrefix(string(src.Data), "\ufeff")
	if !utf8.ValidString(text) {
		return "", ld.m.refuse("", "the file is not text in UTF-8")
	}
	ld.original = text
	if ld.m.debug.possible() {
		ld.m.debug.attach()
	}
	return ld.m.scripts.runnable(ld.m.name, src.Path, text, true), nil
}

// evaluate runs the source of the plugin, including top-level await, and returns its exports.
func (ld *loading) evaluate(ctx context.Context, step func(func() error) error, source string) (engine.Value, error) {
	promise, exports := engine.Undefined, engine.Undefined
	err := step(func() error {
		compiled := ld.m.engine.Compile(ld.m.name, source)
		if engine.IsFailed(compiled) && (ld.m.debug.target != nil || ld.m.scripts.covered != nil) {
			compiled = ld.m.scripts.withoutProbes(func() engine.Value { return ld.m.engine.Compile(ld.m.name, ld.original) })
		}
		if engine.IsFailed(compiled) {
			return ld.pendingError()
		}
		promise, exports = ld.m.engine.RunModule(compiled)
		if engine.IsFailed(promise) {
			return ld.pendingError()
		}
		return nil
	})
	if err != nil {
		if ld.m.engine.Err() == nil {
			ld.t.free([]engine.Value{promise, exports})
		}
		return exports, err
	}
	state, v, err := ld.m.await(ctx, promise)
	if state == engine.Rejected && err == nil {
		err = step(func() error {
			ld.m.uncaught.handled(promise)
			x := ld.m.engine.Describe(v)
			defer ld.t.Free(x.Value)
			return ld.explain(ld.m.exception(x))
		})
		v = engine.Undefined
	} else if err != nil && ctx.Err() != nil {
		err = ld.m.refuse("", "loading took too long: the module waits for something at its top level that does not come: %v", ctx.Err())
	}
	if ld.m.engine.Err() == nil {
		ld.t.Free(v)
		ld.t.Free(promise)
		if err != nil {
			ld.t.Free(exports)
		}
	}
	return exports, err
}

// pendingError converts the pending exception to an error of loading.
func (ld *loading) pendingError() error {
	x := ld.m.engine.Exception()
	defer ld.t.Free(x.Value)
	return ld.explain(ld.m.exception(x))
}

// refuse returns the error for an invalid plugin.
func (m *module) refuse(location, format string, args ...any) error {
	if location == "" {
		location = m.name
	}
	return &plugin.Exception{Message: fmt.Sprintf(format, args...), Location: location}
}

// describe creates the plugin, its descriptor and its extensions from the exports.
func (ld *loading) describe(exports engine.Value) error {
	e := ld.t
	class := e.GetName(exports, "default")
	defer func() { e.Free(class) }()
	switch {
	case engine.IsFailed(class):
		return ld.pendingError()
	case engine.IsUndefined(class):
		return ld.m.refuse(ld.m.name+":1", "the module has no default export: it must export a class that extends AppPlugin as its default")
	case !e.IsClass(class):
		return ld.m.refuse(ld.classPosition(class), "the default export must be a class that extends AppPlugin, not %s", e.TypeOf(class))
	case !ld.t.extends(class, ld.m.globals.appPlugin):
		return ld.m.refuse(ld.classPosition(class), "the class %s is the default export and must extend AppPlugin", ld.t.nameOf(class))
	}
	object := e.Construct(class)
	if engine.IsFailed(object) {
		return ld.pendingError()
	}
	defer e.Free(object)
	if err := ld.readDescriptor(class, object); err != nil {
		return err
	}
	ld.m.grants.Store(&ld.m.descriptor.Requested)
	return ld.readExtensions(class, object)
}

// ask calls a required function without parameters. where is its position, for messages about its
// result.
func (ld *loading) ask(class, object engine.Value, function, answer string) (v engine.Value, where string, err error) {
	e := ld.t
	f := e.GetName(object, function)
	defer func() { e.Free(f) }()
	if engine.IsFailed(f) {
		return v, "", ld.pendingError()
	}
	if !e.IsFunction(f) {
		return v, "", ld.m.refuse(ld.classPosition(class), "the class %s has no function %s(), which returns %s", ld.t.nameOf(class), function, answer)
	}
	v = e.Call(f, object)
	if engine.IsFailed(v) {
		return v, "", ld.pendingError()
	}
	if e.IsPromise(v) {
		e.Free(v)
		return engine.Undefined, "", ld.m.refuse(ld.m.position(f), "%s() must return %s, not a promise: it cannot be async", function, answer)
	}
	return v, ld.m.position(f), nil
}

func (ld *loading) readDescriptor(class, object engine.Value) error {
	e := ld.t
	v, where, err := ld.ask(class, object, "getDescriptor", "the descriptor")
	if err != nil {
		return err
	}
	defer e.Free(v)
	if !engine.IsObject(v) || e.IsArray(v) {
		return ld.m.refuse(where, "getDescriptor() must return an object with an id, not %s", e.TypeOf(v))
	}
	d := &ld.m.descriptor
	for _, f := range []struct {
		name  string
		value *string
	}{{"id", &d.ID}, {"version", &d.Version}, {"provider", &d.Provider}, {"license", &d.License}, {"description", &d.Description}} {
		p := e.GetName(v, f.name)
		if engine.IsFailed(p) {
			return ld.pendingError()
		}
		if engine.IsNothing(p) {
			continue
		}
		if !engine.IsString(p) {
			err := ld.m.refuse(where, "getDescriptor(): %s must be a string, not %s", f.name, e.TypeOf(p))
			e.Free(p)
			return err
		}
		*f.value, _ = e.Text(p)
		e.Free(p)
	}
	if strings.TrimSpace(d.ID) == "" {
		return ld.m.refuse(where, "getDescriptor() must return an object with an id that is not empty")
	}
	if err := ld.readSchema(v, where); err != nil {
		return err
	}
	if err := ld.readGrants(v, where); err != nil {
		return err
	}
	for _, key := range []string{"compatible-server", "compatible-servers"} {
		p := e.GetName(v, key)
		if engine.IsFailed(p) {
			return ld.pendingError()
		}
		if engine.IsNothing(p) {
			continue
		}
		err := ld.readServers(p, key, where)
		e.Free(p)
		if err != nil {
			return err
		}
	}
	return nil
}

// readSchema reads the schema of the settings.
func (ld *loading) readSchema(descriptor engine.Value, where string) error {
	p := ld.t.GetName(descriptor, "settings")
	if engine.IsFailed(p) {
		return ld.pendingError()
	}
	if engine.IsNothing(p) {
		return nil
	}
	defer ld.t.Free(p)
	x, err := ld.t.anyFromJS(p)
	if err != nil {
		return ld.m.refuse(where, "getDescriptor(): settings: %v", err)
	}
	text, err := json.Marshal(x)
	if err == nil {
		ld.m.descriptor.Settings, err = plugin.NewSchema(text)
	}
	if err != nil {
		return ld.m.refuse(where, "getDescriptor(): settings: %v", err)
	}
	return nil
}

// readGrants reads the requested grants.
func (ld *loading) readGrants(descriptor engine.Value, where string) error {
	var texts [2][]string
	for i, key := range []string{"permissions", "hosts"} {
		x, err := ld.member(descriptor, key, where)
		if err != nil || x == nil {
			if err != nil {
				return err
			}
			continue
		}
		list, ok := x.([]any)
		if !ok {
			return ld.m.refuse(where, "getDescriptor(): %s must be an array of strings", key)
		}
		for _, item := range list {
			s, ok := item.(string)
			if !ok {
				return ld.m.refuse(where, "getDescriptor(): %s must hold strings", key)
			}
			texts[i] = append(texts[i], s)
		}
	}
	x, err := ld.member(descriptor, "java", where)
	if err != nil {
		return err
	}
	java, ok := x.(bool)
	if x != nil && !ok {
		return ld.m.refuse(where, "getDescriptor(): java must be true or false")
	}
	if ld.m.descriptor.Requested, err = plugin.NewGrants(texts[0], texts[1], java); err != nil {
		return ld.m.refuse(where, "getDescriptor(): %v", err)
	}
	return nil
}

// member reads a member of the descriptor; nil if it is missing.
func (ld *loading) member(descriptor engine.Value, key, where string) (any, error) {
	p := ld.t.GetName(descriptor, key)
	if engine.IsFailed(p) {
		return nil, ld.pendingError()
	}
	if engine.IsNothing(p) {
		return nil, nil
	}
	defer ld.t.Free(p)
	x, err := ld.t.anyFromJS(p)
	if err != nil {
		return nil, ld.m.refuse(where, "getDescriptor(): %s: %v", key, err)
	}
	return x, nil
}

func (ld *loading) readServers(v engine.Value, key, where string) error {
	x, err := ld.t.anyFromJS(v)
	if err != nil {
		return ld.m.refuse(where, "getDescriptor(): %s: %v", key, err)
	}
	var list []string
	switch x := x.(type) {
	case string:
		list = strings.Split(x, ",")
	case []any:
		for _, item := range x {
			s, ok := item.(string)
			if !ok {
				return ld.m.refuse(where, "getDescriptor(): %s must hold strings", key)
			}
			list = append(list, s)
		}
	default:
		return ld.m.refuse(where, "getDescriptor(): %s must be a string or an array of strings, not %s", key, ld.t.TypeOf(v))
	}
	for _, s := range list {
		s = strings.TrimSpace(s)
		r, ok := role.OfServer(s)
		if !ok {
			return ld.m.refuse(where, "getDescriptor(): %s names %q, which is neither GATEWAY (app-gateway) nor SERVICE (app-service)", key, shorten(s))
		}
		if !slices.Contains(ld.m.descriptor.Servers, r) {
			ld.m.descriptor.Servers = append(ld.m.descriptor.Servers, r)
		}
	}
	return nil
}

func (ld *loading) readExtensions(class, object engine.Value) error {
	e := ld.t
	v, where, err := ld.ask(class, object, "getExtensions", "an array of classes")
	if err != nil {
		return err
	}
	defer e.Free(v)
	if !e.IsArray(v) {
		return ld.m.refuse(where, "getExtensions() must return an array of classes that extend AppExtension, not %s", e.TypeOf(v))
	}
	n := e.Len(v)
	if n == 0 {
		return ld.m.refuse(where, "getExtensions() must return at least one class that extends AppExtension")
	}
	for i := range n {
		item := e.Index(v, i)
		err := ld.readExtension(item, i, where)
		e.Free(item)
		if err != nil {
			return err
		}
	}
	return nil
}

func (ld *loading) readExtension(class engine.Value, i int, where string) error {
	e := ld.t
	if !e.IsClass(class) {
		return ld.m.refuse(where, "getExtensions()[%d] must be a class that extends AppExtension, not %s", i, e.TypeOf(class))
	}
	if !ld.t.extends(class, ld.m.globals.appExtension) {
		return ld.m.refuse(ld.classPosition(class), "getExtensions()[%d], the class %s, must extend AppExtension", i, ld.t.nameOf(class))
	}
	x := &extension{
		module: ld.m, class: ld.t.nameOf(class), object: e.Construct(class),
		methods: map[*plugin.Method]method{}, hooks: map[plugin.Hook]method{}, listeners: map[*plugin.Listener]method{},
	}
	if engine.IsFailed(x.object) {
		return ld.pendingError()
	}
	ld.m.extensions = append(ld.m.extensions, x)
	served := ld.t.has(x.object, "getEndpoints")
	if served {
		if err := ld.readEndpoints(class, x); err != nil {
			return err
		}
	}
	if served && !ld.t.has(x.object, "getExtensionPoints") {
		return ld.readFunctions(class, x)
	}
	points, where, err := ld.ask(class, x.object, "getExtensionPoints", "an array of names of extension points")
	if err != nil {
		return err
	}
	defer e.Free(points)
	if !e.IsArray(points) {
		return ld.m.refuse(where, "getExtensionPoints() of %s must return an array of names, not %s", x.class, e.TypeOf(points))
	}
	for k := range e.Len(points) {
		item := e.Index(points, k)
		s, _ := e.Text(item)
		isString := engine.IsString(item)
		kind := e.TypeOf(item)
		e.Free(item)
		if !isString {
			return ld.m.refuse(where, "getExtensionPoints()[%d] of %s must be a string, not %s", k, x.class, kind)
		}
		p, ok := ld.m.host.point(s)
		if !ok {
			return ld.m.refuse(where, "getExtensionPoints() of %s names %q, which is not an extension point; there are: %s", x.class, shorten(s), ld.m.host.pointNames())
		}
		if !slices.Contains(x.points, p) {
			x.points = append(x.points, p)
		}
	}
	if len(x.points) == 0 && !served {
		return ld.m.refuse(where, "getExtensionPoints() of %s must name at least one extension point", x.class)
	}
	return ld.readFunctions(class, x)
}

func (h *Host) pointNames() string {
	list := make([]string, 0, len(h.opts.Points))
	for _, p := range h.opts.Points {
		list = append(list, p.Name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// readFunctions finds the methods and hooks of an extension. Missing ones are never called.
func (ld *loading) readFunctions(class engine.Value, x *extension) error {
	for _, p := range x.points {
		before := len(x.methods)
		var wanted []string
		for _, pm := range p.Methods {
			wanted = append(wanted, pm.Name+"()")
			f, ok, err := ld.function(class, x, pm.Name)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			plan, err := planOf(pm)
			if err != nil {
				ld.t.Free(f)
				return err
			}
			x.methods[pm] = method{f, plan, x.class + "." + pm.Name + "()"}
		}
		for _, l := range p.Listeners {
			f, ok, err := ld.function(class, x, l.Name)
			if err != nil {
				return err
			}
			if ok {
				x.listeners[l] = method{function: f, label: x.class + "." + l.Name + "()"}
			}
		}
		if len(x.methods) == before {
			ld.m.warnings = append(ld.m.warnings, fmt.Sprintf("%s names %s but has none of its functions: %s (%s)",
				x.class, p.Name, strings.Join(wanted, ", "), ld.classPosition(class)))
		}
	}
	for h, list := range hookNames {
		for _, n := range list {
			f, ok, err := ld.function(class, x, n)
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

func (ld *loading) function(class engine.Value, x *extension, name string) (engine.Value, bool, error) {
	f := ld.t.GetName(x.object, name)
	switch {
	case engine.IsFailed(f):
		return f, false, ld.pendingError()
	case engine.IsNothing(f):
		return f, false, nil
	case !ld.t.IsFunction(f):
		err := ld.m.refuse(ld.classPosition(class), "%s of %s must be a function, not %s", name, x.class, ld.t.TypeOf(f))
		ld.t.Free(f)
		return f, false, err
	}
	return f, true, nil
}

// explain adds hints to the error of a source that cannot be loaded.
func (ld *loading) explain(x *plugin.Exception) error {
	if strings.HasPrefix(x.Message, "SyntaxError") {
		line := lineOf(x.Location)
		lines := strings.Split(ld.original, "\n")
		if line > 0 && line <= len(lines) && strings.HasPrefix(strings.TrimSpace(lines[line-1]), "@") {
			x.Message += "; decorators are not part of ECMAScript 2022: functions are found by their names"
		}
	}
	if x.Location == "" {
		for full, spec := range ld.imports {
			if strings.Contains(x.Message, fmt.Sprintf("import %q", shorten(full))) {
				x.Location = ld.find(fmt.Sprintf("'%s'", spec), fmt.Sprintf("%q", spec))
			}
		}
	}
	return x
}

// classPosition returns where a class begins. The engine knows only the position of its
// constructor, which may be implicit, so it is searched by its text.
func (ld *loading) classPosition(class engine.Value) string {
	if ld.t.IsClass(class) {
		if s := ld.find(ld.t.text(class)); s != ld.m.name {
			return s
		}
	}
	return ld.m.position(class)
}

// find returns the position of the first of several texts in the source.
func (ld *loading) find(texts ...string) string {
	for _, text := range texts {
		if i := strings.Index(ld.original, text); i >= 0 && text != "" {
			line := strings.Count(ld.original[:i], "\n") + 1
			column := utf8.RuneCountInString(ld.original[strings.LastIndex(ld.original[:i], "\n")+1:i]) + 1
			return ld.m.scripts.sourced(fmt.Sprintf("%s:%d:%d", ld.m.name, line, column))
		}
	}
	return ld.m.name
}
