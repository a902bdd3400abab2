// SPDX-License-Identifier: Apache-2.0

package java

import (
	"encoding/hex"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

// write encodes a value with its codec, and read decodes it.
func write(t testing.TB, v any) []byte {
	t.Helper()
	c, err := codecOf(reflect.TypeOf(v))
	if err != nil {
		t.Fatal(err)
	}
	b, err := writeValue(nil, c, reflect.TypeOf(v), v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(t testing.TB, b []byte, like any) (any, error) {
	t.Helper()
	c, err := codecOf(reflect.TypeOf(like))
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.New(reflect.TypeOf(like))
	r := &in{b: b}
	c.read(r, v.Elem())
	return v.Elem().Interface(), r.end()
}

// TestEncoding compares encoded values with the bytes of the protocol.
func TestEncoding(t *testing.T) {
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"true", true, "01"},
		{"int64", int64(-1), "01"},
		{"largest", int64(math.MaxInt64), "feffffffffffffffff01"},
		{"least", int64(math.MinInt64), "ffffffffffffffffff01"},
		{"int32", int32(150), "ac02"},
		{"enum", wire.DeviceType_ANDROID, "06"},
		{"float", float32(1.5), "3fc00000"},
		{"string", "äb", "03c3a462"},
		{"bytes", []byte{1, 2}, "020102"},
		{"time", time.UnixMilli(-1).UTC(), "01"},
		{"nothing", (*int32)(nil), "00"},
		{"something", new(int32(1)), "0102"},
		{"list", []int64{1, -1}, "020201"},
		{"no list", []int64(nil), "00"},
		{"map", map[string]string{"a": "b"}, "0101610162"},
		{"object", map[string]any{"a": 1}, "077b2261223a317d"},
		{"no object", map[string]any(nil), "027b7d"},
		{"no message", (*wire.AppRequest)(nil), "00"},
		{"message", &wire.Value{Kind: &wire.Value_Int32Value{Int32Value: 5}}, ""},
		{"struct", plugin.CloseReason{CloseStatus: 1, Reason: "a"}, "02000161"},
		{"list of lists", [][]byte{{1}, {}}, "02010100"},
	} {
		b := write(t, c.v)
		if c.want != "" && hex.EncodeToString(b) != c.want {
			t.Errorf("%s: %x", c.name, b)
		}
	}
}

// sample returns a value with many fields and extreme values.
func sample() *plugin.RequestHandlerResult {
	request := &wire.AppRequest{RequestId: new(int64(math.MinInt64)), Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{
		Text: new("héllo \x00 🚀"), Records: [][]byte{{0, 255}, {}},
	}}}
	return &plugin.RequestHandlerResult{
		Code: math.MinInt32, Reason: strings.Repeat("ÿ", 1000),
		Notifications: []plugin.Notification{{ForwardToRequesterOtherOnlineSessions: true, Recipients: []int64{math.MaxInt64, 0, math.MinInt64}, Notification: request}, {}},
	}
}

func TestRoundTrip(t *testing.T) {
	at := time.UnixMilli(1<<52 + 1).UTC()
	for _, v := range []any{
		&plugin.UserLoginInfo{
			Version: 1, UserID: math.MinInt64, Password: new(""), DeviceDetails: map[string]string{"": "", "k": "v"},
			UserStatus: new(wire.UserStatus_BUSY), Location: &plugin.Location{Longitude: math.SmallestNonzeroFloat32, Latitude: -180, Timestamp: &at}, IP: "::1",
		},
		[]plugin.StoredMessage{{ID: 1, ConversationID: []byte{0}, DeliveryDate: at, ModificationDate: &at, Text: new("x"), Records: [][]byte{{1}}, SequenceID: new(int32(math.MaxInt32))}, {DeliveryDate: time.UnixMilli(0).UTC()}},
		plugin.AdminAction{Params: map[string]any{"a": []any{"b", 1.5, nil, true}}, RequestTime: at},
		map[string]string{},
		[]int64(nil), false, int32(-5),
	} {
		got, err := read(t, write(t, v), v)
		if m, ok := v.(map[string]string); ok && len(m) == 0 {
			v = map[string]string(nil)
		}
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%+v became %+v, %v", v, got, err)
		}
	}
	want := sample()
	got, err := read(t, write(t, want), want)
	if err != nil {
		t.Fatal(err)
	}
	r := got.(*plugin.RequestHandlerResult)
	if r.Reason != want.Reason || r.Code != want.Code || !proto.Equal(r.Notifications[0].Notification, want.Notifications[0].Notification) || r.Notifications[1].Notification != nil {
		t.Errorf("it became %+v", r)
	}
}

// TestDamagedBodies verifies that truncated, overlong and invalid bodies are errors.
func TestDamagedBodies(t *testing.T) {
	whole := write(t, sample())
	for n := range len(whole) {
		if _, err := read(t, whole[:n], &plugin.RequestHandlerResult{}); err == nil {
			t.Fatalf("%d of %d bytes are accepted", n, len(whole))
		}
	}
	if _, err := read(t, append(whole, 0), &plugin.RequestHandlerResult{}); err == nil {
		t.Error("a byte too much is accepted")
	}
	for _, b := range [][]byte{{0xff, 0xff, 0xff, 0xff, 0x7f}, {0xff}, {}} {
		if _, err := read(t, b, []plugin.StoredMessage{}); err == nil {
			t.Errorf("%x is accepted", b)
		}
	}
	if _, err := read(t, appendInt(nil, math.MaxInt32+1), int32(0)); err == nil {
		t.Error("an integer that is too large is accepted")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(write(f, sample()))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = read(t, b, &plugin.RequestHandlerResult{})
		_, _ = read(t, b, []plugin.StoredMessage{})
		_, _ = read(t, b, &plugin.UserLoginInfo{})
	})
}

func TestPlans(t *testing.T) {
	plans, methods, err := newPlans(plugin.Points)
	if err != nil {
		t.Fatal(err)
	}
	p := plans[plugin.TransformRequest]
	if methods[p.index] != plugin.TransformRequest {
		t.Error("the index of a method leads to another")
	}
	for _, args := range [][]any{{plugin.ClientRequest{}}, {5}} {
		if _, err := p.write(nil, args); err == nil {
			t.Errorf("%T is accepted", args[0])
		}
	}
	if b, err := p.write(nil, []any{nil}); err != nil || len(b) != 1 {
		t.Errorf("nothing becomes %x, %v", b, err)
	}
	if _, err := plans[plugin.CancelMeeting].write(nil, []any{nil, int64(1)}); err == nil {
		t.Error("nothing is accepted as a number")
	}
	type loop struct{ C chan int }
	if _, err := codecOf(reflect.TypeFor[loop]()); err == nil || !strings.Contains(err.Error(), "field C") {
		t.Errorf("the error is %v", err)
	}
}

func BenchmarkCodec(b *testing.B) {
	plans, _, err := newPlans(plugin.Points)
	if err != nil {
		b.Fatal(err)
	}
	p := plans[plugin.TransformRequest]
	args := []any{&plugin.ClientRequest{UserID: 1, ClientIP: "127.0.0.1", Request: &wire.AppRequest{Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{Text: new(strings.Repeat("x", 200))}}}}}
	b.ReportAllocs()
	var body []byte
	for b.Loop() {
		body, _ = p.write(append(body[:0], 1), args)
		var out *plugin.ClientRequest
		if ok, err := p.read(body, &out); !ok || err != nil {
			b.Fatal(err)
		}
	}
}
