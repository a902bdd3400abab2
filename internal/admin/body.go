// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxBodyDepth bounds the nesting of a body.
const maxBodyDepth = 64

// decodeBody decodes a JSON text into dst. It is lenient about types (a number in quotes, a single
// element for a list) for existing callers, and strict about names: an undeclared field is an
// error.
func (s *shape) decodeBody(data []byte, dst reflect.Value) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return illegal("the request needs a JSON body, but the body is empty")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	raw, err := dec.ReadValue()
	if end := dec.InputOffset(); err == nil && len(bytes.TrimSpace(data[end:])) > 0 {
		err = fmt.Errorf("there is more after the end of the value at byte %d", end)
	}
	if err != nil {
		return illegal("the body is not valid JSON: %s", jsonProblem(err))
	}
	if raw.Kind() == 'n' {
		return illegal("the request needs a JSON body, but the body is null")
	}
	return s.setJSON(dst, raw, "body", 0)
}

// jsonProblem shortens a syntax error to what helps the caller.
func jsonProblem(err error) string {
	if se, ok := errors.AsType[*jsontext.SyntacticError](err); ok && se.Err != nil {
		return fmt.Sprintf("%v near byte %d", se.Err, se.ByteOffset)
	}
	return clip(err.Error())
}

// setJSON decodes one JSON value into dst. path names the value in errors.
func (s *shape) setJSON(dst reflect.Value, raw jsontext.Value, path string, depth int) error {
	if raw.Kind() == 'n' {
		return nil // null and absent are the same.
	}
	if depth > maxBodyDepth {
		return illegal("%s: the body is nested deeper than %d levels", clip(path), maxBodyDepth)
	}
	v := s.target(dst)
	var err error
	switch s.kind {
	case kindObject:
		return s.setObject(v, raw, path, depth)
	case kindList:
		return s.setList(v, raw, path, depth)
	case kindDictionary:
		return s.setDictionary(v, raw, path, depth)
	case kindAny:
		err = setAny(v, raw)
	default:
		err = s.setScalar(v, raw)
	}
	if err != nil {
		return illegal("%s: %v", clip(path), err)
	}
	return nil
}

func (s *shape) setObject(v reflect.Value, raw jsontext.Value, path string, depth int) error {
	if raw.Kind() != '{' {
		return illegal("%s: must be a JSON object", clip(path))
	}
	seen := make([]bool, len(s.fields))
	err := members(raw, func(name string, value jsontext.Value) error {
		i, ok := s.byName[name]
		if !ok {
			return illegal("%s: there is no field %q", clip(path), clip(name))
		}
		f := s.fields[i]
		if f.isBlank(value) {
			return nil
		}
		seen[i] = value.Kind() != 'n'
		return f.setJSON(v.FieldByIndex(f.index), value, join(path, name), depth+1)
	})
	if err != nil {
		return err
	}
	for i, f := range s.fields {
		if f.required && !seen[i] {
			return illegal("%s: is required", clip(join(path, f.name)))
		}
	}
	return nil
}

// isBlank reports whether a value is an empty text for a non-text field, which means null: callers
// send it for blank fields.
func (s *shape) isBlank(raw jsontext.Value) bool {
	if raw.Kind() != '"' {
		return false
	}
	kind := s.kind
	if kind == kindList {
		kind = s.elem.kind
	}
	switch kind {
	case kindInt, kindFloat, kindBool, kindDate:
		text, _ := scalarText(raw)
		return strings.TrimSpace(text) == ""
	}
	return false
}

func (s *shape) setList(v reflect.Value, raw jsontext.Value, path string, depth int) error {
	list := reflect.MakeSlice(v.Type(), 0, 4)
	add := func(raw jsontext.Value) error {
		e := reflect.New(v.Type().Elem()).Elem()
		if err := s.elem.setJSON(e, raw, path+"["+strconv.Itoa(list.Len())+"]", depth+1); err != nil {
			return err
		}
		list = reflect.Append(list, e)
		return nil
	}
	var err error
	if raw.Kind() == '[' {
		err = elements(raw, add)
	} else {
		err = add(raw)
	}
	if err != nil {
		return err
	}
	if err := s.rules.checkCount(list.Len()); err != nil {
		return illegal("%s: %v", clip(path), err)
	}
	v.Set(list)
	s.dedupe(v)
	return nil
}

func (s *shape) setDictionary(v reflect.Value, raw jsontext.Value, path string, depth int) error {
	if raw.Kind() != '{' {
		return illegal("%s: must be a JSON object", clip(path))
	}
	m := reflect.MakeMap(v.Type())
	err := members(raw, func(name string, value jsontext.Value) error {
		key := reflect.New(v.Type().Key()).Elem()
		switch key.Kind() {
		case reflect.String:
			key.SetString(name)
		default:
			n, err := strconv.ParseInt(name, 10, key.Type().Bits())
			if err != nil {
				return illegal("%s: the key %q must be an integer", clip(path), clip(name))
			}
			key.SetInt(n)
		}
		e := reflect.New(v.Type().Elem()).Elem()
		if err := s.elem.setJSON(e, value, join(path, name), depth+1); err != nil {
			return err
		}
		m.SetMapIndex(key, e)
		return nil
	})
	if err == nil {
		v.Set(m)
	}
	return err
}

func setAny(v reflect.Value, raw jsontext.Value) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return err
	}
	if x != nil {
		v.Set(reflect.ValueOf(x))
	}
	return nil
}

func (s *shape) setScalar(v reflect.Value, raw jsontext.Value) error {
	text, quoted := scalarText(raw)
	switch s.kind {
	case kindString:
		return s.setString(v, text)
	case kindInt:
		if raw.Kind() == '"' || raw.Kind() == '0' {
			return s.setInt(v, text)
		}
		return fmt.Errorf("must be an integer")
	case kindFloat:
		if raw.Kind() == '"' || raw.Kind() == '0' {
			return s.setFloat(v, text)
		}
		return fmt.Errorf("must be a number")
	case kindBool:
		switch text {
		case "true":
			v.SetBool(true)
		case "false":
			v.SetBool(false)
		default:
			return fmt.Errorf("must be true or false")
		}
		return nil
	case kindEnum:
		if raw.Kind() == '0' {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n >= len(s.rules.positions) {
				return fmt.Errorf("the position %s must be from 0 to %d", clip(text), len(s.rules.positions)-1)
			}
			text = s.rules.positions[n]
		}
		return s.setEnum(v, text)
	case kindDate:
		d, err := ParseDate(text)
		if err != nil {
			return err
		}
		v.Set(reflect.ValueOf(d))
		return nil
	case kindBytes:
		b, err := base64.StdEncoding.DecodeString(text)
		if !quoted || err != nil {
			return fmt.Errorf("must be a string of Base64")
		}
		v.SetBytes(b)
		return nil
	}
	return fmt.Errorf("cannot be read")
}

// scalarText returns the text of a JSON string, or the JSON text itself of
// anything else.
func scalarText(raw jsontext.Value) (text string, quoted bool) {
	if raw.Kind() == '"' {
		b, err := jsontext.AppendUnquote(nil, raw)
		if err == nil && utf8.Valid(b) {
			return string(b), true
		}
	}
	return string(bytes.TrimSpace(raw)), false
}

// members calls f for each member of a valid JSON object.
func members(raw jsontext.Value, f func(name string, value jsontext.Value) error) error {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.ReadToken(); err != nil {
		return illegal("the body is not valid JSON: %s", jsonProblem(err))
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return illegal("the body is not valid JSON: %s", jsonProblem(err))
		}
		name := tok.String()
		value, err := dec.ReadValue()
		if err != nil {
			return illegal("the body is not valid JSON: %s", jsonProblem(err))
		}
		if err := f(name, value); err != nil {
			return err
		}
	}
	return nil
}

// elements calls f for each element of a valid JSON array.
func elements(raw jsontext.Value, f func(jsontext.Value) error) error {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.ReadToken(); err != nil {
		return illegal("the body is not valid JSON: %s", jsonProblem(err))
	}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return illegal("the body is not valid JSON: %s", jsonProblem(err))
		}
		if err := f(value); err != nil {
			return err
		}
	}
	return nil
}

func join(path, name string) string {
	if path == "body" {
		return name
	}
	return path + "." + name
}
