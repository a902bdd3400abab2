// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"unsafe"

	lib "modernc.org/libquickjs"
)

// A Frame is a call that is running or, if the function is asynchronous or a generator, suspended.
// Its ID is reused after the call; together with the function it distinguishes concurrent calls.
type Frame struct{ ID, Function uintptr }

// A Stack is the stack of running calls: their frames, their variables, and how to leave them.
type Stack struct {
	Objects
	// patches are the instructions that Leave replaced; leaving is the frame that it has not ended
	// yet.
	patches []patch
	leaving Frame
}

// Frames calls f for each call on the stack of the running Go function, the innermost first, until
// f returns false.
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

// Private calls f for the private fields of an object. f borrows the value.
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

// frame returns the address of the innermost stack frame.
func (e *Stack) frame() uintptr { return (*lib.TJSRuntime)(pointer(e.rt)).Fcurrent_stack_frame }
