// SPDX-License-Identifier: Apache-2.0

package js

import (
	"errors"

	"example.org/app/internal/plugin/java/remote"
	"example.org/app/internal/plugin/js/engine"
)

// appendFunction encodes a function, or an object with functions, that Java may call. It is kept
// until Java releases it.
func (b *bridge) appendFunction(body []byte, v engine.Value) []byte {
	b.nextFunction++
	b.functions[b.nextFunction] = b.engine.Dup(v)
	return remote.AppendFunction(body, b.nextFunction)
}

// drop frees the functions of a failed request: those after first up to last.
func (b *bridge) drop(first, last uint64) {
	for n := first + 1; n <= last; n++ {
		b.dropFunction(n)
	}
}

func (b *bridge) dropFunction(n uint64) {
	if f, ok := b.functions[n]; ok {
		delete(b.functions, n)
		b.engine.Free(f)
	}
}

// javaCalled signals the module's goroutine that Java calls, from a thread without a waiting
// request.
func (m *module) javaCalled() {
	select {
	case m.javaCalls <- struct{}{}:
	default:
	}
}

// serveJava serves the waiting calls of Java, each in its own turn.
func (m *module) serveJava() {
	b := m.java
	for b != nil && b.owner != nil && m.dead.Load() == nil {
		c, ok := b.owner.Next()
		if !ok {
			return
		}
		m.turns.run(nil, func() { b.run(c) })
	}
}

// serve serves the waiting calls of Java while the plugin waits for Java.
func (b *bridge) serve() {
	for {
		c, ok := b.owner.Next()
		if !ok {
			return
		}
		b.run(c)
	}
}

var (
	errGoneFunction = errors.New("the plugin does not have the function any more")
	errInterrupted  = errors.New("the function of the plugin was interrupted, because its time is over")
	errPromise      = errors.New("the function of the plugin returned a promise that is not settled, and the plugin itself waits for this call: only calls from other threads can wait for a promise")
)

// run calls a function for Java.
func (b *bridge) run(c remote.Call) {
	if list := c.Released(); list != nil {
		for _, n := range list {
			if c.Session() == b.session {
				b.dropFunction(n)
			}
		}
		return
	}
	f, ok := b.functions[c.Function()]
	switch {
	case c.Session() != b.session || !ok:
		c.Refuse(errGoneFunction)
		return
	case b.engine.Interrupted():
		c.Refuse(errInterrupted)
		return
	}
	f = b.engine.Dup(f)
	defer b.engine.Free(f)
	args, err := b.readValues(c.Args(), 1)
	if err != nil {
		b.threw(c, err)
		return
	}
	defer b.module.t.free(args)
	v, ok := b.callFunction(f, c.Method(), args)
	switch {
	case !ok:
		c.Answer([]byte{remote.Absent})
	case engine.IsFailed(v):
		b.threw(c, engine.Thrown())
	case b.engine.IsPromise(v):
		b.promised(c, v)
	default:
		b.answer(c, v)
	}
}

// callFunction calls a function, or an object's method. It reports false if the object has none.
func (b *bridge) callFunction(f engine.Value, method string, args []engine.Value) (engine.Value, bool) {
	if b.engine.IsFunction(f) {
		return b.engine.Call(f, engine.Undefined, args...), true
	}
	g := b.engine.GetName(f, method)
	defer b.engine.Free(g)
	if engine.IsFailed(g) {
		return g, true
	}
	if !b.engine.IsFunction(g) {
		return engine.Undefined, false
	}
	return b.engine.Call(g, f, args...), true
}

// answer sends a result to Java and consumes it.
func (b *bridge) answer(c remote.Call, v engine.Value) {
	defer b.engine.Free(v)
	first := b.nextFunction
	body, err := b.append([]byte{remote.Done}, v, 0)
	if err != nil {
		b.drop(first, b.nextFunction)
		b.threw(c, err)
		return
	}
	c.Answer(body)
}

// promised waits for a promise, which it consumes. While the plugin waits for Java, no promise is
// settled, so waiting would be pointless if Java's call is inside such a request.
func (b *bridge) promised(c remote.Call, promise engine.Value) {
	defer b.engine.Free(promise)
	state, v := b.engine.Promise(promise)
	switch {
	case state == engine.Fulfilled:
		b.answer(c, v)
	case state == engine.Rejected:
		b.uncaught.handled(promise)
		b.engine.Throw(v)
		b.threw(c, engine.Thrown())
	case c.Inner():
		c.Refuse(errPromise)
	default:
		b.nextWaiting++
		b.waiting[b.nextWaiting] = c
		r := b.engine.Call(b.watchPromise, engine.Undefined, promise, engine.Number(float64(b.nextWaiting)))
		if engine.IsFailed(r) {
			delete(b.waiting, b.nextWaiting)
			b.threw(c, engine.Thrown())
		}
	}
}

// settled is called when a promise that was returned to Java is settled.
func (b *bridge) settled(_ engine.Value, args []engine.Value) (engine.Value, error) {
	id, _ := engine.AsNumber(args[0])
	c, ok := b.waiting[uint64(id)]
	if !ok {
		return engine.Undefined, nil
	}
	delete(b.waiting, uint64(id))
	v := b.engine.Dup(args[2])
	if fulfilled, _ := engine.AsBool(args[1]); fulfilled {
		b.answer(c, v)
	} else {
		b.engine.Throw(v)
		b.threw(c, engine.Thrown())
	}
	return engine.Undefined, nil
}

// threw sends an exception to Java: a Java exception unchanged, any other value by a number, from
// which it is restored when it comes back.
func (b *bridge) threw(c remote.Call, err error) {
	if err != engine.Thrown() { //nolint:errorlint // a mark, never wrapped
		b.engine.Throw(b.engine.ErrorValue(err))
	}
	x := b.engine.Exception()
	defer b.engine.Free(x.Value)
	if x.Interrupted {
		c.Refuse(errInterrupted)
		return
	}
	o := b.objectOf(x.Value)
	if o == nil {
		o = b.exceptionOf(x.Value)
	}
	body := []byte{remote.Threw}
	if o != nil && o.session == b.session {
		body = remote.AppendHandle(body, o.handle)
	} else {
		body = b.appendFunction(body, x.Value)
	}
	readable := b.exception(x)
	c.Answer(remote.AppendText(remote.AppendText(body, readable.Message), readable.Stack))
}
