// SPDX-License-Identifier: Apache-2.0

package java

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

// A codec writes values of one Go type into bodies and reads them. It is made once for each type, and then works on
// memory without reflection wherever that is possible.
type codec struct {
	// write appends the value at p, whose error is one of a value that cannot be written.
	write func(b []byte, p unsafe.Pointer) ([]byte, error)
	// read stores a value at p, where there is a zero value.
	read func(r *in, p unsafe.Pointer)
}

// codecs has the codecs of types that were met.
var codecs sync.Map

var (
	timeType    = reflect.TypeFor[time.Time]()
	messageType = reflect.TypeFor[wire.Coded]()
	objectType  = reflect.TypeFor[map[string]any]()
)

// codecOf returns the codec of a type. Types that refer to themselves have none.
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
		return messageCodec(t), nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolCodec, nil
	case reflect.Int32:
		return intCodec[int32](), nil
	case reflect.Int64:
		return intCodec[int64](), nil
	case reflect.Int:
		return intCodec[int](), nil
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
	write: func(b []byte, p unsafe.Pointer) ([]byte, error) { return appendBool(b, *(*bool)(p)), nil },
	read:  func(r *in, p unsafe.Pointer) { *(*bool)(p) = r.bool() },
}

func intCodec[T int | int32 | int64]() *codec {
	return &codec{
		write: func(b []byte, p unsafe.Pointer) ([]byte, error) { return appendInt(b, int64(*(*T)(p))), nil },
		read: func(r *in, p unsafe.Pointer) {
			v := r.int()
			if int64(T(v)) != v {
				r.fail()
				return
			}
			*(*T)(p) = T(v)
		},
	}
}

var float32Codec = &codec{
	write: func(b []byte, p unsafe.Pointer) ([]byte, error) {
		return binary.BigEndian.AppendUint32(b, math.Float32bits(*(*float32)(p))), nil
	},
	read: func(r *in, p unsafe.Pointer) { *(*float32)(p) = r.float32() },
}

var float64Codec = &codec{
	write: func(b []byte, p unsafe.Pointer) ([]byte, error) {
		return binary.BigEndian.AppendUint64(b, math.Float64bits(*(*float64)(p))), nil
	},
	read: func(r *in, p unsafe.Pointer) { *(*float64)(p) = r.float64() },
}

var stringCodec = &codec{
	write: func(b []byte, p unsafe.Pointer) ([]byte, error) { return appendString(b, *(*string)(p)), nil },
	read:  func(r *in, p unsafe.Pointer) { *(*string)(p) = r.string() },
}

var bytesCodec = &codec{
	write: func(b []byte, p unsafe.Pointer) ([]byte, error) { return appendBytes(b, *(*[]byte)(p)), nil },
	read: func(r *in, p unsafe.Pointer) {
		if v := r.view(); len(v) > 0 {
			*(*[]byte)(p) = append([]byte{}, v...)
		}
	},
}

// timeCodec knows milliseconds, as the rest of the server does.
var timeCodec = &codec{
	write: func(b []byte, p unsafe.Pointer) ([]byte, error) {
		return appendInt(b, (*time.Time)(p).UnixMilli()), nil
	},
	read: func(r *in, p unsafe.Pointer) { *(*time.Time)(p) = time.UnixMilli(r.int()).UTC() },
}

// objectCodec is the one of values without a declared shape, which travel as JSON.
var objectCodec = &codec{
	write: func(b []byte, p unsafe.Pointer) ([]byte, error) {
		v := *(*map[string]any)(p)
		if v == nil {
			return appendString(b, "{}"), nil
		}
		text, err := json.Marshal(v)
		return appendBytes(b, text), err
	},
	read: func(r *in, p unsafe.Pointer) {
		if err := json.Unmarshal(r.view(), (*map[string]any)(p)); err != nil {
			r.fail()
		}
	},
}

// iface is how an interface lies in memory. A pointer is its own data.
type iface struct{ typ, data unsafe.Pointer }

// messageCodec is the one of a pointer to a protobuf message.
func messageCodec(t reflect.Type) *codec {
	none := reflect.Zero(t).Interface().(wire.Coded)
	of := func(p unsafe.Pointer) wire.Coded {
		m := none
		(*iface)(unsafe.Pointer(&m)).data = *(*unsafe.Pointer)(p)
		return m
	}
	return &codec{
		write: func(b []byte, p unsafe.Pointer) ([]byte, error) {
			if *(*unsafe.Pointer)(p) == nil {
				return append(b, 0), nil
			}
			m := of(p)
			n := m.SizeVT()
			return wire.Append(appendCount(append(b, 1), n), m, n)
		},
		read: func(r *in, p unsafe.Pointer) {
			if !r.bool() {
				return
			}
			*(*unsafe.Pointer)(p) = reflect.New(t.Elem()).UnsafePointer()
			// protobuf in Java writes no text that is not UTF-8.
			if err := of(p).UnmarshalVT(r.view()); err != nil && r.err == nil {
				r.fail()
			}
		},
	}
}

func pointerCodec(t reflect.Type) (*codec, error) {
	item, err := codecOf(t.Elem())
	if err != nil {
		return nil, err
	}
	return &codec{
		write: func(b []byte, p unsafe.Pointer) ([]byte, error) {
			q := *(*unsafe.Pointer)(p)
			if q == nil {
				return append(b, 0), nil
			}
			return item.write(append(b, 1), q)
		},
		read: func(r *in, p unsafe.Pointer) {
			if r.bool() {
				q := reflect.New(t.Elem()).UnsafePointer()
				item.read(r, q)
				*(*unsafe.Pointer)(p) = q
			}
		},
	}, nil
}

// structCodec writes the fields in the order of their declaration.
func structCodec(t reflect.Type) (*codec, error) {
	type field struct {
		*codec
		offset uintptr
	}
	fields := make([]field, t.NumField())
	for i := range fields {
		f := t.Field(i)
		c, err := codecOf(f.Type)
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		fields[i] = field{c, f.Offset}
	}
	return &codec{
		write: func(b []byte, p unsafe.Pointer) ([]byte, error) {
			var err error
			for _, f := range fields {
				if b, err = f.write(b, unsafe.Add(p, f.offset)); err != nil {
					return b, err
				}
			}
			return b, nil
		},
		read: func(r *in, p unsafe.Pointer) {
			for _, f := range fields {
				f.read(r, unsafe.Add(p, f.offset))
			}
		},
	}, nil
}

// slice is how a slice lies in memory.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

func sliceCodec(t reflect.Type) (*codec, error) {
	if t.Elem().Kind() == reflect.Uint8 {
		return bytesCodec, nil
	}
	item, err := codecOf(t.Elem())
	if err != nil {
		return nil, err
	}
	size := t.Elem().Size()
	return &codec{
		write: func(b []byte, p unsafe.Pointer) ([]byte, error) {
			s := (*slice)(p)
			b = appendCount(b, s.len)
			var err error
			for i := range s.len {
				if b, err = item.write(b, unsafe.Add(s.data, uintptr(i)*size)); err != nil {
					return b, err
				}
			}
			return b, nil
		},
		read: func(r *in, p unsafe.Pointer) {
			n := r.count()
			if n == 0 {
				return
			}
			// The count may lie about what follows by as much as a value has bytes: grow with what is really there.
			v := reflect.NewAt(t, p).Elem()
			for i := 0; i < n && r.err == nil; i++ {
				if i == v.Cap() {
					v.Grow(min(n-i, max(i, 1024)))
				}
				v.SetLen(i + 1)
				item.read(r, unsafe.Add((*slice)(p).data, uintptr(i)*size))
			}
		},
	}, nil
}

// mapCodec goes through reflection: there is no other way into a map.
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
		write: func(b []byte, p unsafe.Pointer) ([]byte, error) {
			m := reflect.NewAt(t, p).Elem()
			b = appendCount(b, m.Len())
			k, v := reflect.New(t.Key()), reflect.New(t.Elem())
			for it := m.MapRange(); it.Next(); {
				k.Elem().Set(it.Key())
				v.Elem().Set(it.Value())
				var err error
				if b, err = key.write(b, k.UnsafePointer()); err == nil {
					b, err = value.write(b, v.UnsafePointer())
				}
				if err != nil {
					return b, err
				}
			}
			return b, nil
		},
		read: func(r *in, p unsafe.Pointer) {
			n := r.count()
			if n == 0 {
				return
			}
			m := reflect.MakeMap(t)
			for i := 0; i < n && r.err == nil; i++ {
				k, v := reflect.New(t.Key()), reflect.New(t.Elem())
				key.read(r, k.UnsafePointer())
				value.read(r, v.UnsafePointer())
				m.SetMapIndex(k.Elem(), v.Elem())
			}
			reflect.NewAt(t, p).Elem().Set(m)
		},
	}, nil
}

// textMapCodec is mapCodec for the map that nearly all are.
var textMapCodec = &codec{
	write: func(b []byte, p unsafe.Pointer) ([]byte, error) {
		m := *(*map[string]string)(p)
		b = appendCount(b, len(m))
		for k, v := range m {
			b = appendString(appendString(b, k), v)
		}
		return b, nil
	},
	read: func(r *in, p unsafe.Pointer) {
		n := r.count()
		if n == 0 {
			return
		}
		m := make(map[string]string)
		for i := 0; i < n && r.err == nil; i++ {
			k := r.string()
			m[k] = r.string()
		}
		*(*map[string]string)(p) = m
	},
}

// A plan is how the parameters and the result of a method travel, and its number, which both ends know it by.
type plan struct {
	index  int
	types  []reflect.Type
	params []*codec
	// result is nil if there is none.
	result *codec
}

// newPlans makes the plans of all methods of the extension points.
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

// write appends the arguments of a call.
func (p *plan) write(b []byte, args []any) (_ []byte, err error) {
	for i, c := range p.params {
		if b, err = writeValue(b, c, p.types[i], &args[i]); err != nil {
			return b, fmt.Errorf("argument %d: %w", i+1, err)
		}
	}
	return b, nil
}

// writeValue appends a value of a declared type.
func writeValue(b []byte, c *codec, t reflect.Type, v *any) ([]byte, error) {
	if *v == nil {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			return c.write(b, reflect.New(t).UnsafePointer())
		}
		return b, fmt.Errorf("there is none, which cannot be a %s", t)
	}
	if is := reflect.TypeOf(*v); is != t {
		return b, fmt.Errorf("it is a %s and must be a %s", is, t)
	}
	if t.Kind() == reflect.Pointer {
		return c.write(b, unsafe.Pointer(&(*iface)(unsafe.Pointer(v)).data))
	}
	box := reflect.New(t)
	box.Elem().Set(reflect.ValueOf(*v))
	return c.write(b, box.UnsafePointer())
}

// read takes the answer to a call. It reports false if the function answered with nothing.
func (p *plan) read(body []byte, result any) (ok bool, err error) {
	r := &in{b: body}
	if ok = r.bool(); !ok || p.result == nil || result == nil {
		return ok && p.result != nil && result != nil, r.err
	}
	p.result.read(r, reflect.ValueOf(result).UnsafePointer())
	return true, r.end()
}
