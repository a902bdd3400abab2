// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

// diff compares values. An absent list or map equals an empty one.
func diff(want, got any) string {
	return cmp.Diff(want, got, cmp.Comparer(func(a, b proto.Message) bool { return proto.Equal(a, b) }), cmpopts.EquateEmpty())
}

// testEveryMethod calls every method of every extension point with boundary values.
func testEveryMethod(t *testing.T, w *world) {
	m := w.load(Echo)
	for _, p := range plugin.Points {
		for _, method := range p.Methods {
			for _, v := range []variant{absent, low, high} {
				t.Run(fmt.Sprintf("%s.%s %s", p.Name, method.Name, v), func(t *testing.T) { testMethod(t, w, m, method, v) })
			}
		}
	}
}

func testMethod(t *testing.T, w *world, m plugin.Module, method *plugin.Method, v variant) {
	x := m.Extensions()[slices.IndexFunc(m.Extensions(), func(x plugin.Extension) bool { return x.Implements(method) })]
	args, untouched := arguments(method, v), arguments(method, v)
	var result reflect.Value
	var target any
	if method.Result != nil {
		result = reflect.New(method.Result)
		target = result.Interface()
	}
	ok, err := x.Call(t.Context(), method, args, target)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(untouched, args); d != "" {
		t.Errorf("the arguments were changed: %s", d)
	}
	w.server.wantNote(t, "suite-echo", method.Name, noted(method, args))
	want := answer(method, args)
	switch {
	case ok != (want != nil):
		t.Errorf("answered is %v", ok)
	case ok:
		if d := diff(want, result.Elem().Interface()); d != "" {
			t.Errorf("the answer differs: %s", d)
		}
	}
	if d := diff(notifications(method, args), w.server.notified()); d != "" {
		t.Errorf("the notifications differ: %s", d)
	}
}

// answer returns the expected result of Echo; nil if it has none.
func answer(m *plugin.Method, args []any) any {
	switch {
	case m.Result == nil || m == plugin.Authenticate:
		return nil // The variants contain none of the passwords.
	case m.Params[0].Type == m.Result:
		return args[0]
	case m == plugin.HandleRequest:
		r := args[0].(*plugin.ClientRequest)
		return &plugin.RequestHandlerResult{Code: int32(apierr.OK), Reason: r.ClientIP, Notifications: []plugin.Notification{
			{ForwardToRequesterOtherOnlineSessions: true, Recipients: []int64{r.UserID}, Notification: r.Request},
		}}
	case m == plugin.CountActiveMeetings:
		if args[0].(int64) > 0 {
			return int32(math.MaxInt32)
		}
		return int32(math.MinInt32)
	}
	switch m.Result {
	case reflect.TypeFor[map[string]string]():
		return map[string]string{"seen": noted(m, args)}
	case reflect.TypeFor[*plugin.MeetingAccess]():
		return &plugin.MeetingAccess{AccessToken: noted(m, args)}
	case reflect.TypeFor[[]plugin.StorageResourceInfo]():
		id := args[0].(int64)
		return []plugin.StorageResourceInfo{
			{IDNum: &id, IDStr: proto.String("👋"), Name: "👋", UploaderID: id, CreationDate: time.UnixMilli(-1).UTC()},
			{Name: "n", MediaType: "m", CreationDate: time.UnixMilli(0).UTC()},
		}
	}
	panic("fixture.go does not say what Echo answers to " + m.Name)
}

// notifications returns the expected notifications of Echo.
func notifications(m *plugin.Method, args []any) []plugin.Notification {
	switch m {
	case plugin.HandleNotification:
		if r := args[0].(*wire.AppNotification).RelayedRequest; r != nil {
			return []plugin.Notification{{Recipients: slices.Concat(args[1].([]int64), args[2].([]int64)), Notification: r}}
		}
	case plugin.QueryUserProfilePictureUploadInfo:
		return []plugin.Notification{{Recipients: []int64{args[0].(int64)}, Notification: &wire.AppRequest{CustomAttributes: args[3].([]*wire.Value)}}}
	}
	return nil
}

func testLargeLists(t *testing.T, w *world) {
	x := extension(t, w.load(Echo), "Serve")
	messages := make([]plugin.StoredMessage, 200)
	for i := range messages {
		messages[i] = value(reflect.TypeFor[plugin.StoredMessage](), []variant{absent, low, high}[i%3]).Interface().(plugin.StoredMessage)
		messages[i].ID = int64(i)
	}
	var kept []plugin.StoredMessage
	if ok, err := x.Call(t.Context(), plugin.MessagesToDelete, []any{messages}, &kept); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if d := diff(messages, kept); d != "" {
		t.Errorf("the messages differ: %s", d)
	}
	recipients := make([]int64, 3_000)
	for i := range recipients {
		recipients[i] = math.MaxInt64 - int64(i)
	}
	long := strings.Repeat("👋 long text ", 5_000)
	result := &plugin.RequestHandlerResult{Reason: long, Notifications: []plugin.Notification{{Recipients: recipients, Notification: request(high)}}}
	var back *plugin.RequestHandlerResult
	if ok, err := x.Call(t.Context(), plugin.BeforeNotify, []any{result, int64(1), wire.DeviceType_IOS}, &back); !ok || err != nil {
		t.Fatal(ok, err)
	}
	// A diff of long lists is too verbose and slow.
	if back.Reason != long || len(back.Notifications) != 1 || !slices.Equal(back.Notifications[0].Recipients, recipients) || !proto.Equal(back.Notifications[0].Notification, request(high)) {
		t.Error("the result differs")
	}
}

// testArgumentsAreCopies proves that results of a plugin share nothing with its arguments.
func testArgumentsAreCopies(t *testing.T, w *world) {
	x := extension(t, w.load(Echo), "Serve")
	given := &plugin.ClientRequest{Request: request(high)}
	var got *plugin.ClientRequest
	if ok, err := x.Call(t.Context(), plugin.TransformRequest, []any{given}, &got); !ok || err != nil {
		t.Fatal(ok, err)
	}
	*got.Request.GetCreateMessageRequest().Text = "changed"
	got.Request.CustomAttributes[0].Kind = nil
	if d := diff(request(high), given.Request); d != "" {
		t.Errorf("the argument changed with the answer: %s", d)
	}
}

func testDecisions(t *testing.T, w *world) {
	m := w.manager()
	w.start(m, Echo)
	for _, test := range []struct {
		password   *string
		answer, ok bool
	}{
		{proto.String("yes"), true, true},
		{proto.String("no"), false, true},
		{proto.String(""), false, false},
		{nil, false, false},
	} {
		got, ok, err := plugin.Ask[bool](t.Context(), m.Calls, plugin.Authenticate, &plugin.UserLoginInfo{UserID: 1, Password: test.password})
		if err != nil || got != test.answer || ok != test.ok {
			t.Errorf("%s: %v %v %v", show(test.password), got, ok, err)
		}
	}
}

// testCombined calls the extensions of two plugins through the manager, with each kind of
// combination.
func testCombined(t *testing.T, w *world) {
	m := w.manager()
	w.start(m, Echo)
	w.start(m, Acts)
	given := &plugin.ClientRequest{UserID: 4, ClientIP: "::1", Request: request(low)}
	got, err := plugin.Pass(t.Context(), m.Calls, plugin.TransformRequest, given)
	want := *given
	want.ClientIP = "1" // Set by the second plugin.
	if d := diff(&want, got); err != nil || d != "" {
		t.Errorf("a pipeline: %v, %s", err, d)
	}
	result, ok, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, given)
	if !ok || err != nil || len(result.Notifications) != 1 {
		t.Errorf("the first answer: %v %v %+v", ok, err, result)
	}
	if done, err := m.Calls.Run(t.Context(), plugin.CancelMeeting, int64(5), int64(6)); !done || err != nil {
		t.Errorf("the only one: %v %v", done, err)
	}
	w.server.wantNote(t, "suite-echo", "cancelMeeting", "5|6")
	m.Calls.Tell(t.Context(), plugin.HandleAdminAction, &plugin.AdminAction{Action: "told", Params: map[string]any{}})
	await(t, "an observer", func() bool {
		note, _ := w.server.note(t, "suite-echo", "handleAdminAction")
		return strings.Contains(note, "action=told")
	})
}
