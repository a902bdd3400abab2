// SPDX-License-Identifier: Apache-2.0

package service

import "example.org/app/internal/wire"

// fromWire converts a value from its wire form to that of package value. An empty list cannot be
// distinguished from none.
func fromWire(v *wire.Value) any {
	switch kind := v.GetKind().(type) {
	case *wire.Value_Int32Value:
		return kind.Int32Value
	case *wire.Value_Int64Value:
		return kind.Int64Value
	case *wire.Value_FloatValue:
		return kind.FloatValue
	case *wire.Value_DoubleValue:
		return kind.DoubleValue
	case *wire.Value_BoolValue:
		return kind.BoolValue
	case *wire.Value_BytesValue:
		return kind.BytesValue
	case *wire.Value_StringValue:
		return kind.StringValue
	}
	if len(v.GetListValue()) == 0 {
		return nil
	}
	return convert(v.GetListValue(), fromWire)
}

// fromWireMap converts a map of values.
func fromWireMap(values map[string]*wire.Value) map[string]any {
	out := make(map[string]any, len(values))
	for name, v := range values {
		out[name] = fromWire(v)
	}
	return out
}

// toWire converts a value of package value to its wire form.
func toWire(v any) *wire.Value {
	switch v := v.(type) {
	case int32:
		return &wire.Value{Kind: &wire.Value_Int32Value{Int32Value: v}}
	case int64:
		return &wire.Value{Kind: &wire.Value_Int64Value{Int64Value: v}}
	case float64:
		return &wire.Value{Kind: &wire.Value_DoubleValue{DoubleValue: v}}
	case bool:
		return &wire.Value{Kind: &wire.Value_BoolValue{BoolValue: v}}
	case string:
		return &wire.Value{Kind: &wire.Value_StringValue{StringValue: v}}
	case []any:
		return &wire.Value{ListValue: convert(v, toWire)}
	}
	return &wire.Value{}
}

// toWireMap converts a map of values.
func toWireMap(values map[string]any) map[string]*wire.Value {
	out := make(map[string]*wire.Value, len(values))
	for name, v := range values {
		out[name] = toWire(v)
	}
	return out
}
