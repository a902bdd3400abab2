// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/link"
	"example.org/app/internal/wire"
)

func TestBadRequests(t *testing.T) {
	w := newWorld(t)
	id := []byte{1 << 3, 5}
	for name, test := range map[string]struct {
		payload   []byte
		code      apierr.Code
		corrupted bool
	}{
		"empty":          {nil, apierr.IllegalArgument, false},
		"no kind":        {id, apierr.IllegalArgument, false},
		"unknown kind":   {append(protowire.AppendTag(slices.Clone(id), 5000, protowire.BytesType), 0), apierr.IllegalArgument, false},
		"login":          {append(slices.Clone(id), 3<<3|2, 0), apierr.IllegalArgument, false},
		"garbage":        {[]byte("garbage"), apierr.InvalidRequest, true},
		"cut body":       {append(slices.Clone(id), 8<<3|2, 9, 1), apierr.InvalidRequest, true},
		"text not UTF-8": {append(slices.Clone(id), 8<<3|2, 3, 6<<3|2, 1, 0xff), apierr.InvalidRequest, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.dispatcher.Dispatch(t.Context(), &link.Request{UserID: 1, Payload: test.payload}, nil)
			if got.Code != int32(test.code) || got.Corrupted != test.corrupted || got.Data != nil {
				t.Errorf("the answer is %+v", got)
			}
		})
	}
}

// FuzzDispatch proves that no payload causes a failure.
func FuzzDispatch(f *testing.F) {
	w := newWorld(f)
	w.People(1, 2)
	bodies := []proto.Message{
		&wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("hi")},
		&wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(true), WithTotal: true},
	}
	for kind := range w.dispatcher.Table() {
		bodies = append(bodies, emptyBody(kind))
	}
	for _, body := range bodies {
		payload, err := proto.Marshal(requestOf(1, body))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		got := w.dispatcher.Dispatch(t.Context(), &link.Request{UserID: 1, Payload: payload}, nil)
		if got.Code == int32(apierr.ServerInternalError) || apierr.Code(got.Code).Name() == "" {
			t.Fatalf("%x gives %+v", payload, got)
		}
	})
}

// emptyBody returns an empty request of a kind.
func emptyBody(kind wire.Kind) proto.Message {
	r := new(wire.AppRequest).ProtoReflect()
	return r.NewField(r.Descriptor().Fields().ByNumber(protowire.Number(kind))).Message().Interface()
}

// TestEmptyRequests proves that no kind fails on empty requests or on users without account.
func TestEmptyRequests(t *testing.T) {
	w := newWorld(t)
	w.People(1)
	for kind := range w.dispatcher.Table() {
		for _, userID := range []int64{1, 99} {
			if got := w.request(userID, emptyBody(kind)); got.Code == apierr.ServerInternalError || got.Code.Name() == "" {
				t.Errorf("user %d requests %v: %v %q", userID, kind, got.Code, got.Reason)
			}
		}
	}
}

func TestDisabledKinds(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2)
	w.Rules.ClientAPI.DisabledEndpoints = []string{"CREATE_MESSAGE"}
	w.want(apierr.IllegalArgument, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2)})
	w.Rules.ClientAPI.DisabledEndpoints = nil
	w.want(apierr.OK, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2)})
}

// TestKindNames proves that the names in the configuration are those of the kinds.
func TestKindNames(t *testing.T) {
	var want []string
	for _, kind := range wire.Kinds() {
		if kind != wire.KindCreateSession && kind != wire.KindDeleteSession {
			want = append(want, kind.String())
		}
	}
	for _, p := range config.Properties() {
		if p.Name == "app.service.client-api.disabled-endpoints" {
			if got := p.Options; !slices.Equal(got, want) {
				t.Errorf("the configuration knows %s,\nthe kinds are %s", strings.Join(got, ","), strings.Join(want, ","))
			}
			return
		}
	}
	t.Error("the property is gone")
}
