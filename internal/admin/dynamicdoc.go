// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"example.org/app/internal/apierr"
)

// fullDocument caches the document with the current dynamic operations.
type fullDocument struct {
	mu      sync.Mutex
	version string
	text    []byte
}

// servedDocument returns the document with the current dynamic operations.
func (a *API) servedDocument() []byte {
	if a.opts.Dynamic == nil {
		return a.document()
	}
	dynamic := a.opts.Dynamic.All()
	if len(dynamic) == 0 {
		return a.document()
	}
	var version strings.Builder
	for _, op := range dynamic {
		fmt.Fprintf(&version, "%q %q %q ", op.ID, op.Path, op.dynamic.Version)
	}
	a.full.mu.Lock()
	defer a.full.mu.Unlock()
	if a.full.version != version.String() {
		a.full.version, a.full.text = version.String(), a.withDynamic(dynamic)
	}
	return a.full.text
}

// withDynamic adds operations to the document. Invalid additions do not prevent it from being
// served: it is then returned without them.
func (a *API) withDynamic(dynamic []*Operation) []byte {
	var tree map[string]any
	if err := json.Unmarshal(a.document(), &tree); err != nil {
		return a.document()
	}
	paths, _ := tree["paths"].(map[string]any)
	tags, _ := tree["tags"].([]any)
	named := map[string]bool{}
	for _, op := range dynamic {
		item, _ := paths[op.Path].(map[string]any)
		if item == nil {
			item = map[string]any{}
			paths[op.Path] = item
		}
		item[strings.ToLower(op.Method)] = op.describeDynamic()
		if !named[op.Tag] {
			named[op.Tag] = true
			tags = append(tags, map[string]any{"name": op.Tag, "description": "Endpoints of a plugin on this node."})
		}
	}
	tree["tags"] = tags
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(tree); err != nil {
		return a.document()
	}
	return bytes.TrimSpace(text.Bytes())
}

// describeDynamic describes an operation as the others are described.
func (op *Operation) describeDynamic() map[string]any {
	d := op.dynamic
	description := op.Description
	if description == "" {
		description = op.Summary + "."
	}
	o := map[string]any{
		"operationId": op.ID, "tags": []any{op.Tag}, "summary": op.Summary,
		"description":  description + "\n\nPermission: `" + string(op.Permission) + "`.",
		"x-permission": string(op.Permission), "x-plugin-endpoint": true,
		"security": []any{map[string]any{basicScheme: []any{}}, map[string]any{bearerScheme: []any{}}},
	}
	if d.Query != nil {
		o["parameters"] = describeParameters(op.Path, d.Query)
	}
	if d.Body != nil {
		o["requestBody"] = map[string]any{"required": true, "content": map[string]any{jsonType: map[string]any{"schema": schema30(d.Body)}}}
	}
	o["responses"] = op.describeDynamicResponses()
	return o
}

// describeParameters describes the properties of a schema as query parameters, or path parameters
// if they are in the path.
func describeParameters(path string, schema map[string]any) []any {
	flat, _ := schema30(schema).(map[string]any)
	properties, _ := flat["properties"].(map[string]any)
	required, _ := flat["required"].([]any)
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p, ok := properties[name].(map[string]any)
		if !ok {
			continue
		}
		param := map[string]any{"name": name, "in": "query", "required": slices.Contains(required, any(name))}
		if slices.Contains(strings.Split(path, "/"), "{"+name+"}") {
			param["in"], param["required"] = "path", true
			delete(p, "default") // It is always given.
		}
		if text, ok := p["description"].(string); ok {
			param["description"] = text
			delete(p, "description")
		}
		if p["type"] == "array" {
			param["style"], param["explode"] = "form", false
		}
		param["schema"] = p
		list = append(list, param)
	}
	return list
}

func (op *Operation) describeDynamicResponses() map[string]any {
	d := op.dynamic
	ok := map[string]any{"description": "Success."}
	if d.ContentType != "" {
		kind, _, _ := strings.Cut(d.ContentType, ";")
		schema := map[string]any{"type": "string"}
		if !isText(d.ContentType) {
			schema["format"] = "binary"
		}
		ok["content"] = map[string]any{strings.TrimSpace(kind): map[string]any{"schema": schema}}
	} else {
		properties := map[string]any{
			"code":      map[string]any{"type": "integer", "format": "int32", "description": "Business status code; 1000 is success."},
			"reason":    map[string]any{"type": "string", "description": "Text of the code."},
			"timestamp": map[string]any{"type": "string", "format": "date-time"},
		}
		envelope := map[string]any{"type": "object", "required": []any{"code", "reason", "timestamp"}, "properties": properties}
		if d.Result != nil {
			properties["data"] = schema30(d.Result)
		}
		ok["content"] = map[string]any{jsonType: map[string]any{"schema": envelope}}
	}
	responses := map[string]any{"200": ok}
	failures := map[int]string{
		http.StatusBadRequest:          describeCode(apierr.IllegalArgument),
		http.StatusUnauthorized:        describeCode(apierr.Unauthorized),
		http.StatusTooManyRequests:     describeCode(apierr.ClientRequestsTooFrequent),
		http.StatusInternalServerError: describeCode(apierr.ServerInternalError),
		http.StatusServiceUnavailable:  describeCode(apierr.ServerUnavailable),
		http.StatusGatewayTimeout:      "The plugin took too long.",
	}
	for status, text := range failures {
		responses[fmt.Sprint(status)] = map[string]any{
			"description": text,
			"content":     map[string]any{jsonType: map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/Failure"}}},
		}
	}
	return responses
}

func describeCode(c apierr.Code) string { return fmt.Sprintf("%d `%s`: %s", c, c.Name(), c.Text()) }

// kept30 are the keywords of JSON Schema with the same meaning in OpenAPI 3.0.
var kept30 = []string{
	"title", "description", "default", "enum", "format", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems",
	"minProperties", "maxProperties", "required", "readOnly", "writeOnly", "deprecated", "minimum", "maximum",
}

// maxDepth30 and maxNodes30 bound the described part of a schema, because references may be
// circular.
const (
	maxDepth30 = 24
	maxNodes30 = 5000
)

// schema30 converts a JSON Schema to OpenAPI 3.0. Keywords that 3.0 lacks are omitted, so the
// document is never stricter than the server. References are replaced by their targets.
func schema30(schema map[string]any) any { return (&converter30{root: schema}).convert(schema, 0) }

type converter30 struct {
	root  map[string]any
	nodes int
}

func (c *converter30) convert(node any, depth int) any {
	if b, ok := node.(bool); ok {
		if b {
			return map[string]any{}
		}
		return map[string]any{"not": map[string]any{}}
	}
	in, ok := node.(map[string]any)
	if c.nodes++; !ok || depth > maxDepth30 || c.nodes > maxNodes30 {
		return map[string]any{}
	}
	out := map[string]any{}
	if ref, ok := in["$ref"].(string); ok {
		if target, ok := c.resolve(ref).(map[string]any); ok {
			if converted, ok := c.convert(target, depth+1).(map[string]any); ok {
				maps.Copy(out, converted)
			}
		}
	}
	for _, key := range kept30 {
		if v, ok := in[key]; ok {
			out[key] = v
		}
	}
	c.convertType(in, out)
	if v, ok := in["const"]; ok {
		out["enum"] = []any{v}
	}
	if list, ok := in["examples"].([]any); ok && len(list) > 0 {
		out["example"] = list[0]
	}
	for _, bound := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		if v, ok := in[bound[0]]; ok {
			out[bound[1]], out[bound[0]] = v, true
		}
	}
	c.convertParts(in, out, depth)
	return out
}

// convertType reduces the types of a schema to one. In 3.0 a nullable schema needs a type, even if
// it is only null.
func (c *converter30) convertType(in, out map[string]any) {
	switch t := in["type"].(type) {
	case string:
		if t == "null" {
			out["type"], out["nullable"], out["enum"] = "string", true, []any{nil}
			return
		}
		out["type"] = t
	case []any:
		rest := slices.DeleteFunc(slices.Clone(t), func(x any) bool { return x == "null" })
		nullable := len(rest) < len(t)
		if len(rest) == 1 {
			out["type"] = rest[0]
			if nullable {
				out["nullable"] = true
			}
			return
		}
		var either []any
		for _, x := range rest {
			one := map[string]any{"type": x}
			if x == "array" {
				one["items"] = map[string]any{}
			}
			if nullable {
				one["nullable"] = true
			}
			either = append(either, one)
		}
		out["anyOf"] = either
	}
}

func (c *converter30) convertParts(in, out map[string]any, depth int) {
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if list, ok := in[key].([]any); ok {
			converted := make([]any, len(list))
			for i, x := range list {
				converted[i] = c.convert(x, depth+1)
			}
			out[key] = converted
		}
	}
	if v, ok := in["not"]; ok {
		out["not"] = c.convert(v, depth+1)
	}
	if v, ok := in["items"]; ok {
		out["items"] = c.convert(v, depth+1)
	} else if out["type"] == "array" && out["items"] == nil {
		out["items"] = map[string]any{}
	}
	if properties, ok := in["properties"].(map[string]any); ok {
		converted := make(map[string]any, len(properties))
		for name, x := range properties {
			converted[name] = c.convert(x, depth+1)
		}
		out["properties"] = converted
	}
	switch v := in["additionalProperties"].(type) {
	case bool:
		if _, patterns := in["patternProperties"]; !patterns {
			out["additionalProperties"] = v
		}
	case map[string]any:
		out["additionalProperties"] = c.convert(v, depth+1)
	}
}

// resolve returns the target of a local reference, or nil.
func (c *converter30) resolve(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var node any = c.root
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if part == "" {
			continue
		}
		m, ok := node.(map[string]any)
		if !ok {
			return nil
		}
		node = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return node
}
