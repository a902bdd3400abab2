// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// An Exception is an exception of a script.
type Exception struct {
	// Message is the kind of error and its text.
	Message string
	// Stack is the stack trace, one line per frame, the innermost first.
	Stack string
	// Value is the thrown value; the receiver of the exception must free it.
	Value Value
	// Interrupted is true if the script was interrupted.
	Interrupted bool
}

// Exception consumes the pending exception.
func (e *Engine) Exception() *Exception { return e.Describe(lib.XJS_GetException(e.tls, e.ctx)) }

// Describe converts a thrown value or a rejection reason to an exception; it consumes the value.
func (e *Engine) Describe(v Value) *Exception {
	x := &Exception{Value: v, Interrupted: e.interrupted}
	if v.Ftag == lib.EJS_TAG_NULL {
		// The engine throws null if there is no memory for an error.
		x.Message = "null, as when the script is out of memory"
		return x
	}
	if lib.XJS_IsError(e.tls, e.ctx, v) == 0 {
		x.Message = e.Inspect(v, 300)
		return x
	}
	name, message := e.property(v, "name"), e.property(v, "message")
	if x.Message = name; name == "" {
		x.Message = "Error"
	}
	if message != "" {
		x.Message += ": " + message
	}
	x.Stack = strings.TrimRight(e.property(v, "stack"), "\n")
	return x
}

// Inspect formats a value for people, on one line and not much longer than limit bytes.
func (e *Objects) Inspect(v Value, limit int) string {
	size := 16
	opts := e.tls.Alloc(size)
	defer e.tls.Free(size)
	lib.XJS_PrintValueSetDefaultOptions(e.tls, opts)
	o := (*lib.TJSPrintValueOptions)(pointer(opts))
	o.Fmax_depth, o.Fmax_string_length, o.Fmax_item_count = 5, uint32(limit), 100
	e.printed = e.printed[:0]
	lib.XJS_PrintValue(e.tls, e.ctx, address(appendPrinted), e.rt, v, opts)
	b := e.printed
	if cap(b) > 1<<16 {
		e.printed = nil
	}
	return OneLine(wellFormed(b[:min(len(b), 4*limit)]), limit)
}

func appendPrinted(_ *libc.TLS, rt, p uintptr, n uint64) {
	e := find(rt)
	if len(e.printed) < 1<<20 {
		e.printed = append(e.printed, unsafe.Slice((*byte)(pointer(p)), n)...)
	}
}

// OneLine joins lines and truncates the result to limit.
func OneLine(s string, limit int) string {
	if strings.ContainsAny(s, "\r\n") {
		s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	}
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// Interrupt polls whether the current run must end, and if so throws an exception that scripts
// cannot catch.
func (e *Engine) Interrupt() bool {
	if !e.ask() {
		return false
	}
	v := e.NewError("interrupted")
	if !IsFailed(v) {
		e.Throw(v)
	}
	lib.XJS_SetUncatchableException(e.tls, e.ctx, 1)
	return true
}
