// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// A Value is a JavaScript value; its owner frees it.
type Value = lib.TJSValue

// An Atom is an interned property name.
type Atom = lib.TJSAtom

const valueSize = int(unsafe.Sizeof(Value{}))

// Values that need not be freed. Failed represents a pending exception.
var (
	Undefined = Value{Ftag: lib.EJS_TAG_UNDEFINED}
	Null      = Value{Ftag: lib.EJS_TAG_NULL}
	True      = Bool(true)
	False     = Bool(false)
	Failed    = Value{Ftag: lib.EJS_TAG_EXCEPTION}
)

// Bool returns a boolean.
func Bool(b bool) (v Value) {
	v.Ftag = lib.EJS_TAG_BOOL
	if b {
		v.Fu.Fuint641 = 1
	}
	return v
}

// Int returns an integer.
func Int(n int32) Value {
	return Value{Fu: lib.TJSValueUnion{Fuint641: uint64(uint32(n))}, Ftag: lib.EJS_TAG_INT}
}

// Number returns a number.
func Number(f float64) Value {
	if n := int32(f); float64(n) == f && (n != 0 || !math.Signbit(f)) {
		return Int(n)
	}
	return Value{Fu: lib.TJSValueUnion{Fuint641: math.Float64bits(f)}, Ftag: lib.EJS_TAG_FLOAT64}
}

// The predicates below read the tag only.

// IsFailed reports whether v represents a pending exception.
func IsFailed(v Value) bool { return v.Ftag == lib.EJS_TAG_EXCEPTION }

// IsNothing reports whether v is undefined or null.
func IsNothing(v Value) bool { return v.Ftag == lib.EJS_TAG_UNDEFINED || v.Ftag == lib.EJS_TAG_NULL }

// IsUndefined reports whether v is undefined.
func IsUndefined(v Value) bool { return v.Ftag == lib.EJS_TAG_UNDEFINED }

// IsObject reports whether v is an object, which includes arrays and functions.
func IsObject(v Value) bool { return v.Ftag == lib.EJS_TAG_OBJECT }

// IsString reports whether v is a string.
func IsString(v Value) bool {
	return v.Ftag == lib.EJS_TAG_STRING || v.Ftag == lib.EJS_TAG_STRING_ROPE
}

// IsBigInt reports whether v is a BigInt.
func IsBigInt(v Value) bool {
	return v.Ftag == lib.EJS_TAG_BIG_INT || v.Ftag == lib.EJS_TAG_SHORT_BIG_INT
}

// AsBool returns the value of a boolean.
func AsBool(v Value) (b, ok bool) { return v.Fu.Fuint641 != 0, v.Ftag == lib.EJS_TAG_BOOL }

// AsNumber returns the value of a number.
func AsNumber(v Value) (f float64, ok bool) {
	switch v.Ftag {
	case lib.EJS_TAG_INT:
		return float64(int32(v.Fu.Fuint641)), true
	case lib.EJS_TAG_FLOAT64:
		return math.Float64frombits(v.Fu.Fuint641), true
	}
	return 0, false
}

// Values creates, reads and frees values without references to others: strings, bytes, dates and
// BigInts.
type Values struct {
	tls *libc.TLS
	rt  uintptr
	ctx uintptr

	scratch    uintptr
	scratchLen int
}

// Dup returns a new reference to v.
func (e *Values) Dup(v Value) Value {
	if v.Ftag >= 0 {
		return v
	}
	return lib.XDupValue(e.tls, e.ctx, v)
}

// Free releases a reference to v.
func (e *Values) Free(v Value) {
	if v.Ftag < 0 {
		lib.XFreeValue(e.tls, e.ctx, v)
	}
}

// buffer returns memory that the engine can read, valid until the next call.
func (e *Values) buffer(n int) uintptr {
	if n > e.scratchLen {
		if e.scratch != 0 {
			libc.Xfree(e.tls, e.scratch)
		}
		e.scratchLen = max(2*n, 4096)
		e.scratch = libc.Xmalloc(e.tls, libc.Tsize_t(e.scratchLen))
		if e.scratch == 0 {
			e.scratchLen = 0
			panic("out of memory")
		}
	}
	return e.scratch
}

// shrink frees a buffer that was needed for a large value.
func (e *Values) shrink() {
	if e.scratchLen > 1<<20 {
		libc.Xfree(e.tls, e.scratch)
		e.scratch, e.scratchLen = 0, 0
	}
}

func (e *Values) copy(s string) uintptr {
	p := e.buffer(len(s) + 1)
	b := unsafe.Slice((*byte)(pointer(p)), len(s)+1)
	copyPieces(b, unsafe.Slice(unsafe.StringData(s), len(s)))
	b[len(s)] = 0
	return p
}

// String returns a string. Invalid UTF-8 is replaced by the replacement character.
func (e *Values) String(s string) Value {
	if !utf8.ValidString(s) {
		s = string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD")))
	}
	v := lib.XJS_NewStringLen(e.tls, e.ctx, e.copy(s), lib.Tsize_t(len(s)))
	e.shrink()
	return v
}

// ASCII returns a string of bytes that are known to be ASCII.
func (e *Values) ASCII(b []byte) Value {
	p := e.buffer(len(b))
	copyPieces(unsafe.Slice((*byte)(pointer(p)), len(b)), b)
	v := lib.XJS_NewStringLen(e.tls, e.ctx, p, lib.Tsize_t(len(b)))
	e.shrink()
	return v
}

// Text converts v to a string like JavaScript, which may run code of the script. It reports false
// if that threw.
func (e *Values) Text(v Value) (string, bool) {
	s, _, ok := e.ShortText(v, math.MaxInt)
	return s, ok
}

// ShortText is Text for a string of at most limit bytes in UTF-8. It returns the length; a longer
// string is not copied.
func (e *Values) ShortText(v Value, limit int) (s string, length int, ok bool) {
	if b, plain := e.ascii(v); plain {
		if len(b) <= limit {
			s = string(b)
		}
		return s, len(b), true
	}
	const size = int(unsafe.Sizeof(lib.Tsize_t(0)))
	n := e.tls.Alloc(size)
	defer e.tls.Free(size)
	p := lib.XJS_ToCStringLen2(e.tls, e.ctx, n, v, 0)
	if p == 0 {
		return "", 0, false
	}
	length = int(*(*lib.Tsize_t)(pointer(n)))
	if length <= limit {
		s = wellFormed(unsafe.Slice((*byte)(pointer(p)), length))
	}
	lib.XJS_FreeCString(e.tls, e.ctx, p)
	return s, length, true
}

// TextInto copies a string into b and returns its length, which exceeds len(b) if it does not fit.
func (e *Values) TextInto(v Value, b []byte) (int, bool) {
	if text, plain := e.ascii(v); plain {
		copy(b, text)
		return len(text), true
	}
	const size = int(unsafe.Sizeof(lib.Tsize_t(0)))
	n := e.tls.Alloc(size)
	defer e.tls.Free(size)
	p := lib.XJS_ToCStringLen2(e.tls, e.ctx, n, v, 0)
	if p == 0 {
		return 0, false
	}
	length := int(*(*lib.Tsize_t)(pointer(n)))
	copyPieces(b, unsafe.Slice((*byte)(pointer(p)), length))
	lib.XJS_FreeCString(e.tls, e.ctx, p)
	return length, true
}

// The first word of a string in the engine: its length, and whether its characters have two bytes.
const (
	stringLength = 1<<31 - 1
	stringWide   = 1 << 31
)

// ascii returns the characters of a short string if all are ASCII, without a copy: they are valid
// until the string is freed.
func (e *Values) ascii(v Value) ([]byte, bool) {
	if v.Ftag != lib.EJS_TAG_STRING {
		return nil, false
	}
	p := uintptr(v.Fu.Fuint641)
	word := (*lib.TJSString)(pointer(p)).F__ccgo0
	if word&stringWide != 0 || word&stringLength > pieceSize {
		return nil, false
	}
	b := unsafe.Slice((*byte)(pointer(p+unsafe.Sizeof(lib.TJSString{}))), int(word&stringLength))
	const high = 0x8080808080808080
	rest := b
	for ; len(rest) >= 8; rest = rest[8:] {
		if binary.NativeEndian.Uint64(rest)&high != 0 {
			return nil, false
		}
	}
	for _, c := range rest {
		if c >= utf8.RuneSelf {
			return nil, false
		}
	}
	return b, true
}

// wellFormed copies text of the engine; lone surrogates, which UTF-8 cannot encode, become the
// replacement character, which has the same length.
func wellFormed(b []byte) string {
	if bytes.IndexByte(b, 0xed) < 0 && len(b) <= pieceSize {
		return string(b)
	}
	r := make([]byte, len(b))
	copyPieces(r, b)
	for i := 0; i+2 < len(r); i++ {
		if r[i] == 0xed && r[i+1] >= 0xa0 {
			copy(r[i:], "\uFFFD")
			i += 2
		}
	}
	return unsafe.String(unsafe.SliceData(r), len(r)) // r is not shared.
}

// Date returns a date from milliseconds since 1970.
func (e *Values) Date(ms float64) Value { return lib.XJS_NewDate(e.tls, e.ctx, ms) }

// IsDate reports whether v is a date.
func (e *Values) IsDate(v Value) bool { return e.isClass(v, lib.EJS_CLASS_DATE) }

// DateValue returns the time of a date, NaN if the date is invalid.
func (e *Values) DateValue(v Value) float64 {
	// The engine stores the time of a date in its object.
	f, _ := AsNumber(*(*Value)(unsafe.Pointer(&e.object(v).Fu)))
	return f
}

// BigInt64 returns the value of the BigInt v if it fits.
func (e *Values) BigInt64(v Value) (int64, bool) {
	p := e.tls.Alloc(8)
	defer e.tls.Free(8)
	if lib.XJS_ToBigInt64(e.tls, e.ctx, p, v) < 0 {
		e.Drop()
		return 0, false
	}
	n := *(*int64)(pointer(p))
	back := lib.XJS_NewBigInt64(e.tls, e.ctx, n)
	same := lib.XJS_StrictEq(e.tls, e.ctx, back, v) != 0
	e.Free(back)
	return n, same
}

// BigInt returns a BigInt.
func (e *Values) BigInt(n int64) Value { return lib.XJS_NewBigInt64(e.tls, e.ctx, n) }

// Drop drops the pending exception.
func (e *Values) Drop() { e.Free(lib.XJS_GetException(e.tls, e.ctx)) }

// Bytes returns a Uint8Array with a copy of b.
func (e *Values) Bytes(b []byte) Value {
	p := e.buffer(len(b))
	copyPieces(unsafe.Slice((*byte)(pointer(p)), len(b)), b)
	buf := lib.XJS_NewArrayBufferCopy(e.tls, e.ctx, p, lib.Tsize_t(len(b)))
	e.shrink()
	if IsFailed(buf) {
		return buf
	}
	argv := e.tls.Alloc(3 * valueSize)
	defer e.tls.Free(3 * valueSize)
	args := unsafe.Slice((*Value)(pointer(argv)), 3)
	args[0], args[1], args[2] = buf, Undefined, Undefined
	v := lib.XJS_NewTypedArray(e.tls, e.ctx, 1, argv, lib.EJS_TYPED_ARRAY_UINT8)
	e.Free(buf)
	return v
}

// AsBytes returns a copy of the bytes of an ArrayBuffer, a typed array or a DataView.
func (e *Values) AsBytes(v Value) ([]byte, bool) {
	b, ok := e.view(v)
	if b == nil {
		return nil, ok
	}
	r := make([]byte, len(b))
	copyPieces(r, b)
	return r, ok
}

// ByteLen returns the length of a buffer or a view in bytes. It reports false if v is neither.
func (e *Values) ByteLen(v Value) (int, bool) {
	b, ok := e.view(v)
	return len(b), ok
}

// Fill calls f with the bytes of a typed array, to change them.
func (e *Values) Fill(v Value, f func([]byte)) bool {
	b, ok := e.view(v)
	if ok {
		f(b)
	}
	return ok
}

func (e *Values) view(v Value) ([]byte, bool) {
	if !IsObject(v) {
		return nil, false
	}
	out := e.tls.Alloc(24)
	defer e.tls.Free(24)
	sizes := unsafe.Slice((*lib.Tsize_t)(pointer(out)), 3)
	class := e.object(v).Fclass_id
	switch {
	case class == lib.EJS_CLASS_ARRAY_BUFFER:
		p := lib.XJS_GetArrayBuffer(e.tls, e.ctx, out, v)
		if p == 0 {
			if lib.XJS_HasException(e.tls, e.ctx) != 0 {
				e.Drop()
				return nil, false
			}
			return []byte{}, true
		}
		return unsafe.Slice((*byte)(pointer(p)), sizes[0]), true
	case class >= lib.EJS_CLASS_UINT8C_ARRAY && class <= lib.EJS_CLASS_FLOAT64_ARRAY:
		buf := lib.XJS_GetTypedArrayBuffer(e.tls, e.ctx, v, out, out+8, out+16)
		if IsFailed(buf) {
			e.Drop()
			return nil, false
		}
		offset, length := sizes[0], sizes[1]
		p := lib.XJS_GetArrayBuffer(e.tls, e.ctx, out, buf)
		e.Free(buf)
		if p == 0 || length == 0 {
			return []byte{}, true
		}
		return unsafe.Slice((*byte)(pointer(p+uintptr(offset))), length), true
	}
	return nil, false
}

// object returns the engine's struct of an object.
func (e *Values) object(v Value) *lib.TJSObject {
	return (*lib.TJSObject)(pointer(uintptr(v.Fu.Fuint641)))
}

func (e *Values) isClass(v Value, class uint16) bool {
	return IsObject(v) && e.object(v).Fclass_id == class
}

func (e *Values) cstring(s string) uintptr {
	p := libc.Xmalloc(e.tls, libc.Tsize_t(len(s)+1))
	if p == 0 {
		panic("out of memory")
	}
	b := unsafe.Slice((*byte)(pointer(p)), len(s)+1)
	copy(b, s)
	b[len(s)] = 0
	return p
}

func (e *Values) freeCString(p uintptr) { libc.Xfree(e.tls, p) }

// Throw makes v, which it consumes, the pending exception.
func (e *Values) Throw(v Value) Value { return lib.XJS_Throw(e.tls, e.ctx, v) }
