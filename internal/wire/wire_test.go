// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"example.org/app/internal/wire"
)

// rows reads a table of protocol constants that existing clients rely on.
func rows(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(data)), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "#")
	})
}

// own are fields that existing clients do not know and skip. Their numbers are far from those of
// future protocol versions.
var own = []string{"UserSession\t100\theartbeat_interval_seconds\tint32\tsingular"}

func TestFields(t *testing.T) {
	var got []string
	protoregistry.GlobalFiles.RangeFilesByPackage("im.app.proto", func(file protoreflect.FileDescriptor) bool {
		got = append(got, fieldsOf(file.Messages())...)
		return true
	})
	want := append(rows(t, "fields.tsv"), own...)
	slices.Sort(got)
	slices.Sort(want)
	for _, line := range got {
		if _, ok := slices.BinarySearch(want, line); !ok {
			t.Errorf("not in the table: %q", line)
		}
	}
	for _, line := range want {
		if _, ok := slices.BinarySearch(got, line); !ok {
			t.Errorf("not in proto/: %q", line)
		}
	}
}

func fieldsOf(messages protoreflect.MessageDescriptors) (lines []string) {
	for i := range messages.Len() {
		m := messages.Get(i)
		if m.IsMapEntry() {
			continue
		}
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			lines = append(lines, fmt.Sprintf("%s\t%d\t%s\t%s\t%s",
				strings.TrimPrefix(string(m.FullName()), "im.app.proto."), f.Number(), f.Name(), typeOf(f), labelOf(f)))
		}
		lines = append(lines, fieldsOf(m.Messages())...)
	}
	return lines
}

func typeOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return fmt.Sprintf("map<%s, %s>", typeOf(f.MapKey()), typeOf(f.MapValue()))
	case f.Message() != nil:
		return string(f.Message().Name())
	case f.Enum() != nil:
		return string(f.Enum().Name())
	}
	return f.Kind().String()
}

func labelOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map"
	case f.IsPacked():
		return "repeated (packed)"
	case f.IsList():
		return "repeated"
	case f.HasOptionalKeyword():
		return "optional"
	case f.ContainingOneof() != nil:
		return "oneof " + string(f.ContainingOneof().Name())
	}
	return "singular"
}

func TestEnums(t *testing.T) {
	var got []string
	protoregistry.GlobalFiles.RangeFilesByPackage("im.app.proto", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Enums().Len() {
			e := file.Enums().Get(i)
			for j := range e.Values().Len() {
				got = append(got, fmt.Sprintf("%s\t%d\t%s", e.Name(), e.Values().Get(j).Number(), e.Values().Get(j).Name()))
			}
		}
		return true
	})
	want := rows(t, "enums.tsv")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the enums of proto/ are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestKinds(t *testing.T) {
	if n := len(wire.Kinds()); n != 72 {
		t.Errorf("there are %d kinds", n)
	}
	r := &wire.AppRequest{Kind: &wire.AppRequest_CreateMessageRequest{}}
	if k := wire.KindOf(r); k != 8 || k.String() != "CREATE_MESSAGE" {
		t.Errorf("the kind is %v", k)
	}
	if k := wire.KindOf(&wire.AppRequest{}); k != 0 || k.Valid() || k.String() != "KIND_0" {
		t.Errorf("the kind of an empty request is %v", k)
	}
}

func TestParseHead(t *testing.T) {
	id := func(id int64) []byte { return protowire.AppendVarint([]byte{1 << 3}, uint64(id)) }
	attribute := protowire.AppendBytes([]byte{2<<3 | 2}, []byte{0x08, 1})
	body := []byte{8<<3 | 2, 0}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, test := range map[string]struct {
		payload []byte
		want    wire.Head
		fails   bool
	}{
		"id and body":        {join(id(5), body), wire.Head{ID: 5, Kind: 8}, false},
		"largest id":         {join(id(1<<63-1), body), wire.Head{ID: 1<<63 - 1, Kind: 8}, false},
		"attribute between":  {join(id(5), attribute, body), wire.Head{ID: 5, Kind: 8}, false},
		"attribute first":    {join(attribute, id(5), body), wire.Head{ID: 5, Kind: 8}, false},
		"attribute last":     {join(id(5), body, attribute), wire.Head{ID: 5, Kind: 8}, false},
		"empty":              {nil, wire.Head{}, true},
		"no body":            {id(5), wire.Head{ID: 5}, true},
		"no id":              {body, wire.Head{}, true},
		"id after the body":  {join(body, id(5)), wire.Head{}, true},
		"two ids":            {join(id(5), id(6), body), wire.Head{ID: 5}, true},
		"id 0":               {join(id(0), body), wire.Head{}, true},
		"negative id":        {join(id(-1), body), wire.Head{}, true},
		"unknown kind":       {join(id(5), []byte{15<<3 | 2, 0}), wire.Head{ID: 5}, true},
		"kind of wrong type": {join(id(5), []byte{8 << 3, 0}), wire.Head{ID: 5}, true},
		"cut id":             {[]byte{1 << 3, 0x80}, wire.Head{}, true},
		"cut attribute":      {join(id(5), []byte{2<<3 | 2, 9, 0}), wire.Head{ID: 5}, true},
		"cut tag":            {join(id(5), []byte{0x80}), wire.Head{ID: 5}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := wire.ParseHead(test.payload)
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("ParseHead = %+v, %v", got, err)
			}
		})
	}
}

func FuzzParseHead(f *testing.F) {
	whole, err := proto.Marshal(&wire.AppRequest{
		RequestId: proto.Int64(7), CustomAttributes: []*wire.Value{{Kind: &wire.Value_BoolValue{BoolValue: true}}},
		Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{Text: proto.String("hi")}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		head, err := wire.ParseHead(payload)
		if err != nil {
			return
		}
		if head.ID <= 0 || !head.Kind.Valid() {
			t.Fatalf("ParseHead(%x) = %+v", payload, head)
		}
	})
}

func TestAppendResponse(t *testing.T) {
	data := &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_Long{Long: 77}}
	encoded, err := proto.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1_700_000_000_123)
	var got wire.AppNotification
	if err := proto.Unmarshal(wire.AppendResponse(nil, at, 5, 1102, "bad \xff text", encoded), &got); err != nil {
		t.Fatal(err)
	}
	want := &wire.AppNotification{
		Timestamp: at.UnixMilli(), RequestId: proto.Int64(5), Code: proto.Int32(1102), Reason: proto.String("bad \uFFFD text"), Data: data,
	}
	if !proto.Equal(&got, want) {
		t.Errorf("the response is %v, want %v", &got, want)
	}
	got.Reset()
	if err := proto.Unmarshal(wire.AppendResponse(nil, at, wire.HeartbeatID, 2104, "", nil), &got); err != nil {
		t.Fatal(err)
	}
	if got.GetRequestId() != wire.HeartbeatID || got.Reason != nil || got.Data != nil {
		t.Errorf("the response is %v", &got)
	}
}
