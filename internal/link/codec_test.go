// SPDX-License-Identifier: Apache-2.0

package link

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"example.org/app/internal/wire"
)

func TestCodec(t *testing.T) {
	for name, value := range map[string]encodable{
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
		"delivery except user 0 on the desktop": &Delivery{Notification: []byte{}, Recipients: []int64{0}, Except: &Session{}},
		"delivered":                             &Delivered{Sessions: 3, Missed: []int64{9}},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := codec{}.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			got := reflect.New(reflect.TypeOf(value).Elem()).Interface()
			// A newer program may send fields that this one does not know.
			data = protowire.AppendVarint(protowire.AppendTag(data, 100, protowire.VarintType), 1)
			if err := (codec{}).Unmarshal(data, got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, value) {
				t.Errorf("%+v came back as %+v", value, got)
			}
			for i := range data {
				// Whatever was cut off, it must not panic.
				_ = codec{}.Unmarshal(data[:i], reflect.New(reflect.TypeOf(value).Elem()).Interface())
			}
		})
	}
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
