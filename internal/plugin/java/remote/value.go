// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/binary"
	"errors"
	"math"
)

// A Tag is the type of the following value.
type Tag byte

// The tags.
const (
	Null Tag = iota
	False
	True
	Int
	Long
	Double
	String
	Bytes
	Handle
	List
	Dictionary
	Function
)

// AppendBool appends a boolean.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, byte(True))
	}
	return append(b, byte(False))
}

// AppendInt appends a 32-bit integer.
func AppendInt(b []byte, v int32) []byte {
	return binary.AppendVarint(append(b, byte(Int)), int64(v))
}

// AppendLong appends a 64-bit integer.
func AppendLong(b []byte, v int64) []byte { return binary.AppendVarint(append(b, byte(Long)), v) }

// AppendDouble appends a floating-point number.
func AppendDouble(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, byte(Double)), math.Float64bits(v))
}

// AppendString appends a text.
func AppendString(b []byte, v string) []byte { return AppendText(append(b, byte(String)), v) }

// AppendBytes appends bytes.
func AppendBytes(b, v []byte) []byte {
	return append(AppendNumber(append(b, byte(Bytes)), uint64(len(v))), v...)
}

// AppendHandle appends an object.
func AppendHandle(b []byte, handle uint64) []byte {
	return AppendNumber(append(b, byte(Handle)), handle)
}

// AppendFunction appends a function.
func AppendFunction(b []byte, function uint64) []byte {
	return AppendNumber(append(b, byte(Function)), function)
}

// AppendText appends a text without a tag, such as a name.
func AppendText(b []byte, v string) []byte { return append(AppendNumber(b, uint64(len(v))), v...) }

// AppendNumber appends a number without a tag, such as a count or a handle.
func AppendNumber(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// errDamaged reports a body that is truncated or inconsistent.
var errDamaged = errors.New("an answer of the Java host is damaged")

// A Reader reads a body. After the first error all values are zero.
type Reader struct {
	b   []byte
	err error
}

// NewReader returns a reader of a body, which it does not copy.
func NewReader(body []byte) *Reader { return &Reader{b: body} }

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

func (r *Reader) fail() { r.b, r.err = nil, errDamaged }

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// Tag reads the type of the following value.
func (r *Reader) Tag() Tag { return Tag(r.Byte()) }

// Number reads a number without a tag.
func (r *Reader) Number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Count reads the number of the following values, each of which has at least one byte.
func (r *Reader) Count() int {
	n := r.Number()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

// Int reads an integer after its tag.
func (r *Reader) Int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Double reads a floating-point number after its tag.
func (r *Reader) Double() float64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	v := math.Float64frombits(binary.BigEndian.Uint64(r.b))
	r.b = r.b[8:]
	return v
}

// View reads bytes, which alias the body.
func (r *Reader) View() []byte {
	n := r.Count()
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// Text reads a text without a tag.
func (r *Reader) Text() string { return string(r.View()) }

// Handles skips a value and returns the handles in it.
func (r *Reader) Handles() (list []uint64) {
	for left := 1; left > 0 && r.err == nil; left-- {
		switch r.Tag() {
		case Int, Long:
			r.Int()
		case Double:
			r.Double()
		case String, Bytes:
			r.View()
		case Handle:
			list = append(list, r.Number())
			r.Number()
			r.Byte()
		case List:
			left += r.Count()
		case Dictionary:
			left += 2 * r.Count()
		case Function:
			r.Number()
		case Null, False, True:
		default:
			r.fail()
		}
	}
	return list
}

// Texts reads a list of texts.
func (r *Reader) Texts() []string {
	n := r.Count()
	list := make([]string, 0, n)
	for range n {
		list = append(list, r.Text())
	}
	return list
}
