// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// A Func is a Go function that a script calls. It borrows the arguments; the caller owns the
// result. An error is thrown.
type Func func(this Value, args []Value) (Value, error)

type function struct {
	name string
	call Func
}

// Functions connects scripts and Go: Go functions that scripts call, functions of scripts that Go
// calls, and objects that wrap Go values.
type Functions struct {
	Stack
	funcs   []function
	handles map[uintptr]any
	nextID  uintptr
	class   lib.TJSClassID
	errors  func(error) Value
}

// OnError sets the conversion of errors of Go functions to thrown values.
func (e *Functions) OnError(f func(error) Value) { e.errors = f }

// Function returns a function of a script that calls f.
func (e *Functions) Function(name string, params int, f Func) Value {
	magic := len(e.funcs)
	e.funcs = append(e.funcs, function{name, f})
	return lib.XJS_NewCFunction2(e.tls, e.ctx, address(callFunction), e.copy(name), int32(params),
		lib.EJS_CFUNC_generic_magic, int32(magic))
}

func callFunction(tls *libc.TLS, ctx uintptr, this Value, argc int32, argv uintptr, magic int32) (r Value) {
	e := findContext(tls, ctx)
	if len(e.patches) > 0 {
		e.unpatch()
	}
	f := &e.funcs[magic]
	frame, slots := e.frame(), tls.StackSlots()
	// A panic must not unwind through the engine, which would make it inconsistent. One that came
	// through the engine has done so already and is passed on.
	defer func() {
		if p := recover(); p != nil {
			if e.frame() != frame || tls.StackSlots() != slots {
				panic(p)
			}
			r = e.throw(fmt.Errorf("%s failed: %v", f.name, p))
		}
	}()
	v, err := f.call(this, unsafe.Slice((*Value)(pointer(argv)), argc))
	if err != nil {
		return e.throw(err)
	}
	return v
}

// throw throws the error of a Go function.
func (e *Functions) throw(err error) Value {
	if err == errThrown { //nolint:errorlint // never wrapped
		return Failed
	}
	v := e.ErrorValue(err)
	if IsFailed(v) {
		return v
	}
	return lib.XJS_Throw(e.tls, e.ctx, v)
}

// errThrown means that the exception is already pending in the engine.
var errThrown = fmt.Errorf("thrown")

// Thrown returns the error of a Go function whose call into the engine threw: the exception
// propagates.
func Thrown() error { return errThrown }

// ErrorValue returns the thrown value for an error.
func (e *Functions) ErrorValue(err error) Value {
	if e.errors != nil {
		return e.errors(err)
	}
	return e.NewError(err.Error())
}

// The class of objects that wrap a Go value. Its number is the same in all runtimes.
var (
	handleOnce  sync.Once
	handleClass lib.TJSClassID
)

func (e *Functions) newHandleClass() error {
	out := e.tls.Alloc(8)
	defer e.tls.Free(8)
	handleOnce.Do(func() {
		*(*lib.TJSClassID)(pointer(out)) = 0
		handleClass = lib.XJS_NewClassID(e.tls, out)
	})
	e.class = handleClass
	name := e.cstring("Host")
	defer e.freeCString(name)
	size := int(unsafe.Sizeof(lib.TJSClassDef{}))
	def := e.tls.Alloc(size)
	defer e.tls.Free(size)
	*(*lib.TJSClassDef)(pointer(def)) = lib.TJSClassDef{Fclass_name: name, Ffinalizer: address(finalizeHandle)}
	if lib.XJS_NewClass(e.tls, e.rt, e.class, def) < 0 {
		return fmt.Errorf("create a JavaScript class: out of memory")
	}
	return nil
}

// Handle returns an object that wraps a Go value until it is garbage-collected.
func (e *Functions) Handle(goValue any) Value {
	return e.stand(lib.XJS_NewObjectClass(e.tls, e.ctx, int32(e.class)), goValue)
}

// HandleOf is Handle with a prototype.
func (e *Functions) HandleOf(proto Value, goValue any) Value {
	return e.stand(lib.XJS_NewObjectProtoClass(e.tls, e.ctx, proto, e.class), goValue)
}

func (e *Functions) stand(v Value, goValue any) Value {
	if IsFailed(v) {
		return v
	}
	e.nextID++
	e.handles[e.nextID] = goValue
	lib.XJS_SetOpaque(e.tls, v, e.nextID)
	return v
}

// A Collected is a Go value whose method is called when the object that wraps it is freed. It must
// not use the engine.
type Collected interface{ Collected() }

// Held returns the Go value that v wraps.
func (e *Functions) Held(v Value) any {
	if !e.isClass(v, uint16(e.class)) {
		return nil
	}
	return e.handles[lib.XJS_GetOpaque(e.tls, v, e.class)]
}

func finalizeHandle(tls *libc.TLS, rt uintptr, v Value) {
	e := find(rt)
	id := lib.XJS_GetOpaque(tls, v, e.class)
	if c, ok := e.handles[id].(Collected); ok {
		c.Collected()
	}
	delete(e.handles, id)
}

// EachHeld calls f for each wrapped Go value.
func (e *Functions) EachHeld(f func(any)) {
	for _, x := range e.handles {
		f(x)
	}
}

// Call calls fn as a method of this. It borrows the arguments.
func (e *Functions) Call(fn, this Value, args ...Value) Value {
	defer e.unpatch()
	if len(args) == 0 {
		return lib.XJS_Call(e.tls, e.ctx, fn, this, 0, 0)
	}
	size := len(args) * valueSize
	argv := e.tls.Alloc(size)
	defer e.tls.Free(size)
	copy(unsafe.Slice((*Value)(pointer(argv)), len(args)), args)
	return lib.XJS_Call(e.tls, e.ctx, fn, this, int32(len(args)), argv)
}

// Construct returns a new instance of class.
func (e *Functions) Construct(class Value, args ...Value) Value {
	size := max(len(args), 1) * valueSize
	argv := e.tls.Alloc(size)
	defer e.tls.Free(size)
	copy(unsafe.Slice((*Value)(pointer(argv)), len(args)), args)
	return lib.XJS_CallConstructor(e.tls, e.ctx, class, int32(len(args)), argv)
}
