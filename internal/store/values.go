// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Values are named values of a Change, in an order. A row of the audit trail is made for each write
// of an administrator, so they are a list, which costs less than a map, and write their JSON
// themselves.
type Values []Value

// A Value is one of Values.
type Value struct {
	Name  string
	Value any
}

// ValuesOf returns the values of a map in the order of their names.
func ValuesOf(values map[string]any) Values {
	list := make(Values, 0, len(values))
	for name, value := range values {
		list = append(list, Value{name, value})
	}
	slices.SortFunc(list, func(a, b Value) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list
}

// Set gives a name a value.
func (v *Values) Set(name string, value any) {
	for i := range *v {
		if (*v)[i].Name == name {
			(*v)[i].Value = value
			return
		}
	}
	*v = append(*v, Value{name, value})
}

// Get returns the value of a name, or nil.
func (v Values) Get(name string) any {
	for i := range v {
		if v[i].Name == name {
			return v[i].Value
		}
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (v Values) MarshalJSON() ([]byte, error) { return v.appendJSON(nil) }

// UnmarshalJSON implements json.Unmarshaler.
func (v *Values) UnmarshalJSON(text []byte) error {
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*v = ValuesOf(values)
	return nil
}

func (v Values) appendJSON(b []byte) ([]byte, error) { return v.appendObject(b, nil) }

// appendObject appends an object with members that are encoded already and the values.
func (v Values) appendObject(b, members []byte) (_ []byte, err error) {
	b = append(append(b, '{'), members...)
	for i := range v {
		if i > 0 || len(members) > 0 {
			b = append(b, ',')
		}
		b = append(appendJSONText(b, v[i].Name), ':')
		if b, err = appendJSON(b, v[i].Value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// AppendJSON appends a change as JSON.
func (c *Change) AppendJSON(b []byte) (_ []byte, err error) {
	b = appendJSONText(append(b, `{"record":`...), c.Record)
	b = appendJSONText(append(b, `,"action":`...), c.Action)
	for _, part := range []struct {
		name    string
		members []byte
		values  Values
	}{{`,"key":`, nil, c.Key}, {`,"before":`, c.before, c.Before}, {`,"after":`, c.after, c.After}} {
		if len(part.members)+len(part.values) > 0 {
			if b, err = part.values.appendObject(append(b, part.name...), part.members); err != nil {
				return nil, err
			}
		}
	}
	return append(b, '}'), nil
}

// Small returns the change with the sizes of its values instead of the values.
func (c *Change) Small() (Change, error) {
	small := *c
	small.before, small.after = nil, nil
	for _, part := range []struct {
		to      *Values
		members []byte
		values  Values
	}{{&small.Before, c.before, c.Before}, {&small.After, c.after, c.After}} {
		if *part.to = nil; len(part.members)+len(part.values) == 0 {
			continue
		}
		text, err := part.values.appendObject(nil, part.members)
		if err != nil {
			return Change{}, err
		}
		*part.to = Values{{Name: "bytes", Value: int64(len(text))}}
	}
	return small, nil
}

// appendJSON appends a value as JSON. What is common costs no reflection.
func appendJSON(b []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...), nil
	case string:
		return appendJSONText(b, v), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case int32:
		return strconv.AppendInt(b, int64(v), 10), nil
	}
	encoded, err := json.Marshal(value)
	return append(b, encoded...), err
}

// appendJSONText appends a text as JSON.
func appendJSONText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			encoded, err := json.Marshal(text)
			if err != nil { // There is no text that cannot be encoded.
				encoded = []byte(`""`)
			}
			return append(b, encoded...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}
