// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// A Codec turns the values of an endpoint into bytes and back. The values are pointers. It is safe
// for concurrent use.
type Codec interface {
	Marshal(value any) ([]byte, error)
	Unmarshal(data []byte, value any) error
}

// The codecs. JSON is the default; Protobuf is for endpoints whose types are generated messages.
var (
	JSON     Codec = jsonCodec{}
	Protobuf Codec = protobufCodec{}
)

type jsonCodec struct{}

func (jsonCodec) Marshal(value any) ([]byte, error)      { return json.Marshal(value) }
func (jsonCodec) Unmarshal(data []byte, value any) error { return json.Unmarshal(data, value) }

type protobufCodec struct{}

func (protobufCodec) Marshal(value any) ([]byte, error) {
	message, ok := value.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protobuf message", value)
	}
	return proto.Marshal(message)
}

func (protobufCodec) Unmarshal(data []byte, value any) error {
	message, ok := value.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a protobuf message", value)
	}
	return proto.Unmarshal(data, message)
}
