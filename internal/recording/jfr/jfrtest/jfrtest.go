// SPDX-License-Identifier: Apache-2.0

// Package jfrtest reads recordings in tests, with its own reader and with the jfr command of a JDK.
// The reader uses only the metadata of each chunk, and rejects any inconsistency.
package jfrtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// An Event is an event as described by its chunk's metadata. References to constants are resolved.
type Event struct {
	Type   string
	Start  time.Time
	Fields map[string]any
}

// Text returns a string field.
func (e Event) Text(name string) string {
	s, _ := e.Fields[name].(string)
	return s
}

// Number returns an integer field.
func (e Event) Number(name string) int64 {
	n, _ := e.Fields[name].(int64)
	return n
}

// Duration returns the duration of the event.
func (e Event) Duration() time.Duration { return time.Duration(e.Number("duration")) }

// Parse reads a whole file.
func Parse(data []byte) ([]Event, error) {
	var events []Event
	for chunk := 0; len(data) > 0; chunk++ {
		if len(data) < 68 || string(data[:4]) != "FLR\x00" {
			return nil, fmt.Errorf("chunk %d has no header", chunk)
		}
		size := binary.BigEndian.Uint64(data[8:])
		if size > uint64(len(data)) || size < 68 {
			return nil, fmt.Errorf("chunk %d has a size of %d of %d bytes", chunk, size, len(data))
		}
		found, err := parseChunk(data[:size])
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", chunk, err)
		}
		events = append(events, found...)
		data = data[size:]
	}
	return events, nil
}

type class struct {
	name   string
	event  bool
	simple bool
	fields []field
}

type field struct {
	name   string
	class  int64
	pooled bool
	array  bool
}

type reader struct {
	data    []byte
	at      int
	err     error
	classes map[int64]*class
	pools   map[int64]map[int64]any
	depth   int
}

// reference is a constant that is resolved when all are read.
type reference struct{ class, key int64 }

func parseChunk(data []byte) ([]Event, error) {
	at := func(offset int) int { return int(binary.BigEndian.Uint64(data[offset:])) }
	if data[64] != 0 || data[67]&1 == 0 {
		return nil, errors.New("the chunk is not complete, or its integers are not compressed")
	}
	checkpoint, metadata := at(16), at(24)
	if checkpoint < 68 || metadata < 68 || checkpoint >= len(data) || metadata >= len(data) {
		return nil, fmt.Errorf("checkpoint at %d and metadata at %d of %d bytes", checkpoint, metadata, len(data))
	}
	r := &reader{data: data, at: metadata, classes: map[int64]*class{}, pools: map[int64]map[int64]any{}}
	r.metadata()
	for delta := int64(checkpoint); r.err == nil; {
		r.at = int(delta)
		back := r.checkpoint()
		if back == 0 {
			break
		}
		if delta += back; back > 0 || delta < 68 {
			r.fail("a checkpoint refers to the offset %d", delta)
		}
	}
	var events []Event
	for r.at = 68; r.err == nil && r.at < len(data); {
		begin := r.at
		size, id := r.varint(), r.varint()
		if size <= 0 || size > int64(len(data)-begin) {
			r.fail("an event at %d has the size %d", begin, size)
			break
		}
		if id > 1 {
			if e, ok := r.event(id); ok {
				events = append(events, e)
			}
			if r.err == nil && int64(r.at-begin) != size {
				r.fail("an event of type %d at %d has %d bytes, not %d", id, begin, r.at-begin, size)
			}
		}
		r.at = begin + int(size)
	}
	return events, r.err
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) byte() byte {
	if r.at < 0 || r.at >= len(r.data) {
		r.fail("%w", io.ErrUnexpectedEOF)
		return 0
	}
	r.at++
	return r.data[r.at-1]
}

func (r *reader) varint() int64 {
	var v uint64
	for i := range 8 {
		b := r.byte()
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return int64(v)
		}
	}
	return int64(v | uint64(r.byte())<<56)
}

// count reads the number of elements that follow, which is at most the number of remaining bytes.
func (r *reader) count() int64 {
	n := r.varint()
	if n < 0 || n > int64(len(r.data)) {
		r.fail("%d elements follow in %d bytes", n, len(r.data))
		return 0
	}
	return n
}

func (r *reader) take(n int64) []byte {
	if n < 0 || n > int64(len(r.data)-r.at) {
		r.fail("%w", io.ErrUnexpectedEOF)
		return nil
	}
	r.at += int(n)
	return r.data[r.at-int(n) : r.at]
}

func (r *reader) string() any {
	switch tag := r.byte(); tag {
	case 0:
		return nil
	case 1:
		return ""
	case 2:
		return reference{r.classID("java.lang.String"), r.varint()}
	case 3, 5:
		return string(r.take(r.varint()))
	case 4:
		text := make([]rune, 0, 16)
		for n := r.count(); n > 0 && r.err == nil; n-- {
			text = append(text, rune(r.varint()))
		}
		return string(text)
	default:
		r.fail("a string has the tag %d", tag)
		return nil
	}
}

func (r *reader) classID(name string) int64 {
	for id, c := range r.classes {
		if c.name == name {
			return id
		}
	}
	r.fail("the metadata have no class %q", name)
	return 0
}

// metadata reads the classes.
func (r *reader) metadata() {
	begin := r.at
	size := r.varint()
	if r.varint() != 0 {
		r.fail("there are no metadata at %d", begin)
		return
	}
	r.varint()
	r.varint()
	r.varint()
	n := r.count()
	var texts []string
	for ; n > 0 && r.err == nil; n-- {
		s, _ := r.string().(string)
		texts = append(texts, s)
	}
	r.element(texts, nil)
	if r.err == nil && int64(r.at-begin) != size {
		r.fail("the metadata have %d bytes, not %d", r.at-begin, size)
	}
}

func (r *reader) element(texts []string, in *class) {
	if r.depth++; r.depth > 100 {
		r.fail("the metadata are too deep")
	}
	defer func() { r.depth-- }()
	text := func() string {
		i := r.varint()
		if i < 0 || i >= int64(len(texts)) {
			r.fail("the metadata have no string %d", i)
			return ""
		}
		return texts[i]
	}
	name := text()
	attributes := map[string]string{}
	for n := r.count(); n > 0 && r.err == nil; n-- {
		key := text()
		attributes[key] = text()
	}
	switch name {
	case "class":
		id, err := strconv.ParseInt(attributes["id"], 10, 64)
		if err != nil || r.classes[id] != nil {
			r.fail("the class %q has a bad id", attributes["name"])
		}
		in = &class{name: attributes["name"], event: attributes["superType"] == "jdk.jfr.Event", simple: attributes["simpleType"] == "true"}
		r.classes[id] = in
	case "field":
		id, err := strconv.ParseInt(attributes["class"], 10, 64)
		if err != nil || in == nil {
			r.fail("the field %q has a bad class", attributes["name"])
			return
		}
		in.fields = append(in.fields, field{attributes["name"], id, attributes["constantPool"] == "true", attributes["dimension"] == "1"})
	}
	for n := r.count(); n > 0 && r.err == nil; n-- {
		r.element(texts, in)
	}
}

// checkpoint reads the pools of one checkpoint, and returns the distance to the previous one.
func (r *reader) checkpoint() (delta int64) {
	begin := r.at
	size := r.varint()
	if r.varint() != 1 {
		r.fail("there is no checkpoint at %d", begin)
		return 0
	}
	r.varint()
	r.varint()
	delta = r.varint()
	r.byte()
	for pools := r.count(); pools > 0 && r.err == nil; pools-- {
		id := r.varint()
		c := r.classes[id]
		if c == nil {
			r.fail("a pool has the unknown class %d", id)
			return 0
		}
		if r.pools[id] == nil {
			r.pools[id] = map[int64]any{}
		}
		for n := r.count(); n > 0 && r.err == nil; n-- {
			key := r.varint()
			r.pools[id][key] = r.value(id)
		}
	}
	if r.err == nil && int64(r.at-begin) != size {
		r.fail("the checkpoint has %d bytes, not %d", r.at-begin, size)
	}
	return delta
}

// value reads a value of a class.
func (r *reader) value(id int64) any {
	c := r.classes[id]
	if c == nil {
		r.fail("the class %d is unknown", id)
		return nil
	}
	switch c.name {
	case "boolean", "byte":
		return int64(r.byte())
	case "short", "char", "int", "long":
		return r.varint()
	case "float":
		if b := r.take(4); b != nil {
			return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
		}
		return 0.0
	case "double":
		if b := r.take(8); b != nil {
			return math.Float64frombits(binary.BigEndian.Uint64(b))
		}
		return 0.0
	case "java.lang.String":
		return r.string()
	}
	fields := map[string]any{}
	for _, f := range c.fields {
		fields[f.name] = r.field(f)
	}
	if c.simple && len(c.fields) == 1 {
		return fields[c.fields[0].name]
	}
	return fields
}

func (r *reader) field(f field) any {
	one := func() any {
		if f.pooled {
			return reference{f.class, r.varint()}
		}
		return r.value(f.class)
	}
	if !f.array {
		return one()
	}
	var list []any
	for n := r.count(); n > 0 && r.err == nil; n-- {
		list = append(list, one())
	}
	return list
}

func (r *reader) event(id int64) (Event, bool) {
	c := r.classes[id]
	if c == nil || !c.event {
		r.fail("an event has the unknown type %d", id)
		return Event{}, false
	}
	e := Event{Type: c.name, Fields: map[string]any{}}
	for _, f := range c.fields {
		e.Fields[f.name] = r.resolve(r.field(f), 0)
	}
	// Ticks in events of a JVM are not times; the caller gets them unconverted.
	e.Start = time.Unix(0, e.Number("startTime"))
	return e, r.err == nil
}

// resolve replaces references by constants.
func (r *reader) resolve(v any, depth int) any {
	if depth > 20 {
		return nil
	}
	switch v := v.(type) {
	case reference:
		if v.key == 0 {
			return nil
		}
		constant, ok := r.pools[v.class][v.key]
		if !ok {
			if c := r.classes[v.class]; c != nil {
				r.fail("there is no constant %d of class %q", v.key, c.name)
			}
			return nil
		}
		return r.resolve(constant, depth+1)
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, value := range v {
			fields[name] = r.resolve(value, depth+1)
		}
		return fields
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = r.resolve(value, depth+1)
		}
		return list
	default:
		return v
	}
}
