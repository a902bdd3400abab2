// SPDX-License-Identifier: Apache-2.0

package js

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/plugin/js/engine"
)

// messageCodec converts a protobuf message by protobuf's JSON mapping: it accesses the fields of
// the generated struct, at a fraction of the cost of protobuf reflection.
type messageCodec struct {
	typ    reflect.Type
	label  string
	fields []messageField
	// oneofs are the members for oneofs.
	oneofs []oneof
	// plain are the numbers of the fields that are in no oneof.
	plain []int
	names []string
}

type messageField struct {
	name int
	// alias is the name in the declaration, which the mapping accepts, too.
	alias int
	// index is the index of the member of the generated struct.
	index int
	codec codec
	// oneof is the number of the field's oneof, or -1; wrapper is its wrapper struct.
	oneof   int
	wrapper reflect.Type
}

type oneof struct {
	index   int
	members map[reflect.Type]int
}

func newMessageCodec(t reflect.Type) (codec, error) {
	zero := reflect.New(t.Elem()).Interface().(proto.Message).ProtoReflect()
	d := zero.Descriptor()
	c := &messageCodec{typ: t.Elem(), label: string(d.Name())}
	byNumber, oneofs := structFields(t.Elem())
	oneofIndex := map[string]int{}
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		f := messageField{name: name(fd.JSONName()), alias: name(string(fd.Name())), oneof: -1}
		if od := fd.ContainingOneof(); od != nil && !od.IsSynthetic() {
			sf, ok := oneofs[string(od.Name())]
			if !ok {
				return nil, fmt.Errorf("%s has no member for %s", t, od.Name())
			}
			k, ok := oneofIndex[string(od.Name())]
			if !ok {
				k = len(c.oneofs)
				oneofIndex[string(od.Name())] = k
				c.oneofs = append(c.oneofs, oneof{sf.Index[0], map[reflect.Type]int{}})
			}
			// The type of the wrapper shows when the field is set.
			m := zero.New()
			m.Set(fd, m.NewField(fd))
			w := reflect.ValueOf(m.Interface()).Elem().FieldByIndex(sf.Index).Elem().Type().Elem()
			f.oneof, f.wrapper = k, w
			c.oneofs[k].members[w] = i
			fc, err := makeCodec(w.Field(0).Type)
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", t, fd.Name(), err)
			}
			f.codec = fc
		} else {
			sf, ok := byNumber[int(fd.Number())]
			if !ok {
				return nil, fmt.Errorf("%s has no member for %s", t, fd.Name())
			}
			fc, err := makeCodec(sf.Type)
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", t, fd.Name(), err)
			}
			if sf.Type == bytesType && fd.HasPresence() {
				fc = presentBytes{}
			}
			f.codec, f.index = fc, sf.Index[0]
			c.plain = append(c.plain, i)
		}
		c.fields = append(c.fields, f)
		c.names = append(c.names, fd.JSONName())
	}
	return c, nil
}

// structFields returns the members of a generated struct by the numbers and the names in their
// tags.
func structFields(t reflect.Type) (byNumber map[int]reflect.StructField, oneofs map[string]reflect.StructField) {
	byNumber, oneofs = map[int]reflect.StructField{}, map[string]reflect.StructField{}
	for i := range t.NumField() {
		f := t.Field(i)
		if tag := f.Tag.Get("protobuf"); tag != "" {
			parts := strings.SplitN(tag, ",", 3)
			if n, err := strconv.Atoi(parts[min(1, len(parts)-1)]); err == nil {
				byNumber[n] = f
			}
		}
		if tag := f.Tag.Get("protobuf_oneof"); tag != "" {
			oneofs[tag] = f
		}
	}
	return byNumber, oneofs
}

// presentBytes are bytes that are present if not nil.
type presentBytes struct{ bytesCodec }

func (presentBytes) empty(p reflect.Value) bool { return p.IsNil() }

func (c *messageCodec) empty(p reflect.Value) bool { return p.IsNil() }

func (c *messageCodec) to(t *translator, p reflect.Value) engine.Value {
	if p.IsNil() {
		return engine.Null
	}
	m := p.Elem()
	obj := t.Object()
	if engine.IsFailed(obj) {
		return obj
	}
	var s shape
	for _, i := range c.plain {
		f := &c.fields[i]
		q := m.Field(f.index)
		if f.codec.empty(q) {
			continue
		}
		s = s.with(f.name)
		v := f.codec.to(t, q)
		if engine.IsFailed(v) || !t.Define(obj, t.atom(f.name), v) {
			t.Free(obj)
			return engine.Failed
		}
	}
	for i := range c.oneofs {
		o := &c.oneofs[i]
		held := m.Field(o.index)
		if held.IsNil() {
			continue
		}
		wrapper := held.Elem().Elem()
		f := &c.fields[o.members[wrapper.Type()]]
		s = s.with(f.name)
		v := f.codec.to(t, wrapper.Field(0))
		if engine.IsFailed(v) || !t.Define(obj, t.atom(f.name), v) {
			t.Free(obj)
			return engine.Failed
		}
	}
	t.known(s, obj)
	return obj
}

// table is the fields by atom, nil if there is no memory for the atoms.
func (c *messageCodec) table(t *translator) map[engine.Atom]int {
	if m := t.fields[c]; m != nil {
		return m
	}
	m := make(map[engine.Atom]int, 2*len(c.fields))
	for i := range c.fields {
		alias, name := t.atom(c.fields[i].alias), t.atom(c.fields[i].name)
		if alias == 0 || name == 0 {
			return nil
		}
		m[alias], m[name] = i, i
	}
	t.fields[c] = m
	return m
}

func (c *messageCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	if !engine.IsObject(v) || t.IsArray(v) || t.IsFunction(v) {
		return t.expected("an object", v)
	}
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	m := reflect.New(c.typ)
	table := c.table(t)
	if table == nil {
		return engine.Thrown()
	}
	ok, err := t.Each(v, func(a engine.Atom, item engine.Value) error {
		if engine.IsNothing(item) {
			return nil
		}
		i, ok := table[a]
		if !ok {
			return t.unknown(a, c.label, c.names)
		}
		if err := c.set(t, &c.fields[i], item, m.Elem()); err != nil {
			return at(err, c.names[i])
		}
		return nil
	})
	if !ok {
		return engine.Thrown()
	}
	if err != nil {
		return err
	}
	p.Set(m)
	return nil
}

func (c *messageCodec) set(t *translator, f *messageField, v engine.Value, m reflect.Value) error {
	if f.oneof < 0 {
		return f.codec.from(t, v, m.Field(f.index))
	}
	o := &c.oneofs[f.oneof]
	held := m.Field(o.index)
	if !held.IsNil() {
		other := c.names[o.members[held.Elem().Type().Elem()]]
		return mismatchf("%s is there already, and only one of them can be", other)
	}
	w := reflect.New(f.wrapper)
	if err := f.codec.from(t, v, w.Elem().Field(0)); err != nil {
		return err
	}
	held.Set(w)
	return nil
}
