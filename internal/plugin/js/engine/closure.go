// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"unsafe"

	lib "modernc.org/libquickjs"
)

// A Closure is a function of a script with the outer variables that its code names. It is valid as
// long as the function.
type Closure struct {
	engine   *Stack
	bytecode *lib.TJSFunctionBytecode
	refs     uintptr
}

// A Variable is an outer variable of a closure.
type Variable struct {
	engine *Stack
	value  *Value
	// Const is true if scripts cannot assign to it, Global if it belongs to the global scope, in
	// which case its value may be elsewhere.
	Const, Global bool
}

// The bit fields of the first word of a closure variable in the engine.
const (
	closureType  = 0x7
	closureConst = 0x10
)

// Closure returns the closure of v. It reports false if v is not a function of a script.
func (e *Stack) Closure(v Value) (c Closure, ok bool) {
	if !e.isClass(v, lib.EJS_CLASS_BYTECODE_FUNCTION) {
		return c, false
	}
	f := (*struct{ bytecode, refs, home uintptr })(unsafe.Pointer(&e.object(v).Fu))
	return Closure{e, (*lib.TJSFunctionBytecode)(pointer(f.bytecode)), f.refs}, true
}

// Parameters returns the number of the function's parameters.
func (c Closure) Parameters() int { return int(c.bytecode.Farg_count) }

// Find returns the innermost variable of that name. It reports false if the function does not name
// it.
func (c Closure) Find(name Atom) (v Variable, ok bool) {
	for i := range int(c.bytecode.Fclosure_var_count) {
		if c.named(i).Fvar_name == name {
			return c.variable(i)
		}
	}
	return v, false
}

// Last returns the variable whose first mention in the function's code is last, and its name, which
// is borrowed.
func (c Closure) Last() (name Atom, v Variable, ok bool) {
	i := int(c.bytecode.Fclosure_var_count) - 1
	if i < 0 {
		return name, v, false
	}
	v, ok = c.variable(i)
	return c.named(i).Fvar_name, v, ok
}

func (c Closure) named(i int) *lib.TJSClosureVar {
	return (*lib.TJSClosureVar)(pointer(c.bytecode.Fclosure_var + uintptr(i)*unsafe.Sizeof(lib.TJSClosureVar{})))
}

func (c Closure) variable(i int) (v Variable, ok bool) {
	ref := *(*uintptr)(pointer(c.refs + uintptr(i)*unsafe.Sizeof(c.refs)))
	if ref == 0 {
		return v, false
	}
	v = Variable{engine: c.engine, value: (*Value)(pointer((*lib.TJSVarRef)(pointer(ref)).Fpvalue))}
	bits := c.named(i).F__ccgo0
	v.Const = bits&closureConst != 0
	switch bits & closureType {
	case lib.EJS_CLOSURE_GLOBAL, lib.EJS_CLOSURE_GLOBAL_DECL, lib.EJS_CLOSURE_GLOBAL_REF:
		v.Global = true
	}
	return v, true
}

// Value returns the value, which is borrowed. It reports false if the variable is uninitialised.
func (v Variable) Value() (x Value, ok bool) {
	return *v.value, v.value.Ftag != lib.EJS_TAG_UNINITIALIZED
}

// Set assigns x, which it borrows, even to a constant.
func (v Variable) Set(x Value) {
	old := *v.value
	*v.value = v.engine.Dup(x)
	v.engine.Free(old)
}
