// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

func ptr[T any](v T) *T { return &v }

// TestArgumentsAsJSON proves what a plugin sees, by the text that JSON makes of it.
func TestArgumentsAsJSON(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, script("let seen;", `
  handleAdminAction(action) { seen = [JSON.stringify(action), action.requestTime instanceof Date]; }
  getMessagesToDelete(messages) { seen = [JSON.stringify(messages), messages[0].deliveryDate instanceof Date]; return messages; }
  queryUploadInfo(id, name, attributes) { seen = [JSON.stringify([id, name, attributes]), name === undefined]; return { seen: seen[0], flag: String(seen[1]) }; }
  transform(r) { return { ...r, clientIp: JSON.stringify(r) }; }
  authenticate(info) { throw new AppError('SERVER_INTERNAL_ERROR', JSON.stringify(info)); }
  handle() { return { reason: seen.join(' ') }; }`))
	x := m.Extensions()[0]
	ctx := t.Context()
	seen := func() string {
		var r *plugin.RequestHandlerResult
		if _, err := x.Call(ctx, handle, []any{&plugin.ClientRequest{}}, &r); err != nil {
			t.Fatal(err)
		}
		return r.Reason
	}
	when := time.UnixMilli(1700000000123).UTC()

	if ok, err := x.Call(ctx, observe, []any{plugin.AdminAction{
		AdminID: ptr(int64(1) << 62), IP: "::1", RequestTime: when, Action: "createUser",
		Params: map[string]any{"id": int64(5), "list": []any{"a", 1.5, nil, true}, "when": when, "n": int32(3)},
	}}, nil); ok || err != nil {
		t.Fatal(ok, err)
	}
	if got, want := seen(), `{"adminId":"4611686018427387904","ip":"::1","requestTime":"2023-11-14T22:13:20.123Z","action":"createUser",`+
		`"params":{"id":"5","list":["a",1.5,null,true],"n":3,"when":"2023-11-14T22:13:20.123Z"},"processingTime":0,"code":0} true`; got != want {
		t.Errorf("admin action\n got %s\nwant %s", got, want)
	}

	messages := []plugin.StoredMessage{{
		ID: 9, ConversationID: []byte("ab"), DeliveryDate: when, Text: ptr("τext"), SenderID: 1, TargetID: -2, Records: [][]byte{{255}, {}},
		BurnAfter: ptr(int32(5)), RecallDate: &when,
	}}
	var back []plugin.StoredMessage
	if ok, err := x.Call(ctx, toDelete, []any{messages}, &back); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if d := cmp.Diff(messages, back); d != "" {
		t.Errorf("messages changed on their way: %s", d)
	}
	if got, want := seen(), `[{"id":"9","conversationId":"YWI=","isGroupMessage":false,"isSystemMessage":false,`+
		`"deliveryDate":"2023-11-14T22:13:20.123Z","recallDate":"2023-11-14T22:13:20.123Z","text":"τext","senderId":"1","targetId":"-2",`+
		`"records":["/w==",""],"burnAfter":5}] true`; got != want {
		t.Errorf("messages\n got %s\nwant %s", got, want)
	}

	var info map[string]string
	if ok, err := x.Call(ctx, uploadInfo, []any{int64(3), (*string)(nil), []*wire.Value{
		{Kind: &wire.Value_Int64Value{Int64Value: 1 << 55}},
		{Kind: &wire.Value_BytesValue{BytesValue: []byte{1}}},
		{ListValue: []*wire.Value{{Kind: &wire.Value_DoubleValue{DoubleValue: 0.5}}}},
	}}, &info); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if want := `["3",null,[{"int64Value":"36028797018963968"},{"bytesValue":"AQ=="},{"listValue":[{"doubleValue":0.5}]}]]`; info["seen"] != want || info["flag"] != "true" {
		t.Errorf("got %s", info)
	}
}

// TestMessagesFollowTheMapping compares with what protojson writes, for a message with fields of
// every kind.
func TestMessagesFollowTheMapping(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, script("", `transform(r) { return { ...r, clientIp: JSON.stringify(r.request) }; }`))
	x := m.Extensions()[0]
	for _, text := range []string{
		`{"requestId":"5","createMessageRequest":{"groupId":"1","text":"x","records":["AQID"],"burnAfter":3,"isSystemMessage":false}}`,
		`{"createSessionRequest":{"version":1,"userId":"9007199254740993","deviceType":"IOS","userStatus":"AWAY","deviceDetails":{"a":"b","c":"d"},"location":{"latitude":1.5,"longitude":-2}}}`,
		`{"customAttributes":[{"stringValue":"a"},{"boolValue":false},{"listValue":[{"int32Value":1}]}],"deleteSessionRequest":{}}`,
		`{}`,
	} {
		in := &wire.AppRequest{}
		if err := protojson.Unmarshal([]byte(text), in); err != nil {
			t.Fatal(err)
		}
		var out plugin.ClientRequest
		if ok, err := x.Call(t.Context(), transform, []any{plugin.ClientRequest{Request: in}}, &out); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if d := cmp.Diff(in, out.Request, protocmp.Transform()); d != "" {
			t.Errorf("%s changed on its way: %s", text, d)
		}
		again := &wire.AppRequest{}
		if err := protojson.Unmarshal([]byte(out.ClientIP), again); err != nil || !proto.Equal(in, again) {
			t.Errorf("the plugin saw %s: %v", out.ClientIP, err)
		}
	}
}

// TestResults are answers of plugins: what is accepted, and the sentence for what is not.
func TestResults(t *testing.T) {
	h, _ := newHost(t, Options{})
	type c struct{ code, want string }
	run := func(method *plugin.Method, args []any, cases []c, show func(any) string) {
		for _, c := range cases {
			m := load(t, h, script("", method.Name+"(arg) { return "+c.code+"; }"))
			r := reflect.New(method.Result)
			ok, err := m.Extensions()[0].Call(t.Context(), method, args, r.Interface())
			got := ""
			switch {
			case err != nil:
				e, isException := errors.AsType[*plugin.Exception](err)
				if !isException {
					t.Errorf("%s: %T %v", c.code, err, err)
					continue
				}
				if !strings.HasPrefix(e.Location, "test.js:4:") {
					t.Errorf("%s: location %q", c.code, e.Location)
				}
				got = "! " + e.Message
			case !ok:
				got = "nothing"
			default:
				got = show(r.Elem().Interface())
			}
			if got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.code, got, c.want)
			}
			m.Close(t.Context())
		}
	}
	bad := func(f, s string) string { return "! TypeError: result of Test." + f + "()" + s }

	run(authenticate, []any{plugin.UserLoginInfo{}}, []c{
		{"true", "true"},
		{"Promise.resolve(false)", "false"},
		{"{ then(f) { f(true); } }", "true"},
		{"undefined", "nothing"},
		{"null", "nothing"},
		{"(async () => {})()", "nothing"},
		{"1", bad("authenticate", ": a boolean is expected, not a number")},
		{"'true'", bad("authenticate", ": a boolean is expected, not a string")},
	}, func(v any) string { return fmt.Sprint(v) })

	run(count, []any{int64(1)}, []c{
		{"5", "5"},
		{"'-7'", "-7"},
		{"12n", "12"},
		{"-0", "0"},
		{"2147483648", bad("count", ": 2147483648 is not between -2147483648 and 2147483647")},
		{"1.5", bad("count", ": 1.5 is not a whole number")},
		{"NaN", bad("count", ": NaN is not a whole number")},
		{"'x'", bad("count", `: "x" is not a whole number of 64 bits`)},
		{"[]", bad("count", ": a whole number is expected, not an array")},
		{"Symbol()", bad("count", ": a whole number is expected, not a symbol")},
	}, func(v any) string { return fmt.Sprint(v) })

	run(transform, []any{plugin.ClientRequest{}}, []c{
		{"{ userId: '9223372036854775807' }", "9223372036854775807 DESKTOP"},
		{"{ userId: 9223372036854775807n, deviceType: 'IOS' }", "9223372036854775807 IOS"},
		{"{ userId: 5, deviceType: 1 }", "5 BROWSER"},
		{"{ userId: null, request: undefined }", "0 DESKTOP"},
		{"Object.create({ userId: 3 }, { userId: { get() { return 4; }, enumerable: true } })", "4 DESKTOP"},
		{"new Proxy({ userId: 6 }, {})", "6 DESKTOP"},
		{"{ userId: 9007199254740992 }", bad("transform", ".userId: the number 9007199254740992 is not exact beyond 2^53: use a string or a BigInt")},
		{"{ userId: 9223372036854775808n }", bad("transform", ".userId: the BigInt has more than 64 bits")},
		{"{ deviceType: 'TOASTER' }", bad("transform", `.deviceType: "TOASTER" is not one of DESKTOP, BROWSER, IOS, ANDROID, OTHERS, UNKNOWN`)},
		{"{ user: 1 }", bad("transform", ".user: ClientRequest has no such field; it has: userId, deviceType, clientIp, requestId, request")},
		{"{ request: { createMessageRequest: { txt: 'a' } } }", bad("transform", ".request.createMessageRequest.txt: CreateMessageRequest has no such field; it has: "+
			"messageId, isSystemMessage, groupId, recipientId, deliveryDate, text, records, burnAfter, preMessageId, customAttributes")},
		{"{ request: { createMessageRequest: { records: ['AQ==', '?'] } } }", bad("transform", `.request.createMessageRequest.records[1]: "?" is not base64 text`)},
		{"{ request: { createMessageRequest: { text: 5 } } }", bad("transform", ".request.createMessageRequest.text: a string is expected, not a number")},
		{"{ request: { createMessageRequest: {}, deleteSessionRequest: {} } }", bad("transform", ".request.deleteSessionRequest: createMessageRequest is there already, and only one of them can be")},
		{"{ request: { create_message_request: { group_id: '4' } }, userId: 1 }", "1 DESKTOP"},
		{"[]", bad("transform", ": an object is expected, not an array")},
		{"'x'", bad("transform", ": an object is expected, not a string")},
	}, func(v any) string {
		r := v.(plugin.ClientRequest)
		return fmt.Sprint(r.UserID, r.DeviceType)
	})

	deep := "(() => { let v = { stringValue: 'x' }; for (let i = 0; i < 60; i++) v = { listValue: [v, v, v] }; return { request: { customAttributes: [v] } }; })()"
	loop := "(() => { const v = { listValue: [] }; v.listValue.push(v); return { request: { customAttributes: [v] } }; })()"
	for code, want := range map[string]string{deep: "the value ", loop: "deeper than 100 levels"} {
		m := load(t, h, script("", "transform() { return "+code+"; }"))
		_, err := m.Extensions()[0].Call(t.Context(), transform, []any{plugin.ClientRequest{}}, new(plugin.ClientRequest))
		if e, ok := errors.AsType[*plugin.Exception](err); !ok || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v", want, err)
		}
		m.Close(t.Context())
	}

	run(toDelete, []any{[]plugin.StoredMessage{}}, []c{
		{"[{ deliveryDate: '2023-11-14T22:13:20Z' }]", "2023-11-14T22:13:20Z []"},
		{"[{ deliveryDate: 1700000000000, conversationId: new Uint8Array([7, 8]) }]", "2023-11-14T22:13:20Z [7 8]"},
		{"[{ deliveryDate: new Date(0), conversationId: '_-8' }]", "1970-01-01T00:00:00Z [255 239]"},
		{"[{ deliveryDate: new Date(NaN) }]", bad("getMessagesToDelete", "[0].deliveryDate: the Date is invalid")},
		{"[{ deliveryDate: 'soon' }]", bad("getMessagesToDelete", `[0].deliveryDate: "soon" is not a time in ISO 8601`)},
		{"[{}, null]", bad("getMessagesToDelete", "[1]: a value is expected, not null")},
		{"new Set()", bad("getMessagesToDelete", ": an array is expected, not an object")},
		{"[]", "none"},
		{"new Array(4294967295)", bad("getMessagesToDelete", "[0]: a value is expected, not undefined")},
	}, func(v any) string {
		list := v.([]plugin.StoredMessage)
		if len(list) == 0 {
			return "none"
		}
		return fmt.Sprintf("%s %v", list[0].DeliveryDate.Format(time.RFC3339), list[0].ConversationID)
	})
}

// TestArgumentsOutliveTheCall proves that what a plugin keeps does not change with the server's
// value.
func TestArgumentsOutliveTheCall(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, script("let kept;", `
  authenticate(info) { kept = info; return true; }
  handle() { return { reason: kept.password + kept.userId }; }`))
	x := m.Extensions()[0]
	password := "before"
	info := plugin.UserLoginInfo{UserID: 4, Password: &password}
	var ok bool
	if _, err := x.Call(t.Context(), authenticate, []any{info}, &ok); err != nil {
		t.Fatal(err)
	}
	password = "after"
	var r *plugin.RequestHandlerResult
	if _, err := x.Call(t.Context(), handle, []any{&plugin.ClientRequest{}}, &r); err != nil || r.Reason != "before4" {
		t.Errorf("%v %v", r, err)
	}
}

// TestFullQueue proves that a call fails at once when too many wait.
func TestFullQueue(t *testing.T) {
	h, _ := newHost(t, Options{QueueLength: 2})
	m := load(t, h, script("", `async handle() { await new Promise(() => {}); }`))
	x := m.Extensions()[0]
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range 2 {
		wg.Go(func() { x.Call(ctx, handle, []any{&plugin.ClientRequest{}}, new(*plugin.RequestHandlerResult)) })
	}
	eventually(t, "a refusal", func() bool {
		short, done := context.WithTimeout(ctx, 20*time.Millisecond)
		defer done()
		_, err := x.Call(short, handle, []any{&plugin.ClientRequest{}}, new(*plugin.RequestHandlerResult))
		return errors.Is(err, ErrBusy)
	})
}
