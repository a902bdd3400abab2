// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.org/app/internal/plugin/js/engine"
)

func (s *session) enableDebugger(nothing) (any, error) {
	t := s.target
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.domains&debuggerDomain == 0 {
		s.domains |= debuggerDomain
		t.refresh()
		for _, sc := range t.scripts.list {
			s.event("Debugger.scriptParsed", sc.event())
		}
		if t.paused != nil {
			s.event("Debugger.paused", t.paused)
		}
	}
	return map[string]string{"debuggerId": t.id}, nil
}

func (s *session) disableDebugger(nothing) (any, error) {
	t := s.target
	t.mu.Lock()
	defer t.mu.Unlock()
	s.domains &^= debuggerDomain
	t.refresh()
	for id, b := range t.breakpoints {
		if b.session == s {
			delete(t.breakpoints, id)
		}
	}
	if !t.active.Load() {
		t.reset()
		t.resume()
	}
	return nil, nil
}

type callStackDepth struct{ MaxDepth int }

func (s *session) setAsyncCallStackDepth(p callStackDepth) (any, error) {
	if p.MaxDepth < 0 {
		return nil, invalid("maxDepth", fmt.Errorf("%d is less than 0", p.MaxDepth))
	}
	s.target.calls.asyncDepth.Store(int32(min(p.MaxDepth, maxAsyncDepth)))
	return nil, nil
}

// maxAsyncDepth is the maximum length of a chain of async stacks.
const maxAsyncDepth = 32

// A halt is a pause of the plugin: its number and stack.
type halt struct {
	engine  *engine.Engine
	mirrors *mirrors
	number  int
	stack   []*entry       // the innermost call first; nil while the plugin runs
	left    []engine.Frame // frames whose probes have called a function again
}

// asyncStack describes the caller of the pause's outermost call if that has been suspended since,
// nil if unknown.
func (h *halt) asyncStack(depth int32) map[string]any {
	var first, last map[string]any
	origin := h.stack[len(h.stack)-1].origin
	for ; origin != nil && depth > 0; depth-- {
		frames := []map[string]any{}
		for _, p := range origin.stack {
			frames = append(frames, p.callFrame())
		}
		next := map[string]any{"description": origin.description, "callFrames": frames}
		if first == nil {
			first = next
		} else {
			last["parent"] = next
		}
		last, origin = next, origin.parent
	}
	return first
}

// callFrame describes a frame of a stack that has ended.
func (p *probe) callFrame() map[string]any {
	return map[string]any{"functionName": p.Function, "scriptId": p.script.id, "url": p.script.url, "lineNumber": p.Line, "columnNumber": p.Column}
}

type scriptID struct{ ScriptID string }

func (s *session) getScriptSource(p scriptID) (any, error) {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	sc, err := s.target.scripts.script(p.ScriptID)
	if err != nil {
		return nil, err
	}
	return map[string]string{"scriptSource": sc.source}, nil
}

type searchInContent struct {
	ScriptID               string
	Query                  string
	CaseSensitive, IsRegex bool
}

func (s *session) searchInContent(p searchInContent) (any, error) {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	sc, err := s.target.scripts.script(p.ScriptID)
	if err != nil {
		return nil, err
	}
	query := p.Query
	if !p.IsRegex {
		query = regexp.QuoteMeta(query)
	}
	if !p.CaseSensitive {
		query = "(?i)" + query
	}
	re, err := regexp.Compile(query)
	if err != nil {
		return nil, invalid("query", err)
	}
	list := []map[string]any{}
	for i, line := range strings.Split(sc.source, "\n") {
		if re.MatchString(line) {
			list = append(list, map[string]any{"lineNumber": i, "lineContent": line})
		}
	}
	return map[string]any{"result": list}, nil
}

type active struct{ Active bool }

func (s *session) setBreakpointsActive(p active) (any, error) {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	s.target.inactive = !p.Active
	return nil, nil
}

type skip struct{ Skip bool }

func (s *session) setSkipAllPauses(p skip) (any, error) {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	s.target.skip = p.Skip
	return nil, nil
}

type exceptionState struct{ State string }

func (s *session) setPauseOnExceptions(p exceptionState) (any, error) {
	if !slices.Contains([]string{"none", "caught", "uncaught", "all"}, p.State) {
		return nil, invalid("state", fmt.Errorf("%q is none of none, caught, uncaught and all", p.State))
	}
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	s.target.onException = p.State
	return nil, nil
}

func (s *session) pause(nothing) (any, error) {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	if s.target.resumed == nil {
		s.target.request = "other"
	}
	return nil, nil
}

func (s *session) resume(nothing) (any, error) { return s.target.goStep(noStep) }

func (s *session) stepInto(nothing) (any, error) { return s.target.goStep(stepInto) }

func (s *session) stepOver(nothing) (any, error) { return s.target.goStep(stepOver) }

func (s *session) stepOut(nothing) (any, error) { return s.target.goStep(stepOut) }

func (t *Target) goStep(kind stepKind) (any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.resumed == nil {
		return nil, &protocolError{-32000, "Can only perform operation while paused."}
	}
	t.step = step{kind: kind, frame: t.halt.stack[0].frame}
	t.resume()
	return nil, nil
}

// callFrames describes the stack of a pause.
func (h *halt) callFrames() []map[string]any {
	list := []map[string]any{}
	for i, n := range h.stack {
		p := n.probe
		this := h.mirrors.look(n, "this")
		if engine.IsFailed(this) {
			h.engine.Drop()
			this = engine.Undefined
		}
		list = append(list, map[string]any{
			"callFrameId": fmt.Sprintf("%d.%d", h.number, i), "functionName": p.Function, "url": p.script.url,
			"functionLocation": location{p.script.id, p.FunctionLine, p.FunctionColumn}, "location": p.location(),
			"scopeChain": h.scopeChain(n), "this": h.mirrors.remote(this, "pause", false), "canBeRestarted": h.restartable(n),
		})
		h.engine.Free(this)
	}
	return list
}

// scopeChain describes the visible scopes of an entry. A name that an inner scope shadows is
// omitted from the outer one, because it cannot be reached.
func (h *halt) scopeChain(n *entry) (list []map[string]any) {
	seen := map[string]bool{}
	local := false
	for i := n.probe.Scope; i >= 0; {
		sc := n.probe.script.scopes[i]
		kind := sc.Kind
		if kind == "function" {
			if kind = "closure"; !local {
				kind, local = "local", true
			}
		}
		var names []string
		for _, name := range sc.Names {
			if !seen[name] {
				names, seen[name] = append(names, name), true
			}
		}
		i = sc.Parent
		if len(names) == 0 && kind != "local" {
			continue
		}
		id := h.mirrors.keep(&object{value: h.engine.Dup(n.access), scope: true, names: names, group: "pause"})
		list = append(list, map[string]any{
			"type":   kind,
			"object": map[string]any{"type": "object", "className": "Object", "description": "Object", "objectId": id},
		})
	}
	global := h.engine.Global()
	defer h.engine.Free(global)
	return append(list, map[string]any{"type": "global", "object": h.mirrors.remote(global, "pause", false)})
}

// frameOf returns a call of the current pause.
func (h *halt) frameOf(id string) (*entry, error) {
	pause, index, _ := strings.Cut(id, ".")
	i, err := strconv.Atoi(index)
	if err != nil || pause != strconv.Itoa(h.number) || i < 0 || i >= len(h.stack) {
		return nil, &protocolError{-32000, "Invalid call frame id"}
	}
	return h.stack[i], nil
}

type evaluateOnCallFrame struct {
	CallFrameID string
	evaluation
}

func (s *session) evaluateOnCallFrame(p evaluateOnCallFrame) (any, error) {
	t := s.target
	n, err := t.halt.frameOf(p.CallFrameID)
	if err != nil {
		return nil, err
	}
	if r := p.refused(); r != nil {
		return r, nil
	}
	v, err := t.bounded(p.Timeout, func() engine.Value { return t.mirrors.look(n, p.Expression) })
	if err != nil {
		return nil, err
	}
	return t.answer(s, v, &p.evaluation)
}

type setVariableValue struct {
	ScopeNumber  int
	VariableName string
	NewValue     argument
	CallFrameID  string
}

var identifier = regexp.MustCompile(`^[\pL_$][\pL\pN_$]*$`)

func (s *session) setVariableValue(p setVariableValue) (any, error) {
	t := s.target
	n, err := t.halt.frameOf(p.CallFrameID)
	if err != nil {
		return nil, err
	}
	if !identifier.MatchString(p.VariableName) {
		return nil, invalid("variableName", fmt.Errorf("%q is not a name", p.VariableName))
	}
	v, err := t.mirrors.value(p.NewValue)
	if err != nil {
		return nil, err
	}
	defer t.engine.Free(v)
	r := t.mirrors.assign(n.access, p.VariableName, v)
	if engine.IsFailed(r) {
		x := t.engine.Exception()
		t.engine.Free(x.Value)
		return nil, &protocolError{-32000, x.Message}
	}
	t.engine.Free(r)
	return nil, nil
}
