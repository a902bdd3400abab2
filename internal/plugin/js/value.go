// SPDX-License-Identifier: Apache-2.0

package js

import (
	"fmt"

	"example.org/app/internal/plugin/js/engine"
)

// text converts a value to text; "" if that throws.
func (t *translator) text(v engine.Value) string {
	s, ok := t.Text(v)
	if !ok {
		t.Drop()
	}
	return s
}

// content returns the bytes of a string or a buffer.
func (t *translator) content(v engine.Value) []byte {
	if b, ok := t.AsBytes(v); ok {
		return b
	}
	return []byte(t.text(v))
}

// pairs reads names and values, such as headers.
func (t *translator) pairs(v engine.Value) (list [][2]string, err error) {
	pairs, err := t.anyFromJS(v)
	if err != nil {
		return nil, err
	}
	all, _ := pairs.([]any)
	for _, p := range all {
		if kv, _ := p.([]any); len(kv) == 2 {
			list = append(list, [2]string{fmt.Sprint(kv[0]), fmt.Sprint(kv[1])})
		}
	}
	return list, nil
}

// property reads a property of a plugin's value; unreadable ones are undefined.
func (t *translator) property(v engine.Value, name string) engine.Value {
	p := t.GetName(v, name)
	if engine.IsFailed(p) {
		t.Drop()
		return engine.Undefined
	}
	return p
}

// has reports whether an object has a function.
func (t *translator) has(object engine.Value, name string) bool {
	f := t.property(object, name)
	defer t.Free(f)
	return t.IsFunction(f)
}

// nameOf is the name of a class.
func (t *translator) nameOf(class engine.Value) string {
	v := t.property(class, "name")
	defer t.Free(v)
	if s, _ := t.Text(v); engine.IsString(v) && s != "" {
		return s
	}
	return "(anonymous)"
}

// extends reports whether a class is base or extends it.
func (t *translator) extends(class, base engine.Value) bool {
	proto := t.GetName(class, "prototype")
	defer t.Free(proto)
	if !engine.IsObject(proto) {
		if engine.IsFailed(proto) {
			t.Drop()
		}
		return false
	}
	return t.Instance(proto, base)
}

// value returns v, or an error if an exception is pending.
func (t *translator) value(v engine.Value) (engine.Value, error) {
	if engine.IsFailed(v) {
		return v, engine.Thrown()
	}
	return v, nil
}

func (t *translator) free(values []engine.Value) {
	for _, v := range values {
		t.Free(v)
	}
}
