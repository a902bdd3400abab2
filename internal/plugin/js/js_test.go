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
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

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
		Name: "getMessagesToDelete", Params: params([]plugin.StoredMessage{}), Result: reflect.TypeFor[[]plugin.StoredMessage](),
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

// TestLocation proves that an exception names the file, the line and the column, also after an
// await.
func TestLocation(t *testing.T) {
	h, _ := newHost(t, Options{})
	x := load(t, h, file(t, "greeter.js")).Extensions()[0]
	var result *plugin.RequestHandlerResult
	_, err := x.Call(t.Context(), handle, []any{&plugin.ClientRequest{UserID: 14, Request: &wire.AppRequest{}}}, &result)
	if e, ok := errors.AsType[*plugin.Exception](err); !ok || e.Message != "TypeError: broken" || e.Location != "greeter.js:24:53" {
		t.Errorf("exception: %#v", err)
	}
}

// brokenValue points to nothing, as no value of the engine does.
var brokenValue = func() engine.Value {
	v := engine.Int(0)
	v.Ftag = -1
	v.Fu.Fuint641 = 1 << 40
	return v
}()
