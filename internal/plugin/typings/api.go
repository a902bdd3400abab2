// SPDX-License-Identifier: Apache-2.0

package typings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/app/internal/plugin"
)

// An API is the admin interface of one role.
type API struct {
	Role       plugin.Role
	Operations []plugin.Operation
	// OpenAPI is its document.
	OpenAPI []byte
}

// document is what is read of an OpenAPI document.
type document struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	OperationID string
	Summary     string
	Description string
	Parameters  []struct {
		Name, In, Description string
		Required              bool
		Schema                schema
	}
	RequestBody *struct {
		Content  content
		Required bool
	}
	Responses map[string]struct{ Content content }
}

type content map[string]struct{ Schema schema }

type schema struct {
	Ref                  string `json:"$ref"`
	Type, Format         string
	Description          string
	Nullable             bool
	Enum                 []json.RawMessage
	Properties           map[string]schema
	Required             []string
	Items                *schema
	AllOf                []schema
	AdditionalProperties json.RawMessage
}

// Functions writes the type of app.api: the operations of the roles and the types that they lead to. A role that has an
// operation of one before it adds nothing.
func Functions(apis ...API) ([]byte, error) {
	w := &writer{}
	w.WriteString(generated)
	w.doc("The admin interface, as app.api offers it.")
	w.open("declare namespace api {")
	schemas := map[string]schema{}
	groups := map[string]map[string]func(){}
	for _, a := range apis {
		var d document
		if err := json.Unmarshal(a.OpenAPI, &d); err != nil {
			return nil, fmt.Errorf("read the OpenAPI document of %s: %w", a.Role, err)
		}
		maps.Copy(schemas, d.Components.Schemas)
		known := map[string]operation{}
		for _, methods := range d.Paths {
			for _, op := range methods {
				known[op.OperationID] = op
			}
		}
		for _, f := range a.Operations {
			op, ok := known[f.ID]
			if !ok {
				return nil, fmt.Errorf("the OpenAPI document of %s lacks the operation %q", a.Role, f.ID)
			}
			if groups[f.Group] == nil {
				groups[f.Group] = map[string]func(){}
			}
			if groups[f.Group][f.Name] == nil {
				groups[f.Group][f.Name] = func() { writeFunction(w, f.Name, op) }
			}
		}
	}
	w.doc("The operations by their groups. Those of a role are there where that role runs.")
	w.open("interface Functions {")
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		w.open("%s: {", property(group))
		for _, name := range slices.Sorted(maps.Keys(groups[group])) {
			groups[group][name]()
		}
		w.close("};")
	}
	w.close("}")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s := schemas[name]
		w.doc(s.Description)
		if s.Type == "object" && s.Properties != nil {
			w.open("interface %s {", name)
			writeMembers(w, s)
			w.close("}")
		} else {
			w.line("type %s = %s;", name, s.typ())
		}
	}
	w.close("}")
	if strings.Contains(w.String(), ": any") {
		return nil, errors.New("a type of the admin interface is not known")
	}
	return w.Bytes(), nil
}

func writeFunction(w *writer, name string, op operation) {
	result := "undefined"
	if ok, there := op.Responses["200"]; there {
		if data, has := ok.Content["application/json"].Schema.Properties["data"]; has {
			result = data.typ() + " | undefined"
		}
	}
	w.doc(op.Summary, op.Description)
	mark, members := "?", &writer{depth: w.depth + 1}
	for _, p := range op.Parameters {
		if p.In != "query" && p.In != "path" {
			continue
		}
		optional := "?"
		if p.Required {
			optional, mark = "", ""
		}
		members.doc(p.Description)
		members.line("%s%s: %s;", property(p.Name), optional, p.Schema.typ())
	}
	if b := op.RequestBody; b != nil {
		optional := "?"
		if b.Required {
			optional, mark = "", ""
		}
		members.line("body%s: %s;", optional, b.Content["application/json"].Schema.typ())
	}
	if members.Len() == 0 {
		w.line("%s(): Promise<%s>;", property(name), result)
		return
	}
	w.line("%s(input%s: {", property(name), mark)
	w.Write(members.Bytes())
	w.line("}): Promise<%s>;", result)
}

func writeMembers(w *writer, s schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		w.doc(p.Description)
		mark := "?"
		if slices.Contains(s.Required, name) {
			mark = ""
		}
		w.line("%s%s: %s;", property(name), mark, p.typ())
	}
}

// typ is the schema as a type.
func (s schema) typ() string {
	t := s.plain()
	if s.Nullable {
		t += " | null"
	}
	return t
}

func (s schema) plain() string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case len(s.AllOf) > 0:
		var parts []string
		for _, part := range s.AllOf {
			parts = append(parts, part.typ())
		}
		return strings.Join(parts, " & ")
	case len(s.Enum) > 0 && s.Type == "string":
		var values []string
		for _, v := range s.Enum {
			values = append(values, string(v))
		}
		return strings.Join(values, " | ")
	}
	switch s.Type {
	case "boolean":
		return "boolean"
	case "number":
		return "number"
	case "string":
		if s.Format == "base64" {
			return "Base64"
		}
		return "string"
	case "integer":
		if s.Format == "int64" {
			return "Int64"
		}
		return "number"
	case "array":
		return list(s.Items.typ())
	case "object":
		return s.object()
	}
	return "JsonValue"
}

func (s schema) object() string {
	if len(s.Properties) > 0 {
		w := &writer{}
		writeMembers(w, s)
		return "{ " + strings.Join(strings.Fields(w.String()), " ") + " }"
	}
	var of schema
	if json.Unmarshal(s.AdditionalProperties, &of) == nil && len(s.AdditionalProperties) > 2 {
		return "{ [name: string]: " + of.typ() + " }"
	}
	return "{ [name: string]: JsonValue }"
}
