// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/config"
	"example.org/app/internal/metrics"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

const benchFunction = `
  transform(request) {
    const create = request.request.createMessageRequest;
    if (create?.text) create.text = create.text + '!';
    return request;
  }`

// BenchmarkTransform is a call of ClientRequestHandler.transform with a text message, of the host
// alone and through the manager. Folder bench compares it with the bare engine.
func BenchmarkTransform(b *testing.B) {
	text := "hello, this is a text message"
	request := plugin.ClientRequest{
		UserID: 1234567890123456789, DeviceType: wire.DeviceType_ANDROID, ClientIP: "127.0.0.1", RequestID: 987654321,
		Request: &wire.AppRequest{
			RequestId: proto.Int64(987654321),
			Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{
				MessageId: proto.Int64(55), RecipientId: proto.Int64(1234567890123456780), DeliveryDate: proto.Int64(1700000000000), Text: &text,
			}},
		},
	}
	b.Run("manager", func(b *testing.B) {
		h, err := New(Options{Points: plugin.Points})
		if err != nil {
			b.Fatal(err)
		}
		settings, registry := config.Default().Plugin, metrics.New(metrics.BuildInfo{})
		m := plugin.NewManager(plugin.Options{
			Roles: []role.Role{role.Service}, Hosts: []plugin.Host{h}, Logger: slog.New(slog.DiscardHandler),
			Settings: func() config.Plugin { return settings },
			Observe: func(p *plugin.Plugin, extension string, m *plugin.Method, d time.Duration, outcome string) {
				registry.Plugins().Observe(p.ID, extension, m.Point.Name, m.Name, outcome, d)
			},
		})
		defer m.Close(context.Background())
		p, err := m.Load(b.Context(), plugin.JavaScript, plugin.Source{Name: "bench.js", Data: script("", benchFunction).Data})
		if err != nil {
			b.Fatal(err)
		}
		m.Do(b.Context(), p, plugin.Start)
		b.ReportAllocs()
		for b.Loop() {
			result, err := plugin.Pass(b.Context(), m.Calls, plugin.TransformRequest, &request)
			if err != nil || len(result.Request.GetCreateMessageRequest().GetText()) != len(text)+1 {
				b.Fatal(err, result)
			}
		}
	})
	b.Run("host", func(b *testing.B) {
		h, _ := newHost(b, Options{})
		m := load(b, h, script("", benchFunction))
		x := m.Extensions()[0]
		args := []any{&request}
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			var result *plugin.ClientRequest
			ok, err := x.Call(ctx, benchTransform, args, &result)
			if err != nil || !ok || len(result.Request.GetCreateMessageRequest().GetText()) != len(text)+1 {
				b.Fatal(ok, err, result)
			}
		}
	})
}

// BenchmarkCallers calls as requests do: each on a goroutine of its own, several at a time.
func BenchmarkCallers(b *testing.B) {
	h, _ := newHost(b, Options{})
	x := load(b, h, script("", benchFunction)).Extensions()[0]
	request := messageRequest("hello, this is a text message")
	args := []any{&request}
	limit := make(chan struct{}, 4)
	var wg sync.WaitGroup
	b.ReportAllocs()
	for b.Loop() {
		limit <- struct{}{}
		wg.Go(func() {
			var result *plugin.ClientRequest
			if ok, err := x.Call(context.Background(), benchTransform, args, &result); err != nil || !ok {
				b.Error(ok, err)
			}
			<-limit
		})
	}
	wg.Wait()
}

func BenchmarkCalls(b *testing.B) {
	h, _ := newHost(b, Options{})
	m := load(b, h, script("", `count() { return 1; } async authenticate() { return true; }`))
	x := m.Extensions()[0]
	b.Run("empty", func(b *testing.B) {
		args := []any{int64(5)}
		b.ReportAllocs()
		for b.Loop() {
			var n int32
			if _, err := x.Call(b.Context(), count, args, &n); err != nil || n != 1 {
				b.Fatal(err)
			}
		}
	})
	b.Run("async", func(b *testing.B) {
		args := []any{plugin.UserLoginInfo{UserID: 1}}
		b.ReportAllocs()
		for b.Loop() {
			var ok bool
			if _, err := x.Call(b.Context(), authenticate, args, &ok); err != nil || !ok {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	h, _ := newHost(b, Options{})
	src := script("", benchFunction)
	b.ReportAllocs()
	for b.Loop() {
		m := load(b, h, src)
		if err := m.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
