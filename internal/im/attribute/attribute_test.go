// SPDX-License-Identifier: Apache-2.0

package attribute_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/attribute"
)

func load(t *testing.T, list string) config.UserDefinedAttributes {
	t.Helper()
	file := filepath.Join(t.TempDir(), "application.yaml")
	text := "app: {service: {user: {info: {userDefinedAttributes: {allowedAttributes: " + strings.ReplaceAll(list, "\n", " ") + "}}}}}"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Home: t.TempDir(), File: file})
	if err != nil {
		t.Fatal(err)
	}
	return c.Service.User.Info.UserDefinedAttributes
}

const allowed = `[{source-name: nick, value: {string-value: {min-length: 2, max-length: 4, regexes: ["[a-z]+", "X."]}}},
{source-name: birth, stored-name: b, immutable: true, value: {type: INT, int-value: {min: 1900, max: 2100}}},
{source-name: count, value: {type: LONG}}, {source-name: score, value: {type: DOUBLE, double-value: {min: 0, max: 1.5}}},
{source-name: vip, value: {type: BOOL}}, {source-name: "100%d", value: {type: LANGUAGE}},
{source-name: tags, value: {type: ARRAY, array-value: {min-element-count: 1, max-element-count: 3, unique: true, element: {type: INT}}}},
{source-name: gaps, value: {type: ARRAY, array-value: {allow-null-element: true}}}]`

func TestUpsert(t *testing.T) {
	rules := load(t, allowed)
	for _, test := range []struct {
		name   string
		value  any
		stored any
		want   string // a part of the refusal
	}{
		{"nick", "abc", "abc", ""},
		{"nick", "X9", "X9", ""},
		{"nick", "aX9", nil, `userDefinedAttributes.nick: must match one of ["[a-z]+" "X."]`},
		{"nick", "a", nil, "must have 2 to 4 characters, but has 1"},
		{"nick", "abcde", nil, "but has 5"},
		{"nick", 5, nil, "must be a text"},
		{"nick", nil, nil, "must be a text"},
		{"birth", 2000, int64(2000), ""},
		{"birth", uint8(200), nil, "200 must be between 1900 and 2100"},
		{"birth", 2000.0, int64(2000), ""},
		{"birth", 2000.5, nil, "must be a whole number"},
		{"birth", "2000", nil, "must be a whole number"},
		{"count", int64(math.MinInt64), int64(math.MinInt64), ""},
		{"count", uint64(math.MaxUint64), nil, "must be a whole number"},
		{"count", json.Number("9223372036854775807"), int64(math.MaxInt64), ""},
		{"count", json.Number("1.5"), nil, "must be a whole number"},
		{"score", 1.5, 1.5, ""},
		{"score", 1, 1.0, ""},
		{"score", json.Number("0.25"), 0.25, ""},
		{"score", math.NaN(), nil, "must be between 0 and 1.5"},
		{"score", math.Inf(1), nil, "must be between"},
		{"score", true, nil, "must be a number"},
		{"vip", true, true, ""},
		{"vip", 1, nil, "must be true or false"},
		{"100%d", "pt-BR", "pt-BR", ""},
		{"100%d", "p", nil, "userDefinedAttributes.100%d: must be a language tag"},
		{"tags", []int{1, 2}, []any{int64(1), int64(2)}, ""},
		{"tags", []any{1, "x"}, nil, "must be a whole number"},
		{"tags", []int{1, 1}, nil, "twice"},
		{"tags", []int{}, nil, "must have 1 to 3 elements, but has 0"},
		{"tags", []int{1, 2, 3, 4}, nil, "but has 4"},
		{"tags", []any{1, nil}, nil, "must have no missing elements"},
		{"tags", []byte{1}, nil, "must be an array"},
		{"tags", 1, nil, "must be an array"},
		{"gaps", []any{nil, "a"}, []any{nil, "a"}, ""},
		{"other", 1, nil, `the attribute "other" is not allowed`},
	} {
		result, changed, err := attribute.Upsert(rules, nil, map[string]any{test.name: test.value})
		if test.want != "" {
			if err == nil || apierr.From(err).Code != apierr.IllegalArgument || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s = %#v: got %v, want %s", test.name, test.value, err, test.want)
			}
			continue
		}
		name := test.name
		if name == "birth" {
			name = "b"
		}
		if want := map[string]any{name: test.stored}; err != nil || !changed || !reflect.DeepEqual(result, want) {
			t.Errorf("%s = %#v: got %#v, %v, %v", test.name, test.value, result, changed, err)
		}
	}
}

func TestUpsertOnTop(t *testing.T) {
	rules := load(t, allowed)
	stored := map[string]any{"b": json.Number("1950"), "nick": "abc", "left": "over"}
	result, changed, err := attribute.Upsert(rules, stored, map[string]any{"nick": "abc", "birth": 1950})
	if err != nil || changed || !reflect.DeepEqual(result, stored) {
		t.Errorf("the same again: %v, %v, %v", result, changed, err)
	}
	if _, _, err := attribute.Upsert(rules, stored, map[string]any{"birth": 1951}); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
		t.Errorf("got %v", err)
	}
	result, changed, err = attribute.Upsert(rules, stored, map[string]any{"nick": "xyz", "vip": true})
	if want := map[string]any{"b": json.Number("1950"), "nick": "xyz", "vip": true, "left": "over"}; err != nil || !changed || !reflect.DeepEqual(result, want) {
		t.Errorf("got %v, %v, %v", result, changed, err)
	}
	rules.IgnoreUnknownAttributesOnUpsert = true
	if result, changed, err = attribute.Upsert(rules, nil, map[string]any{"other": 1}); err != nil || changed || len(result) != 0 {
		t.Errorf("got %v, %v, %v", result, changed, err)
	}
}
