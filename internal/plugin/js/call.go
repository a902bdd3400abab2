// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
)

// The states of a call. Who waits for it may abandon it while it is queued or running; it belongs to whoever
// owns the engine in between, which reads the arguments and writes the result then.
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
	// plan and what it needs are missing for hooks.
	plan   *plan
	args   []any
	result any
	// label names the function in messages.
	label string
	// point is what the function belongs to; it is nil for hooks and schedules.
	point *plugin.Point
	// listener is handed to the function, if it is set, in the place of args.
	listener *plugin.Listener
	// task is the name of the schedule whose function is called, in the place of function. begins says that the extension is
	// started, which may have failed before.
	task   string
	begins bool
	// endpoint is what the handler of an endpoint is called with; it is nil for everything else.
	endpoint *endpointCall

	// forget ends the watch for the end of its time, which is kept if it has begun requests that may wait at gates; nil if it has
	// not. It belongs to whoever owns the engine.
	forget func()

	state atomic.Int32
	done  chan struct{}
	ok    bool
	err   error
}

// signals are the channels of calls that ended. A call itself is never used again, because what it began may still
// refer to it.
var signals = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

// over reports whether nobody waits for the call any more.
func (c *call) over() bool { return c.state.Load() >= finished }

// finish answers; the call no longer belongs to the module.
func (c *call) finish(ok bool, err error) {
	if c.forget != nil {
		c.forget()
	}
	c.ok, c.err = ok, err
	c.state.Store(finished)
	c.done <- struct{}{}
}

// do runs a call, or puts it into the queue, and waits for its end.
func (m *module) do(c *call) (bool, error) {
	if !m.direct(c) {
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		select {
		case m.queue <- c:
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
		// The engine reads the result at present, which can run code of the plugin too.
		select {
		case <-c.done:
		case <-m.stuck:
			return false, m.gone()
		}
	case <-m.stopped:
		if c.abandon() {
			return false, m.gone()
		}
		<-c.done
	case <-m.stuck:
		return false, m.gone() // The engine does not come back to the call.
	}
	signals.Put(c.done)
	return c.ok, c.err
}

func (c *call) abandon() bool {
	return c.state.CompareAndSwap(queued, abandoned) || c.state.CompareAndSwap(running, abandoned)
}

// begin runs a call that was in the queue.
func (m *module) begin(c *call) {
	if !c.state.CompareAndSwap(queued, converting) {
		return
	}
	if err := c.ctx.Err(); err != nil {
		c.finish(false, err)
		return
	}
	if len(m.awaiting) >= m.sweepAt {
		m.sweep()
	}
	if len(m.awaiting) >= cap(m.queue) {
		c.finish(false, ErrBusy)
		return
	}
	m.turn(c, func() { m.invoke(c) })
	if m.dead.Load() != nil {
		m.answer(c, false, m.ending(c))
	}
}

// ending is why a call of a module that died has no answer: its time was over before, or the module is dead.
func (m *module) ending(c *call) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	return m.gone()
}

// sweep forgets calls that nobody waits for, whose functions may never answer.
func (m *module) sweep() {
	for id, c := range m.awaiting {
		if c.over() {
			delete(m.awaiting, id)
		}
	}
	m.sweepAt = max(64, 2*len(m.awaiting))
}

// answer ends a call without a value.
func (m *module) answer(c *call, ok bool, err error) {
	if c.state.CompareAndSwap(running, finishing) || c.state.CompareAndSwap(converting, finishing) {
		c.finish(ok, err)
	}
}

// maxParams is the largest number of parameters.
const maxParams = 8

// invoke converts the arguments and calls the function.
func (m *module) invoke(c *call) {
	var argv [maxParams]engine.Value
	n := 0
	if c.begins {
		m.tasks.drop(func(t *task) bool { return t.extension == c.extension })
	}
	if c.task != "" {
		f, ok := m.tasks.function(c.extension, c.task)
		if !ok {
			m.answer(c, false, nil) // The plugin has just ended it.
			return
		}
		defer m.engine.Free(f)
		c.function = f
	}
	function := c.function
	if c.endpoint != nil {
		var ok bool
		if n, ok = m.endpointArguments(c, argv[:]); !ok {
			m.fail(c)
			return
		}
		function = m.serve
	}
	if c.listener != nil {
		argv[0], n = m.engine.Function(c.listener.Name, 1, m.server.listener(c.listener.Name, c.listener)), 1
	}
	for n < len(c.args) {
		argv[n] = m.t.toJS(c.plan.params[n], c.plan.types[n], c.args[n])
		if engine.IsFailed(argv[n]) {
			m.t.free(argv[:n])
			m.fail(c)
			return
		}
		n++
	}
	c.args = nil
	c.state.Store(running)
	v := m.engine.Call(function, c.extension.object, argv[:n]...)
	m.t.free(argv[:n])
	if engine.IsFailed(v) {
		m.fail(c)
		return
	}
	m.returned(c, v)
}

// returned takes what a function returned.
func (m *module) returned(c *call, v engine.Value) {
	if engine.IsObject(v) && !m.engine.IsPromise(v) {
		then := m.engine.Get(v, m.t.atom(thenName))
		thenable := m.engine.IsFunction(then)
		m.engine.Free(then)
		if engine.IsFailed(then) {
			m.engine.Free(v)
			m.fail(c)
			return
		}
		if thenable {
			p := m.engine.Call(m.adopt, engine.Undefined, v)
			m.engine.Free(v)
			if engine.IsFailed(p) {
				m.fail(c)
				return
			}
			v = p
		}
	}
	if !m.engine.IsPromise(v) {
		m.succeed(c, v)
		return
	}
	m.engine.RunJobs(m.uncaught)
	switch state, r := m.engine.Promise(v); state {
	case engine.Fulfilled:
		m.engine.Free(v)
		m.succeed(c, r)
	case engine.Rejected:
		m.handled(v)
		m.engine.Free(v)
		m.failWith(c, m.engine.Describe(r))
	default:
		m.nextCall++
		m.awaiting[m.nextCall] = c
		r := m.engine.Call(m.watch, engine.Undefined, v, engine.Number(float64(m.nextCall)))
		m.engine.Free(v)
		if engine.IsFailed(r) {
			delete(m.awaiting, m.nextCall)
			m.fail(c)
		}
	}
}

// answered is called by the prelude when a promise that is watched is settled.
func (m *module) answered(id int, ok bool, v engine.Value) {
	c := m.awaiting[id]
	if c == nil {
		return
	}
	delete(m.awaiting, id)
	v = m.engine.Dup(v)
	if ok {
		m.succeed(c, v)
	} else {
		m.failWith(c, m.engine.Describe(v))
	}
}

// succeed converts a result, which it takes, and ends the call.
func (m *module) succeed(c *call, v engine.Value) {
	defer m.engine.Free(v)
	if !c.state.CompareAndSwap(running, finishing) {
		return
	}
	if c.plan == nil || c.plan.result == nil || c.result == nil || engine.IsNothing(v) {
		c.finish(false, nil)
		return
	}
	m.answering = c
	err := m.t.read(c.plan.result, v, reflect.ValueOf(c.result).Elem())
	m.answering = nil
	if err != nil {
		c.finish(false, m.badResult(c, err))
		return
	}
	c.finish(true, nil)
}

// badResult is the error of a result that is not what it must be.
func (m *module) badResult(c *call, err error) error {
	if mm, ok := err.(*mismatch); ok { //nolint:errorlint // never wrapped
		return &plugin.Exception{
			Message:  "TypeError: " + at(mm, "result of "+c.label).Error(),
			Location: m.position(c.function),
		}
	}
	x := m.engine.Exception()
	defer m.engine.Free(x.Value)
	return m.thrown(x, c)
}

// fail ends a call with the pending exception.
func (m *module) fail(c *call) { m.failWith(c, m.engine.Exception()) }

func (m *module) failWith(c *call, x *engine.Exception) {
	err := m.thrown(x, c)
	m.engine.Free(x.Value)
	m.answer(c, false, err)
}

// thrown is the error that an exception of a call means.
func (m *module) thrown(x *engine.Exception, c *call) error {
	if x.Interrupted && m.stopping.Load() {
		return m.gone()
	}
	if err := c.ctx.Err(); err != nil {
		return err // What code throws after its call is over follows from that.
	}
	return m.failure(x)
}

// A plan is how the parameters and the result of a method are converted.
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
