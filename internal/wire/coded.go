// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"

	"google.golang.org/protobuf/proto"
)

// A Coded is a message with code of its own for its bytes, which takes a third of the time of the proto package. It
// does not write maps in order, nor does it see to it that what it reads as text is UTF-8: it is for two ends that trust
// each other.
type Coded interface {
	proto.Message
	SizeVT() int
	MarshalToSizedBufferVT(b []byte) (int, error)
	UnmarshalVT(b []byte) error
}

// Append appends a message, whose size is known already.
func Append(b []byte, m Coded, size int) ([]byte, error) {
	b = slices.Grow(b, size)
	b = b[:len(b)+size]
	_, err := m.MarshalToSizedBufferVT(b[len(b)-size:])
	return b, err
}
