// SPDX-License-Identifier: Apache-2.0

package typings

import (
	"reflect"
	"strings"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// typeOf is short for the reflected type.
func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

type sample struct {
	ID      int64             `json:"id"`
	Data    []byte            `json:"data,omitempty"`
	Labels  map[string]string `json:"odd-name"`
	Device  wire.DeviceType   `json:"device"`
	Request *wire.AppRequest  `json:"request"`
	Others  []*sample         `json:"others"`
}

func TestPoints(t *testing.T) {
	m := &plugin.Method{
		Name: "look", Doc: "Looks.", Mode: plugin.FirstAnswer, Failure: plugin.Refuse,
		Params: []plugin.Param{{Name: "what", Doc: "What.", Type: typeOf[*sample]()}, {Name: "where", Doc: "Where.", Type: typeOf[*int64](), Optional: true}},
		Result: typeOf[[]int32](),
	}
	point := &plugin.Point{Name: "Looker", Package: "p", Roles: []role.Role{role.Gateway}, Doc: "Looks at things.", Methods: []*plugin.Method{m}}
	out, err := Points([]*plugin.Point{point})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"look?(what: sample, where: Int64 | undefined): Answer<number[]>;", "| 'p.Looker'", "  id: Int64;", "  data?: Base64;",
		`  "odd-name": { [name: string]: string };`, "  device: wire.DeviceType;", "  request: wire.AppRequest;", "  others: sample[];",
		"    createMessageRequest?: CreateMessageRequest;", "type DeviceType = 'DESKTOP'", "A failure refuses",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the types lack %s", want)
		}
	}
	m.Result = typeOf[chan int]()
	if _, err := Points([]*plugin.Point{point}); err == nil || !strings.Contains(err.Error(), "Looker.look: result: chan int has no counterpart") {
		t.Errorf("the error is %v", err)
	}
}

func TestFunctions(t *testing.T) {
	doc := `{"paths": {"/things": {"get": {"operationId": "queryThings", "parameters": [{"in": "query", "name": "ids", "schema": {"type": "array", "items": {"type": "integer", "format": "int64"}}}],
		"responses": {"200": {"content": {"application/json": {"schema": {"properties": {"data": {"$ref": "#/components/schemas/Thing"}}}}}}}}}},
		"components": {"schemas": {"Thing": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string", "enum": ["A", "B"]}, "rest": {"type": "object", "additionalProperties": {"type": "integer", "format": "int32"}}}}}}}`
	api := API{Role: role.Service, Operations: []plugin.Operation{{Group: "things", Name: "query", ID: "queryThings"}}, OpenAPI: []byte(doc)}
	out, err := Functions(api, api)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"query(input?: {\n        ids?: Int64[];\n      }): Promise<Thing | undefined>;", `kind: "A" | "B";`, "rest?: { [name: string]: number };"} {
		if strings.Count(string(out), want) != 1 {
			t.Errorf("%s\nlacks %s", out, want)
		}
	}
	api.Operations[0].ID = "other"
	if _, err := Functions(api); err == nil || !strings.Contains(err.Error(), `lacks the operation "other"`) {
		t.Errorf("the error is %v", err)
	}
}
