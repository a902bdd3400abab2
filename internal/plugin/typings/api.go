// SPDX-License-Identifier: Apache-2.0

package typings

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// Functions writes the type of app.api: the operations of the roles and their types. A role adds no
// operation that an earlier role has.
func Functions(apis ...API) ([]byte, error) {
	c, err := Read(apis...)
	if err != nil {
		return nil, err
	}
	w := &Writer{}
	w.WriteString(generated)
	w.Doc("The admin interface, as app.api offers it.")
	w.Open("declare namespace api {")
	w.Doc("The operations by their groups. Those of a role are there where that role runs.")
	w.Open("interface Functions {")
	for _, group := range slices.Sorted(maps.Keys(c.Groups)) {
		w.Open("%s: {", property(group))
		for _, name := range slices.Sorted(maps.Keys(c.Groups[group])) {
			writeFunction(w, name, c.Groups[group][name])
		}
		w.Close("};")
	}
	w.Close("}")
	for _, name := range slices.Sorted(maps.Keys(c.Schemas)) {
		s := c.Schemas[name]
		w.Doc(s.Description)
		if s.Type == "object" && s.Properties != nil {
			w.Open("interface %s {", name)
			writeMembers(w, s)
			w.Close("}")
		} else {
			w.Line("type %s = %s;", name, s.typ())
		}
	}
	w.Close("}")
	if strings.Contains(w.String(), ": any") {
		return nil, errors.New("a type of the admin interface is not known")
	}
	return w.Bytes(), nil
}

func writeFunction(w *Writer, name string, op Operation) {
	result := "undefined"
	if data := op.Result(); data != nil {
		result = data.typ() + " | undefined"
	}
	w.Doc(op.Summary, op.Description)
	mark, members := "?", &Writer{depth: w.depth + 1}
	for _, p := range op.Inputs() {
		optional := "?"
		if p.Required {
			optional, mark = "", ""
		}
		members.Doc(p.Description)
		members.Line("%s%s: %s;", property(p.Name), optional, p.Schema.typ())
	}
	if b := op.RequestBody; b != nil {
		optional := "?"
		if b.Required {
			optional, mark = "", ""
		}
		members.Line("body%s: %s;", optional, b.Schema().typ())
	}
	if members.Len() == 0 {
		w.Line("%s(): Promise<%s>;", property(name), result)
		return
	}
	w.Line("%s(input%s: {", property(name), mark)
	w.Write(members.Bytes())
	w.Line("}): Promise<%s>;", result)
}

func writeMembers(w *Writer, s Schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		w.Doc(p.Description)
		mark := "?"
		if slices.Contains(s.Required, name) {
			mark = ""
		}
		w.Line("%s%s: %s;", property(name), mark, p.typ())
	}
}

// typ returns the TypeScript type of the schema.
func (s Schema) typ() string {
	t := s.plain()
	if s.Nullable {
		t += " | null"
	}
	return t
}

func (s Schema) plain() string {
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
		if s.Format == "byte" {
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

func (s Schema) object() string {
	if len(s.Properties) > 0 {
		w := &Writer{}
		writeMembers(w, s)
		return "{ " + strings.Join(strings.Fields(w.String()), " ") + " }"
	}
	if of := s.Values(); of != nil {
		return "{ [name: string]: " + of.typ() + " }"
	}
	return "{ [name: string]: JsonValue }"
}
