// SPDX-License-Identifier: Apache-2.0

// Package campaign attacks a running server. It calls the admin interface without and with few
// permissions: every operation with and without its permission, privilege escalation, malformed
// queries and bodies, and slow clients. It also loads faulty plugins into a server with clients. It
// prints what it counted. With APP_CAMPAIGN=long, which make campaign sets, it does more of each.
package campaign

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// long reports whether the long campaign runs.
func long() bool { return os.Getenv("APP_CAMPAIGN") == "long" }

// A target is a server under attack.
type target struct {
	*apptest.Server
	t *testing.T
	// operations are the operations of both roles, from their OpenAPI documents.
	operations []operation
}

type operation struct {
	role         role.Role
	method, path string
	// permission is the required permission, or "" for none; public operations need no credentials
	// either.
	permission string
	public     bool
	parameters []string
	hasBody    bool
}

func start(t *testing.T, set ...string) *target {
	t.Helper()
	s := &target{Server: apptest.Start(t, role.All, set...), t: t}
	for _, r := range role.All {
		s.operations = append(s.operations, s.read(r)...)
	}
	return s
}

// read returns the operations in the OpenAPI document of a role.
func (s *target) read(r role.Role) (list []operation) {
	var document struct {
		Paths map[string]map[string]struct {
			Permission  string `json:"x-permission"`
			Security    []any
			Parameters  []struct{ Name, In string }
			RequestBody any
		}
	}
	a := s.call(r, http.MethodGet, "/openapi/docs", "", "")
	if err := json.Unmarshal([]byte(a.body), &document); err != nil || len(document.Paths) == 0 {
		s.t.Fatalf("the document of %s cannot be read: %v", r, err)
	}
	for path, methods := range document.Paths {
		for method, o := range methods {
			op := operation{role: r, method: strings.ToUpper(method), path: path, permission: o.Permission, public: len(o.Security) == 0, hasBody: o.RequestBody != nil}
			for _, p := range o.Parameters {
				if p.In == "query" {
					op.parameters = append(op.parameters, p.Name)
				}
			}
			list = append(list, op)
		}
	}
	slices.SortFunc(list, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return list
}

// An answer is a response of the server.
type answer struct {
	status int
	header http.Header
	body   string
}

// call sends a request. credentials is the value of the header Authorization, or a login name and a
// password.
func (s *target) call(r role.Role, method, path, credentials, body string) answer {
	s.t.Helper()
	a, err := s.try(r, method, path, credentials, body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (s *target) try(r role.Role, method, path, credentials, body string) (answer, error) {
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL(r)+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if name, password, ok := strings.Cut(credentials, ":"); ok {
		request.SetBasicAuth(name, password)
	} else if credentials != "" {
		request.Header.Set("Authorization", credentials)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, err
}

const root = "app:app"

// must sends a request of root, which must succeed, and decodes its data.
func (s *target) must(method, path, body string, data any) {
	s.t.Helper()
	a := s.call(role.Service, method, path, root, body)
	if a.status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
	if data != nil {
		if err := json.Unmarshal([]byte(a.body), &struct{ Data any }{data}); err != nil {
			s.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
}

// administrator creates an account with its own role, which has the permissions.
func (s *target) administrator(name string, id, rank int, permissions ...string) (credentials string) {
	s.t.Helper()
	list, err := json.Marshal(permissions)
	if err != nil {
		s.t.Fatal(err)
	}
	s.must(http.MethodPost, "/admins/roles", fmt.Sprintf(`{"id":%d,"name":%q,"permissions":%s,"rank":%d}`, id, name, list, rank), nil)
	s.must(http.MethodPost, "/admins", fmt.Sprintf(`{"loginName":%q,"password":%q,"displayName":%q,"roleIds":[%d]}`, name, name, name, id), nil)
	return name + ":" + name
}

// healthy checks that both roles still serve requests.
func (s *target) healthy() {
	s.t.Helper()
	for _, r := range role.All {
		if a := s.call(r, http.MethodGet, "/health", "", ""); a.status != http.StatusOK {
			s.t.Errorf("%s is not healthy any more: %d %s", r, a.status, a.body)
		}
	}
}
