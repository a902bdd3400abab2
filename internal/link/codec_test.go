// SPDX-License-Identifier: Apache-2.0

package link

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"example.org/app/internal/wire"
)

// values returns values for the codec. Together they set every field.
func values() map[string]encodable {
	return map[string]encodable{
		"empty request": &Request{Payload: []byte{}},
		"request": &Request{
			UserID: -5, Device: wire.DeviceType_ANDROID, SessionID: 1<<31 - 1, IP: netip.MustParseAddr("2001:db8::1"), Payload: []byte("payload"), Conversation: 1<<64 - 1,
		},
		"request with a key": &Request{UserID: 1, Payload: []byte{1}, Conversation: 7, Key: []byte{0, 255}, Repeated: true},
		"request over IPv4":  &Request{UserID: 1<<63 - 1, IP: netip.MustParseAddr("10.0.0.1"), Payload: []byte{0}},
		"empty response":     &Response{},
		"response":           &Response{Code: 1000, Reason: "why", Data: []byte("data"), Corrupted: true},
		"empty data":         &Response{Code: 1001, Data: []byte{}},
		"delivery": &Delivery{
			Notification: []byte("notification"), Recipients: []int64{1, 1 << 40, -1},
			Except: &Session{UserID: 1, Device: wire.DeviceType_BROWSER},
		},
		"delivery of a message": &Delivery{
			Notification: []byte{1}, Recipients: []int64{1}, Message: &MessageOrder{Conversation: 1<<64 - 1, ID: 1<<63 - 1, Service: "a", Stored: time.UnixMicro(1_800_000_000_000_001)},
		},
		"delivery of a message without order":   &Delivery{Notification: []byte{1}, Recipients: []int64{1}, Stored: &StoredMessage{Conversation: 1<<64 - 1, ID: 1<<63 - 1}},
		"delivery except user 0 on the desktop": &Delivery{Notification: []byte{}, Recipients: []int64{0}, Except: &Session{}},
		"delivered":                             &Delivered{Sessions: 3, Missed: []int64{9}},
	}
}

func TestCodec(t *testing.T) {
	for name, value := range values() {
		t.Run(name, func(t *testing.T) {
			data, err := codec{}.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			got := reflect.New(reflect.TypeOf(value).Elem()).Interface()
			// A newer version may send unknown fields.
			data = protowire.AppendVarint(protowire.AppendTag(data, 100, protowire.VarintType), 1)
			if err := (codec{}).Unmarshal(data, got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, value) {
				t.Errorf("%+v came back as %+v", value, got)
			}
			for i := range data {
				// Truncated data must not panic.
				_ = codec{}.Unmarshal(data[:i], reflect.New(reflect.TypeOf(value).Elem()).Interface())
			}
		})
	}
}

// TestProto decodes the output of the codec according to link.proto, and has the codec decode the
// encoding of the protobuf library.
func TestProto(t *testing.T) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{".", "../../proto"}}),
	}
	files, err := compiler.Compile(t.Context(), "link.proto")
	if err != nil {
		t.Fatal(err)
	}
	messages := files[0].Messages()
	set := map[protoreflect.FullName]bool{}
	for name, value := range values() {
		declared := messages.ByName(protoreflect.Name(reflect.TypeOf(value).Elem().Name()))
		if declared == nil {
			t.Errorf("link.proto has no message for %T", value)
			continue
		}
		data, err := codec{}.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		m := dynamicpb.NewMessage(declared)
		if err := proto.Unmarshal(data, m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		note(t, m, set)
		if data, err = proto.Marshal(m); err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(value).Elem()).Interface()
		if err := (codec{}).Unmarshal(data, got); err != nil {
			t.Fatal(err)
		}
		// Empty fields are absent, so an empty list of bytes may become nil.
		again, err := codec{}.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		first, second := dynamicpb.NewMessage(declared), dynamicpb.NewMessage(declared)
		if proto.Unmarshal(data, first) != nil || proto.Unmarshal(again, second) != nil || !proto.Equal(first, second) {
			t.Errorf("%s: %v came back as %v", name, first, second)
		}
	}
	for i := range messages.Len() {
		fields := messages.Get(i).Fields()
		for j := range fields.Len() {
			if f := fields.Get(j); !set[f.FullName()] {
				t.Errorf("the codec writes no %s", f.FullName())
			}
		}
	}
}

// note records the fields that are set and returns an error for undeclared ones.
func note(t *testing.T, m protoreflect.Message, set map[protoreflect.FullName]bool) {
	t.Helper()
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		t.Errorf("%s does not declare %x", m.Descriptor().FullName(), unknown)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		set[f.FullName()] = true
		if f.Message() != nil && !f.IsList() {
			note(t, v.Message(), set)
		}
		return true
	})
}

func TestCodecRefuses(t *testing.T) {
	if _, err := (codec{}).Marshal(&Verdict{}); err == nil {
		t.Error("a type without encoding was encoded")
	}
	if err := (codec{}).Unmarshal(nil, &Verdict{}); err == nil {
		t.Error("a type without encoding was decoded")
	}
	if err := (codec{}).Unmarshal([]byte{4<<3 | 2, 1, 1}, &Request{}); err == nil {
		t.Error("an address of one byte was taken")
	}
}
