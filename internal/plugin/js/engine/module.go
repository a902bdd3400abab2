// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// OnImport sets how an import is resolved to the name of a module, and how the source of a module
// is loaded.
func (e *Engine) OnImport(resolve func(base, name string) (string, error), source func(name string) (string, error)) {
	e.resolve, e.source = resolve, source
}

// Eval runs a script in the global scope and returns its last value.
func (e *Engine) Eval(name, source string) Value {
	return e.eval(name, source, lib.MJS_EVAL_TYPE_GLOBAL)
}

// EvalAsync is Eval for code with top-level await. It returns a promise of an object with the
// value.
func (e *Engine) EvalAsync(name, source string) Value {
	return e.eval(name, source, lib.MJS_EVAL_TYPE_GLOBAL|lib.MJS_EVAL_FLAG_ASYNC)
}

func (e *Engine) eval(name, source string, flags int32) Value {
	cname, csource := e.cstring(name), e.cstring(source)
	defer e.freeCString(cname)
	defer e.freeCString(csource)
	return lib.XJS_Eval(e.tls, e.ctx, csource, lib.Tsize_t(len(source)), cname, flags)
}

// Compile compiles a module and its imports without running them.
func (e *Engine) Compile(name, source string) Value {
	return e.eval(name, source, lib.MJS_EVAL_TYPE_MODULE|lib.MJS_EVAL_FLAG_COMPILE_ONLY)
}

// CompileScript compiles a script without running it.
func (e *Engine) CompileScript(name, source string) Value {
	return e.eval(name, source, lib.MJS_EVAL_TYPE_GLOBAL|lib.MJS_EVAL_FLAG_COMPILE_ONLY)
}

// RunModule runs a compiled module, which it consumes. It returns the promise of its completion and
// its namespace object, which is complete when the promise is fulfilled.
func (e *Engine) RunModule(module Value) (promise, namespace Value) {
	def := uintptr(module.Fu.Fuint641)
	promise = lib.XJS_EvalFunction(e.tls, e.ctx, module)
	if IsFailed(promise) {
		return promise, Undefined
	}
	return promise, lib.XJS_GetModuleNamespace(e.tls, e.ctx, def)
}

func normalizeModule(tls *libc.TLS, ctx, base, name, _ uintptr) uintptr {
	e := findContext(tls, ctx)
	full, err := e.resolve(goString(base), goString(name))
	if err != nil {
		e.throw(err)
		return 0
	}
	p := e.cstring(full)
	defer e.freeCString(p)
	return lib.Xjs_strdup(tls, ctx, p)
}

func loadModule(tls *libc.TLS, ctx, name, _ uintptr, _ Value) uintptr {
	e := findContext(tls, ctx)
	n := goString(name)
	source, err := e.source(n)
	if err != nil {
		e.throw(err)
		return 0
	}
	v := e.Compile(n, source)
	if IsFailed(v) {
		return 0
	}
	// The context owns its modules; the value is only a reference.
	def := uintptr(v.Fu.Fuint641)
	e.Free(v)
	return def
}

func goString(p uintptr) string {
	if p == 0 {
		return ""
	}
	return libc.GoString(p)
}

// Bytecode compiles a script to bytecode that every engine of this process can run.
func (e *Engine) Bytecode(name, source string) ([]byte, bool) {
	v := e.eval(name, source, lib.MJS_EVAL_TYPE_GLOBAL|lib.MJS_EVAL_FLAG_COMPILE_ONLY)
	if IsFailed(v) {
		return nil, false
	}
	defer e.Free(v)
	size := e.tls.Alloc(8)
	defer e.tls.Free(8)
	p := lib.XJS_WriteObject(e.tls, e.ctx, size, v, lib.MJS_WRITE_OBJ_BYTECODE)
	if p == 0 {
		return nil, false
	}
	defer lib.Xjs_free(e.tls, e.ctx, p)
	return bytes.Clone(unsafe.Slice((*byte)(pointer(p)), *(*lib.Tsize_t)(pointer(size)))), true
}

// RunBytecode runs a script compiled by Bytecode.
func (e *Engine) RunBytecode(code []byte) Value {
	p := e.buffer(len(code))
	copy(unsafe.Slice((*byte)(pointer(p)), len(code)), code)
	f := lib.XJS_ReadObject(e.tls, e.ctx, p, lib.Tsize_t(len(code)), lib.MJS_READ_OBJ_BYTECODE)
	if IsFailed(f) {
		return f
	}
	return lib.XJS_EvalFunction(e.tls, e.ctx, f)
}
