// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"example.org/app/internal/plugin"
)

// Fingerprint identifies what both ends of the pipes must agree on: the extension points, their
// methods, and the types of their parameters and results.
var Fingerprint = sync.OnceValue(func() string { return fingerprint(plugin.Points) })

func fingerprint(points []*plugin.Point) string {
	sum := sha256.Sum256([]byte(canonical(points)))
	return hex.EncodeToString(sum[:])
}

// canonical returns a text of extension points and types that changes whenever the encoding of a
// call does.
func canonical(points []*plugin.Point) string {
	var b strings.Builder
	seen := map[reflect.Type]bool{}
	var structs []reflect.Type
	for i, m := range methodsOf(points) {
		fmt.Fprintf(&b, "%d %s.%s", i, m.Point.FullName(), m.Name)
		for _, p := range m.Params {
			fmt.Fprintf(&b, " %s:%s", p.Name, p.Type)
			structs = append(structs, structsIn(p.Type, seen)...)
		}
		if m.Result != nil {
			fmt.Fprintf(&b, " = %s", m.Result)
			structs = append(structs, structsIn(m.Result, seen)...)
		}
		b.WriteByte('\n')
	}
	structs = append(structs, structsIn(reflect.TypeFor[plugin.Notification](), seen)...)
	for _, t := range structs {
		b.WriteString(t.String())
		for i := range t.NumField() {
			fmt.Fprintf(&b, " %s:%s", t.Field(i).Name, t.Field(i).Type)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// structsIn returns the structs that a type refers to and that were not seen before, outer ones
// first.
func structsIn(t reflect.Type, seen map[reflect.Type]bool) []reflect.Type {
	if t == timeType || isMessage(t) || isEnum(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return structsIn(t.Elem(), seen)
	case reflect.Struct:
		if seen[t] {
			return nil
		}
		seen[t] = true
		list := []reflect.Type{t}
		for i := range t.NumField() {
			list = append(list, structsIn(t.Field(i).Type, seen)...)
		}
		return list
	}
	return nil
}
