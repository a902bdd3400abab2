// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"unsafe"

	lib "modernc.org/libquickjs"
)

// A patch is an instruction that is temporarily replaced.
type patch struct {
	at *byte
	op byte
}

// Leaves reports whether Leave can end a frame and those inside it: each is a call of a function
// that is neither asynchronous nor a generator, called by the next one without a function of the
// engine in between. A Go function may be in between if left returns true for the frame that called
// it: it calls Leave as soon as its callee returns.
func (e *Stack) Leaves(outermost Frame, left func(Frame) bool) bool {
	inside, ok, fromGo := true, false, false
	addresses := map[uintptr]bool{}
	e.Frames(func(f Frame) bool {
		sf := (*lib.TJSStackFrame)(pointer(f.ID))
		b, isScript := e.bytecode(f)
		if inside {
			if e.isGo(f) {
				fromGo = true
				return true
			}
			if fromGo && !left(f) {
				return false
			}
			fromGo = false
			if !isScript || b.F__ccgo17&functionKind != 0 || !afterCall(sf.Fcur_pc, b) {
				return false
			}
			addresses[sf.Fcur_pc] = true
			if f == outermost {
				inside, ok = false, true
			}
			return true
		}
		// Remaining frames must not continue at a replaced instruction. Go functions restore them.
		if !isScript {
			return !e.isGo(f)
		}
		ok = !addresses[sf.Fcur_pc]
		return ok
	})
	return ok
}

// functionKind is the bit mask of asynchronous functions and generators.
const functionKind = 0x30

// bytecode returns the code of a frame's function. It reports false if that is a function of the
// engine or of Go.
func (e *Stack) bytecode(f Frame) (*lib.TJSFunctionBytecode, bool) {
	c, ok := e.Closure((*lib.TJSStackFrame)(pointer(f.ID)).Fcur_func)
	return c.bytecode, ok
}

// isGo reports whether a frame is a call of a Go function.
func (e *Stack) isGo(f Frame) bool {
	v := (*lib.TJSStackFrame)(pointer(f.ID)).Fcur_func
	if !e.isClass(v, lib.EJS_CLASS_C_FUNCTION) {
		return false
	}
	return (*struct{ realm, function uintptr })(unsafe.Pointer(&e.object(v).Fu)).function == address(callFunction)
}

// afterCall reports whether the instruction before an address is a call that leaves its result on
// the stack.
func afterCall(pc uintptr, b *lib.TJSFunctionBytecode) bool {
	n := pc - b.Fbyte_code_buf
	if pc < b.Fbyte_code_buf || n == 0 || n >= uintptr(b.Fbyte_code_len) {
		return false
	}
	if op := *(*byte)(pointer(pc - 1)); op >= lib.EOP_call0 && op <= lib.EOP_call3 {
		return true
	}
	if n < 3 {
		return false
	}
	op := *(*byte)(pointer(pc - 3))
	return op == lib.EOP_call || op == lib.EOP_call_method
}

// Arguments returns the current arguments of a frame, without trailing undefined ones, which may
// have been omitted by the caller of the function. The caller frees them.
func (e *Stack) Arguments(f Frame) (list []Value) {
	sf := (*lib.TJSStackFrame)(pointer(f.ID))
	if sf.Farg_count == 0 {
		return nil
	}
	args := unsafe.Slice((*Value)(pointer(sf.Farg_buf)), sf.Farg_count)
	for len(args) > 0 && IsUndefined(args[len(args)-1]) {
		args = args[:len(args)-1]
	}
	for _, v := range args {
		list = append(list, e.Dup(v))
	}
	return list
}

// FunctionOf returns the function of a frame.
func (e *Stack) FunctionOf(f Frame) Value {
	return e.Dup((*lib.TJSStackFrame)(pointer(f.ID)).Fcur_func)
}

// Leave ends a frame for which Leaves returns true, and those inside it, as soon as the running Go
// function returns r, which Leave passes through: the frame then returns or throws it. Neither
// catch nor finally of these frames runs. If an inner Leave is already ending a frame farther out
// than this one, this Leave continues with that.
func (e *Stack) Leave(outermost Frame, r Value) Value {
	e.unpatch()
	if e.leaving != (Frame{}) {
		outermost = e.leaving
	}
	e.leaving = outermost
	e.Frames(func(f Frame) bool {
		sf := (*lib.TJSStackFrame)(pointer(f.ID))
		b, ok := e.bytecode(f)
		if !ok {
			return false
		}
		if IsFailed(r) {
			e.dropHandlers(sf, b)
		} else {
			at := (*byte)(pointer(sf.Fcur_pc))
			e.patches = append(e.patches, patch{at, *at})
			*at = lib.EOP_return
		}
		if f == outermost {
			e.leaving = Frame{}
		}
		return f != outermost
	})
	return r
}

// dropHandlers removes the exception handlers from the stack of a frame. Slots beyond its top are
// not used any more.
func (e *Stack) dropHandlers(sf *lib.TJSStackFrame, b *lib.TJSFunctionBytecode) {
	if b.Fstack_size == 0 {
		return
	}
	stack := sf.Fvar_buf + uintptr(b.Fvar_count)*uintptr(valueSize)
	for i, v := range unsafe.Slice((*Value)(pointer(stack)), b.Fstack_size) {
		if v.Ftag == lib.EJS_TAG_CATCH_OFFSET {
			unsafe.Slice((*Value)(pointer(stack)), b.Fstack_size)[i] = Undefined
		}
	}
}

// unpatch restores what Leave replaced. The frames concerned have ended as soon as Go code runs
// again.
func (e *Stack) unpatch() {
	for i := len(e.patches) - 1; i >= 0; i-- {
		*e.patches[i].at = e.patches[i].op
	}
	e.patches = e.patches[:0]
}
