// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

// noted returns the text that Echo notes for the arguments of a method.
func noted(m *plugin.Method, args []any) string {
	var parts []string
	for i, p := range m.Params {
		switch v := args[i].(type) {
		case *wire.AppNotification, *plugin.ClientRequest:
			continue
		case []*wire.Value:
			parts = append(parts, strconv.Itoa(len(v)))
			continue
		}
		if i == 0 && p.Type == m.Result {
			continue
		}
		parts = append(parts, show(args[i]))
	}
	return strings.Join(parts, "|")
}

// show formats a value like the fixtures.
func show(v any) string { return text(reflect.ValueOf(v)) }

func text(v reflect.Value) string {
	if v.IsValid() && v.CanInterface() {
		switch x := v.Interface().(type) {
		case time.Time:
			return strconv.FormatInt(x.UnixMilli(), 10)
		case protoreflect.Enum:
			if v.Kind() != reflect.Pointer {
				return string(x.Descriptor().Values().ByNumber(x.Number()).Name())
			}
		}
	}
	switch v.Kind() {
	case reflect.Invalid:
		return "-"
	case reflect.Pointer, reflect.Interface:
		return text(v.Elem())
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float32:
		return strconv.FormatFloat(v.Float(), 'f', -1, 32)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, text(v.Index(i)))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case reflect.Map:
		fields := map[string]reflect.Value{}
		for iter := v.MapRange(); iter.Next(); {
			fields[iter.Key().String()] = iter.Value()
		}
		return object(fields)
	case reflect.Struct:
		fields := map[string]reflect.Value{}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			fields[name] = v.Field(i)
		}
		return object(fields)
	}
	panic("a fixture cannot show " + v.Type().String())
}

func object(fields map[string]reflect.Value) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if v := fields[name]; !empty(v) {
			parts = append(parts, name+"="+text(v))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// empty reports whether a value is omitted from an object.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Interface:
		return empty(v.Elem())
	case reflect.String, reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return false
}

// stored returns the text that a fixture stored: hosts may store it as JSON.
func stored(value []byte) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}
