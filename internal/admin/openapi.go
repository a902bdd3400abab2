// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"example.org/app/internal/apierr"
)

// Tag is a heading of the OpenAPI document.
type Tag struct{ Name, Description string }

// failure is the envelope of a refused request, for the document.
type failure struct {
	Code      int32  `json:"code" doc:"Business status code." example:"1102"`
	Reason    string `json:"reason" doc:"Human-readable reason." example:"parameter \"ids\": \"x\" must be an integer of 64 bits"`
	Timestamp Date   `json:"timestamp" doc:"When the response was written."`
	Exception string `json:"exception,omitempty" doc:"Text of the cause; few operations return it."`
}

// The ways to authenticate; either will do.
const (
	basicScheme  = "BasicAuth"
	bearerScheme = "BearerAuth"
)

// buildDocument describes the operations in OpenAPI 3.0.
func (a *API) buildDocument() ([]byte, error) {
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0", // Downgrade turns it into 3.0.3.
		Info: &huma.Info{
			Title: a.opts.Title, Version: a.opts.Version,
			Description: a.opts.Description + fmt.Sprintf(" A list in a query or a body has at most %d elements unless its description says otherwise.", maxListItems),
			License:     &huma.License{Name: "Apache-2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"},
			Contact:     &huma.Contact{Name: "The operator of this server"},
		},
		Servers: []*huma.Server{{URL: "/", Description: "This node"}},
		Components: &huma.Components{
			Schemas: a.registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				basicScheme:  {Type: "http", Scheme: "basic", Description: "Login name and password of an administrator."},
				bearerScheme: {Type: "http", Scheme: "bearer", Description: "A token of an administrator (`POST /admins/tokens`) or of a session (`POST /admins/sessions`)."},
			},
		},
	}
	used := map[string]bool{}
	for _, op := range a.ops {
		doc.AddOperation(a.describe(op))
		used[op.Tag] = true
	}
	for _, t := range append(slices.Clone(a.opts.Tags), documentationTag) {
		if used[t.Name] {
			doc.Tags = append(doc.Tags, &huma.Tag{Name: t.Name, Description: t.Description})
			delete(used, t.Name)
		}
	}
	if len(used) > 0 {
		return nil, fmt.Errorf("tags without description: %v", used)
	}
	for _, s := range a.registry.Map() {
		neverNull(s)
	}
	compact, err := doc.Downgrade()
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(compact, &tree); err != nil {
		return nil, err
	}
	downgrade(tree)
	var pretty bytes.Buffer
	enc := json.NewEncoder(&pretty)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(tree); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(pretty.Bytes()), nil
}

// downgrade finishes what huma's downgrade to OpenAPI 3.0 leaves: 3.0 knows no
// contentMediaType, has another word for Base64, and nothing may stand beside a $ref.
func downgrade(node any) {
	switch n := node.(type) {
	case map[string]any:
		delete(n, "contentMediaType")
		if n[jsonParam] == true {
			asContent(n)
		}
		if n["format"] == "base64" {
			n["format"] = "byte" // what OpenAPI 3.0 calls it
		}
		if ref, ok := n["$ref"]; ok && len(n) > 1 {
			delete(n, "$ref")
			n["allOf"] = []any{map[string]any{"$ref": ref}}
		}
		for _, v := range n {
			downgrade(v)
		}
	case []any:
		for _, v := range n {
			downgrade(v)
		}
	}
}

// neverNull removes the nullability of Go pointers: an absent value is never written as null.
func neverNull(s *huma.Schema) {
	if s == nil {
		return
	}
	s.Nullable = false
	neverNull(s.Items)
	for _, p := range s.Properties {
		neverNull(p)
	}
	if add, ok := s.AdditionalProperties.(*huma.Schema); ok {
		neverNull(add)
	}
}

func (a *API) describe(op *Operation) *huma.Operation {
	o := &huma.Operation{
		OperationID: op.ID, Method: op.Method, Path: op.Path, Tags: []string{op.Tag},
		Summary: op.Summary, Description: op.Description, Deprecated: op.Deprecated,
		Responses:  map[string]*huma.Response{},
		Extensions: map[string]any{},
	}
	if o.Description == "" {
		o.Description = op.Summary + "."
	}
	switch op.Access {
	case Privileged:
		o.Extensions["x-permission"] = string(op.Permission)
		o.Description += "\n\nPermission: `" + string(op.Permission) + "`."
	case AnyAdmin:
		o.Description += "\n\nPermission: none, but the credentials of an administrator."
	}
	o.Security = []map[string][]string{}
	if op.Access != Public {
		o.Security = append(o.Security, map[string][]string{basicScheme: {}}, map[string][]string{bearerScheme: {}})
	}
	for _, p := range op.input().params {
		o.Parameters = append(o.Parameters, describeParam(a.registry, p, op.Records))
	}
	if op.input().body != nil {
		o.RequestBody = &huma.RequestBody{
			Required: op.input().bodyRequired,
			Content:  map[string]*huma.MediaType{jsonType: {Schema: a.registry.Schema(op.input().body.typ, true, op.ID+"Body")}},
		}
	}
	if op.input().formIndex != nil {
		o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{formType: {Schema: formSchema()}}}
	}
	a.describeSuccess(op, o)
	a.describeFailures(op, o)
	return o
}

func describeParam(reg huma.Registry, p *param, records string) *huma.Param {
	schema := p.schema(reg)
	neverNull(schema)
	hp := &huma.Param{
		Name: p.name, In: "query", Required: p.required,
		Description: strings.ReplaceAll(schema.Description, "{records}", records), Schema: schema,
	}
	schema.Description = ""
	if p.header {
		hp.In = "header"
	}
	if examples := schema.Examples; len(examples) > 0 && !p.required {
		// Documentation pages fill in examples, and an unwanted filter finds nothing: put the
		// example of an optional parameter into the description.
		hp.Description += " Example: `" + exampleText(examples[0]) + "`."
		schema.Examples = nil
	}
	if p.isObjects() {
		hp.Extensions = map[string]any{jsonParam: true}
	} else if p.kind == kindList {
		explode := false
		hp.Style, hp.Explode = "form", &explode
	}
	return hp
}

// jsonParam marks a parameter with a JSON value until asContent converts it: huma does not support
// content of parameters.
const jsonParam = "x-json"

// asContent converts a marked parameter to one with JSON content. An optional one has an empty list
// as its example, because documentation pages fill in examples.
func asContent(param map[string]any) {
	media := map[string]any{"schema": param["schema"]}
	if param["required"] != true {
		media["example"] = []any{}
	}
	param["content"] = map[string]any{jsonType: media}
	for _, key := range []string{jsonParam, "schema", "style", "explode"} {
		delete(param, key)
	}
}

// exampleText is an example as it stands in a query string.
func exampleText(example any) string {
	v := reflect.ValueOf(example)
	if v.Kind() != reflect.Slice {
		return fmt.Sprint(example)
	}
	parts := make([]string, v.Len())
	for i := range parts {
		parts[i] = fmt.Sprint(v.Index(i).Interface())
	}
	return strings.Join(parts, ",")
}

func (a *API) describeSuccess(op *Operation, o *huma.Operation) {
	ok := &huma.Response{Description: "Success."}
	nothing := &huma.Response{Description: "There is nothing."}
	t := op.outType
	if v, isVersioned := reflect.Zero(t).Interface().(versioned); isVersioned {
		t = v.dataType()
		ok.Headers = map[string]*huma.Param{"ETag": {Description: "Version of the data, for If-Match.", Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	if v, isOptional := reflect.Zero(t).Interface().(optional); isOptional {
		t = v.dataType()
		o.Responses["204"] = nothing
	}
	if t == reflect.TypeFor[Maybe]() {
		t = reflect.TypeFor[Done]()
		o.Responses["204"] = nothing
	}
	switch {
	case op.Method == http.MethodHead:
	case t == reflect.TypeFor[NoContent]():
		nothing.Description = "Success; nothing to return."
		o.Responses["204"] = nothing
		return
	case op.Media != nil:
		ok.Description = op.Media.Description
		ok.Content = map[string]*huma.MediaType{op.Media.ContentType: a.describeMedia(op.Media)}
	default:
		ok.Content = map[string]*huma.MediaType{jsonType: {Schema: a.envelopeSchema(t, op.ID)}}
		if t.Kind() == reflect.Slice && !op.EmptyIsOK || t.Implements(reflect.TypeFor[noner]()) {
			o.Responses["204"] = nothing
		}
	}
	o.Responses["200"] = ok
}

func (a *API) describeMedia(m *Media) *huma.MediaType {
	mt := &huma.MediaType{Example: m.Example}
	switch {
	case m.Null:
		mt.Schema = &huma.Schema{Type: huma.TypeObject, Nullable: true, Enum: []any{nil}}
	case m.JSON != nil:
		mt.Schema = a.registry.Schema(reflect.TypeOf(m.JSON), true, "")
	case isText(m.ContentType):
		mt.Schema = &huma.Schema{Type: huma.TypeString}
	default:
		mt.Schema = &huma.Schema{Type: huma.TypeString, Format: "binary"}
	}
	return mt
}

// envelopeSchema is the envelope with the data of one operation.
func (a *API) envelopeSchema(data reflect.Type, hint string) *huma.Schema {
	s := &huma.Schema{
		Type:     huma.TypeObject,
		Required: []string{"code", "reason", "timestamp"},
		Properties: map[string]*huma.Schema{
			"code":      {Type: huma.TypeInteger, Format: "int32", Description: "Business status code; 1000 is success.", Examples: []any{int(apierr.OK)}},
			"reason":    {Type: huma.TypeString, Description: "Text of the code.", Examples: []any{apierr.OK.Text()}},
			"timestamp": Date{}.Schema(nil),
		},
	}
	if data != reflect.TypeFor[Done]() {
		ds := a.registry.Schema(data, true, hint+"Data")
		neverNull(ds)
		s.Properties["data"] = ds
		s.Required = append(s.Required, "data")
	}
	return s
}

// describeFailures lists the codes of the operation by HTTP status.
func (a *API) describeFailures(op *Operation, o *huma.Operation) {
	codes := map[int][]apierr.Code{
		http.StatusBadRequest:          {apierr.IllegalArgument},
		http.StatusUnauthorized:        {apierr.Unauthorized}, // Wrong credentials are refused even where none are needed.
		http.StatusTooManyRequests:     {apierr.ClientRequestsTooFrequent},
		http.StatusInternalServerError: {apierr.ServerInternalError},
	}
	if op.Access != Public {
		codes[http.StatusServiceUnavailable] = []apierr.Code{apierr.ServerUnavailable}
	}
	if op.input().body != nil || op.input().formIndex != nil {
		codes[http.StatusRequestEntityTooLarge] = []apierr.Code{apierr.IllegalArgument}
	}
	if op.Method == http.MethodDelete {
		codes[http.StatusBadRequest] = append(codes[http.StatusBadRequest], apierr.NoFilterForDeleteOperation)
	}
	for _, c := range op.Errors {
		if !slices.Contains(codes[c.HTTP()], c) {
			codes[c.HTTP()] = append(codes[c.HTTP()], c)
		}
	}
	schema := a.registry.Schema(reflect.TypeFor[failure](), true, "")
	for status, list := range codes {
		var lines []string
		for _, c := range list {
			lines = append(lines, fmt.Sprintf("%d `%s`: %s", c, c.Name(), c.Text()))
		}
		resp := &huma.Response{
			Description: strings.Join(lines, "\n\n"),
			Extensions:  map[string]any{"x-codes": list},
		}
		if reports(op.outType) && status == http.StatusServiceUnavailable {
			// The response contains the data of a success.
			resp.Content = map[string]*huma.MediaType{jsonType: {Schema: a.envelopeSchema(op.outType, op.ID)}}
		} else if op.Method != http.MethodHead {
			example := map[string]any{"code": list[0], "reason": list[0].Text(), "timestamp": "2024-03-28T11:43:23.291+00:00"}
			resp.Content = map[string]*huma.MediaType{jsonType: {Schema: schema, Example: example}}
		}
		o.Responses[fmt.Sprint(status)] = resp
	}
}

// reports reports whether a result sets the code of its response.
func reports(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[interface{ Outcome() (apierr.Code, string) }]())
}

// schemaName names a component after its type.
func schemaName(t reflect.Type, hint string) string { return huma.DefaultSchemaNamer(t, hint) }
