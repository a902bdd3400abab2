// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// A Registration is how a script registers functions with a promise.
type Registration string

// How functions are registered with promises, in the words of debuggers.
const (
	ByEngine  Registration = "" // by the engine itself, such as in Promise.all
	ByThen    Registration = "Promise.then"
	ByCatch   Registration = "Promise.catch"
	ByFinally Registration = "Promise.finally"
)

// Reactions is told of the functions that scripts register with promises. A registration is known by the promise that then
// returned for it, whose number is used again when that is gone.
type Reactions struct {
	// Registered is called when something was registered.
	Registered func(promise uintptr, how Registration)
	// Runs is called before each job. The promise is 0 if the job does not run what was registered.
	Runs func(promise uintptr)
}

// A cFunction is what the engine keeps of a function that is not written in JavaScript.
type cFunction struct {
	realm    uintptr
	call     uintptr
	length   uint8
	protocol uint8
	magic    int16
}

// reactions is what an engine needs for Reactions.
type reactions struct {
	Reactions
	then           uintptr // what Promise.prototype.then did before
	catch, finally uintptr // the functions
}

// OnReactions sets who is told of what is registered with promises. Scripts cannot tell the difference: Promise.prototype.then
// stays the same object and only calls another Go function.
func (e *Engine) OnReactions(r Reactions) error {
	global := e.Global()
	class := e.GetName(global, "Promise")
	prototype := e.GetName(class, "prototype")
	functions := map[string]Value{}
	for _, name := range []string{"then", "catch", "finally"} {
		functions[name] = e.GetName(prototype, name)
	}
	defer func() {
		for _, v := range []Value{global, class, prototype, functions["then"], functions["catch"], functions["finally"]} {
			e.Free(v)
		}
	}()
	for _, f := range functions {
		if !e.isClass(f, lib.EJS_CLASS_C_FUNCTION) {
			return errors.New("watch promises: Promise is not that of the engine")
		}
	}
	then := (*cFunction)(unsafe.Pointer(&e.object(functions["then"]).Fu))
	if then.protocol != lib.EJS_CFUNC_generic {
		return errors.New("watch promises: then is called in another way")
	}
	e.reactions = &reactions{Reactions: r, then: then.call, catch: identity(functions["catch"]), finally: identity(functions["finally"])}
	then.call = address(watchThen)
	return nil
}

// identity is where an object is.
func identity(v Value) uintptr { return uintptr(v.Fu.Fuint641) }

// watchThen is Promise.prototype.then, which tells of what it did.
func watchThen(tls *libc.TLS, ctx uintptr, this Value, argc int32, argv uintptr) Value {
	e := findContext(tls, ctx)
	then := *(*func(*libc.TLS, uintptr, Value, int32, uintptr) Value)(unsafe.Pointer(&struct{ uintptr }{e.reactions.then}))
	promise := then(tls, ctx, this, argc, argv)
	if e.isClass(promise, lib.EJS_CLASS_PROMISE) {
		e.reactions.Registered(identity(promise), e.registration())
	}
	return promise
}

// registration tells by what then was called.
func (e *Engine) registration() Registration {
	how := ByThen
	for p := (*lib.TJSStackFrame)(pointer(e.frame())).Fprev_frame; p != 0; {
		sf := (*lib.TJSStackFrame)(pointer(p))
		switch identity(sf.Fcur_func) {
		case e.reactions.catch:
			how = ByCatch
		case e.reactions.finally:
			how = ByFinally
		default:
			if e.isClass(sf.Fcur_func, lib.EJS_CLASS_C_FUNCTION) {
				return ByEngine
			}
			return how
		}
		p = sf.Fprev_frame
	}
	return ByEngine
}

// nextReaction is the promise of the registration that the next job runs, 0 if it runs none.
func (e *Engine) nextReaction() uintptr {
	link := (*lib.TJSRuntime)(pointer(e.rt)).Fjob_list.Fnext
	job := (*lib.TJSJobEntry)(pointer(link))
	// A reaction has two functions that resolve its promise, the function that was registered, whether it is one for rejections,
	// and a value. Those of await have no promise.
	if job.Fargc != 5 {
		return 0
	}
	args := unsafe.Slice((*Value)(pointer(link+unsafe.Sizeof(*job))), 5)
	if args[3].Ftag != lib.EJS_TAG_BOOL || !e.isClass(args[0], lib.EJS_CLASS_PROMISE_RESOLVE_FUNCTION) {
		return 0
	}
	data := (*lib.TJSPromiseFunctionData)(pointer(e.object(args[0]).Fu.Fopaque))
	return identity(data.Fpromise)
}
