// SPDX-License-Identifier: Apache-2.0

package value_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/value"
)

// limits are the default limits, which tests lower.
func limits() config.ValueLimits {
	return config.ValueLimits{
		IntValue:    config.IntValueRule{Min: math.MinInt32, Max: math.MaxInt32},
		LongValue:   config.LongValueRule{Min: math.MinInt64, Max: math.MaxInt64},
		DoubleValue: config.DoubleValueRule{Min: -math.MaxFloat64, Max: math.MaxFloat64},
		StringValue: config.StringValueRule{MaxLength: 5},
	}
}

func rule(typ string, change ...func(*config.ValueRule)) config.ValueRule {
	r := config.ValueRule{Type: typ, ValueLimits: limits(), ArrayValue: config.ArrayValueRule{
		MaxElementCount: 3, Element: config.ElementRule{Type: "INT", ValueLimits: limits()},
	}}
	for _, fn := range change {
		fn(&r)
	}
	return r
}

func TestCheck(t *testing.T) {
	small := func(r *config.ValueRule) {
		r.IntValue, r.LongValue, r.DoubleValue = config.IntValueRule{Min: 1, Max: 3}, config.LongValueRule{Min: 1, Max: 3}, config.DoubleValueRule{Min: 1, Max: 3}
		r.StringValue.MinLength, r.StringValue.Regexes = 2, []string{"[a-z]+", "a.*|b"}
	}
	for _, test := range []struct {
		rule config.ValueRule
		in   any
		want any // nil if it is refused
	}{
		{rule("INT"), int32(-5), int32(-5)},
		{rule("INT"), int64(5), int32(5)},
		{rule("INT"), json.Number("5"), int32(5)},
		{rule("INT"), json.Number("5.5"), nil},
		{rule("INT"), int64(math.MaxInt32) + 1, nil},
		{rule("INT"), 5.0, nil},
		{rule("INT"), "5", nil},
		{rule("INT"), nil, nil},
		{rule("INT", small), int32(0), nil},
		{rule("INT", small), int32(4), nil},
		{rule("INT", small), int32(3), int32(3)},
		{rule("LONG"), int32(7), int64(7)},
		{rule("LONG"), int64(math.MinInt64), int64(math.MinInt64)},
		{rule("LONG"), json.Number("9223372036854775808"), nil},
		{rule("LONG"), true, nil},
		{rule("LONG", small), int64(4), nil},
		{rule("DOUBLE"), float32(0.5), 0.5},
		{rule("DOUBLE"), 1e300, 1e300},
		{rule("DOUBLE"), int32(3), 3.0},
		{rule("DOUBLE"), int64(3), 3.0},
		{rule("DOUBLE"), json.Number("1.5"), 1.5},
		{rule("DOUBLE"), json.Number("1e999"), nil},
		{rule("DOUBLE"), math.NaN(), nil},
		{rule("DOUBLE"), math.Inf(1), nil},
		{rule("DOUBLE"), "1", nil},
		{rule("DOUBLE", small), 0.99, nil},
		{rule("DOUBLE", small), 3.01, nil},
		{rule("BOOL"), true, true},
		{rule("BOOL"), false, false},
		{rule("BOOL"), int32(1), nil},
		{rule("STRING"), "", ""},
		{rule("STRING"), "12345", "12345"},
		{rule("STRING"), "123456", nil},
		{rule("STRING"), "😀😀😀", nil},
		{rule("STRING"), []byte("ab"), nil},
		{rule("STRING"), nil, nil},
		{rule("STRING", small), "ab", "ab"},
		{rule("STRING", small), "a", nil},
		{rule("STRING", small), "aB", nil},
		{rule("STRING", small), "bb", nil},
		{rule("STRING", small), "ab\n", nil},
		{rule("LANGUAGE"), "en", "en"},
		{rule("LANGUAGE"), "zh-Hans-CN", "zh-Hans-CN"},
		{rule("LANGUAGE"), "english", nil},
		{rule("LANGUAGE"), "", nil},
		{rule("LANGUAGE"), int32(1), nil},
		{rule("ARRAY"), nil, []any{}},
		{rule("ARRAY"), []any{int64(1), int32(1)}, []any{int32(1), int32(1)}},
		{rule("ARRAY"), []any{int32(1), "2"}, nil},
		{rule("ARRAY"), []any{int32(1), nil}, nil},
		{rule("ARRAY"), []any{[]any{}}, nil},
		{rule("ARRAY"), []any{int32(1), int32(2), int32(3), int32(4)}, nil},
		{rule("ARRAY"), "12", nil},
		{rule("ARRAY", func(r *config.ValueRule) { r.ArrayValue.MinElementCount = 1 }), nil, nil},
		{rule("ARRAY", func(r *config.ValueRule) { r.ArrayValue.Unique = true }), []any{int32(1), int64(1)}, nil},
		{rule("ARRAY", func(r *config.ValueRule) { r.ArrayValue.Unique = true }), []any{int32(1), int64(2)}, []any{int32(1), int32(2)}},
		{rule("ARRAY", func(r *config.ValueRule) { r.ArrayValue.AllowNullElement = true }), []any{nil, int64(2)}, []any{nil, int32(2)}},
	} {
		got, err := value.Check("f", test.in, test.rule)
		if test.want == nil {
			e, ok := errors.AsType[*apierr.Error](err)
			if !ok || e.Code != apierr.IllegalArgument || !strings.HasPrefix(e.Reason, "f: ") {
				t.Errorf("%s: %#v gives %#v, %v", test.rule.Type, test.in, got, err)
			}
			continue
		}
		if err != nil || !value.Equal(got, test.want) {
			t.Errorf("%s: %#v gives %#v, %v, want %#v", test.rule.Type, test.in, got, err, test.want)
		}
		// It is the same after it was stored.
		if back := value.Restore(stored(t, got), &test.rule); !value.Equal(back, got) {
			t.Errorf("%s: %#v comes back as %#v", test.rule.Type, got, back)
		}
	}
}

// stored returns a value after a round trip through storage.
func stored[V any](t *testing.T, v V) (out V) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRestoreWithoutRule restores values without a fitting rule.
func TestRestoreWithoutRule(t *testing.T) {
	text := rule("STRING")
	for in, want := range map[json.Number]any{"1": int32(1), "2147483648": int64(2147483648), "1.5": 1.5} {
		if got := value.Restore(in, nil); got != want {
			t.Errorf("%s is %#v", in, got)
		}
		if got := value.Restore([]any{in, "a", nil}, &text); !reflect.DeepEqual(got, []any{want, "a", nil}) {
			t.Errorf("a list with %s is %#v", in, got)
		}
	}
	number := rule("INT")
	if got := value.Restore(json.Number("2147483648"), &number); got != int64(2147483648) {
		t.Errorf("a number that is too large now is %#v", got)
	}
}

func TestSettings(t *testing.T) {
	rules := config.Settings{AllowedSettings: []config.AllowedSetting{
		{SourceName: "theme", StoredName: "t", Deletable: true, Value: rule("STRING")},
		{SourceName: "birth", Immutable: true, Value: rule("INT")},
		{SourceName: "ratio", Deletable: true, Value: rule("DOUBLE")},
	}}
	lenient := rules
	lenient.IgnoreUnknownSettingsOnUpsert, lenient.IgnoreUnknownSettingsOnDelete = true, true
	have := stored(t, map[string]any{"t": "dark", "birth": 1990, "ratio": 1, "gone": 7})
	before := stored(t, have)
	const ok, bad = apierr.Code(0), apierr.IllegalArgument

	for name, test := range map[string]struct {
		rules   config.Settings
		wanted  map[string]any
		merged  map[string]any // by source names; nil if it is refused
		changed bool
	}{
		"nothing":         {rules, nil, map[string]any{"theme": "dark", "birth": int32(1990), "ratio": 1.0, "gone": int32(7)}, false},
		"the same":        {rules, map[string]any{"theme": "dark", "ratio": 1.0}, map[string]any{"theme": "dark", "birth": int32(1990), "ratio": 1.0, "gone": int32(7)}, false},
		"another":         {rules, map[string]any{"theme": "light"}, map[string]any{"theme": "light", "birth": int32(1990), "ratio": 1.0, "gone": int32(7)}, true},
		"unknown":         {rules, map[string]any{"theme": "light", "x": 1}, nil, false},
		"stored name":     {rules, map[string]any{"t": "light"}, nil, false},
		"unknown ignored": {lenient, map[string]any{"ratio": 2.0, "x": 1}, map[string]any{"theme": "dark", "birth": int32(1990), "ratio": 2.0, "gone": int32(7)}, true},
		"only unknown":    {lenient, map[string]any{"x": 1}, map[string]any{"theme": "dark", "birth": int32(1990), "ratio": 1.0, "gone": int32(7)}, false},
		"still the same":  {rules, map[string]any{"birth": int32(1990)}, map[string]any{"theme": "dark", "birth": int32(1990), "ratio": 1.0, "gone": int32(7)}, false},
		"immutable":       {rules, map[string]any{"birth": int32(1991)}, nil, false},
		"bad value":       {lenient, map[string]any{"theme": int32(1)}, nil, false},
	} {
		t.Run("merge "+name, func(t *testing.T) {
			merged, changed, err := value.Merge("f", have, test.wanted, test.rules)
			if test.merged == nil {
				wantCode(t, err, bad)
				return
			}
			wantCode(t, err, ok)
			if shown := value.Show(stored(t, merged), nil, rules); changed != test.changed || !reflect.DeepEqual(shown, test.merged) {
				t.Errorf("merged %v (%v), want %v (%v)", shown, changed, test.merged, test.changed)
			}
		})
	}
	for name, test := range map[string]struct {
		rules   config.Settings
		names   []string
		rest    []string // nil if it is refused
		changed bool
	}{
		"all":             {rules, nil, []string{"birth"}, true},
		"one":             {rules, []string{"theme"}, []string{"birth", "ratio", "gone"}, true},
		"twice":           {rules, []string{"theme", "theme"}, []string{"birth", "ratio", "gone"}, true},
		"kept for ever":   {rules, []string{"theme", "birth"}, nil, false},
		"unknown":         {rules, []string{"x"}, nil, false},
		"unknown ignored": {lenient, []string{"x"}, []string{"theme", "birth", "ratio", "gone"}, false},
	} {
		t.Run("remove "+name, func(t *testing.T) {
			rest, changed, err := value.Remove(have, test.names, test.rules)
			if test.rest == nil {
				wantCode(t, err, bad)
				return
			}
			wantCode(t, err, ok)
			shown := value.Show(rest, test.rest, rules)
			if changed != test.changed || len(rest) != len(test.rest) || len(shown) != len(rest) {
				t.Errorf("the rest is %v (%v), want %v (%v)", rest, changed, test.rest, test.changed)
			}
		})
	}
	if !reflect.DeepEqual(have, before) {
		t.Errorf("the stored settings are %v now", have)
	}
	if merged, changed, err := value.Merge("f", nil, map[string]any{"birth": int32(5)}, rules); err != nil || !changed || merged["birth"] != int32(5) {
		t.Errorf("the first setting is %v (%v): %v", merged, changed, err)
	}
	if rest, changed, err := value.Remove(nil, []string{"theme"}, rules); err != nil || changed || len(rest) > 0 {
		t.Errorf("nothing without something is %v (%v): %v", rest, changed, err)
	}
	if shown := value.Show(have, []string{"theme", "x", "t"}, rules); !reflect.DeepEqual(shown, map[string]any{"theme": "dark"}) {
		t.Errorf("shown is %v", shown)
	}
}

func wantCode(t *testing.T, err error, want apierr.Code) {
	t.Helper()
	got := apierr.Code(0)
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		got = e.Code
	}
	if got != want || (err != nil) != (want != 0) {
		t.Errorf("the error is %v, want %v", err, want)
	}
}
