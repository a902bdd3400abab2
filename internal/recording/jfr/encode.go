// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"encoding/binary"
	"math"
)

// maxVarint is the number of bytes of the longest varint; the ninth byte carries eight bits.
const maxVarint = 9

// appendVarint appends an integer in the compressed form.
func appendVarint(b []byte, v int64) []byte {
	u := uint64(v)
	for range maxVarint - 1 {
		if u < 0x80 {
			return append(b, byte(u))
		}
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// varintSize returns the number of bytes that appendVarint appends.
func varintSize(v int64) int {
	u := uint64(v)
	n := 1
	for u >= 0x80 && n < maxVarint {
		u >>= 7
		n++
	}
	return n
}

// sizeWithPrefix returns the size of a structure whose first field, a varint, is its whole size.
func sizeWithPrefix(body int) int64 {
	n := 1
	for varintSize(int64(body+n)) > n {
		n++
	}
	return int64(body + n)
}

// Tags of encoded strings.
const (
	stringNull  = 0
	stringEmpty = 1
	stringPool  = 2
	stringUTF8  = 3
)

func appendString(b []byte, s string) []byte {
	if s == "" {
		return append(b, stringEmpty)
	}
	b = append(b, stringUTF8)
	b = appendVarint(b, int64(len(s)))
	return append(b, s...)
}

func appendFloat(b []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(b, math.Float32bits(v))
}

func appendDouble(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}
