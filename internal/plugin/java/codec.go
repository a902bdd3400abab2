// SPDX-License-Identifier: Apache-2.0

package java

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

// A codec encodes and decodes values of one Go type.
type codec struct {
	// write appends a value; an error means that it cannot be written. A struct must be
	// addressable.
	write func(b []byte, v reflect.Value) ([]byte, error)
	// read sets v, which is addressable and zero.
	read func(r *in, v reflect.Value)
}

// codecs caches the codecs by type.
var codecs sync.Map

var (
	timeType    = reflect.TypeFor[time.Time]()
	messageType = reflect.TypeFor[wire.Coded]()
	objectType  = reflect.TypeFor[map[string]any]()
)

// codecOf returns the codec of a type. It does not support recursive types.
func codecOf(t reflect.Type) (*codec, error) {
	if c, ok := codecs.Load(t); ok {
		return c.(*codec), nil
	}
	c, err := newCodec(t)
	if err != nil {
		return nil, err
	}
	known, _ := codecs.LoadOrStore(t, c)
	return known.(*codec), nil
}

func newCodec(t reflect.Type) (*codec, error) {
	switch {
	case t == timeType:
		return timeCodec, nil
	case t == objectType:
		return objectCodec, nil
	case t.Kind() == reflect.Pointer && t.Implements(messageType):
		return messageCodec, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolCodec, nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return intCodec, nil
	case reflect.Float32:
		return float32Codec, nil
	case reflect.Float64:
		return float64Codec, nil
	case reflect.String:
		return stringCodec, nil
	case reflect.Pointer:
		return pointerCodec(t)
	case reflect.Struct:
		return structCodec(t)
	case reflect.Slice:
		return sliceCodec(t)
	case reflect.Map:
		return mapCodec(t)
	}
	return nil, fmt.Errorf("the type %s has no counterpart in Java", t)
}

var boolCodec = &codec{
	write: func(b []byte, v reflect.Value) ([]byte, error) { return appendBool(b, v.Bool()), nil },
	read:  func(r *in, v reflect.Value) { v.SetBool(r.bool()) },
}

var intCodec = &codec{
	write: func(b []byte, v reflect.Value) ([]byte, error) { return appendInt(b, v.Int()), nil },
	read: func(r *in, v reflect.Value) {
		n := r.int()
		if v.OverflowInt(n) {
			r.fail()
			return
		}
		v.SetInt(n)
	},
}

var float32Codec = &codec{
	write: func(b []byte, v reflect.Value) ([]byte, error) {
		return binary.BigEndian.AppendUint32(b, math.Float32bits(float32(v.Float()))), nil
	},
	read: func(r *in, v reflect.Value) { v.SetFloat(float64(r.float32())) },
}

var float64Codec = &codec{
	write: func(b []byte, v reflect.Value) ([]byte, error) {
		return binary.BigEndian.AppendUint64(b, math.Float64bits(v.Float())), nil
	},
	read: func(r *in, v reflect.Value) { v.SetFloat(r.float64()) },
}

var stringCodec = &codec{
	write: func(b []byte, v reflect.Value) ([]byte, error) { return appendString(b, v.String()), nil },
	read:  func(r *in, v reflect.Value) { v.SetString(r.string()) },
}

var bytesCodec = &codec{
	write: func(b []byte, v reflect.Value) ([]byte, error) { return appendBytes(b, v.Bytes()), nil },
	read: func(r *in, v reflect.Value) {
		if view := r.view(); len(view) > 0 {
			v.SetBytes(bytes.Clone(view))
		}
	},
}

// timeCodec uses milliseconds, like the rest of the server.
var timeCodec = &codec{
	write: func(b []byte, v reflect.Value) ([]byte, error) {
		return appendInt(b, v.Addr().Interface().(*time.Time).UnixMilli()), nil
	},
	read: func(r *in, v reflect.Value) { *v.Addr().Interface().(*time.Time) = time.UnixMilli(r.int()).UTC() },
}

// objectCodec encodes values without a declared shape as JSON.
var objectCodec = &codec{
	write: func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return appendString(b, "{}"), nil
		}
		text, err := json.Marshal(v.Interface())
		return appendBytes(b, text), err
	},
	read: func(r *in, v reflect.Value) {
		if err := json.Unmarshal(r.view(), v.Addr().Interface()); err != nil {
			r.fail()
		}
	},
}

// messageCodec encodes a pointer to a protobuf message.
var messageCodec = &codec{
	write: func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, 0), nil
		}
		m := v.Interface().(wire.Coded)
		n := m.SizeVT()
		return wire.Append(appendCount(append(b, 1), n), m, n)
	},
	read: func(r *in, v reflect.Value) {
		if !r.bool() {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		// Java's protobuf writes only UTF-8.
		if err := v.Interface().(wire.Coded).UnmarshalVT(r.view()); err != nil && r.err == nil {
			r.fail()
		}
	},
}

func pointerCodec(t reflect.Type) (*codec, error) {
	item, err := codecOf(t.Elem())
	if err != nil {
		return nil, err
	}
	return &codec{
		write: func(b []byte, v reflect.Value) ([]byte, error) {
			if v.IsNil() {
				return append(b, 0), nil
			}
			return item.write(append(b, 1), v.Elem())
		},
		read: func(r *in, v reflect.Value) {
			if r.bool() {
				v.Set(reflect.New(t.Elem()))
				item.read(r, v.Elem())
			}
		},
	}, nil
}

// structCodec encodes the fields in the order of declaration.
func structCodec(t reflect.Type) (*codec, error) {
	fields := make([]*codec, t.NumField())
	for i := range fields {
		f := t.Field(i)
		c, err := codecOf(f.Type)
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		fields[i] = c
	}
	return &codec{
		write: func(b []byte, v reflect.Value) ([]byte, error) {
			var err error
			for i, f := range fields {
				if b, err = f.write(b, v.Field(i)); err != nil {
					return b, err
				}
			}
			return b, nil
		},
		read: func(r *in, v reflect.Value) {
			for i, f := range fields {
				f.read(r, v.Field(i))
			}
		},
	}, nil
}

func sliceCodec(t reflect.Type) (*codec, error) {
	if t.Elem().Kind() == reflect.Uint8 {
		return bytesCodec, nil
	}
	item, err := codecOf(t.Elem())
	if err != nil {
		return nil, err
	}
	return &codec{
		write: func(b []byte, v reflect.Value) ([]byte, error) {
			b = appendCount(b, v.Len())
			var err error
			for i := range v.Len() {
				if b, err = item.write(b, v.Index(i)); err != nil {
					return b, err
				}
			}
			return b, nil
		},
		read: func(r *in, v reflect.Value) {
			n := r.count()
			// The count may be wrong: grow with the actual data.
			for i := 0; i < n && r.err == nil; i++ {
				if i == v.Cap() {
					v.Grow(min(n-i, max(i, 1024)))
				}
				v.SetLen(i + 1)
				item.read(r, v.Index(i))
			}
		},
	}, nil
}

func mapCodec(t reflect.Type) (*codec, error) {
	if t == reflect.TypeFor[map[string]string]() {
		return textMapCodec, nil
	}
	key, err := codecOf(t.Key())
	if err != nil {
		return nil, err
	}
	value, err := codecOf(t.Elem())
	if err != nil {
		return nil, err
	}
	return &codec{
		write: func(b []byte, v reflect.Value) ([]byte, error) {
			b = appendCount(b, v.Len())
			k, item := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			for it := v.MapRange(); it.Next(); {
				k.SetIterKey(it)
				item.SetIterValue(it)
				var err error
				if b, err = key.write(b, k); err == nil {
					b, err = value.write(b, item)
				}
				if err != nil {
					return b, err
				}
			}
			return b, nil
		},
		read: func(r *in, v reflect.Value) {
			n := r.count()
			if n == 0 {
				return
			}
			v.Set(reflect.MakeMap(t))
			for i := 0; i < n && r.err == nil; i++ {
				k, item := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
				key.read(r, k)
				value.read(r, item)
				v.SetMapIndex(k, item)
			}
		},
	}, nil
}

// textMapCodec is the codec of map[string]string, the most frequent map.
var textMapCodec = &codec{
	write: func(b []byte, v reflect.Value) ([]byte, error) {
		m := v.Interface().(map[string]string)
		b = appendCount(b, len(m))
		for k, v := range m {
			b = appendString(appendString(b, k), v)
		}
		return b, nil
	},
	read: func(r *in, v reflect.Value) {
		n := r.count()
		if n == 0 {
			return
		}
		m := make(map[string]string)
		for i := 0; i < n && r.err == nil; i++ {
			k := r.string()
			m[k] = r.string()
		}
		v.Set(reflect.ValueOf(m))
	},
}

// A plan contains the codecs of a method's parameters and result, and its number in the protocol.
type plan struct {
	index  int
	types  []reflect.Type
	params []*codec
	// result is nil if the method has no result.
	result *codec
}

// newPlans returns the plans of all methods of the extension points.
func newPlans(points []*plugin.Point) (map[*plugin.Method]*plan, []*plugin.Method, error) {
	plans := make(map[*plugin.Method]*plan)
	var methods []*plugin.Method
	for _, point := range points {
		for _, m := range point.Methods {
			p, err := newPlan(m, len(methods))
			if err != nil {
				return nil, nil, fmt.Errorf("extension point %s: %w", point.Name, err)
			}
			plans[m] = p
			methods = append(methods, m)
		}
	}
	return plans, methods, nil
}

func newPlan(m *plugin.Method, index int) (*plan, error) {
	p := &plan{index: index}
	for _, param := range m.Params {
		c, err := codecOf(param.Type)
		if err != nil {
			return nil, fmt.Errorf("parameter %s of %s: %w", param.Name, m.Name, err)
		}
		p.types, p.params = append(p.types, param.Type), append(p.params, c)
	}
	if m.Result == nil {
		return p, nil
	}
	var err error
	if p.result, err = codecOf(m.Result); err != nil {
		return nil, fmt.Errorf("result of %s: %w", m.Name, err)
	}
	return p, nil
}

// write encodes the arguments of a call.
func (p *plan) write(b []byte, args []any) (_ []byte, err error) {
	for i, c := range p.params {
		if b, err = writeValue(b, c, p.types[i], args[i]); err != nil {
			return b, fmt.Errorf("argument %d: %w", i+1, err)
		}
	}
	return b, nil
}

// writeValue encodes a value of a declared type.
func writeValue(b []byte, c *codec, t reflect.Type, v any) ([]byte, error) {
	if v == nil {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			return c.write(b, reflect.Zero(t))
		}
		return b, fmt.Errorf("there is none, which cannot be a %s", t)
	}
	value := reflect.ValueOf(v)
	if is := value.Type(); is != t {
		return b, fmt.Errorf("it is a %s and must be a %s", is, t)
	}
	if t.Kind() == reflect.Struct {
		box := reflect.New(t).Elem()
		box.Set(value)
		value = box
	}
	return c.write(b, value)
}

// read decodes the result of a call. ok is false if the function returned nothing.
func (p *plan) read(body []byte, result any) (ok bool, err error) {
	r := &in{b: body}
	if ok = r.bool(); !ok || p.result == nil || result == nil {
		return ok && p.result != nil && result != nil, r.err
	}
	p.result.read(r, reflect.ValueOf(result).Elem())
	return true, r.end()
}
