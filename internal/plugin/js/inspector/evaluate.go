// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"strconv"
	"strings"
	"time"

	"example.org/app/internal/plugin/js/engine"
)

// An evaluation is an expression and the options of its result.
type evaluation struct {
	Expression        string
	ObjectGroup       string
	ReturnByValue     bool
	GeneratePreview   bool
	AwaitPromise      bool
	ThrowOnSideEffect bool
	// ReplMode permits top-level await and redeclaration.
	ReplMode bool
	// Timeout is in milliseconds; 0 means no limit.
	Timeout float64
}

// refused returns the response to an expression that must not have side effects but may have, nil
// for other expressions.
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
	if !p.ReplMode {
		v, err := t.bounded(p.Timeout, func() engine.Value { return t.eval(p.Expression) })
		if err != nil {
			return nil, err
		}
		return t.answer(s, v, &p)
	}
	code := t.server.instrumenter.redeclaring(p.Expression)
	v, err := t.bounded(p.Timeout, func() engine.Value {
		defer t.guard()()
		return t.engine.EvalAsync(evaluatedName, code)
	})
	if err != nil {
		return nil, err
	}
	if engine.IsFailed(v) || !t.engine.IsPromise(v) {
		return t.answer(s, v, &p)
	}
	return t.await(s, v, func(state engine.State, v engine.Value) (any, error) {
		if state == engine.Rejected {
			return t.mirrors.rejected(v, p.ObjectGroup), nil
		}
		value := t.engine.GetName(v, "value")
		t.engine.Free(v)
		return t.answer(s, value, &p)
	})
}

// evaluatedName is the script name of evaluated code in stack traces.
const evaluatedName = "<evaluated>"

// eval runs code in the global scope. While the plugin is paused, the code has no time limit.
func (t *Target) eval(code string) engine.Value {
	defer t.guard()()
	return t.engine.Eval(evaluatedName, code)
}

// guard is called before a debugger's code runs, and the function that it returns afterwards: while
// the plugin is paused, nothing interrupts the code, and its exceptions count as caught by the
// debugger.
func (t *Target) guard() func() {
	if t.halt.stack == nil {
		t.calls.prune()
	} else {
		t.mirrors.evaluating++
	}
	t.guarding++
	return func() {
		t.guarding--
		if t.halt.stack != nil && t.mirrors.evaluating > 0 {
			t.mirrors.evaluating--
		}
	}
}

// errTerminated is the error of terminated code for debuggers.
var errTerminated = &protocolError{-32000, "Execution was terminated"}

// bounded runs a debugger's code with a time limit in milliseconds (0 means none), and until a
// debugger terminates it.
func (t *Target) bounded(milliseconds float64, run func() engine.Value) (v engine.Value, err error) {
	end := time.Now().Add(time.Duration(milliseconds * float64(time.Millisecond)))
	t.terminated.Store(false)
	ended := t.engine.Within(func() bool { return t.terminated.Load() || milliseconds > 0 && time.Now().After(end) }, func() { v = run() })
	if !ended {
		return v, nil
	}
	t.terminated.Store(false)
	if engine.IsFailed(v) {
		t.engine.Drop()
	} else {
		t.engine.Free(v)
	}
	return engine.Undefined, errTerminated
}

// terminateExecution terminates the running code.
func (s *session) terminateExecution(nothing) (any, error) {
	s.target.terminated.Store(true)
	s.target.engine.PollNow()
	return nil, nil
}

// Terminated reports whether a debugger has terminated the running code.
func (t *Target) Terminated() bool { return t.terminated.Load() }

// answer describes the result of an evaluation, which it consumes. If AwaitPromise is set and
// the result is a promise, it describes the settled value.
func (t *Target) answer(s *session, v engine.Value, p *evaluation) (any, error) {
	if engine.IsFailed(v) || !p.AwaitPromise || !t.engine.IsPromise(v) {
		return t.mirrors.outcome(v, p.ObjectGroup, p.ReturnByValue, p.GeneratePreview), nil
	}
	return t.await(s, v, func(state engine.State, v engine.Value) (any, error) {
		if state == engine.Rejected {
			return t.mirrors.rejected(v, p.ObjectGroup), nil
		}
		return t.mirrors.outcome(v, p.ObjectGroup, p.ReturnByValue, p.GeneratePreview), nil
	})
}

// An awaited is a promise whose result a debugger waits for.
type awaited struct {
	session *session
	promise engine.Value
	tell    func(engine.State, engine.Value)
}

// promises are the promises that debuggers wait for.
type promises struct {
	engine *engine.Engine
	list   []*awaited
}

// A deferral is the result of a command that responds later.
type deferral func(reply func(any, error))

// await responds when a promise, which it consumes, is settled.
func (t *Target) await(s *session, promise engine.Value, answer func(engine.State, engine.Value) (any, error)) (any, error) {
	if t.halt.stack == nil {
		t.engine.RunJobs(func(x *engine.Exception) { t.engine.Free(x.Value) })
	}
	if state, v := t.engine.Promise(promise); state != engine.Pending {
		t.engine.Free(promise)
		return answer(state, v)
	}
	return deferral(func(reply func(any, error)) {
		t.promises.list = append(t.promises.list, &awaited{session: s, promise: promise, tell: func(state engine.State, v engine.Value) {
			r, err := answer(state, v)
			if again, ok := r.(deferral); ok {
				again(reply)
				return
			}
			reply(r, err)
		}})
	}), nil
}

// respondSettled responds to the debuggers whose promises are settled.
func (a *promises) respondSettled() {
	list := a.list
	a.list = nil
	for _, w := range list {
		state, v := a.engine.Promise(w.promise)
		if state == engine.Pending {
			a.list = append(a.list, w)
			continue
		}
		a.engine.Free(w.promise)
		w.tell(state, v)
	}
}

// settles reports whether any awaited promise is settled.
func (a *promises) settles() bool {
	for _, w := range a.list {
		if state, v := a.engine.Promise(w.promise); state != engine.Pending {
			a.engine.Free(v)
			return true
		}
	}
	return false
}

// forget drops the promises of a session, or of all.
func (a *promises) forget(s *session) {
	list := a.list
	a.list = nil
	for _, w := range list {
		if s != nil && w.session != s {
			a.list = append(a.list, w)
			continue
		}
		a.engine.Free(w.promise)
	}
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
	this, err := t.mirrors.value(argument{ObjectID: p.ObjectID})
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
		v, err := t.mirrors.value(a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	f := t.eval("(" + p.FunctionDeclaration + "\n)")
	if engine.IsFailed(f) {
		return t.mirrors.outcome(f, p.ObjectGroup, false, false), nil
	}
	defer e.Free(f)
	r, err := t.bounded(p.Timeout, func() engine.Value {
		t.mirrors.evaluating++
		defer func() { t.mirrors.evaluating-- }()
		return e.Call(f, this, args...)
	})
	if err != nil {
		return nil, err
	}
	return t.answer(s, r, &p.evaluation)
}

type compileScript struct {
	Expression    string
	PersistScript bool
}

// compileScript reports whether code can be compiled, and keeps it for runScript.
func (s *session) compileScript(p compileScript) (any, error) {
	t := s.target
	v := t.engine.CompileScript(evaluatedName, p.Expression)
	if engine.IsFailed(v) {
		x := t.engine.Exception()
		defer t.engine.Free(x.Value)
		return map[string]any{"exceptionDetails": t.mirrors.exceptionDetails("Uncaught", x.Value, "")}, nil
	}
	t.engine.Free(v)
	if !p.PersistScript {
		return nil, nil
	}
	s.compiled = append(s.compiled, p.Expression)
	return map[string]string{"scriptId": compiledPrefix + strconv.Itoa(len(s.compiled))}, nil
}

// compiledPrefix is the prefix of the ids of scripts that a debugger compiled.
const compiledPrefix = "compiled:"

type runScript struct {
	ScriptID string
	evaluation
}

func (s *session) runScript(p runScript) (any, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(p.ScriptID, compiledPrefix))
	if err != nil || n < 1 || n > len(s.compiled) {
		return nil, &protocolError{-32000, "No script with given id"}
	}
	p.Expression = s.compiled[n-1]
	return s.evaluate(p.evaluation)
}

type binding struct{ Name string }

// addBinding adds a global function that sends its argument to debuggers.
func (s *session) addBinding(p binding) (any, error) {
	t, e := s.target, s.target.engine
	global := e.Global()
	defer e.Free(global)
	f := e.Function(p.Name, 1, func(_ engine.Value, args []engine.Value) (engine.Value, error) {
		payload, _ := e.Text(args[0])
		t.broadcast(runtimeDomain, "Runtime.bindingCalled", map[string]any{"name": p.Name, "payload": payload, "executionContextId": contextID})
		return engine.Undefined, nil
	})
	if engine.IsFailed(f) || !e.DefineName(global, p.Name, f) {
		e.Drop()
		return nil, &protocolError{-32000, "The binding could not be made"}
	}
	return nil, nil
}
