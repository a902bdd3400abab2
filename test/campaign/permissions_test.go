// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/role"
)

// unreadable is a query that no operation can parse: the operation fails after its permission is
// checked and before it does anything.
const unreadable = "?a=%zz"

// TestPermissionMatrix calls every operation without credentials, with a wrong password, with an
// account that has all permissions but the required one, with one that has only that one, and with
// tokens of the same kinds.
func TestPermissionMatrix(t *testing.T) {
	s := start(t)
	var all []string
	for _, op := range s.operations {
		if op.permission != "" && !slices.Contains(all, op.permission) {
			all = append(all, op.permission)
		}
	}
	slices.Sort(all)
	if len(all) < 50 {
		t.Fatalf("the documents name %d permissions", len(all))
	}
	// Hashing passwords takes long, so two accounts are reused with other permissions for each
	// operation.
	with, without := s.administrator("with", 1000, 1, all[0]), s.administrator("without", 2000, 1, all[0])
	refusal := func(a answer, p string) bool {
		return a.status == http.StatusUnauthorized && strings.Contains(a.body, p)
	}
	counts := map[string]int{}
	check := func(op operation, who, credentials string, wantRefusal func(answer) bool, want bool) {
		counts[who]++
		a := s.call(op.role, op.method, op.path+unreadable, credentials, "")
		if op.method == http.MethodHead { // The response has no body.
			if (a.status == http.StatusUnauthorized) != want {
				t.Errorf("%s %s %s by %s: %d", op.role, op.method, op.path, who, a.status)
			}
			return
		}
		if wantRefusal(a) != want {
			t.Errorf("%s %s %s by %s: %d %.200s", op.role, op.method, op.path, who, a.status, a.body)
		}
	}
	unauthorised := func(a answer) bool { return a.status == http.StatusUnauthorized }
	for _, op := range s.operations {
		check(op, "nobody", "", unauthorised, !op.public)
		check(op, "an unknown token", "Bearer app_nonsense", unauthorised, true)
	}
	for _, p := range all {
		others := slices.DeleteFunc(slices.Clone(all), func(other string) bool { return other == p })
		s.setPermissions(1000, p)
		s.setPermissions(2000, others...)
		tokenWith, tokenWithout := s.token(with, p), s.token(without, others...)
		missing := func(a answer) bool { return refusal(a, p) }
		for _, op := range s.operations {
			if op.permission != p {
				continue
			}
			check(op, "an account with the permission", with, unauthorised, false)
			check(op, "an account without it", without, missing, true)
			check(op, "a token with the permission", tokenWith, unauthorised, false)
			check(op, "a token without it", tokenWithout, missing, true)
		}
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	s.healthy()
	t.Logf("permission matrix: %d operations, %d permissions, %d checks: %v", len(s.operations), len(all), total, counts)
}

// setPermissions sets the permissions of a role.
func (s *target) setPermissions(roleID int, permissions ...string) {
	s.t.Helper()
	list, err := json.Marshal(permissions)
	if err != nil {
		s.t.Fatal(err)
	}
	s.must(http.MethodPut, fmt.Sprintf("/admins/roles?ids=%d", roleID), fmt.Sprintf(`{"permissions":%s}`, list), nil)
}

// token creates a token of an administrator.
func (s *target) token(owner string, permissions ...string) (credentials string) {
	s.t.Helper()
	list, err := json.Marshal(permissions)
	if err != nil {
		s.t.Fatal(err)
	}
	var made struct{ Token string }
	a := s.call(role.Service, http.MethodPost, "/admins/tokens", owner, fmt.Sprintf(`{"name":"campaign","permissions":%s}`, list))
	if err := json.Unmarshal([]byte(a.body), &struct{ Data any }{&made}); err != nil || made.Token == "" {
		s.t.Fatalf("make a token of %s: %d %s", owner, a.status, a.body)
	}
	return "Bearer " + made.Token
}

// TestEscalation lets administrators of a low rank, who may manage others, try to gain permissions
// that they lack.
func TestEscalation(t *testing.T) {
	s := start(t)
	manage := []string{
		"ADMIN_CREATE", "ADMIN_DELETE", "ADMIN_UPDATE", "ADMIN_QUERY",
		"ADMIN_ROLE_CREATE", "ADMIN_ROLE_DELETE", "ADMIN_ROLE_UPDATE", "ADMIN_ROLE_QUERY",
	}
	eve := s.administrator("eve", 10, 5, manage...)
	s.administrator("mallory", 11, 5, "USER_QUERY")                // of the same rank, with a permission that eve lacks
	s.administrator("boss", 12, 9, append(manage, "LOG_QUERY")...) // of a higher rank
	s.administrator("clerk", 13, 1, "USER_DELETE")                 // of a lower rank, with a permission that eve lacks
	// A role of a lower rank with a permission that eve lacks.
	s.must(http.MethodPost, "/admins/roles", `{"id":14,"name":"strong","permissions":["SHUTDOWN"],"rank":1}`, nil)
	ids := map[string]int64{}
	var admins []struct {
		ID        int64
		LoginName string
	}
	s.must(http.MethodGet, "/admins?size=100", "", &admins)
	for _, a := range admins {
		ids[a.LoginName] = a.ID
	}
	type attempt struct{ name, method, path, body string }
	attempts := []attempt{
		{"create an administrator with the role of root", "POST", "/admins", `{"loginName":"new","password":"new","displayName":"n","roleIds":[0]}`},
		{"create one with a role of a higher rank", "POST", "/admins", `{"loginName":"new","password":"new","displayName":"n","roleIds":[12]}`},
		{"create one with a lower role that has more", "POST", "/admins", `{"loginName":"new","password":"new","displayName":"n","roleIds":[14]}`},
		{"give herself the role of root", "PUT", fmt.Sprintf("/admins?ids=%d", ids["eve"]), `{"roleIds":[0]}`},
		{"give herself a role that has more", "PUT", fmt.Sprintf("/admins?ids=%d", ids["eve"]), `{"roleIds":[10,14]}`},
		{"change the password of root", "PUT", "/admins?ids=0", `{"password":"mine"}`},
		{"change the password of a higher rank", "PUT", fmt.Sprintf("/admins?ids=%d", ids["boss"]), `{"password":"mine"}`},
		{"change the password of one of the same rank", "PUT", fmt.Sprintf("/admins?ids=%d", ids["mallory"]), `{"password":"mine"}`},
		{"change the password of one who may more", "PUT", fmt.Sprintf("/admins?ids=%d", ids["clerk"]), `{"password":"mine"}`},
		{"change the password of several, one of them root", "PUT", fmt.Sprintf("/admins?ids=%d,0", ids["clerk"]), `{"password":"mine"}`},
		{"delete root", "DELETE", "/admins?ids=0", ""},
		{"delete a higher rank", "DELETE", fmt.Sprintf("/admins?ids=%d", ids["boss"]), ""},
		{"create a role with more", "POST", "/admins/roles", `{"id":20,"name":"n","permissions":["SHUTDOWN"],"rank":1}`},
		{"create a role of a higher rank", "POST", "/admins/roles", `{"id":20,"name":"n","permissions":["ADMIN_QUERY"],"rank":6}`},
		{"create a role of a rank below 0", "POST", "/admins/roles", `{"id":20,"name":"n","permissions":["ADMIN_QUERY"],"rank":-1}`},
		{"add a permission to the own role", "PUT", "/admins/roles?ids=10", fmt.Sprintf(`{"permissions":%s}`, strings.ReplaceAll(fmt.Sprintf("%q", append(slices.Clone(manage), "SHUTDOWN")), `" "`, `","`))},
		{"raise the rank of the own role", "PUT", "/admins/roles?ids=10", `{"rank":100}`},
		{"add a permission to a lower role", "PUT", "/admins/roles?ids=13", `{"permissions":["SHUTDOWN"]}`},
		{"change the role of root", "PUT", "/admins/roles?ids=0", `{"permissions":["ADMIN_QUERY"]}`},
		{"delete the role of root", "DELETE", "/admins/roles?ids=0", ""},
		{"delete a higher role", "DELETE", "/admins/roles?ids=12", ""},
	}
	for _, body := range []string{
		`{"name":"t","permissions":["SHUTDOWN"]}`, `{"name":"t","permissions":["ADMIN_QUERY","USER_QUERY"]}`,
	} {
		attempts = append(attempts, attempt{"make a token with more: " + body, http.MethodPost, "/admins/tokens", body})
	}
	state := func() string {
		var admins, roles json.RawMessage
		s.must(http.MethodGet, "/admins?size=1000", "", &admins)
		s.must(http.MethodGet, "/admins/roles?size=1000", "", &roles)
		return string(admins) + string(roles)
	}
	before := state()
	refused := 0
	for _, a := range attempts {
		got := s.call(role.Service, a.method, a.path, eve, a.body)
		if got.status < 400 || got.status >= 500 {
			t.Errorf("%s: %d %s", a.name, got.status, got.body)
			continue
		}
		refused++
		if after := state(); after != before {
			t.Fatalf("%s was refused, and changed administrators or roles\n%s\n%s", a.name, before, after)
		}
	}
	// A token cannot do more than its permissions allow, nor create a token that can.
	token := s.token(eve, "ADMIN_QUERY")
	for _, a := range []attempt{
		{"use a token for more", "POST", "/admins/roles", `{"id":20,"name":"n","permissions":["ADMIN_QUERY"],"rank":1}`},
		{"make a stronger token with a token", "POST", "/admins/tokens", `{"name":"t","permissions":["ADMIN_CREATE"]}`},
		{"make a session with a token", "POST", "/admins/sessions", `{}`},
	} {
		if got := s.call(role.Service, a.method, a.path, token, a.body); got.status < 400 || got.status >= 500 {
			t.Errorf("%s: %d %s", a.name, got.status, got.body)
			continue
		}
		refused++
	}
	s.healthy()
	t.Logf("escalation: %d of %d attempts were refused", refused, len(attempts)+3)
}
