// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"unsafe"

	lib "modernc.org/libquickjs"
)

// A Layout is an order of properties, which the engine calls a shape. The engine drops a shape with
// the last object that has it; a Layout keeps it, so that objects can be created and read without
// looking up each of their properties.
type Layout struct {
	// empty and full are objects without and with the properties.
	empty, full Value
	shape       uintptr
	count       int
}

// NewLayout returns the layout of objects with these properties. It reports false, with a pending
// exception, if two have the same name or memory is exhausted.
func (e *Objects) NewLayout(names []Atom) (*Layout, bool) {
	l := &Layout{empty: e.Object(), full: e.Object(), count: len(names)}
	if IsFailed(l.empty) || IsFailed(l.full) {
		e.FreeLayout(l)
		return nil, false
	}
	for _, a := range names {
		if !e.Define(l.full, a, Undefined) {
			e.FreeLayout(l)
			return nil, false
		}
	}
	l.shape = e.object(l.full).Fshape
	if int((*lib.TJSShape)(pointer(l.shape)).Fprop_count) != l.count {
		e.FreeLayout(l)
		e.Throw(e.NewError("two properties have the same name"))
		return nil, false
	}
	return l, true
}

// FreeLayout frees a layout. Objects that have it remain valid.
func (e *Objects) FreeLayout(l *Layout) {
	e.Free(l.empty)
	e.Free(l.full)
}

// LaidOut returns a new object with the properties of a layout; it consumes their values.
func (e *Objects) LaidOut(l *Layout, values []Value) Value {
	v := e.Object()
	if IsFailed(v) {
		e.freeAll(values)
		return v
	}
	if len(values) == 0 {
		return v
	}
	o, sh := e.object(v), (*lib.TJSShape)(pointer(l.shape))
	props := lib.Xjs_realloc(e.tls, e.ctx, o.Fprop, lib.Tsize_t(sh.Fprop_size)*lib.Tsize_t(valueSize))
	if props == 0 {
		e.freeAll(values)
		e.Free(v)
		return Failed
	}
	copy(unsafe.Slice((*Value)(pointer(props)), l.count), values)
	// The shape of the new object is that of l.empty, which keeps it.
	*references(l.shape)++
	*references(o.Fshape)--
	o.Fprop, o.Fshape = props, l.shape
	return v
}

// EachIn is Each for an object that has a layout; f gets the position of each property.
func (e *Objects) EachIn(l *Layout, obj Value, f func(i int, v Value) error) (ok bool, err error) {
	o := e.object(obj)
	for i, v := range unsafe.Slice((*Value)(pointer(o.Fprop)), l.count) {
		b := e.borrow(o, v)
		err := f(i, v)
		if !e.giveBack(&b) {
			return false, nil
		}
		if err != nil {
			return true, err
		}
	}
	return true, nil
}

// Shape returns the identity of the order of the properties of an ordinary object, which equals
// that of a Layout if the object has it, and 0 for anything else.
func (e *Objects) Shape(v Value) uintptr {
	if !e.isClass(v, lib.EJS_CLASS_OBJECT) {
		return 0
	}
	return e.object(v).Fshape
}

// Shape returns the identity of the layout.
func (l *Layout) Shape() uintptr { return l.shape }

func (e *Objects) freeAll(values []Value) {
	for _, v := range values {
		e.Free(v)
	}
}

// references returns the number of references to a block of the engine's memory.
func references(p uintptr) *int32 { return (*int32)(pointer(p - 4)) }
