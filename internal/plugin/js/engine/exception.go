// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// An Exception is what a script threw.
type Exception struct {
	// Message is the kind of error and its text.
	Message string
	// Stack are the lines of the stack trace, the innermost first.
	Stack string
	// Value is what was thrown; whoever got the exception frees it.
	Value Value
	// Interrupted tells that the script was ended.
	Interrupted bool
}

// Exception takes the pending exception.
func (e *Engine) Exception() *Exception { return e.Describe(lib.XJS_GetException(e.tls, e.ctx)) }

// Describe makes an exception of a value that was thrown or that a promise was rejected with; it takes the value.
func (e *Engine) Describe(v Value) *Exception {
	x := &Exception{Value: v, Interrupted: e.interrupted}
	if v.Ftag == lib.EJS_TAG_NULL {
		// The engine throws null when there is no memory left for an error.
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

// Inspect prints a value for people, on one line and not much longer than limit bytes.
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

// OneLine joins lines and cuts what is too long.
func OneLine(s string, limit int) string {
	if strings.ContainsAny(s, "\r\n") {
		s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	}
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// Interrupt asks whether the present run must end, and if so throws what no script can catch.
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
