// SPDX-License-Identifier: Apache-2.0

package js

import (
	"slices"
	"strings"

	"example.org/app/internal/plugin/js/engine"
)

// A record describes the objects of a struct or a message: the names of its fields, which are
// numbered in the order of their declaration.
type record struct {
	// id is the index of its outline in each translator.
	id int
	// typ is the name of the type for messages.
	typ    string
	labels []string
	// names are the labels by their number in the global table; aliases are other names that
	// plugins may use.
	names, aliases []int
}

// newRecord returns a record without fields. Its caller holds codecsMu.
func newRecord(typ string) record {
	records++
	return record{id: records - 1, typ: typ}
}

func (r *record) add(label, alias string) {
	r.labels = append(r.labels, label)
	r.names, r.aliases = append(r.names, name(label)), append(r.aliases, name(alias))
}

// An outline is what a translator knows of the objects of a record.
type outline struct {
	// fields are the fields by atom; nil until an object is read that has none of the layouts.
	fields map[engine.Atom]int
	// none is the layout of objects without fields. The others follow from it, and are listed by
	// their shape.
	none   layout
	shapes map[uintptr]*layout
}

// A layout is an order of fields in which objects were created.
type layout struct {
	fields []int
	// next are the layouts with one field more.
	next []*layout
	// engine is nil until an object has the layout, and if there are too many layouts.
	engine *engine.Layout
}

// maxLayouts is the number of layouts per engine that are kept.
const maxLayouts = 256

// with returns the layout with one field more.
func (l *layout) with(field int) *layout {
	last := len(l.fields)
	for _, n := range l.next {
		if n.fields[last] == field {
			return n
		}
	}
	n := &layout{fields: append(slices.Clone(l.fields), field)}
	l.next = append(l.next, n)
	return n
}

func (t *translator) outline(r *record) *outline {
	for r.id >= len(t.outlines) {
		t.outlines = append(t.outlines, nil)
	}
	o := t.outlines[r.id]
	if o == nil {
		o = &outline{shapes: map[uintptr]*layout{}}
		t.outlines[r.id] = o
	}
	return o
}

// A builder creates an object from its fields. Builders of objects in it use the same stack.
type builder struct {
	t      *translator
	record *record
	layout *layout
	first  int
}

func (t *translator) build(r *record) builder {
	return builder{t, r, &t.outline(r).none, len(t.stack)}
}

// add adds a field; it consumes its value. It reports false if the value stands for an exception,
// and the builder must not be used any more.
func (b *builder) add(field int, v engine.Value) bool {
	if engine.IsFailed(v) {
		b.t.free(b.t.stack[b.first:])
		b.t.stack = b.t.stack[:b.first]
		return false
	}
	b.layout = b.layout.with(field)
	b.t.stack = append(b.t.stack, v)
	return true
}

// object returns the object.
func (b *builder) object() engine.Value {
	t, values := b.t, b.t.stack[b.first:]
	t.stack = t.stack[:b.first]
	if b.layout.engine != nil || t.lay(b.record, b.layout) {
		return t.LaidOut(b.layout.engine, values)
	}
	obj := t.Object()
	for i, v := range values {
		if engine.IsFailed(obj) || !t.Define(obj, t.atom(b.record.names[b.layout.fields[i]]), v) {
			t.Free(obj)
			t.free(values[i+1:])
			return engine.Failed
		}
	}
	return obj
}

// lay makes the engine keep a layout. It reports false if it cannot.
func (t *translator) lay(r *record, l *layout) bool {
	if t.layouts == maxLayouts {
		return false
	}
	atoms := make([]engine.Atom, len(l.fields))
	for i, f := range l.fields {
		atoms[i] = t.atom(r.names[f])
	}
	laid, ok := t.NewLayout(atoms)
	if !ok {
		t.Drop()
		return false
	}
	t.layouts++
	l.engine = laid
	t.outline(r).shapes[laid.Shape()] = l
	return true
}

// readFields calls set for the fields of an object that are not nothing.
func (t *translator) readFields(r *record, v engine.Value, set func(field int, v engine.Value) error) error {
	if !engine.IsObject(v) || t.IsArray(v) || t.IsFunction(v) {
		return t.expected("an object", v)
	}
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	var ok bool
	var err error
	o := t.outline(r)
	if l := o.shapes[t.Shape(v)]; l != nil {
		ok, err = t.EachIn(l.engine, v, func(i int, item engine.Value) error {
			if engine.IsNothing(item) {
				return nil
			}
			if err := set(l.fields[i], item); err != nil {
				return at(err, r.labels[l.fields[i]])
			}
			return nil
		})
	} else if fields := t.fieldsOf(r, o); fields != nil {
		ok, err = t.Each(v, func(a engine.Atom, item engine.Value) error {
			if engine.IsNothing(item) {
				return nil
			}
			field, known := fields[a]
			if !known {
				return t.unknown(a, r)
			}
			if err := set(field, item); err != nil {
				return at(err, r.labels[field])
			}
			return nil
		})
	}
	if !ok {
		return engine.Thrown()
	}
	return err
}

// fieldsOf returns the fields by atom, or nil if memory is exhausted.
func (t *translator) fieldsOf(r *record, o *outline) map[engine.Atom]int {
	if o.fields != nil {
		return o.fields
	}
	m := make(map[engine.Atom]int, 2*len(r.names))
	for i := range r.names {
		alias, name := t.atom(r.aliases[i]), t.atom(r.names[i])
		if alias == 0 || name == 0 {
			return nil
		}
		m[alias], m[name] = i, i
	}
	o.fields = m
	return m
}

// unknown returns the mismatch for an unknown property.
func (t *translator) unknown(a engine.Atom, r *record) error {
	known := r.labels
	hint := strings.Join(known, ", ")
	if len(known) > 20 {
		hint = strings.Join(known[:20], ", ") + ", …"
	}
	if hint == "" {
		hint = "none"
	}
	return at(mismatchf("%s has no such field; it has: %s", r.typ, hint), t.AtomText(a))
}

// closeLayouts frees the layouts.
func (t *translator) closeLayouts() {
	for _, o := range t.outlines {
		if o != nil {
			for _, l := range o.shapes {
				t.FreeLayout(l.engine)
			}
		}
	}
	t.outlines = nil
}
