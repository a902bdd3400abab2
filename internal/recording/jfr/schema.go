// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"errors"
	"fmt"
	"strconv"
)

// A Schema is the set of event types of a chunk. It is immutable and safe for concurrent use.
type Schema struct {
	types map[string]*Type
	// metadata is the metadata event after its start and duration.
	metadata []byte
}

// Ids of the types that are no events. They are greater than a JVM's, whose chunks may be in the
// same file: readers carry the constants of a type over to the next chunk by the id of the type.
const (
	idBoolean = iota + 10_000
	idByte
	idShort
	idInt
	idLong
	idFloat
	idDouble
	idString
	idClass
	idThread
	idThreadGroup
	idClassLoader
	idPackage
	idModule
	idSymbol
	idMethod
	idStackTrace
	idStackFrame
	idFrameType
	idThreadState
	idGCName
	idGCCause
	idGCWhen
	idVirtualSpace
	idLabel
	idDescription
	idCategory
	idTimestamp
	idTimespan
	idDataAmount
	idPercentage
	idMemoryAddress
	idContentType
	firstEvent = 10_100
)

// metadataID must differ from the metadata ids of a JVM, which count from 1: readers skip metadata
// whose id they have just seen.
const metadataID = 0x676f_0001

// kindInfo is how fields of a kind are declared.
type kindInfo struct {
	typeID     int
	pooled     bool
	annotation int // 0 is none
	value      string
}

var kindTable = [kinds]kindInfo{
	KindBoolean:     {typeID: idBoolean},
	KindInt:         {typeID: idInt},
	KindLong:        {typeID: idLong},
	KindFloat:       {typeID: idFloat},
	KindDouble:      {typeID: idDouble},
	KindString:      {typeID: idString},
	KindBytes:       {typeID: idLong, annotation: idDataAmount, value: "BYTES"},
	KindPercentage:  {typeID: idFloat, annotation: idPercentage},
	KindSpan:        {typeID: idLong, annotation: idTimespan, value: "NANOSECONDS"},
	KindAddress:     {typeID: idLong, annotation: idMemoryAddress},
	KindThread:      {typeID: idThread, pooled: true},
	KindStack:       {typeID: idStackTrace, pooled: true},
	KindClass:       {typeID: idClass, pooled: true},
	KindThreadState: {typeID: idThreadState, pooled: true},
	KindFrameType:   {typeID: idFrameType, pooled: true},
	KindGCName:      {typeID: idGCName, pooled: true},
	KindGCCause:     {typeID: idGCCause, pooled: true},
	KindGCWhen:      {typeID: idGCWhen, pooled: true},
	KindSpace:       {typeID: idVirtualSpace},
}

// NewSchema returns a schema of event types. The schema owns the types: each may be in one schema
// only.
func NewSchema(types ...*Type) (*Schema, error) {
	s := &Schema{types: map[string]*Type{}}
	for i, t := range types {
		switch {
		case t.Name == "":
			return nil, errors.New("jfr: an event type has no name")
		case s.types[t.Name] != nil:
			return nil, fmt.Errorf("jfr: event type %q is declared twice", t.Name)
		case t.id != 0:
			return nil, fmt.Errorf("jfr: event type %q belongs to another schema", t.Name)
		}
		names := map[string]bool{"startTime": true, "duration": t.Duration}
		for _, f := range t.Fields {
			if f.Name == "" || names[f.Name] || f.Kind >= kinds {
				return nil, fmt.Errorf("jfr: event type %q: field %q has no name, a name that is taken, or no kind", t.Name, f.Name)
			}
			names[f.Name] = true
		}
		s.types[t.Name] = t
		t.id = int64(firstEvent + i)
	}
	s.metadata = encodeMetadata(types)
	return s, nil
}

// Type returns the event type of a name, or nil.
func (s *Schema) Type(name string) *Type { return s.types[name] }

// element is a node of the metadata tree.
type element struct {
	name       string
	attributes [][2]string
	children   []*element
}

func (e *element) add(child *element) *element {
	e.children = append(e.children, child)
	return child
}

func encodeMetadata(types []*Type) []byte {
	root := &element{name: "root"}
	all := root.add(&element{name: "metadata"})
	for _, c := range builtin() {
		all.add(c)
	}
	for _, t := range types {
		all.add(t.element())
	}
	root.add(&element{name: "region", attributes: [][2]string{{"locale", "en_US"}, {"gmtOffset", "0"}}})

	e := metadataEncoder{index: map[string]int64{}}
	e.element(root)
	out := appendVarint(nil, metadataID)
	out = appendVarint(out, int64(len(e.strings)))
	for _, text := range e.strings {
		out = appendString(out, text)
	}
	return append(out, e.tree...)
}

// metadataEncoder writes the tree and collects its strings.
type metadataEncoder struct {
	strings []string
	index   map[string]int64
	tree    []byte
}

func (e *metadataEncoder) text(s string) {
	i, ok := e.index[s]
	if !ok {
		i = int64(len(e.strings))
		e.index[s] = i
		e.strings = append(e.strings, s)
	}
	e.tree = appendVarint(e.tree, i)
}

func (e *metadataEncoder) element(n *element) {
	e.text(n.name)
	e.tree = appendVarint(e.tree, int64(len(n.attributes)))
	for _, a := range n.attributes {
		e.text(a[0])
		e.text(a[1])
	}
	e.tree = appendVarint(e.tree, int64(len(n.children)))
	for _, c := range n.children {
		e.element(c)
	}
}

func class(name string, id int, attributes ...[2]string) *element {
	return &element{name: "class", attributes: append([][2]string{{"name", name}, {"id", strconv.Itoa(id)}}, attributes...)}
}

func field(name string, typeID int, attributes ...[2]string) *element {
	return &element{name: "field", attributes: append([][2]string{{"name", name}, {"class", strconv.Itoa(typeID)}}, attributes...)}
}

func annotation(typeID int, values ...string) *element {
	e := &element{name: "annotation", attributes: [][2]string{{"class", strconv.Itoa(typeID)}}}
	for i, v := range values {
		name := "value"
		if typeID == idCategory {
			name = "value-" + strconv.Itoa(i)
		}
		e.attributes = append(e.attributes, [2]string{name, v})
	}
	return e
}

var (
	pooled     = [2]string{"constantPool", "true"}
	simpleType = [2]string{"simpleType", "true"}
	array      = [2]string{"dimension", "1"}
)

// builtin declares the types that are no events.
func builtin() []*element {
	all := []*element{
		class("boolean", idBoolean), class("byte", idByte), class("short", idShort), class("int", idInt), class("long", idLong),
		class("float", idFloat), class("double", idDouble), class("java.lang.String", idString),
	}
	structure := func(name string, id int, attributes [][2]string, fields ...*element) {
		c := class(name, id, attributes...)
		c.children = fields
		all = append(all, c)
	}
	structure("java.lang.Class", idClass, nil, field("classLoader", idClassLoader, pooled), field("name", idSymbol, pooled),
		field("package", idPackage, pooled), field("modifiers", idInt), field("hidden", idBoolean))
	structure("java.lang.Thread", idThread, nil, field("osName", idString), field("osThreadId", idLong), field("javaName", idString),
		field("javaThreadId", idLong), field("group", idThreadGroup, pooled), field("virtual", idBoolean))
	structure("jdk.types.ThreadGroup", idThreadGroup, nil, field("parent", idThreadGroup, pooled), field("name", idString))
	structure("jdk.types.ClassLoader", idClassLoader, nil, field("type", idClass, pooled), field("name", idSymbol, pooled))
	structure("jdk.types.Module", idModule, nil, field("name", idSymbol, pooled))
	structure("jdk.types.Package", idPackage, nil, field("name", idSymbol, pooled), field("module", idModule, pooled), field("exported", idBoolean))
	structure("jdk.types.Symbol", idSymbol, [][2]string{simpleType}, field("string", idString))
	structure("jdk.types.Method", idMethod, nil, field("type", idClass, pooled), field("name", idSymbol, pooled),
		field("descriptor", idSymbol, pooled), field("modifiers", idInt), field("hidden", idBoolean))
	structure("jdk.types.StackTrace", idStackTrace, nil, field("truncated", idBoolean), field("frames", idStackFrame, array))
	structure("jdk.types.StackFrame", idStackFrame, nil, field("method", idMethod, pooled), field("lineNumber", idInt),
		field("bytecodeIndex", idInt), field("type", idFrameType, pooled))
	structure("jdk.types.FrameType", idFrameType, [][2]string{simpleType}, field("description", idString))
	structure("jdk.types.ThreadState", idThreadState, [][2]string{simpleType}, field("name", idString))
	structure("jdk.types.GCName", idGCName, [][2]string{simpleType}, field("name", idString))
	structure("jdk.types.GCCause", idGCCause, [][2]string{simpleType}, field("cause", idString))
	structure("jdk.types.GCWhen", idGCWhen, [][2]string{simpleType}, field("when", idString))
	address := func(name string) *element {
		f := field(name, idLong)
		f.add(annotation(idMemoryAddress))
		return f
	}
	size := func(name string) *element {
		f := field(name, idLong)
		f.add(annotation(idDataAmount, "BYTES"))
		return f
	}
	structure("jdk.types.VirtualSpace", idVirtualSpace, nil, address("start"), address("committedEnd"), size("committedSize"),
		address("reservedEnd"), size("reservedSize"))
	annotationType := [][2]string{{"superType", "java.lang.annotation.Annotation"}}
	structure("jdk.jfr.Label", idLabel, annotationType, field("value", idString))
	structure("jdk.jfr.Description", idDescription, annotationType, field("value", idString))
	structure("jdk.jfr.Category", idCategory, annotationType, field("value", idString, array))
	structure("jdk.jfr.ContentType", idContentType, annotationType)
	// Readers show the value of a field with a unit if its annotation is a content type.
	contentType := func(name string, id int, fields ...*element) {
		structure(name, id, annotationType, append([]*element{annotation(idContentType)}, fields...)...)
	}
	contentType("jdk.jfr.Timestamp", idTimestamp, field("value", idString))
	contentType("jdk.jfr.Timespan", idTimespan, field("value", idString))
	contentType("jdk.jfr.DataAmount", idDataAmount, field("value", idString))
	contentType("jdk.jfr.Percentage", idPercentage)
	contentType("jdk.jfr.MemoryAddress", idMemoryAddress)
	return all
}

// element declares an event type.
func (t *Type) element() *element {
	c := class(t.Name, int(t.id), [2]string{"superType", "jdk.jfr.Event"})
	if t.Label != "" {
		c.add(annotation(idLabel, t.Label))
	}
	if t.Description != "" {
		c.add(annotation(idDescription, t.Description))
	}
	if len(t.Category) > 0 {
		c.add(annotation(idCategory, t.Category...))
	}
	start := c.add(field("startTime", idLong))
	start.add(annotation(idLabel, "Start Time"))
	start.add(annotation(idTimestamp, "TICKS"))
	if t.Duration {
		duration := c.add(field("duration", idLong))
		duration.add(annotation(idLabel, "Duration"))
		duration.add(annotation(idTimespan, "TICKS"))
	}
	for _, f := range t.Fields {
		info := kindTable[f.Kind]
		e := field(f.Name, info.typeID)
		if info.pooled {
			e.attributes = append(e.attributes, pooled)
		}
		if f.Label != "" {
			e.add(annotation(idLabel, f.Label))
		}
		switch {
		case info.annotation != 0 && info.value != "":
			e.add(annotation(info.annotation, info.value))
		case info.annotation != 0:
			e.add(annotation(info.annotation))
		}
		c.add(e)
	}
	return c
}
