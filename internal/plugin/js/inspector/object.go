// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"example.org/app/internal/plugin/js/engine"
)

// An object is a value with a reference of a debugger.
type object struct {
	value engine.Value
	group string
	// scope is true if the object represents the variables names, which the accessor value
	// evaluates.
	scope bool
	names []string
}

// mirrors describes the values of a plugin to debuggers and keeps their references.
type mirrors struct {
	engine  *engine.Engine
	scripts *scripts
	// helpers are the functions of remote.js.
	helpers    map[string]engine.Value
	objects    map[int]*object
	nextObject int
	exceptions int
	// evaluating counts running evaluations, which probes do not pause.
	evaluating int
}

func (m *mirrors) keep(o *object) string {
	m.nextObject++
	m.objects[m.nextObject] = o
	return strconv.Itoa(m.nextObject)
}

func (m *mirrors) releaseObjects(which func(*object) bool) {
	for id, o := range m.objects {
		if which(o) {
			m.engine.Free(o.value)
			delete(m.objects, id)
		}
	}
}

func (m *mirrors) object(id string) (*object, error) {
	n, err := strconv.Atoi(id)
	if o := m.objects[n]; err == nil && o != nil {
		return o, nil
	}
	return nil, &protocolError{-32000, "Could not find object with given id"}
}

// helper calls a function of remote.js. If it throws, helper returns undefined.
func (m *mirrors) helper(name string, args ...engine.Value) engine.Value {
	m.evaluating++
	defer func() { m.evaluating-- }()
	v := m.engine.Call(m.helpers[name], engine.Undefined, args...)
	if engine.IsFailed(v) {
		m.engine.Drop()
		return engine.Undefined
	}
	return v
}

func (m *mirrors) helperText(name string, args ...engine.Value) string {
	v := m.helper(name, args...)
	defer m.engine.Free(v)
	if !engine.IsString(v) {
		return ""
	}
	s, _ := m.engine.Text(v)
	return s
}

func (m *mirrors) helperBool(name string, args ...engine.Value) bool {
	b, _ := engine.AsBool(m.helper(name, args...))
	return b
}

// ownFrames matches the lines of a stack trace that exist only because of the debugger.
var ownFrames = regexp.MustCompile(`\n[^\n]*(at <eval> \(|at __app_\d[\d_]* \(|at anonymous \(|\(<debugger>:|apply \(native\)|__app_p \(native\))[^\n]*(\n[^\n]*__app_p \(native\))?|\n[^\n]*at <anonymous> [^\n]*(\n[^\n]*__app_p \(native\))`)

// remote describes a value, which it borrows.
func (m *mirrors) remote(v engine.Value, group string, preview bool) map[string]any {
	r := map[string]any{}
	if json.Unmarshal([]byte(m.helperText("remote", v, engine.Bool(preview))), &r) != nil || r["type"] == nil {
		r = map[string]any{"type": "object", "className": "Object", "description": m.engine.Inspect(v, 100)}
	}
	if text, ok := r["description"].(string); ok && r["subtype"] == "error" {
		r["description"] = m.scripts.original(ownFrames.ReplaceAllString(text, ""))
	}
	if p, ok := r["preview"].(map[string]any); ok {
		m.addPrivate(p, v)
	}
	if m.helperBool("isObject", v) {
		r["objectId"] = m.keep(&object{value: m.engine.Dup(v), group: group})
	}
	return r
}

// addPrivate inserts the private fields of an object before the other properties of its preview.
func (m *mirrors) addPrivate(preview map[string]any, v engine.Value) {
	if _, _, proxy := m.engine.Proxy(v); proxy || !engine.IsObject(v) {
		return
	}
	var private []any
	m.engine.Private(v, func(name string, field engine.Value) {
		key := m.engine.String(name)
		defer m.engine.Free(key)
		d := map[string]any{}
		if json.Unmarshal([]byte(m.helperText("property", key, field)), &d) == nil {
			private = append(private, d)
		}
	})
	if public, ok := preview["properties"].([]any); ok && private != nil {
		preview["properties"] = append(private, public...)
	}
}

// kindOf and insideOf are called by remote.js.
func (m *mirrors) kindOf(_ engine.Value, args []engine.Value) (engine.Value, error) {
	kind := ""
	if _, _, ok := m.engine.Proxy(args[0]); ok {
		kind = "proxy"
	} else if m.engine.IsPromise(args[0]) {
		kind = "promise"
	} else if m.engine.IsGenerator(args[0]) {
		kind = "generator"
	}
	return m.engine.String(kind), nil
}

func (m *mirrors) insideOf(_ engine.Value, args []engine.Value) (engine.Value, error) {
	e := m.engine
	pair := e.Array()
	var first, second engine.Value
	if target, handler, ok := e.Proxy(args[0]); ok {
		first, second = e.Dup(target), e.Dup(handler)
	} else {
		var state engine.State
		state, second = e.Promise(args[0])
		first = e.String(map[engine.State]string{engine.Pending: "pending", engine.Fulfilled: "fulfilled", engine.Rejected: "rejected"}[state])
	}
	if !e.Append(pair, 0, first) || !e.Append(pair, 1, second) {
		e.Free(pair)
		return engine.Undefined, engine.Thrown()
	}
	return pair, nil
}

// byValue describes a value with its whole contents.
func (m *mirrors) byValue(v engine.Value) map[string]any {
	r := map[string]any{}
	_ = json.Unmarshal([]byte(m.helperText("remote", v, engine.False)), &r)
	if text := m.helperText("json", v); text != "" {
		r["value"] = json.RawMessage(text)
		delete(r, "description")
		delete(r, "className")
	}
	return r
}

// outcome describes the result or exception of an evaluation; it consumes the value.
func (m *mirrors) outcome(v engine.Value, group string, byValue, preview bool) map[string]any {
	if engine.IsFailed(v) {
		x := m.engine.Exception()
		defer m.engine.Free(x.Value)
		return m.threw(x.Value, group)
	}
	defer m.engine.Free(v)
	if byValue {
		return map[string]any{"result": m.byValue(v)}
	}
	return map[string]any{"result": m.remote(v, group, preview)}
}

// rejected describes the reason of a rejected promise, which it consumes.
func (m *mirrors) rejected(reason engine.Value, group string) any {
	defer m.engine.Free(reason)
	text := "Uncaught (in promise)"
	if d, ok := m.remote(reason, group, false)["description"].(string); ok {
		head, _, _ := strings.Cut(d, "\n")
		text += " " + head
	}
	return map[string]any{"result": m.remote(reason, group, false), "exceptionDetails": m.exceptionDetails(text, reason, group)}
}

func (m *mirrors) threw(v engine.Value, group string) map[string]any {
	return map[string]any{"result": m.remote(v, group, false), "exceptionDetails": m.exceptionDetails("Uncaught", v, group)}
}

// exceptionDetails describes an exception, which it borrows, and its position.
func (m *mirrors) exceptionDetails(text string, v engine.Value, group string) map[string]any {
	m.exceptions++
	r := map[string]any{
		"exceptionId": m.exceptions, "text": text, "lineNumber": 0, "columnNumber": 0, "exception": m.remote(v, group, true), "executionContextId": contextID,
	}
	description, _ := r["exception"].(map[string]any)["description"].(string)
	if frames := m.scripts.tracedFrames(description); len(frames) > 0 {
		r["stackTrace"] = map[string]any{"callFrames": frames}
		for _, name := range []string{"lineNumber", "columnNumber", "scriptId", "url"} {
			r[name] = frames[0][name]
		}
	}
	return r
}

// traceLine matches a line of a stack trace.
var traceLine = regexp.MustCompile(`(?m)^\s+at (?:(.*?) )?\(?([^\s()]+):(\d+):(\d+)\)?$`)

// tracedFrames parses the frames of a stack trace, with positions in the sources.
func (s *scripts) tracedFrames(trace string) (list []map[string]any) {
	for _, m := range traceLine.FindAllStringSubmatch(trace, -1) {
		line, _ := strconv.Atoi(m[3])
		column, _ := strconv.Atoi(m[4])
		frame := map[string]any{"functionName": m[1], "scriptId": "0", "url": m[2], "lineNumber": max(line-1, 0), "columnNumber": max(column-1, 0)}
		if m[1] == "<anonymous>" || m[1] == "<eval>" {
			frame["functionName"] = ""
		}
		s.mu.Lock()
		for _, sc := range s.list {
			if sc.name == m[2] {
				frame["scriptId"], frame["url"] = sc.id, sc.url
			}
		}
		s.mu.Unlock()
		list = append(list, frame)
	}
	return list
}

// An argument is a value from a debugger.
type argument struct {
	Value               json.RawMessage
	UnserializableValue string
	ObjectID            string
}

func (m *mirrors) value(a argument) (engine.Value, error) {
	switch {
	case a.ObjectID != "":
		o, err := m.object(a.ObjectID)
		if err != nil {
			return engine.Undefined, err
		}
		return m.materialize(o), nil
	case a.UnserializableValue != "":
		s := m.engine.String(a.UnserializableValue)
		defer m.engine.Free(s)
		return m.helper("unserializable", s), nil
	case len(a.Value) > 0:
		v := m.engine.ParseJSON(string(a.Value), "value")
		if engine.IsFailed(v) {
			x := m.engine.Exception()
			m.engine.Free(x.Value)
			return engine.Undefined, &protocolError{-32602, x.Message}
		}
		return v, nil
	}
	return engine.Undefined, nil
}

// materialize returns the value of an object; for a scope, a new object with the current values of
// its variables.
func (m *mirrors) materialize(o *object) engine.Value {
	if !o.scope {
		return m.engine.Dup(o.value)
	}
	v := m.engine.Object()
	m.variables(o, func(name string, x engine.Value) { m.engine.DefineName(v, name, m.engine.Dup(x)) })
	return v
}

// variables calls f for the initialised variables of a scope.
func (m *mirrors) variables(o *object, f func(name string, v engine.Value)) {
	for _, name := range o.names {
		v := m.look(&entry{access: o.value}, name)
		if engine.IsFailed(v) {
			m.engine.Drop()
			continue
		}
		f(name, v)
		m.engine.Free(v)
	}
}
