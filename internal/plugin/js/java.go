// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"example.org/app/internal/plugin/java/remote"
	"example.org/app/internal/plugin/js/engine"
)

//go:embed java.js
var javaPrelude string

// compiledJava is the program of the global Java.
var compiledJava bytecode

// maxReleased is how many unused Java objects accumulate before Java is told during a turn.
const maxReleased = 256

// A bridge connects a plugin to Java. It is created on the first use of the global Java. Only the
// owner of the engine may use it.
type bridge struct {
	*module
	owner remote.Owner
	// session is the JVM of everything below.
	session uint64
	// types are the prototypes of classes, classes the functions that represent them, by number.
	// named are classes by requested name; they are in classes, too.
	types, classes map[uint64]engine.Value
	named          map[string]engine.Value
	// live are the objects by handle. They are weak: they are removed when they are collected.
	live map[uint64]engine.Value
	// released are handles to be released in Java.
	released []uint64
	// functions are the functions that Java may call, waiting the calls with a pending promise.
	functions    map[uint64]engine.Value
	nextFunction uint64
	waiting      map[uint64]remote.Call
	nextWaiting  uint64

	// global is the object Java, the others are functions of its program. key is the property of a
	// class with its handle.
	global, program                            engine.Value
	makeType, makeClass, makeError, makeMap    engine.Value
	isRecord, entries, watchPromise, keySymbol engine.Value
	key                                        engine.Atom
}

// javaObject is the Java object behind a proxy.
type javaObject struct {
	bridge  *bridge
	session uint64
	handle  uint64
}

// Collected records that Java need not keep the object.
func (o *javaObject) Collected() {
	b := o.bridge
	if o.session == b.session {
		delete(b.live, o.handle)
		b.released = append(b.released, o.handle)
	}
}

// javaGlobal creates the global Java.
func (m *module) javaGlobal(engine.Value, []engine.Value) (engine.Value, error) {
	if m.java != nil {
		return m.engine.Dup(m.java.global), nil
	}
	e := m.engine
	b := &bridge{module: m, classes: map[uint64]engine.Value{}, types: map[uint64]engine.Value{}, named: map[string]engine.Value{}}
	b.live, b.functions, b.waiting = map[uint64]engine.Value{}, map[uint64]engine.Value{}, map[uint64]remote.Call{}
	for _, v := range b.values() {
		*v = engine.Undefined
	}
	host := e.Object()
	defer e.Free(host)
	for name, f := range map[string]engine.Func{
		"type": b.typeOf, "construct": b.construct, "method": b.method, "get": b.get, "set": b.set, "copy": b.copy,
		"instance": b.instance, "isJava": b.isJava, "settled": b.settled,
	} {
		if !e.DefineName(host, name, e.Function(name, 0, f)) {
			return engine.Failed, engine.Thrown()
		}
	}
	b.keySymbol = e.Eval(preludeName, "Symbol('handle')")
	b.key = e.AtomOf(b.keySymbol)
	if engine.IsFailed(b.keySymbol) || !e.DefineName(host, "key", e.Dup(b.keySymbol)) {
		return engine.Failed, engine.Thrown()
	}
	code, ok := compiledJava.of(e, javaPrelude)
	if !ok {
		return engine.Failed, engine.Thrown()
	}
	f := e.RunBytecode(code)
	defer e.Free(f)
	if engine.IsFailed(f) {
		return f, engine.Thrown()
	}
	b.program = e.Call(f, engine.Undefined, host)
	if engine.IsFailed(b.program) {
		return b.program, engine.Thrown()
	}
	for name, v := range map[string]*engine.Value{
		"Java": &b.global, "type": &b.makeType, "makeClass": &b.makeClass, "error": &b.makeError, "map": &b.makeMap,
		"isRecord": &b.isRecord, "entries": &b.entries, "watch": &b.watchPromise,
	} {
		*v = e.GetName(b.program, name)
	}
	if h := m.host.opts.Java; h != nil {
		b.owner = h.Own(m.name, m.javaCalled)
	}
	m.java = b
	return e.Dup(b.global), nil
}

func (b *bridge) values() []*engine.Value {
	return []*engine.Value{
		&b.global, &b.program, &b.makeType, &b.makeClass, &b.makeError, &b.makeMap, &b.isRecord, &b.entries, &b.watchPromise, &b.keySymbol,
	}
}

// errNoJava means that the server was set up without Java.
var errNoJava = errors.New("classes of Java cannot be used on this server: it runs no plugins in Java")

// free frees all values.
func (b *bridge) free() {
	b.forget()
	for _, v := range b.values() {
		b.engine.Free(*v)
	}
	b.engine.FreeAtom(b.key)
}

// forget frees what belongs to a JVM.
func (b *bridge) forget() {
	for _, list := range []map[uint64]engine.Value{b.types, b.classes, b.functions} {
		for n, v := range list {
			delete(list, n)
			b.engine.Free(v)
		}
	}
	for n, v := range b.named {
		delete(b.named, n)
		b.engine.Free(v)
	}
	clear(b.live)
	clear(b.waiting)
	b.released = nil
}

// enter records the JVM that answered.
func (b *bridge) enter(session uint64) {
	if session != b.session {
		b.forget()
		b.session = session
	}
}

// flush releases unused objects in Java.
func (b *bridge) flush() {
	if len(b.released) > 0 && b.owner != nil {
		b.owner.Release(b.session, b.released)
		b.released = b.released[:0]
	}
}

// limits returns the context of a call of Java: with the time limit of the plugin's call, or of a
// turn.
func (b *bridge) limits() (context.Context, context.CancelFunc) {
	if c := b.turns.current.Load(); c != nil && c.state.Load() != finished {
		return c.ctx, func() {} // That of an abandoned call has ended.
	}
	if b.turns.limit.IsZero() {
		b.turns.limit = time.Now().Add(b.host.opts.TurnLimit)
	}
	return context.WithDeadline(b.ctx, b.turns.limit)
}

// ask sends a request to Java, and converts the response by read.
func (b *bridge) ask(op remote.Op, session uint64, body []byte, read func(*remote.Reader) (engine.Value, error)) (engine.Value, error) {
	if err := b.mayUseJava(); err != nil {
		return engine.Undefined, err
	}
	if b.owner == nil {
		return engine.Undefined, errNoJava
	}
	if len(b.released) >= maxReleased {
		b.flush()
	}
	ctx, cancel := b.limits()
	defer cancel()
	v := engine.Undefined
	q := remote.Request{Op: op, Session: session, Body: body, Serve: b.serve, Stop: b.closing}
	b.turns.leaveLane() // Java computes elsewhere.
	err := b.owner.Ask(ctx, q, func(session uint64, r *remote.Reader) (err error) {
		if session < b.session {
			return remote.ErrRestarted // A function served meanwhile has used the next JVM.
		}
		b.enter(session)
		if r.Byte() == remote.Threw {
			return b.thrownByJava(r)
		}
		v, err = read(r)
		return err
	})
	if err != nil {
		b.engine.Free(v)
		// The end of the call ends the script, whatever it would catch.
		if err != engine.Thrown() && b.engine.Interrupt() { //nolint:errorlint // a mark, never wrapped
			return engine.Failed, engine.Thrown()
		}
		return engine.Failed, err
	}
	return v, nil
}

// thrownByJava throws a Java exception.
func (b *bridge) thrownByJava(r *remote.Reader) error {
	v, err := b.read(r)
	if err != nil {
		return err
	}
	text, location, stack := r.Text(), r.Text(), r.Text()
	if r.Err() != nil {
		b.engine.Free(v)
		return r.Err()
	}
	if b.objectOf(v) == nil && !engine.IsNothing(v) {
		b.engine.Throw(v) // It is what a function of the plugin threw.
		return engine.Thrown()
	}
	args := []engine.Value{v, b.engine.String(text), b.engine.String(location), b.engine.String(stack)}
	x := b.engine.Call(b.makeError, engine.Undefined, args...)
	b.module.t.free(args)
	if !engine.IsFailed(x) {
		b.engine.Throw(x)
	}
	return engine.Thrown()
}

// objectOf returns the Java object, or class, that a value represents.
func (b *bridge) objectOf(v engine.Value) *javaObject {
	if !engine.IsObject(v) {
		return nil
	}
	if o, ok := b.engine.Held(v).(*javaObject); ok {
		return o
	}
	if !b.engine.IsFunction(v) {
		return nil
	}
	h := b.engine.Get(v, b.key)
	defer b.engine.Free(h)
	if engine.IsFailed(h) {
		b.engine.Drop()
		return nil
	}
	o, _ := b.engine.Held(h).(*javaObject)
	return o
}

// target returns the Java object that a function was called on.
func (b *bridge) target(v engine.Value, name string) (*javaObject, error) {
	if o := b.objectOf(v); o != nil {
		return o, nil
	}
	return nil, mismatchf("%s must be called on an object of Java, not on %s", name, b.engine.TypeOf(v))
}

// typeOf is Java.type.
func (b *bridge) typeOf(_ engine.Value, args []engine.Value) (engine.Value, error) {
	name := b.t.text(args[0])
	if b.owner == nil {
		return engine.Failed, fmt.Errorf("Java.type(%q): %w", shorten(name), errNoJava)
	}
	if v, ok := b.named[name]; ok && b.owner.Live(b.session) {
		return b.engine.Dup(v), nil
	}
	v, err := b.ask(remote.Type, 0, remote.AppendText(nil, name), b.read)
	if err != nil {
		if err != engine.Thrown() { //nolint:errorlint // a mark, never wrapped
			err = fmt.Errorf("Java.type(%q): %w", shorten(name), err)
		}
		return engine.Failed, err
	}
	if _, ok := b.named[name]; !ok {
		b.named[name] = b.engine.Dup(v)
	}
	return v, nil
}

// construct makes an object of a class.
func (b *bridge) construct(_ engine.Value, args []engine.Value) (engine.Value, error) {
	o, err := b.target(args[0], "new")
	if err != nil {
		return engine.Failed, err
	}
	return b.pass(remote.Construct, o, nil, args[1:])
}

// method makes the function that calls a method by its name.
func (b *bridge) method(_ engine.Value, args []engine.Value) (engine.Value, error) {
	name := b.t.text(args[0])
	head := remote.AppendText(nil, name)
	return b.engine.Function(name, 0, func(this engine.Value, args []engine.Value) (engine.Value, error) {
		o, err := b.target(this, name)
		if err != nil {
			return engine.Failed, err
		}
		return b.pass(remote.Invoke, o, head, args)
	}), nil
}

// pass sends a request with arguments.
func (b *bridge) pass(op remote.Op, o *javaObject, head []byte, args []engine.Value) (engine.Value, error) {
	first := b.nextFunction
	body := append(remote.AppendNumber(make([]byte, 0, 64), o.handle), head...)
	body, err := b.appendAll(remote.AppendNumber(body, uint64(len(args))), args)
	last := b.nextFunction
	if err != nil {
		b.drop(first, last)
		return engine.Failed, err
	}
	v, err := b.ask(op, o.session, body, b.read)
	if err != nil && err != engine.Thrown() { //nolint:errorlint // a mark, never wrapped
		b.drop(first, last)
	}
	return v, err
}

// get reads a field or an element.
func (b *bridge) get(_ engine.Value, args []engine.Value) (engine.Value, error) {
	name := b.t.text(args[1])
	o, err := b.target(args[0], name)
	if err != nil {
		return engine.Failed, err
	}
	return b.ask(remote.Get, o.session, remote.AppendText(remote.AppendNumber(nil, o.handle), name), b.read)
}

// set writes a field or an element.
func (b *bridge) set(_ engine.Value, args []engine.Value) (engine.Value, error) {
	name := b.t.text(args[1])
	o, err := b.target(args[0], name)
	if err != nil {
		return engine.Failed, err
	}
	first := b.nextFunction
	body, err := b.append(remote.AppendText(remote.AppendNumber(nil, o.handle), name), args[2], 0)
	if err == nil {
		_, err = b.ask(remote.Set, o.session, body, nothing)
	}
	if err != nil {
		b.drop(first, b.nextFunction)
		return engine.Failed, err
	}
	return engine.Undefined, nil
}

func nothing(*remote.Reader) (engine.Value, error) { return engine.Undefined, nil }

// copy reads all items of an array, a collection or a map.
func (b *bridge) copy(_ engine.Value, args []engine.Value) (engine.Value, error) {
	o, err := b.target(args[0], "Java.from")
	if err != nil {
		return engine.Failed, err
	}
	return b.ask(remote.Copy, o.session, remote.AppendNumber(nil, o.handle), b.read)
}

// instance reports whether a value is an instance of a class. For an error from Java, its exception
// counts.
func (b *bridge) instance(_ engine.Value, args []engine.Value) (engine.Value, error) {
	class, err := b.target(args[0], "instanceof")
	if err != nil {
		return engine.Failed, err
	}
	o := b.objectOf(args[1])
	if o == nil {
		if o = b.exceptionOf(args[1]); o == nil {
			return engine.False, nil
		}
	}
	if o.session != class.session {
		return engine.Failed, remote.ErrRestarted
	}
	body := remote.AppendNumber(remote.AppendNumber(nil, o.handle), class.handle)
	return b.ask(remote.InstanceOf, class.session, body, func(r *remote.Reader) (engine.Value, error) {
		return engine.Bool(r.Byte() != 0), r.Err()
	})
}

// exceptionOf returns the Java exception that an error represents.
func (b *bridge) exceptionOf(v engine.Value) *javaObject {
	if !engine.IsObject(v) {
		return nil
	}
	x := b.t.property(v, "javaException")
	defer b.engine.Free(x)
	return b.objectOf(x)
}

func (b *bridge) isJava(_ engine.Value, args []engine.Value) (engine.Value, error) {
	return engine.Bool(b.objectOf(argument(args, 0)) != nil), nil
}
