// SPDX-License-Identifier: Apache-2.0

package js

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// decimals converts numbers in a JSON value that a type declares as 64-bit integers to decimal
// strings.
func decimals(v any, t reflect.Type) any {
	return walk(v, t, func(v any) any {
		if n, ok := v.(json.Number); ok {
			return string(n)
		}
		return v
	})
}

// numbers converts decimal strings in a value that a type declares as 64-bit integers to numbers.
func numbers(v any, t reflect.Type) any {
	return walk(v, t, func(v any) any {
		if s, ok := v.(string); ok {
			if _, err := strconv.ParseInt(s, 10, 64); err == nil {
				return json.Number(s)
			}
		}
		return v
	})
}

// walk applies f to what a type declares as 64-bit integers. Mismatching values stay unchanged.
func walk(v any, t reflect.Type, f func(any) any) any {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || v == nil {
		return v
	}
	switch t.Kind() {
	case reflect.Int64, reflect.Uint64, reflect.Int, reflect.Uint:
		return f(v)
	case reflect.Slice, reflect.Array:
		if list, ok := v.([]any); ok {
			for i := range list {
				list[i] = walk(list[i], t.Elem(), f)
			}
		}
	case reflect.Map:
		if m, ok := v.(map[string]any); ok {
			for k := range m {
				m[k] = walk(m[k], t.Elem(), f)
			}
		}
	case reflect.Struct:
		if m, ok := v.(map[string]any); ok {
			walkStruct(m, t, f)
		}
	}
	return v
}

func walkStruct(m map[string]any, t reflect.Type, f func(any) any) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && tag == "" {
			walk(m, field.Type, f)
			continue
		}
		// Parameters of operations have their names in other tags.
		for _, other := range []string{"query", "path"} {
			if tag == "" {
				tag, _, _ = strings.Cut(field.Tag.Get(other), ",")
			}
		}
		if tag == "" {
			tag = field.Name
		}
		if !field.IsExported() || tag == "-" {
			continue
		}
		if x, ok := m[tag]; ok {
			m[tag] = walk(x, field.Type, f)
		}
	}
}
