// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/recording/jfr"
)

// ownType is the type of events from parts of the server.
type ownType struct {
	*eventType
	// read returns the value of each field of an event.
	read []func(reflect.Value) jfr.Value
	// hasStack is true if the last field is the stack of the reporting part.
	hasStack bool
}

// own declares a type with the fields of a struct of package event, and the stack if that is a
// setting.
func own(e event.Event, t eventType) ownType {
	o := ownType{eventType: &t, hasStack: slices.Contains(t.settings, settingStackTrace)}
	t.Category, t.Duration = categoryApp, true
	for i, f := range reflect.VisibleFields(reflect.TypeOf(e)) {
		tag, ok := f.Tag.Lookup("jfr")
		if !ok {
			continue // It is the Span, or a field of it.
		}
		name, option, _ := strings.Cut(tag, ",")
		kind, read := readerOf(f.Type, option)
		if read == nil || len(f.Index) != 1 {
			panic(fmt.Sprintf("event %q: field %d, %s, cannot be recorded", t.Name, i, f.Name)) // Every test finds it.
		}
		index := f.Index[0]
		t.Fields = append(t.Fields, jfr.Field{Name: name, Kind: kind, Label: f.Tag.Get("label")})
		o.read = append(o.read, func(v reflect.Value) jfr.Value { return read(v.Field(index)) })
	}
	if o.hasStack {
		t.Fields = append(t.Fields, stackField)
	}
	return o
}

var (
	spanType  = reflect.TypeFor[time.Duration]()
	errorType = reflect.TypeFor[error]()
)

// readerOf returns how to record a field of an event; nil if that is impossible.
func readerOf(t reflect.Type, option string) (jfr.Kind, func(reflect.Value) jfr.Value) {
	switch {
	case t == errorType:
		return jfr.KindString, func(v reflect.Value) jfr.Value {
			err, _ := v.Interface().(error)
			return jfr.String(outcome(err))
		}
	case t == spanType:
		return jfr.KindSpan, func(v reflect.Value) jfr.Value { return jfr.Span(time.Duration(v.Int())) }
	case option == "sql":
		return jfr.KindString, func(v reflect.Value) jfr.Value { return jfr.String(withoutValues(v.String())) }
	case option == "bytes":
		return jfr.KindBytes, func(v reflect.Value) jfr.Value { return jfr.Bytes(v.Int()) }
	}
	switch t.Kind() {
	case reflect.String:
		return jfr.KindString, func(v reflect.Value) jfr.Value { return jfr.String(v.String()) }
	case reflect.Bool:
		return jfr.KindBoolean, func(v reflect.Value) jfr.Value { return jfr.Boolean(v.Bool()) }
	case reflect.Int, reflect.Int32:
		return jfr.KindInt, func(v reflect.Value) jfr.Value { return jfr.Int(int32(v.Int())) }
	case reflect.Int64:
		return jfr.KindLong, func(v reflect.Value) jfr.Value { return jfr.Long(v.Int()) }
	default:
		return 0, nil
	}
}

// record adds an event of a part of the server. It runs in the goroutine of that part. Events below
// the threshold may come while the settings change.
func (c *collector) record(e event.Event) {
	t := ownTypes[e.Kind()]
	var values [maxOwnFields]jfr.Value
	n := 0
	for v := reflect.ValueOf(e); n < len(t.read); n++ {
		values[n] = t.read[n](v)
	}
	var s stack
	if t.hasStack {
		if c.stacks.Load()&(1<<e.Kind()) != 0 {
			const skipped = 2 // record and event.Record
			s.capture(skipped)
		}
		values[n] = jfr.Stack(c.symbols.frames(s.counters[:s.depth]))
		n++
	}
	when := e.When()
	c.add(t.eventType, when.Start, when.Duration, values[:n]...)
}

// maxOwnFields bounds the fields of the types below.
const maxOwnFields = 12

// outcome describes a result, without the text of an error, which may contain users' data.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		return e.Code.Name()
	}
	return "error"
}

// maxStatement bounds the text of a statement in an event.
const maxStatement = 1000

// withoutValues replaces the values in a statement by question marks.
func withoutValues(sql string) string {
	var b strings.Builder
	for i := 0; i < len(sql) && b.Len() < maxStatement; {
		ch := sql[i]
		switch {
		case ch == '\'':
			i = endOfString(sql, i)
			b.WriteByte('?')
		case ch == '"':
			end := i + 1
			for end < len(sql) && sql[end] != '"' {
				end++
			}
			b.WriteString(sql[i:min(end+1, len(sql))])
			i = end + 1
		case ch >= '0' && ch <= '9':
			for i < len(sql) && isWord(sql[i]) {
				i++
			}
			b.WriteByte('?')
		case isWord(ch) || ch == '$':
			start := i
			for i++; i < len(sql) && isWord(sql[i]); i++ {
			}
			b.WriteString(sql[start:i])
		default:
			b.WriteByte(ch)
			i++
		}
	}
	return b.String()
}

// endOfString returns the position after a string that begins at i. A quote is doubled or escaped
// inside.
func endOfString(sql string, i int) int {
	for i++; i < len(sql); i++ {
		switch {
		case sql[i] == '\\' && i+1 < len(sql) && sql[i+1] == '\'':
			i++
		case sql[i] == '\'' && i+1 < len(sql) && sql[i+1] == '\'':
			i++
		case sql[i] == '\'':
			return i + 1
		}
	}
	return i
}

func isWord(ch byte) bool {
	return ch == '_' || ch == '.' || ch >= '0' && ch <= '9' || ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= 0x80
}
