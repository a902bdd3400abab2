// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// encoder appends the JSON of a value. Encoders are compiled once for each result type, because
// most responses are lists of records: plain structs, lists, pointers, strings, numbers and dates
// are written directly, everything else by encoding/json. The output equals that of encoding/json
// without HTML escaping.
type encoder func(b []byte, v reflect.Value) ([]byte, error)

// encoders caches the encoders by type.
var encoders sync.Map // reflect.Type → encoder

// appendJSON appends the JSON of v.
func appendJSON(b []byte, v any) ([]byte, error) {
	if v == nil {
		return append(b, "null"...), nil
	}
	rv := reflect.ValueOf(v)
	return encoderOf(rv.Type())(b, rv)
}

func encoderOf(t reflect.Type) encoder {
	if e, ok := encoders.Load(t); ok {
		return e.(encoder)
	}
	e, _ := encoders.LoadOrStore(t, compileEncoder(t, map[reflect.Type]bool{}))
	return e.(encoder)
}

var (
	numberType        = reflect.TypeFor[json.Number]()
	stringsType       = reflect.TypeFor[[]string]()
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

// compileEncoder returns the encoder of a type. Recursive types are left to encoding/json; outer
// are the enclosing types.
func compileEncoder(t reflect.Type, outer map[reflect.Type]bool) encoder {
	switch {
	case t == dateType:
		return appendDate
	case t == stringsType:
		return appendStrings
	case t == numberType, outer[t], marshalsItself(t):
		return appendOther
	}
	outer[t] = true
	defer delete(outer, t)
	switch t.Kind() {
	case reflect.Bool:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(b, v.Bool()), nil }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(b, v.Int(), 10), nil }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendUint(b, v.Uint(), 10), nil }
	case reflect.String:
		return func(b []byte, v reflect.Value) ([]byte, error) { return appendString(b, v.String()) }
	case reflect.Pointer:
		return compilePointer(t, outer)
	case reflect.Slice:
		return compileSlice(t, outer)
	case reflect.Struct:
		return compileStruct(t, outer)
	default:
		return appendOther
	}
}

// marshalsItself reports whether encoding/json would call methods of the value, or of its address.
func marshalsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Implements(marshalerType) || t.Implements(textMarshalerType) || p.Implements(marshalerType) || p.Implements(textMarshalerType)
}

// appendOther encodes the value with encoding/json, by its address if it has one, so that pointer
// methods are used.
func appendOther(b []byte, v reflect.Value) ([]byte, error) {
	if v.CanAddr() {
		v = v.Addr()
	}
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.Interface()); err != nil {
		return b, err
	}
	return buf.Bytes()[:buf.Len()-1], nil // without the encoder's newline
}

func appendDate(b []byte, v reflect.Value) ([]byte, error) {
	var d Date
	if v.CanAddr() {
		d = *v.Addr().Interface().(*Date) // A copy through Interface would be allocated.
	} else {
		d = v.Interface().(Date)
	}
	b = append(b, '"')
	b = d.appendText(b)
	return append(b, '"'), nil
}

func appendStrings(b []byte, v reflect.Value) ([]byte, error) {
	var list []string
	if v.CanAddr() {
		list = *v.Addr().Interface().(*[]string)
	} else {
		list = v.Interface().([]string)
	}
	if list == nil {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	var err error
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendString(b, s); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func compilePointer(t reflect.Type, outer map[reflect.Type]bool) encoder {
	elem := compileEncoder(t.Elem(), outer)
	return func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return elem(b, v.Elem())
	}
}

func compileSlice(t reflect.Type, outer map[reflect.Type]bool) encoder {
	if t.Elem().Kind() == reflect.Uint8 {
		return appendOther // Bytes are written as base64.
	}
	elem := compileEncoder(t.Elem(), outer)
	return func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		b = append(b, '[')
		var err error
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = elem(b, v.Index(i)); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	}
}

// encodedField is a field of a struct with its encoder.
type encodedField struct {
	index  int
	key    string // with quotes and colon
	encode encoder
	omit   func(reflect.Value) bool // nil means never omitted
}

func compileStruct(t reflect.Type, outer map[reflect.Type]bool) encoder {
	fields, ok := compileFields(t, outer)
	if !ok {
		return appendOther
	}
	return func(b []byte, v reflect.Value) ([]byte, error) {
		b = append(b, '{')
		first := true
		var err error
		for i := range fields {
			f := &fields[i]
			fv := v.Field(f.index)
			if f.omit != nil && f.omit(fv) {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(b, f.key...)
			if b, err = f.encode(b, fv); err != nil {
				return b, err
			}
		}
		return append(b, '}'), nil
	}
}

// compileFields returns false for a struct that needs special rules of encoding/json: embedding,
// unusual names, quoted numbers.
func compileFields(t reflect.Type, outer map[reflect.Type]bool) ([]encodedField, bool) {
	var fields []encodedField
	seen := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			return nil, false
		}
		tag := f.Tag.Get("json")
		if !f.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			name = f.Name
		}
		if seen[name] || strings.ContainsFunc(name, unusualInName) {
			return nil, false
		}
		seen[name] = true
		field := encodedField{index: i, key: `"` + name + `":`, encode: compileEncoder(f.Type, outer)}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "":
			case "omitempty":
				field.omit = either(field.omit, emptiness(f.Type))
			case "omitzero":
				if _, own := f.Type.MethodByName("IsZero"); own || f.Type.Kind() == reflect.Interface {
					return nil, false
				}
				if _, own := reflect.PointerTo(f.Type).MethodByName("IsZero"); own {
					return nil, false
				}
				field.omit = either(field.omit, reflect.Value.IsZero)
			default:
				return nil, false
			}
		}
		fields = append(fields, field)
	}
	return fields, true
}

func unusualInName(r rune) bool {
	usual := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.'
	return !usual
}

func either(a, b func(reflect.Value) bool) func(reflect.Value) bool {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	return func(v reflect.Value) bool { return a(v) || b(v) }
}

// emptiness returns the omitempty test of a type, or nil if it has none.
func emptiness(t reflect.Type) func(reflect.Value) bool {
	switch t.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return func(v reflect.Value) bool { return v.Len() == 0 }
	case reflect.Struct, reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return nil
	default:
		return reflect.Value.IsZero
	}
}

// appendString appends a string in quotes. Hardly any string needs an escape, so it is copied first
// and checked afterwards.
func appendString(b []byte, s string) ([]byte, error) {
	start := len(b)
	b = append(b, '"')
	b = append(b, s...)
	if plain(b[start+1:]) {
		return append(b, '"'), nil
	}
	return appendOther(b[:start], reflect.ValueOf(s))
}

// plain reports whether text needs no escape in JSON: valid UTF-8 without control characters,
// quotation marks, backslashes and the two line separators of JavaScript.
func plain(text []byte) bool {
	if len(text) < 8 {
		return plainSlowly(text)
	}
	for i := 0; i <= len(text)-8; i += 8 {
		if !plainASCII(binary.LittleEndian.Uint64(text[i:])) {
			return plainSlowly(text[i:])
		}
	}
	// The last eight may overlap checked ones, which is cheaper than checking each.
	return plainASCII(binary.LittleEndian.Uint64(text[len(text)-8:])) || plainSlowly(text[len(text)&^7:])
}

// plainASCII checks eight characters at once. A byte x is below n if and only if x-n borrows from
// the non-ASCII bit, which is not set.
func plainASCII(w uint64) bool {
	const (
		each  = 0x0101010101010101
		high  = 0x80 * each
		quote = '"' * each
		slash = '\\' * each
	)
	if w&high != 0 {
		return false
	}
	control := w - 0x20*each
	quotes := (w ^ quote) - each
	slashes := (w ^ slash) - each
	return (control|quotes|slashes)&high == 0
}

func plainSlowly(text []byte) bool {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
			return false
		}
		i += size
	}
	return true
}
