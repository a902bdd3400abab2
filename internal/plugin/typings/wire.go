// SPDX-License-Identifier: Apache-2.0

package typings

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// wireTypes are the messages and enums of the client protocol in use, in their JSON mapping.
type wireTypes struct {
	messages map[string]protoreflect.MessageDescriptor
	enums    map[string]protoreflect.EnumDescriptor
	written  map[string]bool
}

func newWire() *wireTypes {
	return &wireTypes{messages: map[string]protoreflect.MessageDescriptor{}, enums: map[string]protoreflect.EnumDescriptor{}, written: map[string]bool{}}
}

// localName returns the name of a type in the namespace; a nested one has both names.
func localName(d protoreflect.Descriptor) string {
	if outer, ok := d.Parent().(protoreflect.MessageDescriptor); ok {
		return localName(outer) + string(d.Name())
	}
	return string(d.Name())
}

func (x *wireTypes) message(d protoreflect.MessageDescriptor) string {
	x.messages[localName(d)] = d
	return "wire." + localName(d)
}

func (x *wireTypes) enum(d protoreflect.EnumDescriptor) string {
	x.enums[localName(d)] = d
	return "wire." + localName(d)
}

// write writes the types in use and those that they refer to.
func (x *wireTypes) write(w *Writer) {
	w.Doc("The client protocol, by the JSON mapping of protobuf. What is not set is undefined.")
	w.Open("declare namespace wire {")
	for len(x.written) < len(x.messages) {
		for _, name := range slices.Sorted(maps.Keys(x.messages)) {
			if !x.written[name] {
				x.written[name] = true
				x.writeMessage(w, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.enums)) {
		var values []string
		for i := range x.enums[name].Values().Len() {
			values = append(values, "'"+string(x.enums[name].Values().Get(i).Name())+"'")
		}
		w.Line("type %s = %s;", name, strings.Join(values, " | "))
	}
	w.Close("}")
}

func (x *wireTypes) writeMessage(w *Writer, name string) {
	w.Open("interface %s {", name)
	fields := x.messages[name].Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.IsMap() {
			w.Line("%s?: { [name: string]: %s };", f.JSONName(), x.scalar(f.MapValue()))
			continue
		}
		of := x.scalar(f)
		if f.IsList() {
			of = list(of)
		}
		w.Line("%s?: %s;", property(f.JSONName()), of)
	}
	w.Close("}")
}

func (x *wireTypes) scalar(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return "boolean"
	case protoreflect.StringKind:
		return "string"
	case protoreflect.BytesKind:
		return "Base64"
	case protoreflect.EnumKind:
		return strings.TrimPrefix(x.enum(f.Enum()), "wire.")
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return strings.TrimPrefix(x.message(f.Message()), "wire.")
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return "Int64"
	}
	return "number"
}
