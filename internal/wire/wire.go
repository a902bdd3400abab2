// SPDX-License-Identifier: Apache-2.0

// Package wire is the client protocol: the generated messages of proto/, their frames on a stream,
// and the fields that a gateway encodes and decodes by hand because it does not decode requests and
// results.
//
// It contains no rules of instant messaging and no connections.
package wire

//go:generate ../../scripts/generate-wire

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Version is the version of the protocol, which a client sends when it logs in.
const Version = 1

// HeartbeatID is the request id of the response to a failed heartbeat.
const HeartbeatID int64 = -100

// A Kind is the field number of a request in AppRequest.
type Kind int32

// kindFields are the fields of the oneof in AppRequest. The generated code is not ready before main
// starts.
var kindFields = sync.OnceValue(func() map[Kind]protoreflect.FieldDescriptor {
	fields := (*AppRequest)(nil).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	all := make(map[Kind]protoreflect.FieldDescriptor, fields.Len())
	for i := range fields.Len() {
		all[Kind(fields.Get(i).Number())] = fields.Get(i)
	}
	return all
})

// kindNames are the names of the kinds, for logs and traces.
var kindNames = sync.OnceValue(func() map[Kind]string {
	names := make(map[Kind]string, len(kindFields()))
	for k, field := range kindFields() {
		names[k] = strings.ToUpper(strings.TrimSuffix(string(field.Name()), "_request"))
	}
	return names
})

// Kinds returns every kind of request, by number.
func Kinds() []Kind { return slices.Sorted(maps.Keys(kindFields())) }

// Valid reports whether the kind exists.
func (k Kind) Valid() bool { return kindFields()[k] != nil }

// String returns the name in the style of a constant: CREATE_MESSAGE.
func (k Kind) String() string {
	if name, ok := kindNames()[k]; ok {
		return name
	}
	return fmt.Sprintf("KIND_%d", int32(k))
}

// KindOf returns the kind of a decoded request, or 0 if it has none.
func KindOf(r *AppRequest) Kind {
	m := r.ProtoReflect()
	field := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind"))
	if field == nil {
		return 0
	}
	return Kind(field.Number())
}

// A Head is the part of a request that a gateway needs.
type Head struct {
	ID   int64
	Kind Kind
}

// ParseHead parses the request id and the kind of an encoded AppRequest without decoding the rest.
// The id must precede the body; attributes may be anywhere.
func ParseHead(payload []byte) (Head, error) {
	var h Head
	for len(payload) > 0 {
		number, typ, n := protowire.ConsumeTag(payload)
		if n < 0 {
			return h, fmt.Errorf("read the head of a request: %w", protowire.ParseError(n))
		}
		payload = payload[n:]
		switch {
		case number == 1 && typ == protowire.VarintType:
			if h.ID != 0 {
				return h, errors.New("read the head of a request: more than one request id")
			}
			id, n := protowire.ConsumeVarint(payload)
			if n < 0 {
				return h, fmt.Errorf("read the head of a request: %w", protowire.ParseError(n))
			}
			if h.ID = int64(id); h.ID <= 0 {
				h.ID = 0
				return h, fmt.Errorf("read the head of a request: the request id %d is not positive", int64(id))
			}
			payload = payload[n:]
		case number == 2 && typ == protowire.BytesType:
			n := protowire.ConsumeFieldValue(number, typ, payload)
			if n < 0 {
				return h, fmt.Errorf("read the head of a request: %w", protowire.ParseError(n))
			}
			payload = payload[n:]
		case h.ID == 0:
			return h, errors.New("read the head of a request: the request id must come first")
		default:
			if h.Kind = Kind(number); !h.Kind.Valid() || typ != protowire.BytesType {
				h.Kind = 0
				return h, fmt.Errorf("read the head of a request: there is no kind %d", number)
			}
			return h, nil
		}
	}
	return h, errors.New("read the head of a request: it has no body")
}

// The field numbers of AppNotification that are encoded by hand.
const (
	fieldTimestamp = 1
	fieldRequestID = 4
	fieldCode      = 5
	fieldReason    = 6
	fieldData      = 7
)

// AppendResponse appends an encoded AppNotification that responds to a request. data is an encoded
// AppNotification.Data, which is copied unchanged; nil means none.
func AppendResponse(b []byte, at time.Time, requestID int64, code int32, reason string, data []byte) []byte {
	b = protowire.AppendTag(b, fieldTimestamp, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(at.UnixMilli()))
	b = protowire.AppendTag(b, fieldRequestID, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(requestID))
	b = protowire.AppendTag(b, fieldCode, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(code))
	if reason != "" {
		b = protowire.AppendTag(b, fieldReason, protowire.BytesType)
		b = protowire.AppendString(b, strings.ToValidUTF8(reason, "\uFFFD"))
	}
	if data != nil {
		b = protowire.AppendTag(b, fieldData, protowire.BytesType)
		b = protowire.AppendBytes(b, data)
	}
	return b
}

// MarshalOptions sort maps, so that equal messages have equal bytes.
var MarshalOptions = proto.MarshalOptions{Deterministic: true}
