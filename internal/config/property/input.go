// SPDX-License-Identifier: Apache-2.0

package property

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// inputKind is the kind of an input.
type inputKind int

const (
	inputText inputKind = iota
	inputNull
	inputSequence
	inputMapping
)

func (k inputKind) String() string {
	return [...]string{"a value", "null", "a list", "a group"}[k]
}

// input is a source's value before its property is known. All sources are converted to this form.
// Values are texts: whether a number was written with quotes makes no difference to a property.
type input struct {
	kind   inputKind
	text   string
	tag    string // the YAML type of a text in a file
	items  []input
	fields []inputField
	origin origin
	// flat is true for text from the environment or a flag, where a list may be written with
	// commas.
	flat bool
	// lenient is true for JSON, where null is the same as absent, one bare element is the same as a
	// list of it, and a list may be one text with commas.
	lenient bool
}

// inputField is a member of a mapping. Its key may have several segments.
type inputField struct {
	key   string
	value input
}

// origin is the source of an input.
type origin struct {
	source string
	line   int
}

func (o origin) String() string {
	if o.line > 0 {
		return o.source + ":" + strconv.Itoa(o.line)
	}
	return o.source
}

// maxInputDepth bounds the nesting of input.
const maxInputDepth = 64

// goInput converts a Go value, usually decoded JSON, to an input. The members of maps are sorted,
// so that the first problem is deterministic.
func goInput(v any, depth int) (input, error) {
	if depth > maxInputDepth {
		return input{}, fmt.Errorf("must not be nested deeper than %d levels", maxInputDepth)
	}
	in := input{kind: inputText, lenient: true}
	switch v := v.(type) {
	case nil:
		in.kind = inputNull
		return in, nil
	case json.Number:
		in.text = v.String()
		return in, nil
	case Secret:
		in.text = v.Reveal()
		return in, nil
	case URL:
		in.text = v.Reveal()
		return in, nil
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.String:
		in.text = rv.String()
	case reflect.Bool:
		in.text = strconv.FormatBool(rv.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		in.text = strconv.FormatInt(rv.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		in.text = strconv.FormatUint(rv.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		// Decoded JSON has only this type of number, so 8510 must come out
		// without a point or an exponent.
		in.text = strconv.FormatFloat(rv.Float(), 'f', -1, rv.Type().Bits())
	case reflect.Slice, reflect.Array:
		in.kind = inputSequence
		for i := range rv.Len() {
			item, err := goInput(rv.Index(i).Interface(), depth+1)
			if err != nil {
				return input{}, err
			}
			in.items = append(in.items, item)
		}
	case reflect.Map:
		if rv.Type().Key().Kind() != reflect.String {
			return input{}, fmt.Errorf("must not be a Go %s", rv.Type())
		}
		in.kind = inputMapping
		members := make(map[string]any, rv.Len())
		for it := rv.MapRange(); it.Next(); {
			members[it.Key().String()] = it.Value().Interface()
		}
		for _, key := range slices.Sorted(maps.Keys(members)) {
			value, err := goInput(members[key], depth+1)
			if err != nil {
				return input{}, err
			}
			in.fields = append(in.fields, inputField{key: key, value: value})
		}
	default:
		return input{}, fmt.Errorf("must not be a Go %s", rv.Type())
	}
	return in, nil
}
