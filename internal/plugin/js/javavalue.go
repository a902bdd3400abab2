// SPDX-License-Identifier: Apache-2.0

package js

import (
	"math"

	"example.org/app/internal/plugin/java/remote"
	"example.org/app/internal/plugin/js/engine"
)

// maxNesting is the maximum nesting of values for Java.
const maxNesting = 64

// appendAll appends values one after another.
func (b *bridge) appendAll(body []byte, values []engine.Value) (_ []byte, err error) {
	for _, v := range values {
		if body, err = b.append(body, v, 0); err != nil {
			return body, err
		}
	}
	return body, nil
}

// append appends a value for Java.
func (b *bridge) append(body []byte, v engine.Value, depth int) ([]byte, error) {
	if is, ok := engine.AsBool(v); ok {
		return remote.AppendBool(body, is), nil
	}
	if f, ok := engine.AsNumber(v); ok {
		return appendNumber(body, f), nil
	}
	switch {
	case engine.IsNothing(v):
		return append(body, byte(remote.Null)), nil
	case engine.IsString(v):
		s, ok := b.engine.Text(v)
		if !ok {
			return body, engine.Thrown()
		}
		return remote.AppendString(body, s), nil
	case engine.IsBigInt(v):
		n, ok := b.engine.BigInt64(v)
		if !ok {
			return body, mismatchf("the BigInt has more than 64 bits: make a java.math.BigInteger of its text")
		}
		return remote.AppendLong(body, n), nil
	case engine.IsObject(v):
		if depth >= maxNesting {
			return body, mismatchf("the value is nested more than %d deep, or holds itself", maxNesting)
		}
		return b.appendObject(body, v, depth)
	}
	return body, mismatchf("%s cannot be passed to Java", b.engine.TypeOf(v))
}

// appendNumber encodes a number as the smallest Java type that represents it.
func appendNumber(body []byte, f float64) []byte {
	const exact = 1<<53 - 1
	if f != math.Trunc(f) || math.Abs(f) > exact || f == 0 && math.Signbit(f) {
		return remote.AppendDouble(body, f)
	}
	if n := int64(f); n != int64(int32(n)) {
		return remote.AppendLong(body, n)
	}
	return remote.AppendInt(body, int32(f))
}

func (b *bridge) appendObject(body []byte, v engine.Value, depth int) ([]byte, error) {
	e := b.engine
	if o := b.objectOf(v); o != nil {
		if o.session != b.session {
			return body, remote.ErrRestarted
		}
		return remote.AppendHandle(body, o.handle), nil
	}
	switch {
	case e.IsFunction(v):
		return b.appendFunction(body, v), nil
	case e.IsArray(v) || e.IsNumberArray(v):
		return b.appendItems(append(body, byte(remote.List)), v, e.Len(v), 1, depth)
	case e.IsSet(v), e.IsMap(v):
		list := e.Call(b.entries, engine.Undefined, v)
		if engine.IsFailed(list) {
			return body, engine.Thrown()
		}
		defer e.Free(list)
		if e.IsMap(v) {
			return b.appendItems(append(body, byte(remote.Dictionary)), list, e.Len(list), 2, depth)
		}
		return b.appendItems(append(body, byte(remote.List)), list, e.Len(list), 1, depth)
	case e.IsDate(v):
		return body, mismatchf("a Date cannot be passed to Java: pass its getTime(), or make a java.time.Instant of it")
	case e.IsPromise(v):
		return body, mismatchf("a promise cannot be passed to Java: await it before")
	}
	if bytes, ok := e.AsBytes(v); ok {
		return remote.AppendBytes(body, bytes), nil
	}
	if o := b.exceptionOf(v); o != nil && o.session == b.session {
		return remote.AppendHandle(body, o.handle), nil
	}
	is := e.Call(b.isRecord, engine.Undefined, v)
	if engine.IsFailed(is) {
		return body, engine.Thrown()
	}
	if record, _ := engine.AsBool(is); !record {
		return b.appendFunction(body, v), nil
	}
	return b.appendRecord(body, v, depth)
}

// appendItems encodes the items of an array whose entries have each so many.
func (b *bridge) appendItems(body []byte, v engine.Value, n, each, depth int) (_ []byte, err error) {
	body = remote.AppendNumber(body, uint64(n/each))
	for i := range n {
		item := b.engine.Index(v, i)
		if engine.IsFailed(item) {
			return body, engine.Thrown()
		}
		body, err = b.append(body, item, depth+1)
		b.engine.Free(item)
		if err != nil {
			return body, err
		}
	}
	return body, nil
}

// appendRecord appends an object as a map.
func (b *bridge) appendRecord(body []byte, v engine.Value, depth int) ([]byte, error) {
	count := 0
	var items []byte
	ok, err := b.engine.Each(v, func(a engine.Atom, item engine.Value) (err error) {
		count++
		items = remote.AppendString(items, b.engine.AtomText(a))
		items, err = b.append(items, item, depth+1)
		return err
	})
	if !ok {
		return body, engine.Thrown()
	}
	return append(remote.AppendNumber(append(body, byte(remote.Dictionary)), uint64(count)), items...), err
}

// read reads a value of Java.
func (b *bridge) read(r *remote.Reader) (engine.Value, error) {
	v, err := b.readValue(r)
	if err == nil && r.Err() != nil {
		err = r.Err()
	}
	if err == nil && engine.IsFailed(v) {
		err = engine.Thrown()
	}
	if err != nil {
		b.engine.Free(v)
		return engine.Failed, err
	}
	return v, nil
}

func (b *bridge) readValue(r *remote.Reader) (engine.Value, error) {
	e := b.engine
	switch tag := r.Tag(); tag {
	case remote.Null:
		return engine.Null, nil
	case remote.False, remote.True:
		return engine.Bool(tag == remote.True), nil
	case remote.Int, remote.Long:
		n := r.Int()
		if n > 1<<53-1 || n < -(1<<53-1) {
			return e.BigInt(n), nil
		}
		return engine.Number(float64(n)), nil
	case remote.Double:
		return engine.Number(r.Double()), nil
	case remote.String:
		return e.String(r.Text()), nil
	case remote.Bytes:
		return e.Bytes(r.View()), nil
	case remote.Handle:
		handle, typ, shape := r.Number(), r.Number(), remote.Shape(r.Byte())
		if r.Err() != nil {
			return engine.Undefined, r.Err()
		}
		return b.proxy(handle, typ, shape)
	case remote.List:
		return b.readList(r)
	case remote.Dictionary:
		items, err := b.readValues(r, 2)
		if err != nil {
			return engine.Undefined, err
		}
		defer b.module.t.free(items)
		return e.Call(b.makeMap, engine.Undefined, items...), nil
	case remote.Function:
		if f, ok := b.functions[r.Number()]; ok {
			return e.Dup(f), nil
		}
		return engine.Undefined, nil
	default:
		return engine.Undefined, mismatchf("Java gave a value of the unknown kind %d", tag)
	}
}

// readList reads a list as an array.
func (b *bridge) readList(r *remote.Reader) (engine.Value, error) {
	list := b.engine.Array()
	for i := range r.Count() {
		item, err := b.read(r)
		if err == nil && !b.engine.Append(list, i, item) {
			err = engine.Thrown()
		}
		if err != nil {
			b.engine.Free(list)
			return engine.Undefined, err
		}
	}
	return list, nil
}

// readValues reads a count, and so many values for each.
func (b *bridge) readValues(r *remote.Reader, each int) (list []engine.Value, err error) {
	for range r.Count() * each {
		v, err := b.read(r)
		if err != nil {
			b.module.t.free(list)
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// proxy returns the value that represents a Java object. Each received handle is released once.
func (b *bridge) proxy(handle, typ uint64, shape remote.Shape) (engine.Value, error) {
	if shape == remote.Class {
		return b.class(handle, typ)
	}
	if v, ok := b.live[handle]; ok {
		b.released = append(b.released, handle)
		return b.engine.Dup(v), nil
	}
	proto, ok := b.types[typ]
	if !ok {
		var err error
		if proto, err = b.describe(handle, b.makeType, b.engine.String(shapeNames[shape])); err != nil {
			b.released = append(b.released, handle)
			return engine.Undefined, err
		}
		b.types[typ] = proto
	}
	v := b.engine.HandleOf(proto, &javaObject{b, b.session, handle})
	if engine.IsFailed(v) {
		b.released = append(b.released, handle)
		return v, engine.Thrown()
	}
	b.live[handle] = v
	return v, nil
}

var shapeNames = map[remote.Shape]string{
	remote.Plain: "object", remote.Array: "array", remote.Iterable: "iterable", remote.Map: "map", remote.Exception: "object",
}

// class returns the function that represents a class.
func (b *bridge) class(handle, typ uint64) (engine.Value, error) {
	if v, ok := b.classes[typ]; ok {
		b.released = append(b.released, handle)
		return b.engine.Dup(v), nil
	}
	h := b.engine.Handle(&javaObject{b, b.session, handle})
	if engine.IsFailed(h) {
		return h, engine.Thrown()
	}
	v, err := b.describe(handle, b.makeClass, h)
	if err != nil {
		return engine.Undefined, err
	}
	b.classes[typ] = b.engine.Dup(v)
	return v, nil
}

// describe requests the members of a class and passes them to the program: makeType gets the name
// and extra, which it consumes; makeClass gets them in reverse order.
func (b *bridge) describe(handle uint64, make, extra engine.Value) (engine.Value, error) {
	defer b.engine.Free(extra)
	return b.ask(remote.Members, b.session, remote.AppendNumber(nil, handle), func(r *remote.Reader) (engine.Value, error) {
		name, methods, fields := r.Text(), r.Texts(), r.Texts()
		if r.Err() != nil {
			return engine.Undefined, r.Err()
		}
		args := []engine.Value{b.engine.String(name), b.engine.Dup(extra), b.t.anyToJS(methods), b.t.anyToJS(fields)}
		if make == b.makeClass {
			args[0], args[1] = args[1], args[0]
		}
		v := b.engine.Call(make, engine.Undefined, args...)
		b.module.t.free(args)
		if engine.IsFailed(v) {
			return v, engine.Thrown()
		}
		return v, nil
	})
}
