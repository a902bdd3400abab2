// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// A Registration is the way in which a script registered functions with a promise.
type Registration string

// The kinds of registrations, in the terms of debuggers.
const (
	ByEngine  Registration = "" // by the engine itself, as in Promise.all
	ByThen    Registration = "Promise.then"
	ByCatch   Registration = "Promise.catch"
	ByFinally Registration = "Promise.finally"
)

// Reactions observes the functions that scripts register with promises. A registration is
// identified by the promise that then returned for it; the identity is reused after that promise is
// freed.
type Reactions struct {
	// Registered is called after a registration.
	Registered func(promise uintptr, how Registration)
	// Runs is called before each job. The promise is 0 if the job does not run a registered
	// function.
	Runs func(promise uintptr)
}

// A cFunction is the engine's data of a native function.
type cFunction struct {
	realm    uintptr
	call     uintptr
	length   uint8
	protocol uint8
	magic    int16
}

// reactions is the engine's state for Reactions.
type reactions struct {
	Reactions
	then           uintptr // the original Promise.prototype.then
	catch, finally uintptr // the functions Promise.prototype.catch and finally
}

// OnReactions sets the observer of registrations with promises. Scripts cannot detect it:
// Promise.prototype.then stays the same object and only calls another Go function.
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

// identity returns the address of an object.
func identity(v Value) uintptr { return uintptr(v.Fu.Fuint641) }

// watchThen replaces Promise.prototype.then: it calls the original and reports the registration.
func watchThen(tls *libc.TLS, ctx uintptr, this Value, argc int32, argv uintptr) Value {
	e := findContext(tls, ctx)
	then := *(*func(*libc.TLS, uintptr, Value, int32, uintptr) Value)(unsafe.Pointer(&struct{ uintptr }{e.reactions.then}))
	promise := then(tls, ctx, this, argc, argv)
	if e.isClass(promise, lib.EJS_CLASS_PROMISE) {
		e.reactions.Registered(identity(promise), e.registration())
	}
	return promise
}

// registration returns the caller of then.
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

// nextReaction returns the promise of the registration that the next job runs, 0 if none.
func (e *Engine) nextReaction() uintptr {
	link := (*lib.TJSRuntime)(pointer(e.rt)).Fjob_list.Fnext
	job := (*lib.TJSJobEntry)(pointer(link))
	// A reaction has two functions that resolve its promise, the registered function, a flag for
	// rejections, and a value. Those of await have no promise.
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
