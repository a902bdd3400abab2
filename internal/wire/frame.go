// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrFrame reports an invalid frame length: longer than a 32-bit varint, or above the limit. The
// rest of the stream is unusable.
var ErrFrame = errors.New("malformed frame")

// maxLengthBytes is the maximum size of an encoded length.
const maxLengthBytes = 5

// ReadFrame reads one frame of a stream: the length as a varint, then the payload, which it appends
// to b. At the end between two frames the error is io.EOF, inside one it is io.ErrUnexpectedEOF.
func ReadFrame(r *bufio.Reader, b []byte, limit int) ([]byte, error) {
	var length uint64
	for i := 0; ; i++ {
		c, err := r.ReadByte()
		if err != nil {
			if err == io.EOF && i > 0 {
				err = io.ErrUnexpectedEOF
			}
			return b, err
		}
		if i == maxLengthBytes-1 && c > 0x0f {
			return b, fmt.Errorf("read a frame: %w: the length has more than 32 bits", ErrFrame)
		}
		length |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			break
		}
	}
	if length > uint64(limit) {
		return b, fmt.Errorf("read a frame: %w: %d bytes, at most %d are allowed", ErrFrame, length, limit)
	}
	start := len(b)
	b = append(b, make([]byte, length)...)
	if _, err := io.ReadFull(r, b[start:]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return b[:start], err
	}
	return b, nil
}

// AppendFrame appends the length of the payload and the payload.
func AppendFrame(b, payload []byte) []byte {
	return append(protowire.AppendVarint(b, uint64(len(payload))), payload...)
}
