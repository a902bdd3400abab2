// SPDX-License-Identifier: Apache-2.0

package typings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
)

// An API is the admin interface of one role.
type API struct {
	Role       role.Role
	Operations []plugin.Operation
	// OpenAPI is its OpenAPI document.
	OpenAPI []byte
}

// A Catalogue contains the operations of the admin interface that plugins can call, as described by
// its OpenAPI documents.
type Catalogue struct {
	// Groups are the operations by group and name.
	Groups map[string]map[string]Operation
	// Schemas are the types by name.
	Schemas map[string]Schema
}

// document is the relevant part of an OpenAPI document.
type document struct {
	Paths      map[string]map[string]Operation
	Components struct{ Schemas map[string]Schema }
}

// An Operation is one operation of a document.
type Operation struct {
	// Path is where it is, Method the HTTP method in lower case.
	Path   string `json:"-"`
	Method string `json:"-"`
	// Selectors and All are those of plugin.Operation.
	Selectors []string `json:"-"`
	All       string   `json:"-"`

	OperationID string
	Summary     string
	Description string
	Parameters  []Parameter
	RequestBody *Body
	Responses   map[string]struct{ Content content }
}

// A Parameter is a parameter of an operation.
type Parameter struct {
	Name, In, Description string
	Required              bool
	Schema                Schema
	Content               content
}

// A Body is the body of a request.
type Body struct {
	Content  content
	Required bool
}

type content map[string]struct{ Schema Schema }

// A Schema is a type.
type Schema struct {
	Ref                  string `json:"$ref"`
	Type, Format         string
	Description          string
	Nullable             bool
	Enum                 []json.RawMessage
	Properties           map[string]Schema
	Required             []string
	Items                *Schema
	AllOf                []Schema
	AdditionalProperties json.RawMessage
}

// Read parses the documents of roles. A role adds no operation that an earlier role has.
func Read(apis ...API) (*Catalogue, error) {
	c := &Catalogue{Groups: map[string]map[string]Operation{}, Schemas: map[string]Schema{}}
	for _, a := range apis {
		var d document
		if err := json.Unmarshal(a.OpenAPI, &d); err != nil {
			return nil, fmt.Errorf("read the OpenAPI document of %s: %w", a.Role, err)
		}
		maps.Copy(c.Schemas, d.Components.Schemas)
		known := map[string]Operation{}
		for path, methods := range d.Paths {
			for method, op := range methods {
				op.Path, op.Method = path, method
				known[op.OperationID] = op
			}
		}
		for _, f := range a.Operations {
			op, ok := known[f.ID]
			if !ok {
				return nil, fmt.Errorf("the OpenAPI document of %s lacks the operation %q", a.Role, f.ID)
			}
			op.Selectors, op.All = f.Selectors, f.All
			if c.Groups[f.Group] == nil {
				c.Groups[f.Group] = map[string]Operation{}
			}
			if _, has := c.Groups[f.Group][f.Name]; !has {
				c.Groups[f.Group][f.Name] = op
			}
		}
	}
	return c, nil
}

// Inputs returns the parameters that plugins pass.
func (op Operation) Inputs() []Parameter {
	var list []Parameter
	for _, p := range op.Parameters {
		if p.In == "query" || p.In == "path" {
			if json, ok := p.Content["application/json"]; ok {
				p.Schema = json.Schema
			}
			list = append(list, p)
		}
	}
	return list
}

// NeedsInput reports whether a parameter or a body is required.
func (op Operation) NeedsInput() bool {
	return op.RequestBody != nil && op.RequestBody.Required || slices.ContainsFunc(op.Inputs(), func(p Parameter) bool { return p.Required })
}

// Result returns the type of the data, nil if there is none.
func (op Operation) Result() *Schema {
	if ok, there := op.Responses["200"]; there {
		if data, has := ok.Content["application/json"].Schema.Properties["data"]; has {
			return &data
		}
	}
	return nil
}

// Schema returns the type of the body.
func (b *Body) Schema() Schema { return b.Content["application/json"].Schema }

// Values returns the type of the values of a map with arbitrary keys, nil if they may be anything.
func (s Schema) Values() *Schema {
	var of Schema
	if json.Unmarshal(s.AdditionalProperties, &of) == nil && len(s.AdditionalProperties) > 2 {
		return &of
	}
	return nil
}
