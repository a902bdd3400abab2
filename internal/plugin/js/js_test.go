// SPDX-License-Identifier: Apache-2.0

package js

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/wire"
)

// TestMain proves that no test leaves a goroutine, or an object of an engine that nobody freed.
func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if n := leaked.Load(); code == 0 && n != 0 {
		fmt.Fprintln(os.Stderr, n, "objects were not freed")
		code = 1
	}
	os.Exit(code)
}

// The extension points of the tests, declared as the real ones are.
var (
	transform    = &plugin.Method{Name: "transform", Params: params(plugin.ClientRequest{}), Result: reflect.TypeFor[plugin.ClientRequest]()}
	handle       = &plugin.Method{Name: "handle", Params: params(&plugin.ClientRequest{}), Result: reflect.TypeFor[*plugin.RequestHandlerResult]()}
	authenticate = &plugin.Method{Name: "authenticate", Params: params(plugin.UserLoginInfo{}), Result: reflect.TypeFor[bool]()}
	observe      = &plugin.Method{Name: "handleAdminAction", Params: params(plugin.AdminAction{})}
	toDelete     = &plugin.Method{
		Name: "getMessagesToDelete", Params: params([]plugin.Message{}), Result: reflect.TypeFor[[]plugin.Message](),
	}
	uploadInfo = &plugin.Method{
		Name: "queryUploadInfo", Params: params(int64(0), (*string)(nil), []*wire.Value{}), Result: reflect.TypeFor[map[string]string](),
	}
	// benchTransform is transform with pointers, as it is called on the way of a request.
	benchTransform = &plugin.Method{Name: "transform", Params: params(&plugin.ClientRequest{}), Result: reflect.TypeFor[*plugin.ClientRequest]()}
	count          = &plugin.Method{Name: "count", Params: params(int64(0)), Result: reflect.TypeFor[int32]()}

	points = []*plugin.Point{
		{Name: "ClientRequestHandler", Package: "im.app.service.infra.plugin.extension", Methods: []*plugin.Method{transform, handle, benchTransform}},
		{Name: "UserAuthenticator", Package: "im.app.gateway.infra.plugin.extension", Methods: []*plugin.Method{authenticate}},
		{Name: "AdminActionHandler", Package: "im.app.server.common.infra.plugin.extension", Methods: []*plugin.Method{observe}},
		{Name: "ExpiredMessageDeletionNotifier", Package: "im.app.service.infra.plugin.extension", Methods: []*plugin.Method{toDelete}},
		{Name: "StorageServiceProvider", Package: "im.app.service.infra.plugin.extension", Methods: []*plugin.Method{uploadInfo, count}},
		{Name: "ConferenceServiceProvider", Package: "im.app.service.infra.plugin.extension", Listeners: []*plugin.Listener{plugin.MeetingEnded}},
	}
)

func params(values ...any) []plugin.Param {
	var list []plugin.Param
	for _, v := range values {
		list = append(list, plugin.Param{Name: "p", Type: reflect.TypeOf(v)})
	}
	return list
}

// logged collects what is logged.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newHost makes a host that is closed at the end of the test.
func newHost(t testing.TB, opts Options) (*Host, *logged) {
	t.Helper()
	log := &logged{}
	opts.Points = points
	opts.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h, log
}

// load loads a plugin.
func load(t testing.TB, h *Host, src plugin.Source) *module {
	t.Helper()
	m, err := h.Load(t.Context(), src)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return m.(*module)
}

// file is a plugin in testdata.
func file(t testing.TB, name string) plugin.Source {
	t.Helper()
	path := filepath.Join("testdata", name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return plugin.Source{Name: name, Path: path, Data: data}
}

// script is a plugin with one extension that has the given members; before comes ahead of it.
func script(before, members string) plugin.Source {
	return plugin.Source{Name: "test.js", Data: []byte(before + `
class Test extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler', 'UserAuthenticator', 'AdminActionHandler', 'StorageServiceProvider', 'ExpiredMessageDeletionNotifier']; }
` + members + `
}
export default class extends AppPlugin {
  getDescriptor() { return { id: 'test' }; }
  getExtensions() { return [Test]; }
}`)}
}

func messageRequest(text string) plugin.ClientRequest {
	return plugin.ClientRequest{
		UserID: 1 << 60, DeviceType: wire.DeviceType_ANDROID, ClientIP: "127.0.0.1", RequestID: 7,
		Request: &wire.AppRequest{
			RequestId: proto.Int64(7),
			Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{
				RecipientId: proto.Int64(2), Text: &text, DeliveryDate: proto.Int64(1700000000000),
				Records: [][]byte{{1, 2, 3}},
			}},
		},
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestPluginFromFile(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, file(t, "greeter.js"))
	d := m.Descriptor()
	if d.ID != "greeter" || d.Version != "1.2" || d.Provider != "us" || d.License != "MIT" || d.Description != "greets" {
		t.Errorf("descriptor %+v", d)
	}
	if !reflect.DeepEqual(d.Servers, []plugin.Role{plugin.Service, plugin.Gateway}) {
		t.Errorf("servers %v", d.Servers)
	}
	x := m.Extensions()[0]
	if x.Class() != "Greeter" || len(x.Points()) != 2 || !x.Implements(transform) || x.Implements(observe) {
		t.Errorf("extension %s %v", x.Class(), x.Points())
	}
	ctx := t.Context()
	for _, hook := range []plugin.Hook{plugin.Start, plugin.Pause, plugin.Resume} {
		if err := x.Hook(ctx, hook); err != nil {
			t.Errorf("%s: %v", hook, err)
		}
	}

	req := messageRequest("hé 👋")
	var got plugin.ClientRequest
	ok, err := x.Call(ctx, transform, []any{req}, &got)
	if err != nil || !ok {
		t.Fatalf("transform: %v %v", ok, err)
	}
	want := messageRequest("greeter: hé 👋")
	if !proto.Equal(got.Request, want.Request) || got.UserID != want.UserID || got.DeviceType != want.DeviceType || got.RequestID != 7 {
		t.Errorf("transform gave %+v", got)
	}

	user := func(id int64) []any { return []any{&plugin.ClientRequest{UserID: id, Request: &wire.AppRequest{}}} }
	var result *plugin.RequestHandlerResult
	if ok, err := x.Call(ctx, handle, user(12), &result); ok || err != nil || result != nil {
		t.Errorf("nothing: %v %v %v", ok, err, result)
	}
	_, err = x.Call(ctx, handle, user(13), &result)
	if e, ok := errors.AsType[*apierr.Error](err); !ok || e.Code != 5010 || e.Reason != "not you" {
		t.Errorf("refusal: %v", err)
	}
	_, err = x.Call(ctx, handle, user(14), &result)
	if e, ok := errors.AsType[*plugin.Exception](err); !ok || e.Message != "TypeError: broken" || e.Location != "greeter.js:24:53" ||
		!strings.Contains(e.Stack, "handle") {
		t.Errorf("exception: %#v", err)
	}
	if ok, err := x.Call(ctx, handle, user(15), &result); !ok || err != nil || result.Reason != "started true, calls 1" {
		t.Errorf("answer: %v %v %+v", ok, err, result)
	}
	var accepted bool
	secret := "secret"
	if ok, err := x.Call(ctx, authenticate, []any{plugin.UserLoginInfo{UserID: 1, Password: &secret}}, &accepted); !ok || err != nil || !accepted {
		t.Errorf("authenticate: %v %v %v", ok, err, accepted)
	}
	if err := x.Hook(ctx, plugin.Stop); err != nil {
		t.Error(err)
	}
	if m.Memory() <= 0 {
		t.Error("memory is unknown")
	}
	if err := m.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, err := x.Call(ctx, handle, user(1), &result); !errors.Is(err, errClosed) {
		t.Errorf("call of a closed plugin: %v", err)
	}
}

// brokenValue points to nothing, as no value of the engine does.
var brokenValue = func() engine.Value {
	v := engine.Int(0)
	v.Ftag = -1
	v.Fu.Fuint641 = 1 << 40
	return v
}()
