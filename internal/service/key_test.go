// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/link"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// TestIdempotencyKey sends messages with keys of the client and of the gateway.
func TestIdempotencyKey(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2)
	text := func(s string) *wire.Value { return &wire.Value{Kind: &wire.Value_StringValue{StringValue: s}} }
	list := func(values ...*wire.Value) *wire.Value { return &wire.Value{ListValue: values} }
	send := func(device wire.DeviceType, gatewayKey string, attributes ...*wire.Value) (apierr.Code, int64) {
		t.Helper()
		payload, err := proto.Marshal(&wire.AppRequest{
			RequestId: proto.Int64(1), CustomAttributes: attributes,
			Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("hi")}},
		})
		if err != nil {
			t.Fatal(err)
		}
		request := &link.Request{UserID: 1, Device: device, Payload: payload}
		if gatewayKey != "" {
			request.Key = []byte(gatewayKey)
		}
		response := w.dispatcher.Dispatch(t.Context(), request, nil)
		var data wire.AppNotification_Data
		if err := proto.Unmarshal(response.Data, &data); err != nil {
			t.Fatal(err)
		}
		return apierr.Code(response.Code), data.GetLong()
	}
	key := func(value string) *wire.Value { return list(text("idempotency-key"), text(value)) }
	_, first := send(desktop, "gateway 1", text("other"), key("a"))
	for name, test := range map[string]struct {
		device     wire.DeviceType
		gatewayKey string
		attributes []*wire.Value
		same       bool
	}{
		"the same":               {desktop, "gateway 2", []*wire.Value{key("a")}, true},
		"another key":            {desktop, "", []*wire.Value{key("b")}, false},
		"another device":         {android, "", []*wire.Value{key("a")}, false},
		"no key":                 {desktop, "gateway 3", nil, false},
		"something else":         {desktop, "gateway 4", []*wire.Value{list(text("other"), text("a"))}, false},
		"the key of the gateway": {desktop, "gateway 1", nil, false},
		"the longest key":        {desktop, "", []*wire.Value{key(strings.Repeat("x", 128))}, false},
	} {
		code, id := send(test.device, test.gatewayKey, test.attributes...)
		if code != apierr.OK || (id == first) != test.same {
			t.Errorf("%s: the answer is %d with %d, the first was %d", name, code, id, first)
		}
		if code, again := send(test.device, test.gatewayKey, test.attributes...); code != apierr.OK || again != id {
			t.Errorf("%s: sent again, the answer is %d with %d, want %d", name, code, again, id)
		}
	}
	for name, attribute := range map[string]*wire.Value{
		"nothing":  list(text("idempotency-key")),
		"empty":    key(""),
		"too long": key(strings.Repeat("x", 129)),
		"a number": list(text("idempotency-key"), &wire.Value{Kind: &wire.Value_Int32Value{Int32Value: 1}}),
		"two":      list(text("idempotency-key"), text("a"), text("b")),
	} {
		if code, _ := send(desktop, "", attribute); code != apierr.IllegalArgument {
			t.Errorf("%s: the answer is %d", name, code)
		}
	}
	if n, err := w.Messages.Count(t.Context(), store.MessageFilter{}); err != nil || n != 7 {
		t.Errorf("%d messages are stored: %v", n, err)
	}
}
