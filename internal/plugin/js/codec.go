// SPDX-License-Identifier: Apache-2.0

package js

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"example.org/app/internal/plugin/js/engine"
)

// A codec converts values of one Go type. It is created once for each type and shared by all
// plugins: it refers to property names by their number in a global table, and each translator has
// the atoms of its engine under the same numbers.
type codec interface {
	// to converts the Go value p to a JavaScript value; on failure the value stands for a pending
	// exception.
	to(t *translator, p reflect.Value) engine.Value
	// from converts a JavaScript value, which is neither undefined nor null, to the Go value p,
	// which is addressable.
	from(t *translator, v engine.Value, p reflect.Value) error
	// empty reports whether "omitempty" omits p.
	empty(p reflect.Value) bool
}

var (
	codecsMu sync.Mutex
	codecs   = map[reflect.Type]codec{}
	names    = map[string]int{}
	nameList []string
	records  int
)

// codecOf returns the codec of a type.
func codecOf(t reflect.Type) (codec, error) {
	codecsMu.Lock()
	defer codecsMu.Unlock()
	return makeCodec(t)
}

// name returns the number of a property name.
func name(s string) int {
	n, ok := names[s]
	if !ok {
		n = len(nameList)
		names[s] = n
		nameList = append(nameList, s)
	}
	return n
}

// late is the placeholder for the codec of a recursive type while it is created.
type late struct{ codec }

var (
	timeType    = reflect.TypeFor[time.Time]()
	bytesType   = reflect.TypeFor[[]byte]()
	enumType    = reflect.TypeFor[protoreflect.Enum]()
	messageType = reflect.TypeFor[proto.Message]()
	anyType     = reflect.TypeFor[any]()
)

func makeCodec(t reflect.Type) (codec, error) {
	if c, ok := codecs[t]; ok {
		return c, nil
	}
	l := &late{}
	codecs[t] = l
	c, err := newCodec(t)
	if err != nil {
		delete(codecs, t)
		return nil, err
	}
	l.codec = c
	codecs[t] = c
	return c, nil
}

func newCodec(t reflect.Type) (codec, error) {
	switch {
	case t == timeType:
		return timeCodec{}, nil
	case t == bytesType:
		return bytesCodec{}, nil
	case t == anyType:
		return anyCodec{}, nil
	case t.Implements(enumType) && t.Kind() == reflect.Int32:
		return newEnumCodec(t), nil
	case t.Kind() == reflect.Pointer && t.Implements(messageType):
		return newMessageCodec(t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolCodec{}, nil
	case reflect.String:
		return stringCodec{}, nil
	case reflect.Int32, reflect.Int16, reflect.Int8, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return newSmallCodec(t.Kind()), nil
	case reflect.Int64, reflect.Int:
		return int64Codec{}, nil
	case reflect.Uint64:
		return uint64Codec{}, nil
	case reflect.Float32, reflect.Float64:
		return floatCodec{}, nil
	case reflect.Pointer:
		elem, err := makeCodec(t.Elem())
		return pointerCodec{t.Elem(), elem}, err
	case reflect.Slice:
		elem, err := makeCodec(t.Elem())
		return sliceCodec{t, elem}, err
	case reflect.Map:
		return newMapCodec(t)
	case reflect.Struct:
		return newStructCodec(t)
	}
	return nil, fmt.Errorf("the type %s has no counterpart in JavaScript", t)
}

// A translator converts values for one engine.
type translator struct {
	*engine.Functions
	atoms  []engine.Atom
	digits [24]byte
	// outlines are what it knows of each record, layouts is the number of their layouts, and stack
	// are the values of objects that are being created.
	outlines []*outline
	layouts  int
	stack    []engine.Value
	// depth, parts and bytes are the limits of the value being read.
	depth, parts, bytes int
}

// A plugin's value may contain itself, or the same part a million times, so depth and parts are
// limited, and so are the texts and bytes in it, because they are copied.
const (
	maxDepth = 100
	maxParts = 1 << 20
	maxBytes = 16 << 20
)

// read reads a whole value.
func (t *translator) read(c codec, v engine.Value, p reflect.Value) error {
	t.depth, t.parts, t.bytes = 0, 0, maxBytes
	return c.from(t, v, p)
}

// take counts bytes of the value being read.
func (t *translator) take(n int) error {
	if n > t.bytes {
		return mismatchf("the value has more than %d bytes", maxBytes)
	}
	t.bytes -= n
	return nil
}

// readText reads a string.
func (t *translator) readText(v engine.Value) (string, error) {
	s, n, ok := t.ShortText(v, t.bytes)
	if !ok {
		return "", engine.Thrown()
	}
	return s, t.take(n)
}

// enter is called at the beginning of each object and each array being read, leave at its end.
func (t *translator) enter() error {
	if t.depth++; t.depth > maxDepth {
		return mismatchf("the value is deeper than %d levels", maxDepth)
	}
	return t.part()
}

func (t *translator) leave() { t.depth-- }

// part is called for each element being read.
func (t *translator) part() error {
	if t.parts++; t.parts > maxParts {
		return mismatchf("the value has more than %d parts", maxParts)
	}
	return nil
}

func newTranslator(e *engine.Functions) *translator {
	return &translator{Functions: e}
}

// atom returns the atom of a name, or 0 with a pending exception if memory is exhausted.
func (t *translator) atom(n int) engine.Atom {
	if n < len(t.atoms) && t.atoms[n] != 0 {
		return t.atoms[n]
	}
	codecsMu.Lock()
	s := nameList[n]
	codecsMu.Unlock()
	for n >= len(t.atoms) {
		t.atoms = append(t.atoms, 0)
	}
	t.atoms[n] = t.Atom(s)
	return t.atoms[n]
}

// close frees the layouts and the atoms.
func (t *translator) close() {
	t.closeLayouts()
	for _, a := range t.atoms {
		if a != 0 {
			t.FreeAtom(a)
		}
	}
	t.atoms = nil
}

// toJS converts an argument; nil becomes undefined.
func (t *translator) toJS(c codec, typ reflect.Type, v any) engine.Value {
	if v == nil {
		return engine.Undefined
	}
	p := reflect.ValueOf(v)
	switch typ.Kind() {
	case reflect.Pointer, reflect.Map:
		if p.IsNil() {
			return engine.Undefined
		}
	case reflect.Struct:
		// Codecs take the addresses of fields.
		copied := reflect.New(typ).Elem()
		copied.Set(p)
		p = copied
	}
	return c.to(t, p)
}

// A mismatch is an invalid value of a plugin.
type mismatch struct {
	path string
	text string
}

func (m *mismatch) Error() string {
	if m.path == "" {
		return m.text
	}
	return m.path + ": " + m.text
}

// mismatchf returns a mismatch of the value itself; the callers add its location.
func mismatchf(format string, args ...any) error {
	return &mismatch{text: fmt.Sprintf(format, args...)}
}

// expected returns the mismatch for a value of another kind.
func (t *translator) expected(what string, v engine.Value) error {
	return mismatchf("%s is expected, not %s", what, t.TypeOf(v))
}

// at adds a location to a mismatch.
func at(err error, where string) error {
	if m, ok := err.(*mismatch); ok { //nolint:errorlint // never wrapped
		if m.path != "" && m.path[0] != '[' {
			where += "."
		}
		m.path = where + m.path
	}
	return err
}

func atIndex(err error, i int) error { return at(err, fmt.Sprintf("[%d]", i)) }
