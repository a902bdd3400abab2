// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"strings"
	"testing"
)

// object decodes JSON as requests and the store do.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBadSchemas(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"not JSON":           {`{`, "not JSON"},
		"not an object":      {`[]`, "must be an object"},
		"true":               {`true`, "must be an object"},
		"no properties":      {`{"type": "object"}`, "an object with properties"},
		"not of an object":   {`{"type": "string"}`, "an object with properties"},
		"unknown type":       {`{"properties": {"a": {"type": "text"}}}`, "/properties/a/type"},
		"bad pattern":        {`{"properties": {"a": {"pattern": "("}}}`, "pattern"},
		"outside":            {`{"properties": {"a": {"$ref": "https://example.org/x.json"}}}`, "outside of the schema"},
		"a file":             {`{"properties": {"a": {"$ref": "file:///etc/passwd"}}}`, "outside of the schema"},
		"missing definition": {`{"properties": {"a": {"$ref": "#/$defs/x"}}}`, "/$defs/x"},
		"bad default":        {`{"properties": {"a": {"type": "integer", "default": "x"}}}`, "a: the default is not valid: got string, want integer"},
		"default of a group": {`{"properties": {"g": {"properties": {"a": {"type": "integer"}}, "default": {"a": "x"}}}}`, "g.a: the default is not valid"},
		"default of secret":  {`{"properties": {"a": {"format": "password", "default": "x"}}}`, "a: a secret must have no default"},
		"dot":                {`{"properties": {"a.b": {}}}`, "no dot"},
		"huge":               {`{"properties": {"a": {"description": "` + strings.Repeat("x", maxSchema) + `"}}}`, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewSchema([]byte(test.schema))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

const sampleSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["mode", "key"],
  "properties": {
    "mode": {"enum": ["mask", "refuse"], "default": "mask", "description": "What to do."},
    "key": {"type": "string", "pattern": "^[a-z]{3,}$", "writeOnly": true},
    "words": {"type": "array", "items": {"type": "string"}, "maxItems": 3, "default": []},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "backends": {"type": "array", "items": {"type": "object", "properties": {"url": {"type": "string"}, "password": {"type": "string", "format": "password"}}}},
    "limits": {"$ref": "#/$defs/limits"},
    "note": {"type": ["string", "null"]}
  },
  "$defs": {"limits": {"type": "object", "default": {"burst": 7}, "properties": {
    "rate": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10, "title": "Rate"}, "burst": {"type": "integer"}
  }}}
}`

func TestSchema(t *testing.T) {
	s, err := NewSchema([]byte(sampleSchema))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, x := range s.Settings() {
		line := strings.Join(x.Path, ".") + " " + x.Type + " " + x.Items + " " + x.Description
		if x.Sensitive {
			line += " secret"
		}
		list = append(list, strings.TrimSpace(line))
	}
	if got, want := strings.Join(list, "; "), "backends array object  secret; key string   secret; labels object; limits.burst integer; limits.rate integer  Rate; mode string  What to do.; note; words array string"; got != want {
		t.Errorf("the settings are\n%s, want\n%s", got, want)
	}
	const defaults = `{"limits":{"burst":7,"rate":10},"mode":"mask","words":[]}`
	for _, test := range []struct{ set, change, merged, effective, err string }{
		{`{}`, `{}`, `{}`, defaults, "key: is required"},
		{`{}`, `{"key":"abc"}`, `{"key":"abc"}`, `{"key":"abc","limits":{"burst":7,"rate":10},"mode":"mask","words":[]}`, ""},
		{`{"key":"abc","limits":{"burst":2}}`, `{"limits":{"rate":3},"words":["x"]}`, `{"key":"abc","limits":{"burst":2,"rate":3},"words":["x"]}`, `{"key":"abc","limits":{"burst":2,"rate":3},"mode":"mask","words":["x"]}`, ""},
		{`{"key":"abc","limits":{"rate":3},"words":["x"]}`, `{"limits":{"rate":null},"words":null,"note":null}`, `{"key":"abc","note":null}`, `{"key":"abc","limits":{"burst":7,"rate":10},"mode":"mask","note":null,"words":[]}`, ""},
		{`{"key":"abc"}`, `{"limits":{"rate":101}}`, "", "", "limits.rate: "},
		{`{"key":"abc"}`, `{"limits":{"rate":1.5}}`, "", "", "limits.rate: got number, want integer"},
		{`{"key":"abc"}`, `{"limits":3}`, "", "", "limits: must be an object"},
		{`{"key":"abc"}`, `{"mode":"drop"}`, "", "", "mode: value must be one of 'mask', 'refuse'"},
		{`{"key":"abc"}`, `{"words":["a",2]}`, "", "", "words.1: got number, want string"},
		{`{"key":"abc"}`, `{"words":["a","b","c","d"]}`, "", "", "words: maxItems: got 4, want 3"},
		{`{"key":"abc"}`, `{"labels":{"a":1}}`, "", "", "labels.a: got number, want string"},
		{`{"key":"abc"}`, `{"wrods":[]}`, "", "", "wrods: unknown setting; there are: backends, key, labels, mode, note, words, limits"},
		{`{"key":"abc"}`, `{"key":"***"}`, "", "", "key: must not be the mask"},
		{`{"key":"abc"}`, `{"key":"SECRET!"}`, "", "", "key: the value breaks the rule pattern"},
		{`{"key":"abc"}`, `{"backends":[{"url":1,"password":"SECRET!"}]}`, "", "", "backends: the value breaks the rule type"},
		{`{"gone":{"x":1},"key":"abc"}`, `{}`, `{"gone":{"x":1},"key":"abc"}`, `{"key":"abc","limits":{"burst":7,"rate":10},"mode":"mask","words":[]}`, ""},
	} {
		t.Run(test.set+" "+test.change, func(t *testing.T) {
			set := object(t, test.set)
			merged, err := s.Merge(set, object(t, test.change))
			effective := s.Effective(merged)
			if err == nil {
				err = s.Check(effective)
			}
			switch {
			case test.err == "" && err != nil:
				t.Fatal(err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "SECRET")):
				t.Fatalf("the error is %v, want %q", err, test.err)
			}
			if got, _ := json.Marshal(merged); test.merged != "" && string(got) != test.merged {
				t.Errorf("merged %s, want %s", got, test.merged)
			}
			if got, _ := json.Marshal(effective); test.effective != "" && string(got) != test.effective {
				t.Errorf("effective %s, want %s", got, test.effective)
			}
			if got, _ := json.Marshal(set); test.set != string(got) {
				t.Errorf("what was set became %s", got)
			}
		})
	}
}

// FuzzSchema reads schemas and lays values over them: whatever they are, nothing panics, and what
// is not set stays out.
func FuzzSchema(f *testing.F) {
	f.Add(sampleSchema, `{"key":"abc","limits":{"rate":3}}`)
	f.Add(`{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"}}}`, `{"a":{"b":{"c":1}}}`)
	f.Add(`{"$ref":"#","properties":{"a":{"minimum":1e999999}}}`, `{"a":1e999999}`)
	f.Add(`{"$ref":"#/$defs/x","$defs":{"x":{"$ref":"#/$defs/x"}}}`, `{}`)
	f.Add(`{"properties":{"a":{"items":[{"writeOnly":true}],"$dynamicRef":"#x"}},"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"a":[1]}`)
	f.Fuzz(func(t *testing.T, schema, values string) {
		s, err := NewSchema([]byte(schema))
		var set map[string]any
		if err != nil || json.Unmarshal([]byte(values), &set) != nil {
			return
		}
		merged, err := s.Merge(nil, set)
		if err != nil {
			return
		}
		effective := s.Effective(merged)
		_ = s.Check(effective) // It may be invalid; it must be told.
		for _, x := range s.Settings() {
			v, there := x.Value(effective)
			if _, set := x.Value(merged); there != (set || x.HasDefault) {
				t.Errorf("%v is %v, set %v", x.Path, v, set)
			}
		}
	})
}
