// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/wire"
)

// echo calls a method that sends back what it gets.
func echo[T any](t *testing.T, x plugin.Extension, m *plugin.Method, value T, rest ...any) T {
	t.Helper()
	var out T
	if ok, err := x.Call(t.Context(), m, append([]any{value}, rest...), &out); err != nil || !ok {
		t.Fatalf("%s: %v, %v", m.Name, ok, err)
	}
	return out
}

// TestValues lets a plugin send back values, those at the edges among them, through every kind of extension point.
func TestValues(t *testing.T) {
	w := newWorld(t, nil)
	w.server.config = map[string]any{"points": map[string]any{"name": "configured"}}
	m := w.load("points", javatest.Jar(t, javatest.Plugin{ID: "points", Version: "1", Class: "points.PointsPlugin", Sources: javatest.Sources(t, "testdata/points")}))
	x, later := m.Extensions()[0], m.Extensions()[1]
	if len(x.Points()) != len(plugin.Points) || len(later.Points()) != 1 {
		t.Errorf("the points are %v", x.Points())
	}
	for method, want := range map[*plugin.Method]bool{plugin.TransformRequest: true, plugin.HandleRequest: false, plugin.HandleNotification: true, plugin.AcceptMeetingInvitation: false} {
		if x.Implements(method) != want {
			t.Errorf("%s.%s is implemented: %v", method.Point.Name, method.Name, !want)
		}
	}
	if !later.Implements(plugin.HandleRequest) || !later.Implements(plugin.TransformRequest) {
		t.Error("methods that answer later are not seen")
	}

	texts := []string{"", "x", "ä", "\x00", "日本語🚀", strings.Repeat("y", 100_000)}
	for i, text := range texts {
		id := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1<<53 + 1}[i]
		in := &plugin.ClientRequest{UserID: id, DeviceType: wire.DeviceType(i % 3), ClientIP: text, RequestID: -id, Request: &wire.AppRequest{
			RequestId: &id, Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{Text: &text, Records: [][]byte{{0, 255}, {}}}},
		}}
		out := echo(t, x, plugin.TransformRequest, in)
		if out.UserID != in.UserID || out.DeviceType != in.DeviceType || out.ClientIP != in.ClientIP || out.RequestID != in.RequestID || !proto.Equal(out.Request, in.Request) {
			t.Errorf("%+v becomes %+v", in, out)
		}
		result := &plugin.RequestHandlerResult{Code: int32(id), Reason: text, Notifications: []plugin.Notification{{Recipients: []int64{id, -id}, Notification: in.Request}}}
		back := echo(t, x, plugin.BeforeNotify, result, id, wire.DeviceType_IOS)
		if back.Code != result.Code || back.Reason != text || back.Response != nil || len(back.Notifications) != 1 ||
			!reflect.DeepEqual(back.Notifications[0].Recipients, result.Notifications[0].Recipients) || !proto.Equal(back.Notifications[0].Notification, in.Request) {
			t.Errorf("%+v becomes %+v", result, back)
		}
	}
	if out := echo(t, x, plugin.TransformRequest, &plugin.ClientRequest{}); out.Request != nil {
		t.Errorf("no request becomes %v", out.Request)
	}
	var nothing *plugin.ClientRequest
	if ok, err := x.Call(t.Context(), plugin.TransformRequest, []any{&plugin.ClientRequest{ClientIP: "nothing"}}, &nothing); ok || err != nil {
		t.Errorf("nothing is %v, %v", ok, err)
	}

	at := func(ms int64) *time.Time { v := time.UnixMilli(ms).UTC(); return &v }
	messages := []plugin.Message{
		{
			ID: math.MinInt64, ConversationID: []byte{0, 1, 255}, IsGroupMessage: true, IsSystemMessage: true, DeliveryDate: *at(0), ModificationDate: at(-1), DeletionDate: at(1 << 45),
			RecallDate: at(1), Text: new(""), SenderID: math.MaxInt64, SenderIP: "::1", TargetID: -1, Records: [][]byte{{1}, {2, 3}}, BurnAfter: new(int32(math.MinInt32)),
			ReferenceID: new(int64(0)), SequenceID: new(int32(math.MaxInt32)), PreMessageID: new(int64(math.MinInt64)),
		},
		{DeliveryDate: *at(5)},
	}
	for _, list := range [][]plugin.Message{messages, {}} {
		if got := echo(t, x, plugin.MessagesToDelete, list); len(got) != len(list) || len(list) > 0 && !reflect.DeepEqual(got, list) {
			t.Errorf("%+v becomes %+v", list, got)
		}
	}

	noted := func(want ...string) {
		t.Helper()
		for _, part := range want {
			if got := w.server.get("points", "last"); !strings.Contains(got, part) {
				t.Errorf("%s lacks %s", got, part)
			}
		}
	}
	run := func(method *plugin.Method, args ...any) {
		t.Helper()
		if ok, err := x.Call(t.Context(), method, args, nil); ok || err != nil {
			t.Errorf("%s: %v, %v", method.Name, ok, err)
		}
	}
	run(plugin.HandleAdminAction, &plugin.AdminAction{IP: "1.2.3.4", RequestTime: *at(0), Action: "a", Params: map[string]any{"n": 5, "l": []any{"x", nil}}, ProcessingTime: -1, Code: 1000})
	noted("adminId=null", "ip=1.2.3.4", "1970-01-01T00:00:00Z", "l=[x, null]", "processingTime=-1")
	run(plugin.GoOnline, &plugin.UserSessions{UserID: 1, UserStatus: wire.UserStatus_AVAILABLE, Sessions: []plugin.UserSession{}},
		&plugin.UserSession{ID: 7, DeviceDetails: map[string]string{"k": "v"}, LoginDate: *at(0), LoginLocation: &plugin.Location{Longitude: -1.5, Latitude: 2}})
	noted("sessions=[]", "id=7", "{k=v}", "longitude=-1.5")
	run(plugin.GoOffline, &plugin.UserSessions{}, &plugin.CloseReason{CloseStatus: 5, Code: new(int32(-7)), Reason: "r"})
	noted("closeStatus=5", "businessStatusCode=-7")
	note := &wire.AppNotification{RequestId: new(int64(math.MinInt64))}
	data, err := proto.Marshal(note)
	if err != nil {
		t.Fatal(err)
	}
	run(plugin.HandleNotification, note, []int64{1, math.MinInt64}, []int64(nil))
	noted(hex.EncodeToString(data), "[1, -9223372036854775808]", "[]")
	run(plugin.CancelMeeting, int64(math.MinInt64), int64(5))
	noted("[-9223372036854775808, 5]")
	run(plugin.DeleteUserProfilePicture, int64(1), []*wire.Value{{}, {}})
	noted("[1, 2]")

	var accepted bool
	for password, want := range map[string]bool{"open": true, "closed": false} {
		if ok, err := x.Call(t.Context(), plugin.Authenticate, []any{&plugin.UserLoginInfo{Password: &password, UserStatus: new(wire.UserStatus_BUSY)}}, &accepted); !ok || err != nil || accepted != want {
			t.Errorf("%s: %v, %v, %v", password, accepted, ok, err)
		}
	}
	if ok, err := x.Call(t.Context(), plugin.Authenticate, []any{&plugin.UserLoginInfo{}}, &accepted); ok || err != nil {
		t.Errorf("no opinion is %v, %v", ok, err)
	}
	var fields map[string]string
	if ok, err := x.Call(t.Context(), plugin.QueryUserProfilePictureUploadInfo, []any{int64(1), new("n"), (*string)(nil), []*wire.Value(nil)}, &fields); !ok || err != nil || fields["url"] != "1 n null 0" || fields[""] != "empty" {
		t.Errorf("the fields are %v, %v, %v", fields, ok, err)
	}
	var infos []plugin.StorageResourceInfo
	if ok, err := x.Call(t.Context(), plugin.QueryMessageAttachmentInfosInPrivateConversations, []any{int64(9), []int64{3}, &plugin.DateRange{Start: at(77)}, (*bool)(nil)}, &infos); !ok || err != nil ||
		!reflect.DeepEqual(infos, []plugin.StorageResourceInfo{{IDNum: new(int64(9)), IDStr: new("null"), Name: "[3]", UploaderID: math.MinInt64, CreationDate: *at(77)}, {CreationDate: *at(0)}}) {
		t.Errorf("they are %+v, %v, %v", infos, ok, err)
	}
	var access *plugin.MeetingAccess
	if ok, err := x.Call(t.Context(), plugin.CreateMeeting, []any{int64(1), &plugin.Meeting{ID: 5, CreationDate: *at(0), StartDate: *at(0)}, &plugin.CreateMeetingOptions{}}, &access); !ok || err != nil || !strings.Contains(access.AccessToken, "maxParticipants=null") {
		t.Errorf("it is %+v, %v, %v", access, ok, err)
	}
	var count int32
	if ok, err := x.Call(t.Context(), plugin.CountActiveMeetings, []any{int64(math.MaxInt32)}, &count); !ok || err != nil || count != math.MaxInt32 {
		t.Errorf("it is %d, %v, %v", count, ok, err)
	}
	if ok, err := x.Call(t.Context(), plugin.CountActiveMeetings, []any{int64(0)}, &count); ok || err != nil {
		t.Errorf("no limit is %v, %v", ok, err)
	}

	for what, want := range map[string]string{
		"config": "configured 5", "keys": "[k1, k2] 2 null truefalse", "node": "points",
	} {
		if got := echo(t, x, plugin.TransformRequest, &plugin.ClientRequest{ClientIP: what}); !strings.Contains(got.ClientIP, want) {
			t.Errorf("%s is %q", what, got.ClientIP)
		}
	}
	echo(t, x, plugin.TransformRequest, &plugin.ClientRequest{ClientIP: "notify", Request: &wire.AppRequest{RequestId: new(int64(3))}})
	if len(w.server.told) != 1 || !reflect.DeepEqual(w.server.told[0].Recipients, []int64{1, math.MaxInt64}) || w.server.told[0].Notification.GetRequestId() != 3 {
		t.Errorf("users are told %+v", w.server.told)
	}

	if got := echo(t, later, plugin.TransformRequest, &plugin.ClientRequest{}); got.ClientIP != "later" {
		t.Errorf("later is %+v", got)
	}
	answer := func(what string) (bool, error) {
		var r *plugin.RequestHandlerResult
		return later.Call(t.Context(), plugin.HandleRequest, []any{&plugin.ClientRequest{ClientIP: what}}, &r)
	}
	if ok, err := answer("nothing"); ok || err != nil {
		t.Errorf("nothing later is %v, %v", ok, err)
	}
	_, err = answer("refuse")
	if e, ok := errors.AsType[*apierr.Error](err); !ok || e.Code != 5010 {
		t.Errorf("a refusal later is %v", err)
	}
	if _, err = answer("throw"); err == nil || !strings.Contains(err.Error(), "java.lang.IllegalStateException: later") {
		t.Errorf("an exception later is %v", err)
	}
}
