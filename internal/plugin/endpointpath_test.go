// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// declared is the declaration of an endpoint whose parameters are integers.
func declared(handler, method, path string) string {
	properties := []string{`"more":{"type":"integer"}`}
	for _, name := range (&Endpoint{Path: path}).pathParameters() {
		properties = append(properties, fmt.Sprintf("%q:{\"type\":\"integer\"}", name))
	}
	return fmt.Sprintf(`{"handler":%q,"method":%q,"path":%q,"summary":"x","query":{"type":"object","properties":{%s}}}`, handler, method, path, strings.Join(properties, ","))
}

func TestParametersInPaths(t *testing.T) {
	for _, test := range []struct{ name, json, want string }{
		{
			"the same shape", declared("a", "GET", "/reports/{id}") + "," + declared("b", "GET", "/reports/{name}"),
			"the endpoints a (GET /reports/{id}) and b (GET /reports/{name}) match the same paths: their parameters must have the same names",
		},
		{"the same shape with other methods", declared("a", "GET", "/reports/{id}") + "," + declared("b", "PUT", "/reports/{name}"), "a (GET /reports/{id}) and b (PUT /reports/{name})"},
		{"the same path", declared("a", "GET", "/reports/{id}") + "," + declared("b", "GET", "/reports/{id}"), "the endpoints a and b are both GET /reports/{id}"},
		{"the same path with other methods", declared("a", "GET", "/reports/{id}") + "," + declared("b", "PUT", "/reports/{id}"), ""},
		{"a literal beside a parameter", declared("a", "GET", "/reports/{id}") + "," + declared("b", "GET", "/reports/daily"), ""},
		{"neither is more specific", declared("a", "GET", "/{kind}/daily") + "," + declared("b", "GET", "/reports/{id}"), "the endpoints a (GET /{kind}/daily) and b (GET /reports/{id}) match the same paths, and neither is more specific"},
		{"neither is more specific with other methods", declared("a", "GET", "/{kind}/daily") + "," + declared("b", "PUT", "/reports/{id}"), ""},
		{"another length", declared("a", "GET", "/{a}/{b}") + "," + declared("b", "GET", "/{a}"), ""},
		{"a parameter without a type", `{"handler":"a","method":"GET","path":"/x/{id}","summary":"x"}`, `the parameter {id} needs a property "id" in the schema of the query`},
		{"an array", `{"handler":"a","method":"GET","path":"/x/{id}","summary":"x","query":{"type":"object","properties":{"id":{"type":"array","items":{"type":"string"}}}}}`, "must not be an array"},
		{"twice", declared("a", "GET", "/{id}/x/{id}"), "has the parameter {id} twice"},
		{"a part of a segment", declared("a", "GET", "/x-{id}"), "path must begin"},
		{"no name", declared("a", "GET", "/{}"), "path must begin"},
	} {
		_, err := ParseEndpoints([]byte("[" + test.json + "]"))
		if got := fmt.Sprint(err); test.want == "" && err != nil || test.want != "" && !strings.Contains(got, test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestMatchOfPaths(t *testing.T) {
	for _, test := range []struct {
		declared, path string
		values         map[string]string
		ok             bool
	}{
		{"/reports/daily", "/reports/daily", nil, true},
		{"/reports/daily", "/reports/dail%79", nil, false},
		{"/reports/{id}", "/reports/7", map[string]string{"id": "7"}, true},
		{"/reports/{id}", "/reports/a%2Fb%20c", map[string]string{"id": "a/b c"}, true},
		{"/reports/{id}", "/reports/", nil, false},
		{"/reports/{id}", "/reports", nil, false},
		{"/reports/{id}", "/reports/7/", nil, false},
		{"/reports/{id}", "/reports/%zz", nil, false},
		{"/{kind}/x/{id}", "/a/x/b", map[string]string{"kind": "a", "id": "b"}, true},
		{"/{kind}/x/{id}", "/a/y/b", nil, false},
	} {
		if values, ok := (&Endpoint{Path: test.declared}).match(test.path); ok != test.ok || !maps.Equal(values, test.values) {
			t.Errorf("%s at %s: %v, %v", test.path, test.declared, values, ok)
		}
	}
}
