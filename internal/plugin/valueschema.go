// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A ValueSchema is the JSON Schema of an endpoint's input or result. It is immutable.
type ValueSchema struct {
	text     string
	document map[string]any
	compiled *jsonschema.Schema
}

// NewValueSchema parses a schema. Errors are sentences for the author of the plugin.
func NewValueSchema(text []byte) (*ValueSchema, error) {
	document, compiled, err := compileSchema(text)
	if err != nil {
		return nil, err
	}
	return &ValueSchema{text: string(text), document: document, compiled: compiled}, nil
}

// String returns the JSON text of the schema.
func (s *ValueSchema) String() string { return s.text }

// Document returns the decoded schema, read only.
func (s *ValueSchema) Document() map[string]any { return s.document }

// parameters returns the schemas of query parameters.
func (s *ValueSchema) parameters() map[string]*jsonschema.Schema {
	return referred(s.compiled).Properties
}

// checkParameters returns an error if a schema cannot describe a query.
func (s *ValueSchema) checkParameters() error {
	root := referred(s.compiled)
	if !isGroup(root) {
		return errors.New("the schema must be that of an object with properties, each of which is a parameter")
	}
	for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
		kind, items := parameterType(root.Properties[name])
		if name == "" || strings.ContainsAny(name, "[]") {
			return fmt.Errorf("%q: the name of a parameter must not be empty and must have no bracket", name)
		}
		if kind == "object" || kind == "array" && items != "string" && items != "integer" && items != "number" && items != "boolean" {
			return fmt.Errorf("%s: a parameter must be a string, a number, a boolean, or an array of them", name)
		}
	}
	return nil
}

// parameterType returns the type of a parameter, and that of its elements if it is an array.
func parameterType(declared *jsonschema.Schema) (kind, items string) {
	inner := referred(declared)
	if kind = typeOf(inner); kind != "array" {
		return kind, ""
	}
	for _, of := range []any{inner.Items2020, inner.Items} {
		if of, ok := of.(*jsonschema.Schema); ok && of != nil {
			return kind, typeOf(referred(of))
		}
	}
	return kind, ""
}

// readQuery converts query parameters to an object. A text that does not have the declared type
// stays a text, which the schema then refuses.
func (s *ValueSchema) readQuery(values map[string][]string) map[string]any {
	object := map[string]any{}
	declared := s.parameters()
	for name, list := range values {
		if len(list) == 0 {
			continue
		}
		p := declared[name]
		if p == nil {
			object[name] = list[len(list)-1]
			continue
		}
		kind, items := parameterType(p)
		if kind != "array" {
			object[name] = parameterValue(kind, list[len(list)-1])
			continue
		}
		elements := []any{}
		for _, text := range list {
			for part := range strings.SplitSeq(text, ",") {
				elements = append(elements, parameterValue(items, part))
			}
		}
		object[name] = elements
	}
	return object
}

func parameterValue(kind, text string) any {
	switch kind {
	case "integer", "number":
		if v, err := jsonschema.UnmarshalJSON(strings.NewReader(text)); err == nil {
			if _, ok := v.(json.Number); ok {
				return v
			}
		}
	case "boolean":
		switch text {
		case "true":
			return true
		case "false":
			return false
		}
	}
	return text
}

// fill sets the properties of an object that have a default and are missing.
func (s *ValueSchema) fill(v any) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	for name, p := range referred(s.compiled).Properties {
		d := p.Default
		if d == nil {
			d = referred(p).Default
		}
		if _, given := object[name]; !given && d != nil {
			object[name] = cloneJSON(*d)
		}
	}
}

// maxProblems is the maximum number of reported problems of a value.
const maxProblems = 20

// problems returns the rules that a value violates, each with the path of the part. They contain no
// secrets.
func (s *ValueSchema) problems(v any, where string) []string {
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	broken, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []string{where + ": " + err.Error()}
	}
	var list []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if _, either := e.ErrorKind.(*kind.AnyOf); len(e.Causes) > 0 && !either {
			for _, cause := range e.Causes {
				walk(cause)
			}
			return
		}
		path := where
		for _, part := range e.InstanceLocation {
			path += "." + part
		}
		if missing, ok := e.ErrorKind.(*kind.Required); ok {
			for _, name := range missing.Missing {
				list = append(list, path+"."+name+": is required")
			}
			return
		}
		text := e.ErrorKind.LocalizedString(printer)
		if s.isSecret(e.InstanceLocation) {
			text = "the value breaks the rule " + strings.Join(e.ErrorKind.KeywordPath(), "/")
		}
		list = append(list, path+": "+text)
	}
	walk(broken)
	slices.Sort(list)
	list = slices.Compact(list)
	if more := len(list) - maxProblems; more > 0 {
		list = append(list[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return list
}

// isSecret reports whether a part of a value may be a secret.
func (s *ValueSchema) isSecret(path []string) bool {
	if len(path) == 0 {
		return hasSecret(s.compiled, map[*jsonschema.Schema]bool{})
	}
	p := referred(s.compiled).Properties[path[0]]
	return p == nil && hasSecret(s.compiled, map[*jsonschema.Schema]bool{}) || hasSecret(p, map[*jsonschema.Schema]bool{})
}

// masked returns a value for audit records.
func (s *ValueSchema) masked(v any) any {
	if !hasSecret(s.compiled, map[*jsonschema.Schema]bool{}) {
		return v
	}
	object, ok := v.(map[string]any)
	if !ok {
		return Mask
	}
	out := make(map[string]any, len(object))
	for name, x := range object {
		if s.isSecret([]string{name}) {
			x = Mask
		}
		out[name] = x
	}
	return out
}

// readJSON decodes a value with json.Number.
func readJSON(text []byte) (any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return v, nil
}
