// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
)

// The states of a call. Its caller may abandon it while it is queued or running; in between it
// belongs to the owner of the engine, which reads the arguments and writes the result.
const (
	queued int32 = iota
	converting
	running
	finishing
	finished
	abandoned
)

// A call is a call of a function of an extension.
type call struct {
	ctx       context.Context
	extension *extension
	function  engine.Value
	// plan and its values are missing for hooks.
	plan   *plan
	args   []any
	result any
	// label names the function in messages.
	label string
	// point is the function's extension point; nil for hooks and schedules.
	point *plugin.Point
	// listener, if set, is passed to the function instead of args.
	listener *plugin.Listener
	// task is the name of the schedule whose function is called instead of function. begins is true
	// if the extension is being started, also after a failure.
	task   string
	begins bool
	// endpoint is the argument of an endpoint's handler; nil for everything else.
	endpoint *endpointCall

	// forget ends the watch for the end of its time, which is kept if it has begun requests that
	// may wait at gates; nil if not. Only the owner of the engine uses it.
	forget func()

	state atomic.Int32
	done  chan struct{}
	ok    bool
	err   error
}

// signals pools the channels of ended calls. A call itself is never reused, because operations that
// it began may refer to it.
var signals = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

// over reports whether the caller no longer waits.
func (c *call) over() bool { return c.state.Load() >= finished }

// finish ends the call, which no longer belongs to the module.
func (c *call) finish(ok bool, err error) {
	if c.forget != nil {
		c.forget()
	}
	c.ok, c.err = ok, err
	c.state.Store(finished)
	c.done <- struct{}{}
}

// calls are the calls of a module: those that wait for the engine, and those whose function has not
// answered yet.
type calls struct {
	m     *module
	queue chan *call

	// Only the owner of the engine uses the rest. awaiting are the calls with a pending promise, by
	// their number in the prelude; next is the last number. They are swept when there are sweepAt.
	awaiting map[int]*call
	next     int
	sweepAt  int
	// answering is the call whose result is being read.
	answering *call
}

// do runs a call, or queues it, and waits for its end.
func (cs *calls) do(c *call) (bool, error) {
	if !cs.direct(c) {
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		select {
		case cs.queue <- c:
		default:
			return false, ErrBusy
		}
	}
	select {
	case <-c.done:
		signals.Put(c.done)
		return c.ok, c.err
	default:
	}
	select {
	case <-c.done:
	case <-c.ctx.Done():
		if c.abandon() {
			return false, c.ctx.Err()
		}
		// The engine is reading the result, which may run code of the plugin, too.
		select {
		case <-c.done:
		case <-cs.m.stuck:
			return false, cs.m.gone()
		}
	case <-cs.m.stopped:
		if c.abandon() {
			return false, cs.m.gone()
		}
		<-c.done
	case <-cs.m.stuck:
		return false, cs.m.gone() // The engine does not return to the call.
	}
	signals.Put(c.done)
	return c.ok, c.err
}

// direct runs a call on its caller's goroutine if the engine is free and the queue empty: passing a
// call to another goroutine can cost as much as the call. It reports false if the call must be
// queued, which includes all calls that a debugger may pause.
func (cs *calls) direct(c *call) bool {
	if cs.m.debug.target != nil || len(cs.queue) > 0 || !cs.m.owner.TryLock() {
		return false
	}
	defer cs.m.owner.Unlock()
	if cs.m.shut || cs.m.dead.Load() != nil {
		return false
	}
	// A fault in the engine ends the plugin, not the server.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	cs.begin(c)
	cs.m.awaken()
	return true
}

func (c *call) abandon() bool {
	return c.state.CompareAndSwap(queued, abandoned) || c.state.CompareAndSwap(running, abandoned)
}

// begin runs a queued call.
func (cs *calls) begin(c *call) {
	if !c.state.CompareAndSwap(queued, converting) {
		return
	}
	if err := c.ctx.Err(); err != nil {
		c.finish(false, err)
		return
	}
	if len(cs.awaiting) >= cs.sweepAt {
		cs.sweep()
	}
	if len(cs.awaiting) >= cap(cs.queue) {
		c.finish(false, ErrBusy)
		return
	}
	cs.m.turns.run(c, func() { cs.invoke(c) })
	if cs.m.dead.Load() != nil {
		cs.answer(c, false, cs.ending(c))
	}
}

// ending returns why a call of a dead module has no result: it timed out before, or the module is
// dead.
func (cs *calls) ending(c *call) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	return cs.m.gone()
}

// sweep drops abandoned calls, whose functions may never answer.
func (cs *calls) sweep() {
	for id, c := range cs.awaiting {
		if c.over() {
			delete(cs.awaiting, id)
		}
	}
	cs.sweepAt = max(64, 2*len(cs.awaiting))
}

// answer ends a call without a value.
func (cs *calls) answer(c *call, ok bool, err error) {
	if c.state.CompareAndSwap(running, finishing) || c.state.CompareAndSwap(converting, finishing) {
		c.finish(ok, err)
	}
}

// maxParams is the maximum number of parameters.
const maxParams = 8

// invoke converts the arguments and calls the function.
func (cs *calls) invoke(c *call) {
	var argv [maxParams]engine.Value
	n := 0
	if c.begins {
		cs.m.tasks.drop(func(t *task) bool { return t.extension == c.extension })
	}
	if c.task != "" {
		f, ok := cs.m.tasks.function(c.extension, c.task)
		if !ok {
			cs.answer(c, false, nil) // The plugin has just ended it.
			return
		}
		defer cs.m.engine.Free(f)
		c.function = f
	}
	function := c.function
	if c.endpoint != nil {
		var ok bool
		if n, ok = cs.endpointArguments(c, argv[:]); !ok {
			cs.fail(c)
			return
		}
		function = cs.m.globals.serve
	}
	if c.listener != nil {
		argv[0], n = cs.m.engine.Function(c.listener.Name, 1, cs.m.server.listener(c.listener.Name, c.listener)), 1
	}
	for n < len(c.args) {
		argv[n] = cs.m.t.toJS(c.plan.params[n], c.plan.types[n], c.args[n])
		if engine.IsFailed(argv[n]) {
			cs.m.t.free(argv[:n])
			cs.fail(c)
			return
		}
		n++
	}
	c.args = nil
	c.state.Store(running)
	v := cs.m.engine.Call(function, c.extension.object, argv[:n]...)
	cs.m.t.free(argv[:n])
	if engine.IsFailed(v) {
		cs.fail(c)
		return
	}
	cs.returned(c, v)
}

// returned handles the return value of a function.
func (cs *calls) returned(c *call, v engine.Value) {
	if engine.IsObject(v) && !cs.m.engine.IsPromise(v) {
		then := cs.m.engine.Get(v, cs.m.t.atom(thenName))
		thenable := cs.m.engine.IsFunction(then)
		cs.m.engine.Free(then)
		if engine.IsFailed(then) {
			cs.m.engine.Free(v)
			cs.fail(c)
			return
		}
		if thenable {
			p := cs.m.engine.Call(cs.m.globals.adopt, engine.Undefined, v)
			cs.m.engine.Free(v)
			if engine.IsFailed(p) {
				cs.fail(c)
				return
			}
			v = p
		}
	}
	if !cs.m.engine.IsPromise(v) {
		cs.succeed(c, v)
		return
	}
	cs.m.engine.RunJobs(cs.m.uncaught.exception)
	switch state, r := cs.m.engine.Promise(v); state {
	case engine.Fulfilled:
		cs.m.engine.Free(v)
		cs.succeed(c, r)
	case engine.Rejected:
		cs.m.uncaught.handled(v)
		cs.m.engine.Free(v)
		cs.failWith(c, cs.m.engine.Describe(r))
	default:
		cs.next++
		cs.awaiting[cs.next] = c
		r := cs.m.engine.Call(cs.m.globals.watch, engine.Undefined, v, engine.Number(float64(cs.next)))
		cs.m.engine.Free(v)
		if engine.IsFailed(r) {
			delete(cs.awaiting, cs.next)
			cs.fail(c)
		}
	}
}

// answered is called by the prelude when a watched promise is settled.
func (cs *calls) answered(id int, ok bool, v engine.Value) {
	c := cs.awaiting[id]
	if c == nil {
		return
	}
	delete(cs.awaiting, id)
	v = cs.m.engine.Dup(v)
	if ok {
		cs.succeed(c, v)
	} else {
		cs.failWith(c, cs.m.engine.Describe(v))
	}
}

// succeed converts a result, which it consumes, and ends the call.
func (cs *calls) succeed(c *call, v engine.Value) {
	defer cs.m.engine.Free(v)
	if !c.state.CompareAndSwap(running, finishing) {
		return
	}
	if c.plan == nil || c.plan.result == nil || c.result == nil || engine.IsNothing(v) {
		c.finish(false, nil)
		return
	}
	cs.answering = c
	err := cs.m.t.read(c.plan.result, v, reflect.ValueOf(c.result).Elem())
	cs.answering = nil
	if err != nil {
		c.finish(false, cs.badResult(c, err))
		return
	}
	c.finish(true, nil)
}

// badResult returns the error for an invalid result.
func (cs *calls) badResult(c *call, err error) error {
	if mm, ok := err.(*mismatch); ok { //nolint:errorlint // never wrapped
		return &plugin.Exception{
			Message:  "TypeError: " + at(mm, "result of "+c.label).Error(),
			Location: cs.m.position(c.function),
		}
	}
	x := cs.m.engine.Exception()
	defer cs.m.engine.Free(x.Value)
	return cs.thrown(x, c)
}

// fail ends a call with the pending exception.
func (cs *calls) fail(c *call) { cs.failWith(c, cs.m.engine.Exception()) }

func (cs *calls) failWith(c *call, x *engine.Exception) {
	err := cs.thrown(x, c)
	cs.m.engine.Free(x.Value)
	cs.answer(c, false, err)
}

// thrown converts an exception of a call to an error.
func (cs *calls) thrown(x *engine.Exception, c *call) error {
	if x.Interrupted && cs.m.stopping.Load() {
		return cs.m.gone()
	}
	if err := c.ctx.Err(); err != nil {
		return err // What code throws after the end of its call is a consequence of that.
	}
	return cs.m.failure(x)
}

// A plan contains the codecs of a method's parameters and result.
type plan struct {
	types  []reflect.Type
	params []codec
	result codec
}

var plans sync.Map

func planOf(method *plugin.Method) (*plan, error) {
	if p, ok := plans.Load(method); ok {
		return p.(*plan), nil
	}
	if len(method.Params) > maxParams {
		return nil, fmt.Errorf("%s has more than %d parameters", method.Name, maxParams)
	}
	p := &plan{}
	for _, param := range method.Params {
		c, err := codecOf(param.Type)
		if err != nil {
			return nil, fmt.Errorf("parameter %s of %s: %w", param.Name, method.Name, err)
		}
		p.types, p.params = append(p.types, param.Type), append(p.params, c)
	}
	if method.Result != nil {
		c, err := codecOf(method.Result)
		if err != nil {
			return nil, fmt.Errorf("result of %s: %w", method.Name, err)
		}
		p.result = c
	}
	plans.Store(method, p)
	return p, nil
}
