// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"unsafe"

	lib "modernc.org/libquickjs"
)

// A Frame is a call of a function that runs at present or, if the function is asynchronous or a generator, is
// suspended. Its ID is used again when the call has ended; together with the function it is good enough to tell calls
// apart that run at the same time.
type Frame struct{ ID, Function uintptr }

// A Stack is the calls that run at present: which they are, what they see, and how they are left.
type Stack struct {
	Objects
	// patches are what Leave replaced in the code of functions, leaving the frame that it has not ended yet.
	patches []patch
	leaving Frame
}

// Frames calls f for the calls that led to the Go function that runs at present, the innermost first, until f reports
// false.
func (e *Stack) Frames(f func(Frame) bool) {
	p := e.frame()
	if p == 0 {
		return
	}
	for p = (*lib.TJSStackFrame)(pointer(p)).Fprev_frame; p != 0; {
		sf := (*lib.TJSStackFrame)(pointer(p))
		if !f(Frame{p, uintptr(sf.Fcur_func.Fu.Fuint641)}) {
			return
		}
		p = sf.Fprev_frame
	}
}

// Private calls f for the private fields of an object. The value is lent to f.
func (e *Stack) Private(obj Value, f func(name string, v Value)) {
	out := e.tls.Alloc(16)
	defer e.tls.Free(16)
	if lib.XJS_GetOwnPropertyNames(e.tls, e.ctx, out, out+8, obj, lib.MJS_GPN_PRIVATE_MASK) < 0 {
		e.Drop()
		return
	}
	tab, n := *(*uintptr)(pointer(out)), *(*uint32)(pointer(out + 8))
	defer lib.XJS_FreePropertyEnum(e.tls, e.ctx, tab, n)
	for _, p := range unsafe.Slice((*lib.TJSPropertyEnum)(pointer(tab)), n) {
		v := e.Get(obj, p.Fatom)
		if IsFailed(v) {
			e.Drop()
			continue
		}
		f(e.AtomText(p.Fatom), v)
		e.Free(v)
	}
}

// frame is where the engine's stack of calls is.
func (e *Stack) frame() uintptr { return (*lib.TJSRuntime)(pointer(e.rt)).Fcurrent_stack_frame }
