// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/wire"
)

// bare calls the measured function as hand-written code would: one goroutine, no queue, no time
// limit, no checks, but it creates and reads the same objects field by field.
type bare struct {
	*engine.Engine
	fn, this engine.Value
	names    bareNames
	digits   [24]byte
}

// bareNames are the property names of the objects.
type bareNames struct {
	userID, deviceType, clientIP, requestID, request, create, message, recipient, delivery, text, android engine.Atom
}

func newBare() (*bare, error) {
	eng, err := engine.New(engine.Limits{Memory: 64 << 20})
	if err != nil {
		return nil, err
	}
	class := eng.Eval("bare.js", "(class {"+pluginFunction+"})")
	b := &bare{Engine: eng, this: eng.Construct(class), names: bareNames{
		eng.Atom("userId"), eng.Atom("deviceType"), eng.Atom("clientIp"), eng.Atom("requestId"), eng.Atom("request"), eng.Atom("createMessageRequest"),
		eng.Atom("messageId"), eng.Atom("recipientId"), eng.Atom("deliveryDate"), eng.Atom("text"), eng.Atom("ANDROID"),
	}}
	eng.Free(class)
	b.fn = eng.GetName(b.this, "transform")
	return b, nil
}

func (b *bare) close() {
	b.Free(b.this)
	b.Free(b.fn)
	n := b.names
	for _, a := range []engine.Atom{n.userID, n.deviceType, n.clientIP, n.requestID, n.request, n.create, n.message, n.recipient, n.delivery, n.text, n.android} {
		b.FreeAtom(a)
	}
	b.Close()
}

func (b *bare) id(n int64) engine.Value { return b.ASCII(strconv.AppendInt(b.digits[:0], n, 10)) }

func (b *bare) str(v engine.Value, a engine.Atom) string {
	p := b.Get(v, a)
	s, _ := b.Text(p)
	b.Free(p)
	return s
}

func (b *bare) number(v engine.Value, a engine.Atom) int64 {
	n, _ := strconv.ParseInt(b.str(v, a), 10, 64)
	return n
}

// transform calls the function with a request that sends a message.
func (b *bare) transform(request *plugin.ClientRequest) *plugin.ClientRequest {
	create, names := request.Request.GetCreateMessageRequest(), &b.names
	inner := b.Object()
	b.Define(inner, names.message, b.id(*create.MessageId))
	b.Define(inner, names.recipient, b.id(*create.RecipientId))
	b.Define(inner, names.delivery, b.id(*create.DeliveryDate))
	b.Define(inner, names.text, b.String(*create.Text))
	req := b.Object()
	b.Define(req, names.requestID, b.id(*request.Request.RequestId))
	b.Define(req, names.create, inner)
	arg := b.Object()
	b.Define(arg, names.userID, b.id(request.UserID))
	b.Define(arg, names.deviceType, b.AtomString(names.android))
	b.Define(arg, names.clientIP, b.String(request.ClientIP))
	b.Define(arg, names.requestID, b.id(request.RequestID))
	b.Define(arg, names.request, req)

	v := b.Call(b.fn, b.this, arg)
	b.Free(arg)

	out := &plugin.ClientRequest{UserID: b.number(v, names.userID), ClientIP: b.str(v, names.clientIP), RequestID: b.number(v, names.requestID)}
	out.DeviceType = wire.DeviceType(wire.DeviceType_value[b.str(v, names.deviceType)])
	r := b.Get(v, names.request)
	c := b.Get(r, names.create)
	out.Request = &wire.AppRequest{
		RequestId: proto.Int64(b.number(r, names.requestID)),
		Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{
			MessageId: proto.Int64(b.number(c, names.message)), RecipientId: proto.Int64(b.number(c, names.recipient)),
			DeliveryDate: proto.Int64(b.number(c, names.delivery)), Text: proto.String(b.str(c, names.text)),
		}},
	}
	b.Free(c)
	b.Free(r)
	b.Free(v)
	return out
}
