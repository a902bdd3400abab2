// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"fmt"
	"slices"
	"sync/atomic"

	"example.org/app/internal/plugin/js/engine"
)

// An entry is a running or suspended call and its position.
type entry struct {
	frame engine.Frame
	probe *probe
	// access is the accessor, whose closure has the visible variables.
	access engine.Value
	// origin is the caller's stack, if debuggers request it after a suspension.
	origin *Origin
}

// calls are the running and suspended calls of a plugin, and their origins.
type calls struct {
	engine *engine.Engine
	active *atomic.Bool // of the target
	// asyncDepth is the number of async stacks that debuggers request.
	asyncDepth atomic.Int32
	entries    map[uintptr]*entry
	last       uintptr
	from       *Origin // of the running code
	turn       *Origin // of code until the end of the turn, except reactions of promises

	registrations registrations
}

// An Origin is a stack that has ended or is suspended, and its own origin. The description says
// what it has caused.
type Origin struct {
	description string
	stack       []*probe
	parent      *Origin
}

// maxSuspended is the maximum number of suspended calls, because some never resume.
const maxSuspended = 1000

// Install adds the functions that instrumented code calls to the engine.
func (t *Target) Install() error {
	e := t.engine
	make := e.Eval("<debugger>", remoteSource)
	if engine.IsFailed(make) {
		return pendingError(e)
	}
	asked := []engine.Value{
		e.Function("kindOf", 1, t.mirrors.kindOf), e.Function("insideOf", 1, t.mirrors.insideOf), e.Function("read", 2, t.mirrors.readVariable), e.Function("write", 3, t.mirrors.writeVariable),
	}
	r := e.Call(make, engine.Undefined, asked...)
	for _, v := range append(asked, make) {
		e.Free(v)
	}
	if engine.IsFailed(r) {
		return pendingError(e)
	}
	for _, name := range []string{"remote", "isObject", "properties", "internals", "json", "property", "unserializable", "look", "assign", "uninitialised", "constant"} {
		t.mirrors.helpers[name] = e.GetName(r, name)
	}
	e.Free(r)
	if err := e.OnReactions(engine.Reactions{Registered: t.calls.registered, Runs: t.calls.reacts}); err != nil {
		return fmt.Errorf("prepare for debugging: %w", err)
	}
	global := e.Global()
	defer e.Free(global)
	for name, f := range map[string]engine.Func{
		probeName: func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			if id, ok := engine.AsNumber(args[0]); ok && t.active.Load() && t.mirrors.evaluating == 0 {
				t.at(int(id), args[1])
				return t.restarted(engine.Undefined)
			}
			return engine.Undefined, nil
		},
		catchName: func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			if t.active.Load() && t.mirrors.evaluating == 0 {
				t.passes(len(args) > 1, args[0])
				return t.restarted(args[0])
			}
			return e.Dup(args[0]), nil
		},
		leaveName: func(engine.Value, []engine.Value) (engine.Value, error) {
			e.Frames(func(f engine.Frame) bool {
				t.calls.forget(f.ID)
				return false
			})
			return engine.Undefined, nil
		},
	} {
		desc := e.Object()
		if !e.DefineName(desc, "value", e.Function(name, 2, f)) {
			return pendingError(e)
		}
		object := e.GetName(global, "Object")
		define := e.GetName(object, "defineProperty")
		key := e.String(name)
		r := e.Call(define, object, global, key, desc)
		for _, v := range []engine.Value{desc, object, define, key, r} {
			e.Free(v)
		}
		if engine.IsFailed(r) {
			return pendingError(e)
		}
	}
	return nil
}

func pendingError(e *engine.Engine) error {
	x := e.Exception()
	defer e.Free(x.Value)
	return fmt.Errorf("prepare for debugging: %s", x.Message)
}

// Turn reports that no code of the plugin runs until the next call or timer.
func (t *Target) Turn() {
	for f, n := range t.calls.entries {
		if !n.probe.Suspends || len(t.calls.entries) > maxSuspended {
			t.calls.forget(f)
		}
	}
	t.calls.last, t.calls.from, t.calls.turn = 0, nil, nil
	t.setThrown(engine.Undefined)
	t.terminated.Store(false)
	if t.promises.settles() {
		t.tasks.add(t.promises.respondSettled)
	}
	t.mu.Lock()
	if t.calls.entries[t.step.frame.ID] == nil {
		t.step = step{}
	}
	t.mu.Unlock()
}

func (t *Target) setThrown(v engine.Value) {
	t.engine.Free(t.thrown)
	t.thrown = v
}

func (c *calls) forget(frame uintptr) {
	if n := c.entries[frame]; n != nil {
		c.engine.Free(n.access)
		delete(c.entries, frame)
	}
}

// at is called before each statement.
func (t *Target) at(id int, access engine.Value) {
	t.mu.Lock()
	if id < 0 || id >= len(t.scripts.probes) {
		t.mu.Unlock()
		return
	}
	p := t.scripts.probes[id]
	t.mu.Unlock()
	n := t.calls.enter(p, access)
	if n == nil {
		return
	}
	if !engine.IsObject(t.thrown) {
		t.setThrown(engine.Undefined)
	}
	if t.tasks.pending.Load() {
		t.tasks.drain()
	}
	if t.coverage != nil && len(p.Calls) > 0 {
		t.coverage[p]++
	}
	if t.profile != nil {
		t.profile.takeSample(&t.calls, t.interval)
	}
	reason, hits := t.stops(n)
	if reason != "" {
		t.pause(reason, nil, hits)
	}
}

// enter records the position of the calling function.
func (c *calls) enter(p *probe, access engine.Value) *entry {
	var frame engine.Frame
	c.engine.Frames(func(f engine.Frame) bool {
		frame = f
		return false
	})
	if frame.ID != c.last {
		c.prune()
		c.last = frame.ID
	}
	n := c.entries[frame.ID]
	if n == nil {
		n = &entry{access: engine.Undefined}
		if c.asyncDepth.Load() > 0 {
			if n.origin = c.origin("await"); n.origin == nil {
				n.origin = c.from
			}
		}
		c.entries[frame.ID] = n
	}
	c.engine.Free(n.access)
	n.frame, n.probe, n.access = frame, p, c.engine.Dup(access)
	return n
}

// Timer returns the stack that sets a timer, for From, if debuggers request it.
func (t *Target) Timer() *Origin {
	if t.calls.asyncDepth.Load() == 0 {
		return nil
	}
	return t.calls.origin("Timeout")
}

// From sets the origin of code until the end of the turn.
func (t *Target) From(o *Origin) { t.calls.from, t.calls.turn = o, o }

// origin returns the current stack, nil if there is none.
func (c *calls) origin(description string) *Origin {
	stack := c.stack()
	if len(stack) == 0 {
		return nil
	}
	o := &Origin{description: description, parent: stack[len(stack)-1].origin}
	for _, n := range stack {
		o.stack = append(o.stack, n.probe)
	}
	// The chain must be limited, because calls can be chained forever.
	for depth, p := 1, o; p != nil; depth, p = depth+1, p.parent {
		if depth >= maxAsyncDepth {
			p.parent = nil
		}
	}
	return o
}

// prune drops the calls that have ended.
func (c *calls) prune() {
	alive := map[uintptr]bool{}
	c.engine.Frames(func(f engine.Frame) bool {
		alive[f.ID] = true
		return true
	})
	for f, n := range c.entries {
		if !alive[f] && !n.probe.Suspends {
			c.forget(f)
		}
	}
}

// stack returns the running calls, the innermost first.
func (c *calls) stack() (list []*entry) {
	c.engine.Frames(func(f engine.Frame) bool {
		if n := c.entries[f.ID]; n != nil && n.frame.Function == f.Function {
			list = append(list, n)
		}
		return true
	})
	return list
}

// A step is a debugger's step command.
type step struct {
	kind  stepKind
	frame engine.Frame
}

type stepKind int

const (
	noStep stepKind = iota
	stepInto
	stepOver
	stepOut
)

// runs reports whether a call has not ended, and whether it is running.
func (c *calls) runs(frame engine.Frame) (alive, running bool) {
	n := c.entries[frame.ID]
	if n == nil || n.frame.Function != frame.Function {
		return false, false
	}
	c.engine.Frames(func(f engine.Frame) bool {
		running = f == frame
		return !running
	})
	return running || n.probe.Suspends, running
}

// stops decides whether the plugin pauses before a statement, and why.
func (t *Target) stops(n *entry) (reason string, hits []string) {
	t.mu.Lock()
	if t.skip {
		t.mu.Unlock()
		return "", nil
	}
	s, request, blackboxed := t.step, t.request, t.blackbox.has(n.probe.script)
	var here []*breakpoint
	for _, b := range t.breakpoints {
		if b.at[n.probe.id] && (!t.inactive || b.id == untilID) {
			here = append(here, b)
		}
	}
	t.mu.Unlock()
	for _, b := range here {
		if b.condition == "" || t.holds(n, b.condition) {
			hits = append(hits, b.id)
		}
	}
	if slices.Contains(hits, untilID) {
		return "other", slices.DeleteFunc(hits, func(id string) bool { return id == untilID })
	}
	switch {
	case request != "":
		return request, hits
	case len(hits) > 0:
		return "other", hits
	case n.probe.Debugger:
		return "other", nil
	}
	if blackboxed {
		return "", nil
	}
	alive, running := t.calls.runs(s.frame)
	switch s.kind {
	case stepInto:
		return "other", nil
	case stepOver:
		if n.frame == s.frame || !alive {
			return "other", nil
		}
	case stepOut:
		if !running {
			return "other", nil
		}
	}
	return "", nil
}

// holds evaluates the condition of a breakpoint. A condition that throws is false.
func (t *Target) holds(n *entry, condition string) bool {
	v := t.mirrors.look(n, "!!("+condition+"\n)")
	if engine.IsFailed(v) {
		t.engine.Drop()
		return false
	}
	b, _ := engine.AsBool(v)
	t.engine.Free(v)
	return b
}

// passes is called when an exception leaves a function or a try block; here is true if it is caught
// there.
func (t *Target) passes(here bool, v engine.Value) {
	if v == t.thrown {
		return
	}
	t.setThrown(t.engine.Dup(v))
	t.mu.Lock()
	on, skip := t.onException, t.skip
	t.mu.Unlock()
	if on == "none" || skip {
		return
	}
	stack := t.calls.stack()
	caught := here || t.guarding > 0
	for i, n := range stack {
		caught = caught || i > 0 && n.probe.Caught
	}
	if on == "uncaught" && caught || on == "caught" && !caught || len(stack) == 0 {
		return
	}
	data := t.mirrors.remote(v, "pause", true)
	data["uncaught"] = !caught
	t.pause("exception", data, nil)
}

// pause pauses the plugin until a debugger resumes it. Meanwhile it executes the commands of
// debuggers.
func (t *Target) pause(reason string, data any, hits []string) {
	t.halt.stack = t.calls.stack()
	if len(t.halt.stack) == 0 {
		return
	}
	t.halt.number++
	if hits == nil {
		hits = []string{}
	}
	params := map[string]any{"reason": reason, "callFrames": t.halt.callFrames(), "hitBreakpoints": hits}
	if data != nil {
		params["data"] = data
	}
	if parent := t.halt.asyncStack(t.calls.asyncDepth.Load()); parent != nil {
		params["asyncStackTrace"] = parent
	}
	resumed := make(chan struct{})
	t.mu.Lock()
	t.request, t.step = "", step{}
	delete(t.breakpoints, untilID)
	if !t.active.Load() {
		t.mu.Unlock()
		t.endPause()
		return
	}
	t.resumed, t.paused = resumed, params
	for v := range t.visits {
		v.stop()
	}
	t.sessions.send(debuggerDomain, "Debugger.paused", params)
	t.mu.Unlock()
	for running := false; !running; {
		t.tasks.drain()
		select {
		case <-t.tasks.poke:
		case <-resumed:
			running = true
		case <-t.plugin.Closing:
			running = true
		}
	}
	t.mu.Lock()
	t.resumed, t.paused = nil, nil
	for v := range t.visits {
		v.start()
	}
	t.sessions.send(debuggerDomain, "Debugger.resumed", struct{}{})
	t.mu.Unlock()
	t.endPause()
	t.plugin.Resumed()
}

func (t *Target) endPause() {
	t.halt.stack = nil
	t.mirrors.releaseObjects(func(o *object) bool { return o.group == "pause" || o.group == "backtrace" })
}

// resume ends a pause; the caller holds the lock of the target.
func (t *Target) resume() {
	if t.resumed != nil {
		select {
		case <-t.resumed:
		default:
			close(t.resumed)
		}
	}
}
