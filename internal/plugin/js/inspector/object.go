// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"encoding/json"
	"regexp"
	"strconv"

	"example.org/app/internal/plugin/js/engine"
)

// An object is a value that a debugger refers to.
type object struct {
	value engine.Value
	group string
	// scope tells that the object stands for variables, names, which value evaluates.
	scope bool
	names []string
}

func (t *Target) keep(o *object) string {
	t.nextObject++
	t.objects[t.nextObject] = o
	return strconv.Itoa(t.nextObject)
}

func (t *Target) releaseObjects(which func(*object) bool) {
	for id, o := range t.objects {
		if which(o) {
			t.engine.Free(o.value)
			delete(t.objects, id)
		}
	}
}

func (t *Target) object(id string) (*object, error) {
	n, err := strconv.Atoi(id)
	if o := t.objects[n]; err == nil && o != nil {
		return o, nil
	}
	return nil, &protocolError{-32000, "Could not find object with given id"}
}

// helper calls a function of remote.js. What throws there gives undefined.
func (t *Target) helper(name string, args ...engine.Value) engine.Value {
	t.evaluating++
	defer func() { t.evaluating-- }()
	v := t.engine.Call(t.helpers[name], engine.Undefined, args...)
	if engine.IsFailed(v) {
		t.engine.Drop()
		return engine.Undefined
	}
	return v
}

func (t *Target) helperText(name string, args ...engine.Value) string {
	v := t.helper(name, args...)
	defer t.engine.Free(v)
	if !engine.IsString(v) {
		return ""
	}
	s, _ := t.engine.Text(v)
	return s
}

func (t *Target) helperBool(name string, args ...engine.Value) bool {
	b, _ := engine.AsBool(t.helper(name, args...))
	return b
}

// ownFrames are the lines of a stack trace that are there only because of the debugger.
var ownFrames = regexp.MustCompile(`\n[^\n]*(at <eval> \(|at __app_\d[\d_]* \(|at anonymous \(|\(<debugger>:|apply \(native\)|__app_p \(native\))[^\n]*(\n[^\n]*__app_p \(native\))?|\n[^\n]*at <anonymous> [^\n]*(\n[^\n]*__app_p \(native\))`)

// remote describes a value, which is lent.
func (t *Target) remote(v engine.Value, group string, preview bool) map[string]any {
	r := map[string]any{}
	if json.Unmarshal([]byte(t.helperText("remote", v, engine.Bool(preview))), &r) != nil || r["type"] == nil {
		r = map[string]any{"type": "object", "className": "Object", "description": t.engine.Inspect(v, 100)}
	}
	if text, ok := r["description"].(string); ok && r["subtype"] == "error" {
		r["description"] = t.Original(ownFrames.ReplaceAllString(text, ""))
	}
	if p, ok := r["preview"].(map[string]any); ok {
		t.addPrivate(p, v)
	}
	if t.helperBool("isObject", v) {
		r["objectId"] = t.keep(&object{value: t.engine.Dup(v), group: group})
	}
	return r
}

// addPrivate puts the private fields of an object before the other properties of its preview.
func (t *Target) addPrivate(preview map[string]any, v engine.Value) {
	if _, _, proxy := t.engine.Proxy(v); proxy || !engine.IsObject(v) {
		return
	}
	var private []any
	t.engine.Private(v, func(name string, field engine.Value) {
		key := t.engine.String(name)
		defer t.engine.Free(key)
		d := map[string]any{}
		if json.Unmarshal([]byte(t.helperText("property", key, field)), &d) == nil {
			private = append(private, d)
		}
	})
	if public, ok := preview["properties"].([]any); ok && private != nil {
		preview["properties"] = append(private, public...)
	}
}

// kindOf and insideOf are what remote.js asks of the engine.
func (t *Target) kindOf(_ engine.Value, args []engine.Value) (engine.Value, error) {
	kind := ""
	if _, _, ok := t.engine.Proxy(args[0]); ok {
		kind = "proxy"
	} else if t.engine.IsPromise(args[0]) {
		kind = "promise"
	} else if t.engine.IsGenerator(args[0]) {
		kind = "generator"
	}
	return t.engine.String(kind), nil
}

func (t *Target) insideOf(_ engine.Value, args []engine.Value) (engine.Value, error) {
	e := t.engine
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

// byValue describes a value with all that it holds.
func (t *Target) byValue(v engine.Value) map[string]any {
	r := map[string]any{}
	_ = json.Unmarshal([]byte(t.helperText("remote", v, engine.False)), &r)
	if text := t.helperText("json", v); text != "" {
		r["value"] = json.RawMessage(text)
		delete(r, "description")
		delete(r, "className")
	}
	return r
}

// outcome describes what an evaluation returned or threw; it takes the value.
func (t *Target) outcome(v engine.Value, group string, byValue, preview bool) map[string]any {
	if engine.IsFailed(v) {
		x := t.engine.Exception()
		defer t.engine.Free(x.Value)
		return t.threw(x.Value, group)
	}
	defer t.engine.Free(v)
	if byValue {
		return map[string]any{"result": t.byValue(v)}
	}
	return map[string]any{"result": t.remote(v, group, preview)}
}

func (t *Target) threw(v engine.Value, group string) map[string]any {
	return map[string]any{"result": t.remote(v, group, false), "exceptionDetails": t.exceptionDetails("Uncaught", v, group)}
}

// exceptionDetails describes what was thrown, which is lent, and where.
func (t *Target) exceptionDetails(text string, v engine.Value, group string) map[string]any {
	t.exceptions++
	r := map[string]any{
		"exceptionId": t.exceptions, "text": text, "lineNumber": 0, "columnNumber": 0, "exception": t.remote(v, group, true), "executionContextId": contextID,
	}
	description, _ := r["exception"].(map[string]any)["description"].(string)
	if frames := t.tracedFrames(description); len(frames) > 0 {
		r["stackTrace"] = map[string]any{"callFrames": frames}
		for _, name := range []string{"lineNumber", "columnNumber", "scriptId", "url"} {
			r[name] = frames[0][name]
		}
	}
	return r
}

// traceLine is a line of a stack trace.
var traceLine = regexp.MustCompile(`(?m)^\s+at (?:(.*?) )?\(?([^\s()]+):(\d+):(\d+)\)?$`)

// tracedFrames makes frames of a stack trace, the places of which are those of the sources.
func (t *Target) tracedFrames(trace string) (list []map[string]any) {
	for _, m := range traceLine.FindAllStringSubmatch(trace, -1) {
		line, _ := strconv.Atoi(m[3])
		column, _ := strconv.Atoi(m[4])
		frame := map[string]any{"functionName": m[1], "scriptId": "0", "url": m[2], "lineNumber": max(line-1, 0), "columnNumber": max(column-1, 0)}
		if m[1] == "<anonymous>" || m[1] == "<eval>" {
			frame["functionName"] = ""
		}
		t.mu.Lock()
		for _, sc := range t.scripts {
			if sc.name == m[2] {
				frame["scriptId"], frame["url"] = sc.id, sc.url
			}
		}
		t.mu.Unlock()
		list = append(list, frame)
	}
	return list
}

// An argument is a value that a debugger gives.
type argument struct {
	Value               json.RawMessage
	UnserializableValue string
	ObjectID            string
}

func (t *Target) value(a argument) (engine.Value, error) {
	switch {
	case a.ObjectID != "":
		o, err := t.object(a.ObjectID)
		if err != nil {
			return engine.Undefined, err
		}
		return t.materialize(o), nil
	case a.UnserializableValue != "":
		s := t.engine.String(a.UnserializableValue)
		defer t.engine.Free(s)
		return t.helper("unserializable", s), nil
	case len(a.Value) > 0:
		v := t.engine.ParseJSON(string(a.Value), "value")
		if engine.IsFailed(v) {
			x := t.engine.Exception()
			t.engine.Free(x.Value)
			return engine.Undefined, &protocolError{-32602, x.Message}
		}
		return v, nil
	}
	return engine.Undefined, nil
}

// materialize returns the value of an object; that of a scope is an object with its variables as they are now.
func (t *Target) materialize(o *object) engine.Value {
	if !o.scope {
		return t.engine.Dup(o.value)
	}
	v := t.engine.Object()
	t.variables(o, func(name string, x engine.Value) { t.engine.DefineName(v, name, t.engine.Dup(x)) })
	return v
}

// variables calls f for the variables of a scope that have a value already.
func (t *Target) variables(o *object, f func(name string, v engine.Value)) {
	for _, name := range o.names {
		v := t.look(&entry{access: o.value}, name)
		if engine.IsFailed(v) {
			t.engine.Drop()
			continue
		}
		f(name, v)
		t.engine.Free(v)
	}
}
