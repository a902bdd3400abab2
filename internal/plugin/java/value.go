// SPDX-License-Identifier: Apache-2.0

package java

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The encoding of values in the body of a frame. Integers of every size are zigzag varints, counts
// and lengths are plain varints.

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func appendUint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

func appendCount(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func appendString(b []byte, s string) []byte { return append(appendCount(b, len(s)), s...) }

func appendBytes(b, v []byte) []byte { return append(appendCount(b, len(v)), v...) }

func appendStrings(b []byte, list []string) []byte {
	b = appendCount(b, len(list))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

// errShort reports that a body is truncated or inconsistent.
var errShort = errors.New("the body of a frame is damaged")

// in decodes the values of a body. After the first error all values are zero.
type in struct {
	b   []byte
	err error
}

func (r *in) fail() { r.err, r.b = errShort, nil }

func (r *in) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *in) bool() bool { return r.byte() != 0 }

func (r *in) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *in) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads the number of following values, each of at least a byte.
func (r *in) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

// view reads bytes without copying them.
func (r *in) view() []byte {
	n := r.count()
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *in) string() string { return string(r.view()) }

func (r *in) bytes() []byte { return append([]byte{}, r.view()...) }

func (r *in) strings() []string {
	n := r.count()
	list := make([]string, 0, n)
	for range n {
		list = append(list, r.string())
	}
	return list
}

func (r *in) float32() float32 {
	if len(r.b) < 4 {
		r.fail()
		return 0
	}
	v := math.Float32frombits(binary.BigEndian.Uint32(r.b))
	r.b = r.b[4:]
	return v
}

func (r *in) float64() float64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	v := math.Float64frombits(binary.BigEndian.Uint64(r.b))
	r.b = r.b[8:]
	return v
}

// end returns an error unless the whole body was decoded.
func (r *in) end() error {
	if r.err == nil && len(r.b) > 0 {
		return fmt.Errorf("%w: %d bytes are left over", errShort, len(r.b))
	}
	return r.err
}
