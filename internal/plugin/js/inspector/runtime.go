// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"encoding/json"
	"strings"
	"time"

	"example.org/app/internal/plugin/js/engine"
)

// contextID is the number of the only context of a plugin.
const contextID = 1

func (s *session) enableRuntime(nothing) (any, error) {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	if s.domains&runtimeDomain == 0 {
		s.domains |= runtimeDomain
		s.event("Runtime.executionContextCreated", map[string]any{"context": map[string]any{
			"id": contextID, "origin": "", "name": s.target.plugin.Title, "uniqueId": s.target.id, "auxData": map[string]any{"isDefault": true},
		}})
	}
	return nil, nil
}

func (s *session) disableRuntime(nothing) (any, error) {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	s.domains &^= runtimeDomain
	return nil, nil
}

func (s *session) runIfWaiting(nothing) (any, error) {
	s.target.letRun()
	return nil, nil
}

func (s *session) getIsolateID(nothing) (any, error) {
	return map[string]string{"id": s.target.id}, nil
}

func (s *session) getHeapUsage(nothing) (any, error) {
	n := s.target.engine.Memory()
	return map[string]int64{"usedSize": n, "totalSize": n}, nil
}

func (s *session) getDomains(nothing) (any, error) {
	return map[string]any{"domains": []map[string]string{{"name": "Debugger", "version": "1.3"}, {"name": "Runtime", "version": "1.3"}}}, nil
}

func (s *session) compileScript(nothing) (any, error) { return nil, nil }

func (s *session) globalLexicalScopeNames(nothing) (any, error) {
	return map[string]any{"names": []string{}}, nil
}

// An evaluation is an expression and what is wanted of its value.
type evaluation struct {
	Expression        string
	ObjectGroup       string
	ReturnByValue     bool
	GeneratePreview   bool
	AwaitPromise      bool
	ThrowOnSideEffect bool
}

// refused is the answer to an expression that must not change anything and is not known not to.
func (p *evaluation) refused() any {
	if !p.ThrowOnSideEffect || identifier.MatchString(strings.TrimSpace(p.Expression)) {
		return nil
	}
	x := map[string]any{"type": "object", "subtype": "error", "className": "EvalError", "description": "EvalError: Possible side-effect in debug-evaluate"}
	return map[string]any{"result": x, "exceptionDetails": map[string]any{
		"exceptionId": 0, "text": "Uncaught", "lineNumber": 0, "columnNumber": 0, "exception": x,
	}}
}

func (s *session) evaluate(p evaluation) (any, error) {
	t := s.target
	if r := p.refused(); r != nil {
		return r, nil
	}
	return t.outcome(t.settled(t.eval(p.Expression), p.AwaitPromise), p.ObjectGroup, p.ReturnByValue, p.GeneratePreview), nil
}

// eval runs code in the global scope. While the plugin is paused, the code is not stopped.
func (t *Target) eval(code string) engine.Value {
	if t.pauseStack != nil {
		t.evaluating++
		defer func() { t.evaluating-- }()
	}
	return t.engine.Eval("<evaluated>", code)
}

// settled returns what a promise has come to, if that is wanted and it has; it takes the value.
func (t *Target) settled(v engine.Value, wanted bool) engine.Value {
	if !wanted || !t.engine.IsPromise(v) {
		return v
	}
	if t.pauseStack == nil {
		t.engine.RunJobs(func(x *engine.Exception) { t.engine.Free(x.Value) })
	}
	state, r := t.engine.Promise(v)
	switch state {
	case engine.Pending:
		return v
	case engine.Rejected:
		t.engine.Free(v)
		return t.engine.Throw(r)
	}
	t.engine.Free(v)
	return r
}

type callFunctionOn struct {
	FunctionDeclaration string
	ObjectID            string
	Arguments           []argument
	evaluation
}

func (s *session) callFunctionOn(p callFunctionOn) (any, error) {
	t, e := s.target, s.target.engine
	if p.ThrowOnSideEffect {
		return p.refused(), nil
	}
	this, err := t.value(argument{ObjectID: p.ObjectID})
	if err != nil {
		return nil, err
	}
	defer e.Free(this)
	var args []engine.Value
	defer func() {
		for _, v := range args {
			e.Free(v)
		}
	}()
	for _, a := range p.Arguments {
		v, err := t.value(a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	f := t.eval("(" + p.FunctionDeclaration + "\n)")
	if engine.IsFailed(f) {
		return t.outcome(f, p.ObjectGroup, false, false), nil
	}
	defer e.Free(f)
	t.evaluating++
	r := e.Call(f, this, args...)
	t.evaluating--
	return t.outcome(t.settled(r, p.AwaitPromise), p.ObjectGroup, p.ReturnByValue, p.GeneratePreview), nil
}

type getProperties struct {
	ObjectID               string
	OwnProperties          bool
	AccessorPropertiesOnly bool
	GeneratePreview        bool
}

func (s *session) getProperties(p getProperties) (any, error) {
	t, e := s.target, s.target.engine
	o, err := t.object(p.ObjectID)
	if err != nil {
		return nil, err
	}
	list, internal, private := []map[string]any{}, []map[string]any{}, []map[string]any{}
	if o.scope {
		t.variables(o, func(name string, v engine.Value) {
			list = append(list, map[string]any{
				"name": name, "value": t.remote(v, o.group, p.GeneratePreview), "writable": true, "configurable": true, "enumerable": true, "isOwn": true,
			})
		})
		return map[string]any{"result": list, "internalProperties": internal}, nil
	}
	t.each(t.helper("properties", o.value, engine.Bool(p.OwnProperties), engine.Bool(p.AccessorPropertiesOnly)), func(item engine.Value) {
		d := map[string]any{}
		name := e.Index(item, 0)
		text, _ := e.Text(name)
		_ = json.Unmarshal([]byte(text), &d)
		data, _ := engine.AsBool(e.Index(item, 1))
		for i, key := range []string{"value", "get", "set", "symbol"} {
			v := e.Index(item, i+2)
			if key == "value" && data || key != "value" && !engine.IsUndefined(v) {
				d[key] = t.remote(v, o.group, p.GeneratePreview)
			}
			e.Free(v)
		}
		e.Free(name)
		list = append(list, d)
	})
	if !p.AccessorPropertiesOnly {
		t.each(t.helper("internals", o.value), func(item engine.Value) {
			name, v := e.Index(item, 0), e.Index(item, 1)
			text, _ := e.Text(name)
			internal = append(internal, map[string]any{"name": text, "value": t.remote(v, o.group, false)})
			e.Free(name)
			e.Free(v)
		})
		if engine.IsObject(o.value) {
			e.Private(o.value, func(name string, v engine.Value) {
				private = append(private, map[string]any{"name": name, "value": t.remote(v, o.group, p.GeneratePreview)})
			})
		}
	}
	return map[string]any{"result": list, "internalProperties": internal, "privateProperties": private}, nil
}

// each calls f for the elements of an array, which it takes.
func (t *Target) each(array engine.Value, f func(engine.Value)) {
	if t.engine.IsArray(array) {
		for i := range t.engine.Len(array) {
			item := t.engine.Index(array, i)
			f(item)
			t.engine.Free(item)
		}
	}
	t.engine.Free(array)
}

type objectID struct{ ObjectID string }

func (s *session) releaseObject(p objectID) (any, error) {
	o, err := s.target.object(p.ObjectID)
	if err != nil {
		return nil, err
	}
	s.target.releaseObjects(func(x *object) bool { return x == o })
	return nil, nil
}

type objectGroup struct{ ObjectGroup string }

func (s *session) releaseObjectGroup(p objectGroup) (any, error) {
	s.target.releaseObjects(func(o *object) bool { return o.group == p.ObjectGroup })
	return nil, nil
}

// consoleTypes are the names of the levels of a log in the protocol.
var consoleTypes = map[string]string{"error": "error", "warn": "warning", "info": "log", "debug": "debug"}

// wanted reports whether a session has enabled a domain.
func (t *Target) wanted(d domain) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.sessions {
		if s.domains&d != 0 {
			return true
		}
	}
	return false
}

// Console tells debuggers what the plugin writes.
func (t *Target) Console(level string, values []engine.Value) {
	if !t.wanted(runtimeDomain) {
		return
	}
	args := []map[string]any{}
	for _, v := range values {
		args = append(args, t.remote(v, "console", true))
	}
	frames := []map[string]any{}
	for _, n := range t.stack() {
		p := n.probe
		frames = append(frames, map[string]any{
			"functionName": p.Function, "scriptId": p.script.id, "url": p.script.url, "lineNumber": p.Line, "columnNumber": p.Column,
		})
	}
	t.broadcast(runtimeDomain, "Runtime.consoleAPICalled", map[string]any{
		"type": consoleTypes[level], "args": args, "executionContextId": contextID, "timestamp": milliseconds(),
		"stackTrace": map[string]any{"callFrames": frames},
	})
}

// Uncaught tells debuggers of an exception that nobody catches; the value is lent.
func (t *Target) Uncaught(v engine.Value) {
	if !t.wanted(runtimeDomain) {
		return
	}
	t.broadcast(runtimeDomain, "Runtime.exceptionThrown", map[string]any{
		"timestamp": milliseconds(), "exceptionDetails": t.exceptionDetails(v, "console"),
	})
}

func milliseconds() float64 { return float64(time.Now().UnixMicro()) / 1000 }
