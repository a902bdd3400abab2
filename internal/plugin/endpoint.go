// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.org/app/internal/permission"
)

// EndpointRoot is the parent path of all endpoints, each below the escaped id of its plugin.
const EndpointRoot = "/plugins/endpoints/"

// The limits of endpoints.
const (
	maxEndpoints   = 100
	maxPath        = 256
	maxSummary     = 256
	maxDescription = 8 << 10
	maxEndpointRun = 10 * time.Minute
)

// ServeEndpoint calls the handler of an endpoint. It belongs to no extension point: it is called on
// Endpointed extensions, with the *Endpoint, an *EndpointRequest and, if the endpoint declares a
// content type, an EndpointOutput. Its result is a json.RawMessage; endpoints with a content type
// have none.
var ServeEndpoint = &Method{Point: &Point{Name: "Endpoint"}, Name: "serve", Mode: Only, Failure: Refuse}

// An Endpointed is an extension that may have endpoints. Its Call supports ServeEndpoint.
type Endpointed interface {
	// Endpoints returns the endpoints, which are immutable.
	Endpoints() []*Endpoint
}

// An Endpoint is an operation of the admin interface that an extension implements. It is immutable.
type Endpoint struct {
	// Handler is the name of the function that serves it, unique in a plugin.
	Handler string
	Method  string
	// Path is relative to the plugin's and begins with a slash. Its segments are literal or
	// parameters in braces, whose types are those of the properties of Query.
	Path                 string
	Summary, Description string
	Permission           permission.Permission
	// Query, Body and Result are the schemas of input and result; nil means undeclared. Query
	// describes an object whose properties are the parameters in the query and in the path.
	Query, Body, Result *ValueSchema
	// ContentType is the content type of responses; "" means JSON in an envelope.
	ContentType string
	// Timeout is the time limit of one request; 0 means the setting.
	Timeout time.Duration
}

// endpointDeclaration is a plugin's declaration of an endpoint, in any language.
type endpointDeclaration struct {
	Handler       string          `json:"handler"`
	Method        string          `json:"method"`
	Path          string          `json:"path"`
	Summary       string          `json:"summary"`
	Description   string          `json:"description"`
	Permission    string          `json:"permission"`
	Query         json.RawMessage `json:"query"`
	Body          json.RawMessage `json:"body"`
	Result        json.RawMessage `json:"result"`
	ContentType   string          `json:"contentType"`
	TimeoutMillis int64           `json:"timeoutMillis"`
}

// ParseEndpoints parses the endpoints of an extension from JSON. Errors are sentences for the
// author of the plugin.
func ParseEndpoints(text []byte) ([]*Endpoint, error) {
	var declared []endpointDeclaration
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&declared); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
			return nil, fmt.Errorf("%s must not be %s", e.Field, e.Value)
		}
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if len(declared) > maxEndpoints {
		return nil, fmt.Errorf("there are %d endpoints, more than %d", len(declared), maxEndpoints)
	}
	list := make([]*Endpoint, len(declared))
	for i, decl := range declared {
		e, err := decl.endpoint()
		if err != nil {
			return nil, fmt.Errorf("endpoint %d (%s %s): %w", i, clip(decl.Method), clip(decl.Path), err)
		}
		list[i] = e
	}
	return list, collision(list)
}

var handlerName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]{0,127}$`)

func (d *endpointDeclaration) endpoint() (*Endpoint, error) {
	e := &Endpoint{
		Handler: d.Handler, Method: strings.ToUpper(d.Method), Path: d.Path, Summary: strings.TrimSpace(d.Summary), Description: d.Description,
		Permission: permission.Permission(d.Permission), ContentType: d.ContentType, Timeout: time.Duration(d.TimeoutMillis) * time.Millisecond,
	}
	switch {
	case !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}, e.Method):
		return nil, errors.New("method must be GET, POST, PUT or DELETE")
	case len(e.Path) > maxPath || !endpointPath.MatchString(e.Path):
		return nil, errors.New("path must begin with a slash and have segments of letters, digits, -, _, ~ and ., or parameters in braces, such as /reports/{id}")
	case !handlerName.MatchString(e.Handler):
		return nil, errors.New("handler must be the name of the function that serves the endpoint")
	case e.Summary == "" || len(e.Summary) > maxSummary:
		return nil, fmt.Errorf("summary must be a line of at most %d bytes that says what the endpoint does", maxSummary)
	case len(e.Description) > maxDescription || !utf8.ValidString(e.Description):
		return nil, fmt.Errorf("description must have at most %d bytes of UTF-8", maxDescription)
	case d.TimeoutMillis < 0 || d.TimeoutMillis > maxEndpointRun.Milliseconds():
		return nil, fmt.Errorf("timeoutMillis must be from 1 to %d", maxEndpointRun.Milliseconds())
	case e.Permission == "" && e.Method == http.MethodGet:
		e.Permission = permission.PluginQuery
	case e.Permission == "":
		e.Permission = permission.PluginUpdate
	case !permission.Known(e.Permission):
		return nil, fmt.Errorf("permission %q is none of the admin API, such as %s", clip(d.Permission), permission.UserQuery)
	}
	return e, errors.Join(e.readSchemas(d), e.checkContentType())
}

func (e *Endpoint) readSchemas(d *endpointDeclaration) error {
	for _, s := range []struct {
		name string
		text json.RawMessage
		to   **ValueSchema
	}{{"query", d.Query, &e.Query}, {"body", d.Body, &e.Body}, {"result", d.Result, &e.Result}} {
		if len(s.text) == 0 || string(s.text) == "null" {
			continue
		}
		schema, err := NewValueSchema(s.text)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		*s.to = schema
	}
	if e.Body != nil && (e.Method == http.MethodGet || e.Method == http.MethodDelete) {
		return errors.New("body: only POST and PUT have one")
	}
	if e.Query != nil {
		if err := e.Query.checkParameters(); err != nil {
			return fmt.Errorf("query: %w", err)
		}
	}
	return e.checkPath()
}

func (e *Endpoint) checkContentType() error {
	if e.ContentType == "" {
		return nil
	}
	kind, _, err := mime.ParseMediaType(e.ContentType)
	if err != nil || !strings.Contains(kind, "/") {
		return fmt.Errorf("contentType %q is no media type, such as text/csv; charset=utf-8", clip(e.ContentType))
	}
	if e.Result != nil {
		return errors.New("an endpoint with a contentType sends what its handler returns as it is: it has no schema of its result")
	}
	return nil
}

// collision returns an error if two endpoints are ambiguous.
func collision(list []*Endpoint) error {
	for i, e := range list {
		for _, other := range list[:i] {
			if err := e.clash(other); err != nil {
				return err
			}
			if e.Handler == other.Handler {
				return fmt.Errorf("the endpoints %s %s and %s %s both have the handler %s: each must have its own", other.Method, other.Path, e.Method, e.Path, e.Handler)
			}
		}
	}
	return nil
}

// FullPath returns the path of an endpoint of a plugin in URLs, with its parameters in braces.
func (e *Endpoint) FullPath(pluginID string) string { return endpointPrefix(pluginID) + e.Path }

// endpointPrefix returns the parent path of a plugin's endpoints.
func endpointPrefix(pluginID string) string { return EndpointRoot + url.PathEscape(pluginID) }

// unsafeInOperation are characters that an operation id replaces by underscores.
var unsafeInOperation = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// OperationID is the id of the operation in the OpenAPI document and in audit records.
func (e *Endpoint) OperationID(pluginID string) string {
	return "plugin_" + unsafeInOperation.ReplaceAllString(pluginID, "_") + "_" + unsafeInOperation.ReplaceAllString(e.Handler, "_")
}

// endpoints returns those of all extensions of a plugin.
func (p *Plugin) endpoints() (list []*Endpoint) {
	for _, b := range p.members {
		list = append(list, b.endpoints()...)
	}
	return list
}

// endpoints returns those of the extension.
func (m *member) endpoints() []*Endpoint {
	if x, ok := m.Extension.(Endpointed); ok {
		return x.Endpoints()
	}
	return nil
}

// checkEndpoints returns an error if a plugin's endpoints are ambiguous or unreachable.
func (p *Plugin) checkEndpoints() error {
	list := p.endpoints()
	if len(list) > 0 && (p.ID == "." || p.ID == "..") {
		return fmt.Errorf("a plugin with the id %q cannot have endpoints: their paths would mean others", p.ID)
	}
	return collision(list)
}

// collides returns which endpoints of two plugins are ambiguous; "" if none are.
func (p *Plugin) collides(other *Plugin) string {
	for _, theirs := range other.endpoints() {
		for _, e := range p.endpoints() {
			if e.OperationID(p.ID) == theirs.OperationID(other.ID) {
				return fmt.Sprintf("the endpoint %s of plugin %q and the endpoint %s of plugin %q would both be the operation %s",
					e.Handler, p.ID, theirs.Handler, other.ID, e.OperationID(p.ID))
			}
		}
	}
	return ""
}
