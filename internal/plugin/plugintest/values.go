// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"math"
	"reflect"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

// A variant is a choice of values.
type variant string

// The variants.
const (
	// absent omits optional values, and has neutral values elsewhere.
	absent variant = "absent"
	// low has everything, with the lowest values: minimum numbers, empty texts.
	low variant = "low"
	// high has everything, with the highest values.
	high variant = "high"
)

// strange is a text with error-prone contents: characters of one to four bytes, a joined emoji,
// quotes, a backslash, line breaks, a control character and right-to-left text.
const strange = "aä€👋 👩‍👩‍👧 \"'\\ \r\n\t\x01 שלום |{}=,"

// arguments returns the arguments of a method.
func arguments(m *plugin.Method, v variant) []any {
	args := make([]any, len(m.Params))
	for i, p := range m.Params {
		if p.Type.Kind() == reflect.Pointer && !p.Optional && v == absent {
			if message, ok := messageOf(p.Type, v); ok {
				args[i] = message
				continue
			}
			arg := reflect.New(p.Type.Elem())
			arg.Elem().Set(value(p.Type.Elem(), v))
			args[i] = arg.Interface()
			continue
		}
		args[i] = value(p.Type, v).Interface()
	}
	return args
}

// value returns a value of a type that extension points use.
func value(t reflect.Type, v variant) reflect.Value {
	switch t {
	case reflect.TypeFor[time.Time]():
		return reflect.ValueOf(choose(v, time.UnixMilli(0), time.Date(1900, 1, 1, 0, 0, 0, 1e6, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)).UTC())
	case reflect.TypeFor[map[string]any]():
		return reflect.ValueOf(choose(v, map[string]any{}, map[string]any{"id": int64(math.MinInt64), "none": nil, "list": []any{}}, map[string]any{
			"id": int64(math.MaxInt64), "n": int32(3), "text": strange, "deep": map[string]any{"list": []any{"a", 1.5, nil, true, []any{}}},
		}))
	case reflect.TypeFor[map[string]string]():
		return reflect.ValueOf(choose(v, nil, map[string]string{"": "", "a": "1"}, map[string]string{"a": "1", "k 👋": strange}))
	case reflect.TypeFor[[]byte]():
		return reflect.ValueOf(choose(v, nil, []byte{}, everyByte()))
	case reflect.TypeFor[[]*wire.Value]():
		return reflect.ValueOf(attributes(v))
	}
	if message, ok := messageOf(t, v); ok {
		if v == absent {
			return reflect.Zero(t)
		}
		return reflect.ValueOf(message)
	}
	out := reflect.New(t).Elem()
	if e, ok := out.Interface().(protoreflect.Enum); ok && t.Kind() == reflect.Int32 {
		names := e.Descriptor().Values()
		out.SetInt(int64(names.Get(choose(v, 0, 0, names.Len()-1)).Number()))
		return out
	}
	switch t.Kind() {
	case reflect.Bool:
		out.SetBool(v == high)
	case reflect.Int32:
		out.SetInt(choose(v, int64(0), math.MinInt32, math.MaxInt32))
	case reflect.Int64:
		out.SetInt(choose(v, int64(0), math.MinInt64, math.MaxInt64))
	case reflect.Float32:
		out.SetFloat(choose(v, 0.5, -179.75, 179.875))
	case reflect.String:
		out.SetString(choose(v, "", "", strange))
	case reflect.Pointer:
		if v != absent {
			out.Set(reflect.New(t.Elem()))
			out.Elem().Set(value(t.Elem(), v))
		}
	case reflect.Slice:
		for _, item := range choose(v, nil, []variant{low}, []variant{high, low, high}) {
			out = reflect.Append(out, value(t.Elem(), item))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			out.Field(i).Set(value(t.Field(i).Type, v))
		}
	default:
		panic("the suite has no values for " + t.String())
	}
	return out
}

func choose[T any](v variant, forAbsent, forLow, forHigh T) T {
	switch v {
	case absent:
		return forAbsent
	case low:
		return forLow
	}
	return forHigh
}

func everyByte() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// attributes returns values of every kind, nested.
func attributes(v variant) []*wire.Value {
	flat := func(i32 int32, i64 int64, f32 float32, f64 float64, b bool, data []byte, s string) []*wire.Value {
		return []*wire.Value{
			{Kind: &wire.Value_Int32Value{Int32Value: i32}},
			{Kind: &wire.Value_Int64Value{Int64Value: i64}},
			{Kind: &wire.Value_FloatValue{FloatValue: f32}},
			{Kind: &wire.Value_DoubleValue{DoubleValue: f64}},
			{Kind: &wire.Value_BoolValue{BoolValue: b}},
			{Kind: &wire.Value_BytesValue{BytesValue: data}},
			{Kind: &wire.Value_StringValue{StringValue: s}},
		}
	}
	switch v {
	case absent:
		return nil
	case low:
		return flat(math.MinInt32, math.MinInt64, -math.MaxFloat32, -math.MaxFloat64, false, []byte{}, "")
	}
	list := flat(math.MaxInt32, math.MaxInt64, math.MaxFloat32, math.MaxFloat64, true, everyByte(), strange)
	nested := &wire.Value{Kind: &wire.Value_DoubleValue{DoubleValue: math.SmallestNonzeroFloat64}, ListValue: list}
	for range 20 {
		nested = &wire.Value{ListValue: []*wire.Value{nested, {}}}
	}
	return append(list, nested)
}

// messageOf returns a message of the client protocol, if the type is one.
func messageOf(t reflect.Type, v variant) (proto.Message, bool) {
	switch t {
	case reflect.TypeFor[*wire.AppRequest]():
		return request(v), true
	case reflect.TypeFor[*wire.AppNotification]():
		if v == absent {
			return &wire.AppNotification{}, true
		}
		return &wire.AppNotification{
			Timestamp: choose(v, int64(0), math.MinInt64, math.MaxInt64), CustomAttributes: attributes(v), RequesterId: proto.Int64(7), RelayedRequest: request(v),
		}, true
	case reflect.TypeFor[*wire.AppNotification_Data]():
		if v == high {
			return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_LongsWithVersion{LongsWithVersion: &wire.LongsWithVersion{
				Longs: []int64{math.MinInt64, 0, math.MaxInt64}, LastUpdatedDate: proto.Int64(math.MaxInt64),
			}}}, true
		}
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_String_{String_: ""}}, true
	}
	return nil, false
}

// request returns a request of a client.
func request(v variant) *wire.AppRequest {
	switch v {
	case absent:
		return &wire.AppRequest{}
	case low:
		return &wire.AppRequest{RequestId: proto.Int64(math.MinInt64), CustomAttributes: attributes(low), Kind: &wire.AppRequest_CreateMessageRequest{
			CreateMessageRequest: &wire.CreateMessageRequest{Text: proto.String(""), IsSystemMessage: proto.Bool(false), BurnAfter: proto.Int32(0), Records: [][]byte{{}}},
		}}
	}
	return &wire.AppRequest{RequestId: proto.Int64(math.MaxInt64), CustomAttributes: attributes(high), Kind: &wire.AppRequest_CreateMessageRequest{
		CreateMessageRequest: &wire.CreateMessageRequest{
			MessageId: proto.Int64(math.MinInt64), IsSystemMessage: proto.Bool(true), GroupId: proto.Int64(1), RecipientId: proto.Int64(2),
			DeliveryDate: proto.Int64(1700000000000), Text: proto.String(strange), Records: [][]byte{everyByte(), {}, {0}}, BurnAfter: proto.Int32(math.MaxInt32),
			PreMessageId: proto.Int64(math.MaxInt64), CustomAttributes: attributes(high),
		},
	}}
}
