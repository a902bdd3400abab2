// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.org/app/internal/admin"
)

// A contract is the OpenAPI document of an interface: what each answer must look like.
type contract struct {
	mu       sync.Mutex
	paths    map[string]map[string]struct{ Responses map[string]documentedResponse }
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

type documentedResponse struct{ Content map[string]json.RawMessage }

// contracts are those of the two interfaces, which are the same in all tests of this package: to
// make one takes a while.
var contracts struct {
	mu               sync.Mutex
	service, gateway *contract
}

const contractURL = "file:///contract.json"

// contractOf returns the contract of an interface of the harness.
func (h *harness) contractOf(a *admin.API) (_ *contract, err error) {
	contracts.mu.Lock()
	defer contracts.mu.Unlock()
	known := &contracts.service
	if a == h.gateway {
		known = &contracts.gateway
	}
	if *known == nil {
		*known, err = newContract(a.Document())
	}
	return *known, err
}

func newContract(document []byte) (*contract, error) {
	c := &contract{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	c.compiler.DefaultDraft(jsonschema.Draft4) // OpenAPI 3.0 is an extension of it.
	c.compiler.AssertFormat()
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err == nil {
		allowNull(read)
		err = c.compiler.AddResource(contractURL, read)
	}
	if err == nil {
		err = json.Unmarshal(document, &struct{ Paths any }{&c.paths})
	}
	return c, err
}

// allowNull replaces what OpenAPI says of null by what JSON Schema does.
func allowNull(document any) {
	switch v := document.(type) {
	case map[string]any:
		if v["nullable"] == true {
			v["type"] = []any{v["type"], "null"}
		}
		for _, member := range v {
			allowNull(member)
		}
	case []any:
		for _, element := range v {
			allowNull(element)
		}
	}
}

// check fails if the document does not describe the answer to a request: its status, the type of
// its content and, if that is JSON, its schema.
func (c *contract) check(method, path string, r reply) error {
	operation, ok := c.paths[path][strings.ToLower(method)]
	if !ok {
		return nil // There is no such operation, as the answer says.
	}
	status := strconv.Itoa(r.status)
	documented, ok := operation.Responses[status]
	if !ok {
		return fmt.Errorf("the status %s is not documented", status)
	}
	if r.body == "" {
		return nil
	}
	contentType, _, _ := strings.Cut(r.header.Get("Content-Type"), ";")
	if _, ok := documented.Content[contentType]; !ok {
		return fmt.Errorf("content of the type %q is not documented for %s", contentType, status)
	}
	if contentType != "application/json" {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(r.body))
	if err != nil {
		return err
	}
	pointer := strings.NewReplacer("~", "~0", "/", "~1")
	schema, err := c.schema(strings.Join([]string{contractURL + "#", "paths", pointer.Replace(path), strings.ToLower(method), "responses", status, "content", "application~1json", "schema"}, "/"))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (c *contract) schema(url string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.schemas[url]; ok {
		return found, nil
	}
	made, err := c.compiler.Compile(url)
	c.schemas[url] = made
	return made, err
}

// keepsContract checks an answer of the interface, which every request of the tests of this package
// goes through.
func (h *harness) keepsContract(a *admin.API, method, target string, r reply) {
	h.t.Helper()
	path, _, _ := strings.Cut(target, "?")
	c, err := h.contractOf(a)
	if err == nil {
		err = c.check(method, path, r)
	}
	if err != nil {
		h.t.Errorf("%s %s: %d %.2000s\nis not what the document says: %v", method, target, r.status, r.body, err)
	}
}

// TestContractIsChecked proves that an answer that is not documented is found.
func TestContractIsChecked(t *testing.T) {
	h := newSQLiteHarness(t)
	c, err := h.contractOf(h.service)
	if err != nil {
		t.Fatal(err)
	}
	good := h.call("app", "GET", "/admins/roles", "")
	if err := c.check("GET", "/admins/roles", good); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]reply{
		"status":            {418, good.header, good.body},
		"type of a value":   {200, good.header, strings.Replace(good.body, `"code":1000`, `"code":"1000"`, 1)},
		"date":              {200, good.header, strings.Replace(good.body, `"timestamp":"2`, `"timestamp":"x`, 1)},
		"missing member":    {200, good.header, strings.Replace(good.body, `"rank":`, `"other":`, 1)},
		"type of a content": {200, map[string][]string{"Content-Type": {"text/csv"}}, good.body},
	} {
		if r.body == good.body && r.status == 200 && name != "type of a content" {
			t.Fatalf("%s: the body is %s", name, r.body)
		}
		if c.check("GET", "/admins/roles", r) == nil {
			t.Errorf("%s: the answer passes", name)
		}
	}
}
