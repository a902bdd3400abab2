// SPDX-License-Identifier: Apache-2.0

package js

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"example.org/app/internal/plugin/js/engine"
)

// pointerCodec converts optional values.
type pointerCodec struct {
	typ  reflect.Type
	elem codec
}

func (c pointerCodec) empty(p reflect.Value) bool { return p.IsNil() }

func (c pointerCodec) to(t *translator, p reflect.Value) engine.Value {
	if p.IsNil() {
		return engine.Null
	}
	return c.elem.to(t, p.Elem())
}

func (c pointerCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	q := reflect.New(c.typ)
	if err := c.elem.from(t, v, q.Elem()); err != nil {
		return err
	}
	p.Set(q)
	return nil
}

// sliceCodec converts to an array.
type sliceCodec struct {
	typ  reflect.Type
	elem codec
}

func (c sliceCodec) empty(p reflect.Value) bool { return p.Len() == 0 }

func (c sliceCodec) to(t *translator, p reflect.Value) engine.Value {
	arr := t.Array()
	if engine.IsFailed(arr) {
		return arr
	}
	for i := range p.Len() {
		v := c.elem.to(t, p.Index(i))
		if engine.IsFailed(v) || !t.Append(arr, i, v) {
			t.Free(arr)
			return engine.Failed
		}
	}
	return arr
}

func (c sliceCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	if !t.IsArray(v) {
		return t.expected("an array", v)
	}
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	n := t.Len(v)
	s := reflect.MakeSlice(c.typ, 0, min(n, 1024))
	zero := reflect.Zero(c.typ.Elem())
	for i := range n {
		if err := t.part(); err != nil {
			return err
		}
		s = reflect.Append(s, zero)
		item := t.Index(v, i)
		if engine.IsFailed(item) {
			return engine.Thrown()
		}
		var err error
		if engine.IsNothing(item) {
			err = mismatchf("a value is expected, not %s", t.TypeOf(item))
		} else {
			err = c.elem.from(t, item, s.Index(i))
		}
		t.Free(item)
		if err != nil {
			return atIndex(err, i)
		}
	}
	p.Set(s)
	return nil
}

// mapCodec converts to an object.
type mapCodec struct {
	typ  reflect.Type
	elem codec
}

func newMapCodec(t reflect.Type) (codec, error) {
	switch t.Key().Kind() {
	case reflect.String, reflect.Int64, reflect.Int32, reflect.Bool:
	default:
		return nil, fmt.Errorf("keys of type %s have no counterpart in JavaScript", t.Key())
	}
	elem, err := makeCodec(t.Elem())
	return mapCodec{t, elem}, err
}

func (c mapCodec) empty(p reflect.Value) bool { return p.Len() == 0 }

func (c mapCodec) to(t *translator, p reflect.Value) engine.Value {
	if p.IsNil() {
		return engine.Null
	}
	obj := t.Object()
	if engine.IsFailed(obj) {
		return obj
	}
	keys := make([]string, 0, p.Len())
	values := make(map[string]reflect.Value, p.Len())
	for k, v := range p.Seq2() {
		s := fmt.Sprint(k.Interface())
		keys = append(keys, s)
		values[s] = v
	}
	slices.Sort(keys)
	for _, k := range keys {
		box := reflect.New(c.typ.Elem()).Elem()
		box.Set(values[k])
		v := c.elem.to(t, box)
		if engine.IsFailed(v) || !t.DefineName(obj, k, v) {
			t.Free(obj)
			return engine.Failed
		}
	}
	return obj
}

func (c mapCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	if !engine.IsObject(v) || t.IsArray(v) || t.IsFunction(v) {
		return t.expected("an object", v)
	}
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	m := reflect.MakeMap(c.typ)
	ok, err := t.Each(v, func(a engine.Atom, item engine.Value) error {
		if engine.IsUndefined(item) {
			return nil
		}
		text := t.AtomText(a)
		key, err := c.key(text)
		if err != nil {
			return at(err, text)
		}
		box := reflect.New(c.typ.Elem()).Elem()
		if item.Ftag != engine.Null.Ftag || c.typ.Elem() != anyType {
			if engine.IsNothing(item) {
				return at(mismatchf("a value is expected, not null"), text)
			}
			if err := c.elem.from(t, item, box); err != nil {
				return at(err, text)
			}
		}
		m.SetMapIndex(key, box)
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

func (c mapCodec) key(s string) (reflect.Value, error) {
	k := reflect.New(c.typ.Key()).Elem()
	var err error
	switch k.Kind() {
	case reflect.String:
		k.SetString(s)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(s)
		k.SetBool(b)
	default:
		var n int64
		n, err = strconv.ParseInt(s, 10, k.Type().Bits())
		k.SetInt(n)
	}
	if err != nil {
		return k, mismatchf("the key is not a whole number of %d bits", k.Type().Bits())
	}
	return k, nil
}

// structCodec converts to an object with the names in the json tags.
type structCodec struct {
	record
	fields []structField
}

type structField struct {
	index int
	omit  bool
	codec codec
}

func newStructCodec(t reflect.Type) (codec, error) {
	c := &structCodec{record: newRecord(t.Name())}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag == "-" {
			continue
		}
		if tag == "" {
			tag = strings.ToLower(f.Name[:1]) + f.Name[1:]
		}
		fc, err := makeCodec(f.Type)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		c.fields = append(c.fields, structField{i, strings.Contains(opts, "omit"), fc})
		c.add(tag, tag)
	}
	return c, nil
}

func (c *structCodec) empty(reflect.Value) bool { return false }

func (c *structCodec) to(t *translator, p reflect.Value) engine.Value {
	b := t.build(&c.record)
	for i := range c.fields {
		f := &c.fields[i]
		q := p.Field(f.index)
		if f.omit && f.codec.empty(q) {
			continue
		}
		if !b.add(i, f.codec.to(t, q)) {
			return engine.Failed
		}
	}
	return b.object()
}

func (c *structCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	return t.readFields(&c.record, v, func(i int, item engine.Value) error {
		f := &c.fields[i]
		return f.codec.from(t, item, p.Field(f.index))
	})
}

// anyCodec converts values without a static type.
type anyCodec struct{}

func (anyCodec) empty(p reflect.Value) bool { return p.IsNil() }

func (anyCodec) to(t *translator, p reflect.Value) engine.Value { return t.anyToJS(p.Interface()) }

func (anyCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	x, err := t.readAny(v)
	if x != nil {
		p.Set(reflect.ValueOf(x))
	}
	return err
}

func (t *translator) anyToJS(v any) engine.Value {
	switch v := v.(type) {
	case nil:
		return engine.Null
	case json.Number:
		// A number of JSON that a JavaScript number cannot represent stays text.
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil && (n > 1<<53-1 || n < -(1<<53-1)) {
			return t.String(string(v))
		}
		f, err := v.Float64()
		if err != nil {
			return t.String(string(v))
		}
		return engine.Number(f)
	case int:
		return engine.Number(float64(v))
	}
	typ := reflect.TypeOf(v)
	c, err := codecOf(typ)
	if err != nil {
		return t.String(fmt.Sprint(v))
	}
	r := t.toJS(c, typ, v)
	if engine.IsUndefined(r) {
		return engine.Null
	}
	return r
}

// anyFromJS reads a whole value of any kind.
func (t *translator) anyFromJS(v engine.Value) (any, error) {
	t.depth, t.parts, t.bytes = 0, 0, math.MaxInt // The caller limits it.
	return t.readAny(v)
}

func (t *translator) readAny(v engine.Value) (any, error) {
	if err := t.enter(); err != nil {
		return nil, err
	}
	defer t.leave()
	if b, ok := engine.AsBool(v); ok {
		return b, nil
	}
	if f, ok := engine.AsNumber(v); ok {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, nil
		}
		return f, nil
	}
	switch {
	case engine.IsNothing(v):
		return nil, nil
	case engine.IsString(v):
		return t.readText(v)
	case engine.IsBigInt(v):
		n, err := t.integer(v)
		return n, err
	case t.IsDate(v):
		return t.readTime(v)
	case t.IsArray(v):
		list := make([]any, 0, min(t.Len(v), 1024))
		for i := range t.Len(v) {
			item := t.Index(v, i)
			if engine.IsFailed(item) {
				return nil, engine.Thrown()
			}
			x, err := t.readAny(item)
			t.Free(item)
			if err != nil {
				return nil, atIndex(err, i)
			}
			list = append(list, x)
		}
		return list, nil
	case engine.IsObject(v) && !t.IsFunction(v):
		if n, ok := t.ByteLen(v); ok {
			if err := t.take(n); err != nil {
				return nil, err
			}
			b, _ := t.AsBytes(v)
			return b, nil
		}
		m := map[string]any{}
		ok, err := t.Each(v, func(a engine.Atom, item engine.Value) error {
			if engine.IsUndefined(item) || t.IsFunction(item) {
				return nil
			}
			text := t.AtomText(a)
			x, err := t.readAny(item)
			if err != nil {
				return at(err, text)
			}
			m[text] = x
			return nil
		})
		if !ok {
			return nil, engine.Thrown()
		}
		return m, err
	}
	return nil, mismatchf("%s cannot leave the plugin", t.TypeOf(v))
}
