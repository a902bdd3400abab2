// SPDX-License-Identifier: Apache-2.0

// Package jfr writes recordings in the format of the JDK Flight Recorder, version 2.1, which the
// JDK's jfr command and JDK Mission Control read.
//
// A file is a sequence of chunks, each complete in itself: files, also those of a JVM, can be
// concatenated. A caller declares its event types once, in a [Schema], adds events to a [Chunk] in
// memory, and writes the bytes of the chunk when it has enough of them:
//
//	requests := &jfr.Type{Name: "example.Request", Duration: true, Fields: []jfr.Field{{Name: "path", Kind: jfr.KindString}}}
//	schema, err := jfr.NewSchema(requests)
//	chunk := schema.NewChunk(time.Now())
//	chunk.Add(requests, start, took, jfr.String("/users"))
//	data := chunk.Finish(time.Now())
//
// The package knows nothing of where events come from, and it does not read recordings, apart from
// finding the boundaries of chunks ([Scan]).
package jfr

import "time"

// A Type declares the events of one kind.
type Type struct {
	// Name is unique in a schema. Names that begin with "jdk." are those of the JVM, and tools
	// expect its fields.
	Name string
	// Label and Description are for readers of the recording.
	Label, Description string
	// Category is where tools show the type, outermost first.
	Category []string
	// Duration gives the events a duration beside their start.
	Duration bool
	// Fields are the values of each event, in order.
	Fields []Field

	id int64
}

// A Field declares one value of an event.
type Field struct {
	Name  string
	Kind  Kind
	Label string
}

// A Kind is the type of a field.
type Kind uint8

// The kinds.
const (
	KindBoolean Kind = iota
	KindInt
	KindLong
	KindFloat
	KindDouble
	KindString
	KindBytes      // a number of bytes
	KindPercentage // a fraction of 1
	KindSpan       // a time.Duration
	KindAddress    // an address in memory
	KindThread     // by its name
	KindStack
	KindClass
	KindThreadState
	KindFrameType
	KindGCName
	KindGCCause
	KindGCWhen
	KindSpace // a jdk.types.VirtualSpace, of which only the size is known
	kinds
)

// A Value is the value of a field. The function of the field's kind makes it.
type Value struct {
	kind   Kind
	number int64
	float  float64
	text   string
	frames []Frame
}

// Boolean makes a value of the kind of its name, as the functions below do.
func Boolean(v bool) Value {
	if v {
		return Value{kind: KindBoolean, number: 1}
	}
	return Value{kind: KindBoolean}
}

func Int(v int32) Value          { return Value{kind: KindInt, number: int64(v)} }
func Long(v int64) Value         { return Value{kind: KindLong, number: v} }
func Float(v float32) Value      { return Value{kind: KindFloat, float: float64(v)} }
func Double(v float64) Value     { return Value{kind: KindDouble, float: v} }
func String(v string) Value      { return Value{kind: KindString, text: v} }
func Bytes(v int64) Value        { return Value{kind: KindBytes, number: v} }
func Percentage(v float64) Value { return Value{kind: KindPercentage, float: v} }
func Span(v time.Duration) Value { return Value{kind: KindSpan, number: int64(v)} }
func Address(v int64) Value      { return Value{kind: KindAddress, number: v} }
func Thread(name string) Value   { return Value{kind: KindThread, text: name} }
func Class(name string) Value    { return Value{kind: KindClass, text: name} }
func Space(size int64) Value     { return Value{kind: KindSpace, number: size} }

// Stack is a stack trace, innermost frame first. The chunk does not retain the slice. An empty one
// becomes a null reference.
func Stack(frames []Frame) Value { return Value{kind: KindStack, frames: frames} }

// Constant is a value of one of the kinds that have a name only, such as KindGCCause.
func Constant(kind Kind, name string) Value { return Value{kind: kind, text: name} }

// A Frame is one call of a stack trace.
type Frame struct {
	// Class is a name with slashes, such as java/lang/String; the dots of Go import paths must be
	// replaced.
	Class  string
	Method string
	Line   int
	// Type is how the code was compiled; "" is "Go".
	Type string
}
