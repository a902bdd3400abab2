// SPDX-License-Identifier: Apache-2.0

package js

import (
	"encoding/base64"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"example.org/app/internal/plugin/js/engine"
)

type boolCodec struct{}

func (boolCodec) to(_ *translator, p reflect.Value) engine.Value { return engine.Bool(p.Bool()) }
func (boolCodec) empty(p reflect.Value) bool                     { return !p.Bool() }

func (boolCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	b, ok := engine.AsBool(v)
	if !ok {
		return t.expected("a boolean", v)
	}
	p.SetBool(b)
	return nil
}

type stringCodec struct{}

func (stringCodec) to(t *translator, p reflect.Value) engine.Value { return t.String(p.String()) }
func (stringCodec) empty(p reflect.Value) bool                     { return p.Len() == 0 }

func (stringCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	if !engine.IsString(v) {
		return t.expected("a string", v)
	}
	s, err := t.readText(v)
	if err != nil {
		return err
	}
	p.SetString(s)
	return nil
}

// smallCodec is for integers that a number holds exactly.
type smallCodec struct{ low, high int64 }

func newSmallCodec(kind reflect.Kind) smallCodec {
	switch kind {
	case reflect.Int8:
		return smallCodec{math.MinInt8, math.MaxInt8}
	case reflect.Int16:
		return smallCodec{math.MinInt16, math.MaxInt16}
	case reflect.Uint8:
		return smallCodec{0, math.MaxUint8}
	case reflect.Uint16:
		return smallCodec{0, math.MaxUint16}
	case reflect.Uint32:
		return smallCodec{0, math.MaxUint32}
	default:
		return smallCodec{math.MinInt32, math.MaxInt32}
	}
}

func (smallCodec) read(p reflect.Value) int64 {
	if p.CanInt() {
		return p.Int()
	}
	return int64(p.Uint())
}

func (c smallCodec) to(_ *translator, p reflect.Value) engine.Value {
	n := c.read(p)
	if n > math.MaxInt32 {
		return engine.Number(float64(n))
	}
	return engine.Int(int32(n))
}

func (c smallCodec) empty(p reflect.Value) bool { return c.read(p) == 0 }

func (c smallCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	n, err := t.integer(v)
	if err != nil {
		return err
	}
	if n < c.low || n > c.high {
		return mismatchf("%d is not between %d and %d", n, c.low, c.high)
	}
	if p.CanInt() {
		p.SetInt(n)
	} else {
		p.SetUint(uint64(n))
	}
	return nil
}

// integer converts a whole number, a BigInt or a decimal string.
func (t *translator) integer(v engine.Value) (int64, error) {
	if f, ok := engine.AsNumber(v); ok {
		if f != math.Trunc(f) || math.IsInf(f, 0) {
			return 0, mismatchf("%v is not a whole number", f)
		}
		if math.Abs(f) > 1<<53-1 {
			return 0, mismatchf("the number %s is not exact beyond 2^53: use a string or a BigInt", strconv.FormatFloat(f, 'f', 0, 64))
		}
		return int64(f), nil
	}
	if engine.IsString(v) {
		length, ok := t.TextInto(v, t.digits[:])
		if !ok {
			return 0, engine.Thrown()
		}
		if length <= len(t.digits) {
			if n, err := strconv.ParseInt(string(t.digits[:length]), 10, 64); err == nil {
				return n, nil
			}
		}
		s, _ := t.Text(v)
		return 0, mismatchf("%q is not a whole number of 64 bits", shorten(s))
	}
	if engine.IsBigInt(v) {
		n, ok := t.BigInt64(v)
		if !ok {
			return 0, mismatchf("the BigInt has more than 64 bits")
		}
		return n, nil
	}
	return 0, t.expected("a whole number", v)
}

type int64Codec struct{}

func (int64Codec) empty(p reflect.Value) bool { return p.Int() == 0 }

func (int64Codec) to(t *translator, p reflect.Value) engine.Value {
	return t.ASCII(strconv.AppendInt(t.digits[:0], p.Int(), 10))
}

func (int64Codec) from(t *translator, v engine.Value, p reflect.Value) error {
	n, err := t.integer(v)
	p.SetInt(n)
	return err
}

type uint64Codec struct{}

func (uint64Codec) empty(p reflect.Value) bool { return p.Uint() == 0 }

func (uint64Codec) to(t *translator, p reflect.Value) engine.Value {
	return t.ASCII(strconv.AppendUint(t.digits[:0], p.Uint(), 10))
}

func (uint64Codec) from(t *translator, v engine.Value, p reflect.Value) error {
	if engine.IsString(v) || engine.IsBigInt(v) {
		s, ok := t.Text(v)
		if !ok {
			return engine.Thrown()
		}
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return mismatchf("%q is not a whole number of 64 bits without sign", shorten(s))
		}
		p.SetUint(n)
		return nil
	}
	n, err := t.integer(v)
	if err == nil && n < 0 {
		err = mismatchf("%d is less than 0", n)
	}
	p.SetUint(uint64(n))
	return err
}

type floatCodec struct{}

func (floatCodec) empty(p reflect.Value) bool { return p.Float() == 0 }

func (floatCodec) to(_ *translator, p reflect.Value) engine.Value { return engine.Number(p.Float()) }

func (floatCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	f, ok := engine.AsNumber(v)
	if !ok {
		if !engine.IsString(v) {
			return t.expected("a number", v)
		}
		s, ok := t.Text(v)
		if !ok {
			return engine.Thrown()
		}
		var err error
		if f, err = strconv.ParseFloat(s, 64); err != nil {
			return mismatchf("%q is not a number", shorten(s))
		}
	}
	p.SetFloat(f)
	return nil
}

// timeCodec converts to a Date.
type timeCodec struct{}

func timeAt(p reflect.Value) *time.Time { return p.Addr().Interface().(*time.Time) }

func (timeCodec) empty(p reflect.Value) bool { return timeAt(p).IsZero() }

func (timeCodec) to(t *translator, p reflect.Value) engine.Value {
	return t.Date(float64(timeAt(p).UnixMilli()))
}

func (timeCodec) from(t *translator, v engine.Value, p reflect.Value) (err error) {
	*timeAt(p), err = t.readTime(v)
	return err
}

// readTime converts a Date, a number of milliseconds or a text.
func (t *translator) readTime(v engine.Value) (time.Time, error) {
	ms, ok := engine.AsNumber(v)
	switch {
	case t.IsDate(v):
		ms = t.DateValue(v)
	case engine.IsString(v):
		s, ok := t.Text(v)
		if !ok {
			return time.Time{}, engine.Thrown()
		}
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateOnly} {
			if when, err := time.Parse(layout, s); err == nil {
				return when.UTC(), nil
			}
		}
		return time.Time{}, mismatchf("%q is not a time in ISO 8601", shorten(s))
	case !ok:
		return time.Time{}, t.expected("a Date", v)
	}
	if math.IsNaN(ms) || math.Abs(ms) > 8.64e15 {
		return time.Time{}, mismatchf("the Date is invalid")
	}
	return time.UnixMilli(int64(ms)).UTC(), nil
}

// bytesCodec converts to base64 text.
type bytesCodec struct{}

func (bytesCodec) empty(p reflect.Value) bool { return p.Len() == 0 }

func (bytesCodec) to(t *translator, p reflect.Value) engine.Value {
	return t.ASCII(base64.StdEncoding.AppendEncode(nil, p.Bytes()))
}

func (bytesCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	if n, ok := t.ByteLen(v); ok {
		if err := t.take(n); err != nil {
			return err
		}
		b, _ := t.AsBytes(v)
		p.SetBytes(b)
		return nil
	}
	if !engine.IsString(v) {
		return t.expected("base64 text or a Uint8Array", v)
	}
	s, err := t.readText(v)
	if err != nil {
		return err
	}
	b, err := decodeBase64(s)
	if err != nil {
		return mismatchf("%q is not base64 text", shorten(s))
	}
	p.SetBytes(b)
	return nil
}

// decodeBase64 decodes both alphabets, with and without padding.
func decodeBase64(s string) ([]byte, error) {
	s = strings.TrimRight(s, "=")
	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.DecodeString(s)
	}
	return base64.RawStdEncoding.DecodeString(s)
}

// enumCodec converts to the name of a value; a value without a name stays a number.
type enumCodec struct {
	typ     string
	byName  map[string]int32
	strings map[int32]int
	names   []string
}

func newEnumCodec(t reflect.Type) codec {
	d := reflect.Zero(t).Interface().(protoreflect.Enum).Descriptor()
	c := &enumCodec{typ: string(d.Name()), byName: map[string]int32{}, strings: map[int32]int{}}
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		n := int32(v.Number())
		c.byName[string(v.Name())] = n
		c.names = append(c.names, string(v.Name()))
		if _, ok := c.strings[n]; !ok {
			c.strings[n] = name(string(v.Name()))
		}
	}
	return c
}

func (c *enumCodec) empty(p reflect.Value) bool { return p.Int() == 0 }

func (c *enumCodec) to(t *translator, p reflect.Value) engine.Value {
	n := int32(p.Int())
	if s, ok := c.strings[n]; ok {
		return t.AtomString(t.atom(s))
	}
	return engine.Int(n)
}

func (c *enumCodec) from(t *translator, v engine.Value, p reflect.Value) error {
	if f, ok := engine.AsNumber(v); ok {
		if f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
			return mismatchf("%v is not a value of %s", f, c.typ)
		}
		p.SetInt(int64(f))
		return nil
	}
	if !engine.IsString(v) {
		return t.expected("the name of a value of "+c.typ, v)
	}
	var name [64]byte
	length, ok := t.TextInto(v, name[:])
	if !ok {
		return engine.Thrown()
	}
	n, ok := c.byName[string(name[:min(length, len(name))])]
	if !ok {
		s, _ := t.Text(v)
		return mismatchf("%q is not one of %s", shorten(s), strings.Join(c.names, ", "))
	}
	p.SetInt(int64(n))
	return nil
}

// shorten truncates a plugin's text in a message.
func shorten(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}
