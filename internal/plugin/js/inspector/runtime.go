// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"encoding/json"
	"time"

	"example.org/app/internal/plugin/js/engine"
)

// contextID is the id of the only context of a plugin.
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
	s.target.openGate()
	return nil, nil
}

func (s *session) getIsolateID(nothing) (any, error) {
	return map[string]string{"id": s.target.id}, nil
}

func (s *session) getHeapUsage(nothing) (any, error) {
	n := s.target.engine.Memory()
	return map[string]int64{"usedSize": n, "totalSize": n}, nil
}

func (s *session) collectGarbage(nothing) (any, error) {
	s.target.engine.Collect()
	return nil, nil
}

// globalLexicalScopeNames returns the names that the console completes in addition to global
// properties. The engine has no list of them, and a plugin is a module: its own names are in the
// scopes of a pause.
func (s *session) globalLexicalScopeNames(nothing) (any, error) {
	return map[string]any{"names": []string{}}, nil
}

func (s *session) getDomains(nothing) (any, error) {
	return map[string]any{"domains": []map[string]string{{"name": "Debugger", "version": "1.3"}, {"name": "Runtime", "version": "1.3"}, {"name": "Profiler", "version": "1.3"}, {"name": "HeapProfiler", "version": "1.3"}}}, nil
}

type getProperties struct {
	ObjectID               string
	OwnProperties          bool
	AccessorPropertiesOnly bool
	GeneratePreview        bool
}

func (s *session) getProperties(p getProperties) (any, error) {
	t, e := s.target, s.target.engine
	o, err := t.mirrors.object(p.ObjectID)
	if err != nil {
		return nil, err
	}
	list, internal, private := []map[string]any{}, []map[string]any{}, []map[string]any{}
	if o.scope && p.AccessorPropertiesOnly {
		return map[string]any{"result": list}, nil // Variables have no accessors.
	}
	if o.scope {
		t.mirrors.variables(o, func(name string, v engine.Value) {
			list = append(list, map[string]any{
				"name": name, "value": t.mirrors.remote(v, o.group, p.GeneratePreview), "writable": true, "configurable": true, "enumerable": true, "isOwn": true,
			})
		})
		return map[string]any{"result": list, "internalProperties": internal}, nil
	}
	t.mirrors.each(t.mirrors.helper("properties", o.value, engine.Bool(p.OwnProperties), engine.Bool(p.AccessorPropertiesOnly)), func(item engine.Value) {
		d := map[string]any{}
		name := e.Index(item, 0)
		text, _ := e.Text(name)
		_ = json.Unmarshal([]byte(text), &d)
		data, _ := engine.AsBool(e.Index(item, 1))
		for i, key := range []string{"value", "get", "set", "symbol"} {
			v := e.Index(item, i+2)
			if (key == "value") == data && key != "symbol" || key == "symbol" && !engine.IsUndefined(v) {
				d[key] = t.mirrors.remote(v, o.group, p.GeneratePreview)
			}
			e.Free(v)
		}
		e.Free(name)
		list = append(list, d)
	})
	if !p.AccessorPropertiesOnly {
		t.mirrors.each(t.mirrors.helper("internals", o.value), func(item engine.Value) {
			name, v := e.Index(item, 0), e.Index(item, 1)
			text, _ := e.Text(name)
			internal = append(internal, map[string]any{"name": text, "value": t.mirrors.remote(v, o.group, false)})
			e.Free(name)
			e.Free(v)
		})
		if engine.IsObject(o.value) {
			e.Private(o.value, func(name string, v engine.Value) {
				private = append(private, map[string]any{"name": name, "value": t.mirrors.remote(v, o.group, p.GeneratePreview)})
			})
		}
	}
	return map[string]any{"result": list, "internalProperties": internal, "privateProperties": private}, nil
}

// each calls f for the elements of an array, which it consumes.
func (m *mirrors) each(array engine.Value, f func(engine.Value)) {
	if m.engine.IsArray(array) {
		for i := range m.engine.Len(array) {
			item := m.engine.Index(array, i)
			f(item)
			m.engine.Free(item)
		}
	}
	m.engine.Free(array)
}

type objectID struct{ ObjectID string }

func (s *session) releaseObject(p objectID) (any, error) {
	o, err := s.target.mirrors.object(p.ObjectID)
	if err != nil {
		return nil, err
	}
	s.target.mirrors.releaseObjects(func(x *object) bool { return x == o })
	return nil, nil
}

type objectGroup struct{ ObjectGroup string }

func (s *session) releaseObjectGroup(p objectGroup) (any, error) {
	s.target.mirrors.releaseObjects(func(o *object) bool { return o.group == p.ObjectGroup })
	return nil, nil
}

// shows reports whether a debugger shows the output and exceptions of the plugin.
func (t *Target) shows() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sessions.wants(runtimeDomain)
}

// Console sends output of the plugin to debuggers; kind is a type of the protocol.
func (t *Target) Console(kind string, values []engine.Value) {
	if !t.shows() {
		return
	}
	args := []map[string]any{}
	for _, v := range values {
		args = append(args, t.mirrors.remote(v, "console", true))
	}
	frames := []map[string]any{}
	for _, n := range t.calls.stack() {
		frames = append(frames, n.probe.callFrame())
	}
	t.broadcast(runtimeDomain, "Runtime.consoleAPICalled", map[string]any{
		"type": kind, "args": args, "executionContextId": contextID, "timestamp": milliseconds(),
		"stackTrace": map[string]any{"callFrames": frames},
	})
}

// Uncaught reports an uncaught exception to debuggers; the value is borrowed.
func (t *Target) Uncaught(v engine.Value) { t.unhandled("Uncaught", v) }

// Rejected is like Uncaught, for a promise that was rejected without a handler.
func (t *Target) Rejected(v engine.Value) { t.unhandled("Uncaught (in promise)", v) }

func (t *Target) unhandled(text string, v engine.Value) {
	if !t.shows() {
		return
	}
	t.broadcast(runtimeDomain, "Runtime.exceptionThrown", map[string]any{
		"timestamp": milliseconds(), "exceptionDetails": t.mirrors.exceptionDetails(text, v, "console"),
	})
}

func milliseconds() float64 { return float64(time.Now().UnixMicro()) / 1000 }
