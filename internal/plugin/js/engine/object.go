// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"unsafe"

	lib "modernc.org/libquickjs"
)

// Objects creates and reads objects: their classes, properties, elements and promises.
type Objects struct {
	Values
	printed []byte // output of Inspect so far
}

// TypeOf returns the kind of v for messages, with its article.
func (e *Objects) TypeOf(v Value) string {
	switch v.Ftag {
	case lib.EJS_TAG_INT, lib.EJS_TAG_FLOAT64:
		return "a number"
	case lib.EJS_TAG_BOOL:
		return "a boolean"
	case lib.EJS_TAG_NULL:
		return "null"
	case lib.EJS_TAG_UNDEFINED:
		return "undefined"
	case lib.EJS_TAG_STRING, lib.EJS_TAG_STRING_ROPE:
		return "a string"
	case lib.EJS_TAG_SYMBOL:
		return "a symbol"
	case lib.EJS_TAG_BIG_INT, lib.EJS_TAG_SHORT_BIG_INT:
		return "a BigInt"
	case lib.EJS_TAG_OBJECT:
		switch {
		case e.IsFunction(v):
			return "a function"
		case e.IsArray(v):
			return "an array"
		}
		return "an object"
	}
	return "something unknown"
}

// IsFunction reports whether v is callable.
func (e *Objects) IsFunction(v Value) bool { return lib.XJS_IsFunction(e.tls, e.ctx, v) != 0 }

// IsClass reports whether v is a constructor.
func (e *Objects) IsClass(v Value) bool {
	return IsObject(v) && lib.XJS_IsConstructor(e.tls, e.ctx, v) != 0
}

// IsArray reports whether v is an array.
func (e *Objects) IsArray(v Value) bool {
	if !IsObject(v) {
		return false
	}
	if e.object(v).Fclass_id == lib.EJS_CLASS_ARRAY {
		return true
	}
	r := lib.XJS_IsArray(e.tls, e.ctx, v)
	if r < 0 {
		e.Drop()
	}
	return r > 0
}

// IsSet reports whether v is a Set.
func (e *Objects) IsSet(v Value) bool { return e.isClass(v, lib.EJS_CLASS_SET) }

// IsMap reports whether v is a Map.
func (e *Objects) IsMap(v Value) bool { return e.isClass(v, lib.EJS_CLASS_MAP) }

// IsNumberArray reports whether v is a typed array whose elements are not bytes.
func (e *Objects) IsNumberArray(v Value) bool {
	if !IsObject(v) {
		return false
	}
	class := e.object(v).Fclass_id
	return class > lib.EJS_CLASS_UINT8_ARRAY && class <= lib.EJS_CLASS_FLOAT64_ARRAY
}

// IsPromise reports whether v is a promise.
func (e *Objects) IsPromise(v Value) bool { return e.isClass(v, lib.EJS_CLASS_PROMISE) }

// IsGenerator reports whether v is a generator object.
func (e *Objects) IsGenerator(v Value) bool { return e.isClass(v, lib.EJS_CLASS_GENERATOR) }

// Proxy returns the target and the handler of a proxy, which are borrowed. Both are undefined if it
// was revoked.
func (e *Objects) Proxy(v Value) (target, handler Value, ok bool) {
	if !e.isClass(v, lib.EJS_CLASS_PROXY) {
		return Undefined, Undefined, false
	}
	p := (*lib.TJSProxyData)(pointer(lib.XJS_GetOpaque(e.tls, v, lib.EJS_CLASS_PROXY)))
	if p.Fis_revoked != 0 {
		return Undefined, Undefined, true
	}
	return p.Ftarget, p.Fhandler, true
}

// Global returns the global object.
func (e *Objects) Global() Value { return lib.XJS_GetGlobalObject(e.tls, e.ctx) }

// Atom returns the atom of a property name; the caller frees it. It is 0, with a pending exception,
// if out of memory.
func (e *Objects) Atom(name string) Atom {
	return lib.XJS_NewAtomLen(e.tls, e.ctx, e.copy(name), lib.Tsize_t(len(name)))
}

// AtomOf returns the atom of a property key that is a value, such as a symbol; the caller frees it.
func (e *Objects) AtomOf(v Value) Atom { return lib.XJS_ValueToAtom(e.tls, e.ctx, v) }

// FreeAtom frees an atom.
func (e *Objects) FreeAtom(a Atom) { lib.XJS_FreeAtom(e.tls, e.ctx, a) }

// AtomText returns the name of an atom.
func (e *Objects) AtomText(a Atom) string {
	v := lib.XJS_AtomToString(e.tls, e.ctx, a)
	s, ok := e.Text(v)
	if !ok {
		e.Drop()
	}
	e.Free(v)
	return s
}

// AtomString returns the string of an atom, which the engine interns.
func (e *Objects) AtomString(a Atom) Value {
	if a == 0 {
		return Failed
	}
	return lib.XJS_AtomToString(e.tls, e.ctx, a)
}

// Object returns an empty object.
func (e *Objects) Object() Value { return lib.XJS_NewObject(e.tls, e.ctx) }

// Array returns an empty array.
func (e *Objects) Array() Value { return lib.XJS_NewArray(e.tls, e.ctx) }

// Get reads a property.
func (e *Objects) Get(v Value, a Atom) Value {
	if a == 0 {
		return Failed
	}
	return lib.XJS_GetPropertyInternal(e.tls, e.ctx, v, a, v, 0)
}

// GetName reads a property by name.
func (e *Objects) GetName(v Value, name string) Value {
	a := e.Atom(name)
	defer e.FreeAtom(a)
	return e.Get(v, a)
}

// Define adds a data property; it consumes v.
func (e *Objects) Define(obj Value, a Atom, v Value) bool {
	if a == 0 {
		e.Free(v)
		return false
	}
	return lib.XJS_DefinePropertyValue(e.tls, e.ctx, obj, a, v, lib.MJS_PROP_C_W_E) >= 0
}

// DefineName adds a data property by name; it consumes v.
func (e *Objects) DefineName(obj Value, name string, v Value) bool {
	a := e.Atom(name)
	defer e.FreeAtom(a)
	return e.Define(obj, a, v)
}

// Append adds an element at index i of an array; it consumes v.
func (e *Objects) Append(arr Value, i int, v Value) bool {
	return lib.XJS_DefinePropertyValueUint32(e.tls, e.ctx, arr, uint32(i), v, lib.MJS_PROP_C_W_E) >= 0
}

// Index reads an element of an array.
func (e *Objects) Index(arr Value, i int) Value {
	return lib.XJS_GetPropertyUint32(e.tls, e.ctx, arr, uint32(i))
}

// Len returns the length of an array.
func (e *Objects) Len(arr Value) int {
	v := e.Get(arr, lib.EJS_ATOM_length)
	n, _ := AsNumber(v)
	e.Free(v)
	return int(n)
}

// Each calls f for the own enumerable properties of an object with string keys. f borrows the
// value; an error of f ends the iteration. Each reports false if reading threw, also because f
// changed the object, as getters of its values can.
func (e *Objects) Each(obj Value, f func(a Atom, v Value) error) (ok bool, err error) {
	if o := e.object(obj); o.Fclass_id == lib.EJS_CLASS_OBJECT {
		if done, ok, err := e.eachPlain(o, f); done {
			return ok, err
		}
	}
	out := e.tls.Alloc(16)
	defer e.tls.Free(16)
	if lib.XJS_GetOwnPropertyNames(e.tls, e.ctx, out, out+8, obj, lib.MJS_GPN_STRING_MASK|lib.MJS_GPN_ENUM_ONLY) < 0 {
		return false, nil
	}
	tab, n := *(*uintptr)(pointer(out)), *(*uint32)(pointer(out + 8))
	defer lib.XJS_FreePropertyEnum(e.tls, e.ctx, tab, n)
	for _, p := range unsafe.Slice((*lib.TJSPropertyEnum)(pointer(tab)), n) {
		v := e.Get(obj, p.Fatom)
		if IsFailed(v) {
			return false, nil
		}
		err := f(p.Fatom, v)
		e.Free(v)
		if err != nil {
			return true, err
		}
	}
	return true, nil
}

// eachPlain iterates over the properties of an ordinary object in place, without copying names. It
// is not done, and has not called f, if the object has anything but data properties.
func (e *Objects) eachPlain(o *lib.TJSObject, f func(a Atom, v Value) error) (done, ok bool, err error) {
	sh := (*lib.TJSShape)(pointer(o.Fshape))
	n := int(sh.Fprop_count)
	if n == 0 {
		return true, true, nil
	}
	props := unsafe.Slice((*lib.TJSShapeProperty)(pointer(o.Fshape+unsafe.Sizeof(*sh)+uintptr(sh.Fprop_hash_mask)*4+4)), n)
	values := unsafe.Slice((*Value)(pointer(o.Fprop)), n)
	for _, p := range props {
		flags := p.F__ccgo0 >> 26
		if p.Fatom != 0 && (flags&lib.MJS_PROP_TMASK != 0 || p.Fatom&(1<<31) != 0) {
			return false, false, nil
		}
	}
	for i, p := range props {
		flags := p.F__ccgo0 >> 26
		if flags&lib.MJS_PROP_TMASK != 0 {
			e.throwChanged()
			return true, false, nil
		}
		if p.Fatom == 0 || flags&lib.MJS_PROP_ENUMERABLE == 0 || e.isSymbol(p.Fatom) {
			continue
		}
		b := e.borrow(o, values[i])
		err := f(p.Fatom, b.v)
		if !e.giveBack(&b) {
			return true, false, nil
		}
		if err != nil {
			return true, true, err
		}
	}
	return true, true, nil
}

// A borrowed is the value of a property of an object while it is read. The code of getters can
// change the object meanwhile: only values that are objects have it.
type borrowed struct {
	v  Value
	of *lib.TJSObject // nil unless v is an object
	at place
}

func (e *Objects) borrow(o *lib.TJSObject, v Value) (b borrowed) {
	b.v = v
	if IsObject(v) {
		e.Dup(v)
		b.of, b.at = o, placeOf(o)
	}
	return b
}

// giveBack reports false, with a pending exception, if the properties of the object have moved.
func (e *Objects) giveBack(b *borrowed) bool {
	if b.of == nil {
		return true
	}
	e.Free(b.v)
	if placeOf(b.of) != b.at {
		e.throwChanged()
		return false
	}
	return true
}

// A place is where the properties of an object are.
type place struct {
	shape, values uintptr
	mask          uint32
	count         int32
}

func placeOf(o *lib.TJSObject) place {
	sh := (*lib.TJSShape)(pointer(o.Fshape))
	return place{o.Fshape, o.Fprop, sh.Fprop_hash_mask, sh.Fprop_count}
}

// throwChanged throws the exception for an object that was changed while it was read.
func (e *Objects) throwChanged() {
	e.Throw(e.NewError("the object was changed while it was read"))
}

// isSymbol reports whether an atom is not the atom of a string.
func (e *Objects) isSymbol(a Atom) bool {
	rt := (*lib.TJSRuntime)(pointer(e.rt))
	p := *(*uintptr)(pointer(rt.Fatom_array + uintptr(a)*8))
	return (*lib.TJSAtomStruct)(pointer(p)).F__ccgo4>>30 != atomTypeString
}

// atomTypeString is the type of string atoms in the engine's table.
const atomTypeString = 1

// Instance reports whether v is an instance of class or a subclass of it.
func (e *Objects) Instance(v, class Value) bool {
	r := lib.XJS_IsInstanceOf(e.tls, e.ctx, v, class)
	if r < 0 {
		e.Drop()
	}
	return r > 0
}

// A State is the state of a promise.
type State int

// The states of a promise.
const (
	Pending   State = lib.EJS_PROMISE_PENDING
	Fulfilled State = lib.EJS_PROMISE_FULFILLED
	Rejected  State = lib.EJS_PROMISE_REJECTED
)

// Promise returns the state of a promise and, if it is settled, its value or reason.
func (e *Objects) Promise(p Value) (State, Value) {
	s := State(lib.XJS_PromiseState(e.tls, e.ctx, p))
	if s == Pending {
		return s, Undefined
	}
	return s, lib.XJS_PromiseResult(e.tls, e.ctx, p)
}

// NewPromise returns a promise and the functions that settle it.
func (e *Objects) NewPromise() (promise, resolve, reject Value) {
	out := e.tls.Alloc(2 * valueSize)
	defer e.tls.Free(2 * valueSize)
	promise = lib.XJS_NewPromiseCapability(e.tls, e.ctx, out)
	if IsFailed(promise) {
		return promise, Undefined, Undefined
	}
	f := unsafe.Slice((*Value)(pointer(out)), 2)
	return promise, f[0], f[1]
}

// ParseJSON parses JSON text; name is for messages.
func (e *Objects) ParseJSON(text, name string) Value {
	cname := e.cstring(name)
	defer e.freeCString(cname)
	v := lib.XJS_ParseJSON(e.tls, e.ctx, e.copy(text), lib.Tsize_t(len(text)), cname)
	e.shrink()
	return v
}

// property reads a property as text, which is empty on any error.
func (e *Objects) property(v Value, name string) string {
	p := e.GetName(v, name)
	if IsFailed(p) {
		e.Drop()
		return ""
	}
	defer e.Free(p)
	if !IsString(p) {
		return ""
	}
	s, ok := e.Text(p)
	if !ok {
		e.Drop()
	}
	return s
}

// NewError returns a new Error.
func (e *Objects) NewError(message string) Value {
	v := lib.XJS_NewError(e.tls, e.ctx)
	if IsFailed(v) {
		return v
	}
	msg := e.String(message)
	if IsFailed(msg) {
		e.Free(v)
		return msg
	}
	if lib.XJS_DefinePropertyValue(e.tls, e.ctx, v, lib.EJS_ATOM_message, msg,
		lib.MJS_PROP_CONFIGURABLE|lib.MJS_PROP_WRITABLE) < 0 {
		e.Free(v)
		return Failed
	}
	return v
}
