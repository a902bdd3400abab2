// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"example.org/app/internal/wire"
)

// TestCoded encodes every kind of request and a notification with all fields, and compares with
// package proto.
func TestCoded(t *testing.T) {
	messages := []wire.Coded{&wire.AppNotification{}}
	fill(messages[0].ProtoReflect(), depth)
	kinds := (*wire.AppRequest)(nil).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	for i := range kinds.Len() {
		m := &wire.AppRequest{RequestId: new(int64(1))}
		fill(m.ProtoReflect().Mutable(kinds.Get(i)).Message(), depth)
		messages = append(messages, m)
	}
	for _, m := range messages {
		size := m.SizeVT()
		b, err := wire.Append([]byte("before"), m, size)
		if err != nil || len(b) != len("before")+size || !strings.HasPrefix(string(b), "before") {
			t.Fatalf("%v: %d bytes for a size of %d, %v", m, len(b), size, err)
		}
		b = b[len("before"):]
		theirs := m.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(b, theirs); err != nil || !proto.Equal(m, theirs) {
			t.Errorf("the proto package reads %v as %v, %v", m, theirs, err)
		}
		if b, err = proto.Marshal(m); err != nil {
			t.Fatal(err)
		}
		ours := m.ProtoReflect().New().Interface().(wire.Coded)
		if err := ours.UnmarshalVT(b); err != nil || !proto.Equal(m, ours) {
			t.Errorf("%v is read as %v, %v", m, ours, err)
		}
		if len(b) > 0 && ours.UnmarshalVT(b[:len(b)-1]) == nil {
			t.Errorf("a part of %v is read without an error", m)
		}
	}
}

// depth is the maximum nesting of messages; some contain themselves.
const depth = 5

// fill sets every field; of each oneof the last one.
func fill(m protoreflect.Message, depth int) {
	if depth == 0 {
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsMap():
			key := value(f.MapKey(), protoreflect.Value{}, 0).MapKey()
			entries := m.Mutable(f).Map()
			entries.Set(key, value(f.MapValue(), entries.NewValue(), depth-1))
		case f.IsList():
			list := m.Mutable(f).List()
			list.Append(value(f, list.NewElement(), depth-1))
			list.Append(value(f, list.NewElement(), depth-1))
		default:
			m.Set(f, value(f, m.NewField(f), depth-1))
		}
	}
}

// value returns a non-zero value; empty is the empty value of a message.
func value(f protoreflect.FieldDescriptor, empty protoreflect.Value, depth int) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(f.Enum().Values().Get(f.Enum().Values().Len() - 1).Number())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(-300)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(1 << 40)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(1.5)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(-2.25)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("ä text")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{0, 255})
	default: // All other kinds are messages.
		fill(empty.Message(), depth)
		return empty
	}
}
