// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/wire"
)

const benchFunction = `
  transform(request) {
    const create = request.request.createMessageRequest;
    if (create?.text) create.text = create.text + '!';
    return request;
  }`

// BenchmarkTransform compares a call of ClientRequestHandler.transform with a text message, through the host, with the
// same function called by hand-written code on the bare engine: one goroutine, no queue, no deadline, no checks, and the
// same objects made and read field by field.
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
	b.Run("bare", func(b *testing.B) { benchBare(b, &request) })
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

// bare calls the function of the benchmark without the host.
type bare struct {
	*engine.Engine
	fn, this engine.Value
	atoms    map[string]engine.Atom
}

func (e *bare) atom(name string) engine.Atom { return e.atoms[name] }

func benchBare(b *testing.B, request *plugin.ClientRequest) {
	eng, err := engine.New(engine.Limits{Memory: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer eng.Close()
	class := eng.Eval("bare.js", "(class {"+benchFunction+"})")
	e := &bare{Engine: eng, this: eng.Construct(class), atoms: map[string]engine.Atom{}}
	eng.Free(class)
	e.fn = eng.GetName(e.this, "transform")
	defer eng.Free(e.this)
	defer eng.Free(e.fn)
	for _, name := range []string{
		"userId", "deviceType", "clientIp", "requestId", "request", "createMessageRequest", "messageId", "recipientId", "deliveryDate",
		"text", "ANDROID",
	} {
		e.atoms[name] = eng.Atom(name)
	}
	defer func() {
		for _, a := range e.atoms {
			eng.FreeAtom(a)
		}
	}()
	names := struct {
		userID, deviceType, clientIP, requestID, request, create, message, recipient, delivery, text, android engine.Atom
	}{
		e.atom("userId"), e.atom("deviceType"), e.atom("clientIp"), e.atom("requestId"), e.atom("request"), e.atom("createMessageRequest"),
		e.atom("messageId"), e.atom("recipientId"), e.atom("deliveryDate"), e.atom("text"), e.atom("ANDROID"),
	}
	var digits [24]byte
	id := func(n int64) engine.Value { return e.ASCII(strconv.AppendInt(digits[:0], n, 10)) }
	number := func(v engine.Value, a engine.Atom) int64 {
		p := e.Get(v, a)
		s, _ := e.Text(p)
		e.Free(p)
		n, _ := strconv.ParseInt(s, 10, 64)
		return n
	}
	str := func(v engine.Value, a engine.Atom) string {
		p := e.Get(v, a)
		s, _ := e.Text(p)
		e.Free(p)
		return s
	}
	create := request.Request.GetCreateMessageRequest()
	b.ReportAllocs()
	for b.Loop() {
		inner := e.Object()
		e.Define(inner, names.message, id(*create.MessageId))
		e.Define(inner, names.recipient, id(*create.RecipientId))
		e.Define(inner, names.delivery, id(*create.DeliveryDate))
		e.Define(inner, names.text, e.String(*create.Text))
		req := e.Object()
		e.Define(req, names.requestID, id(*request.Request.RequestId))
		e.Define(req, names.create, inner)
		arg := e.Object()
		e.Define(arg, names.userID, id(request.UserID))
		e.Define(arg, names.deviceType, e.AtomString(names.android))
		e.Define(arg, names.clientIP, e.String(request.ClientIP))
		e.Define(arg, names.requestID, id(request.RequestID))
		e.Define(arg, names.request, req)

		v := e.Call(e.fn, e.this, arg)
		e.Free(arg)

		out := &plugin.ClientRequest{UserID: number(v, names.userID), ClientIP: str(v, names.clientIP), RequestID: number(v, names.requestID)}
		out.DeviceType = wire.DeviceType(wire.DeviceType_value[str(v, names.deviceType)])
		r := e.Get(v, names.request)
		c := e.Get(r, names.create)
		out.Request = &wire.AppRequest{
			RequestId: proto.Int64(number(r, names.requestID)),
			Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{
				MessageId: proto.Int64(number(c, names.message)), RecipientId: proto.Int64(number(c, names.recipient)),
				DeliveryDate: proto.Int64(number(c, names.delivery)), Text: proto.String(str(c, names.text)),
			}},
		}
		e.Free(c)
		e.Free(r)
		e.Free(v)
		if len(out.Request.GetCreateMessageRequest().GetText()) != len(*create.Text)+1 {
			b.Fatal(out)
		}
	}
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
