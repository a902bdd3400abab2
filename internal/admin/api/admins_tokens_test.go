// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// bearer sends a request with a token instead of a password.
func (h *harness) bearer(token, method, target, body string) reply {
	return h.bearerFrom("192.0.2.1:1234", token, method, target, body)
}

func (h *harness) bearerFrom(remote, token, method, target, body string) reply {
	r := httptest.NewRequestWithContext(h.t.Context(), method, target, strings.NewReader(body))
	r.RemoteAddr = remote
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.service.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.String()}
}

// issued is a new token or session.
type issued struct {
	ID          int64
	Token       string
	Permissions []string
}

func decodeIssued(t *testing.T, r reply) issued {
	t.Helper()
	var e struct{ Data issued }
	if err := json.Unmarshal([]byte(r.body), &e); err != nil || e.Data.Token == "" {
		t.Fatalf("no token in %d %s: %v", r.status, r.body, err)
	}
	return e.Data
}

func (h *harness) token(account, body string) issued {
	h.t.Helper()
	return decodeIssued(h.t, h.must(account, "POST", "/admins/tokens", body))
}

func (h *harness) session(account string) issued {
	h.t.Helper()
	return decodeIssued(h.t, h.must(account, "POST", "/admins/sessions", ""))
}

// expect fails unless the answer has the status and holds the text.
func expect(t *testing.T, what string, r reply, status int, part string) {
	t.Helper()
	if r.status != status || !strings.Contains(r.body, part) {
		t.Errorf("%s: %d %s\nwant %d with %q", what, r.status, r.body, status, part)
	}
}

func TestTokens(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.role(1, 10, "USER_QUERY", "USER_CREATE", "LOG_QUERY")
		owner := h.account("owner", 1)
		token := h.token("owner", `{"name":"reader","permissions":["USER_Q*"],"networks":["192.0.2.0/24","2001:db8::1"]}`)
		if !strings.HasPrefix(token.Token, "app_token_") || fmt.Sprint(token.Permissions) != "[USER_QUERY]" {
			t.Errorf("token %+v", token)
		}
		expect(t, "held permission", h.bearer(token.Token, "GET", "/users", ""), 204, "")
		expect(t, "permission that only the owner has", h.bearer(token.Token, "POST", "/users", `{}`), 401, "USER_CREATE")
		expect(t, "another network", h.bearerFrom("198.51.100.1:1", token.Token, "GET", "/users", ""), 401, "198.51.100.1")
		expect(t, "a mapped address", h.bearerFrom("[::ffff:192.0.2.9]:1", token.Token, "GET", "/users", ""), 204, "")
		expect(t, "changed token", h.bearer(token.Token+"x", "GET", "/users", ""), 401, "unknown or revoked")
		expect(t, "empty token", h.bearer("", "GET", "/users", ""), 401, "credentials")
		expect(t, "password check", h.bearer(token.Token, "HEAD", "/admins", ""), 200, "")

		// The list says when it was used, and never what it is.
		list := h.must("owner", "GET", "/admins/tokens", "")
		expect(t, "list", list, 200, `"lastUseDate"`)
		if strings.Contains(list.body, token.Token) || strings.Contains(list.body, "hash") {
			t.Errorf("the list shows the token: %s", list.body)
		}
		h.stores(t, token.Token)

		// A role that loses a permission shrinks the token at once.
		h.must("app", "PUT", "/admins/roles?ids=1", `{"permissions":["USER_CREATE","LOG_QUERY"]}`)
		expect(t, "after the owner lost the permission", h.bearer(token.Token, "GET", "/users", ""), 401, "USER_QUERY")
		h.must("app", "PUT", "/admins/roles?ids=1", `{"permissions":["USER_*","LOG_QUERY"]}`)
		expect(t, "after the owner got it back", h.bearer(token.Token, "GET", "/users", ""), 204, "")
		expect(t, "a permission that the owner got later", h.bearer(token.Token, "GET", "/users/relationships", ""), 401, "USER_RELATIONSHIP_QUERY")

		h.must("owner", "DELETE", fmt.Sprintf("/admins/tokens?ids=%d", token.ID), "")
		expect(t, "revoked", h.bearer(token.Token, "GET", "/users", ""), 401, "unknown or revoked")

		other := h.token("owner", `{"name":"everything"}`)
		h.must("app", "DELETE", fmt.Sprintf("/admins?ids=%d", owner), "")
		expect(t, "token of a deleted administrator", h.bearer(other.Token, "GET", "/users", ""), 401, "unknown or revoked")
	})
}

// stores fails if the database holds the text of a token.
func (h *harness) stores(t *testing.T, token string) {
	t.Helper()
	err := h.DB.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
		tokens, err := store.FindAdminTokens(ctx, r, store.AdminTokenFilter{}, store.Page{})
		for _, stored := range tokens {
			if bytes.Contains(stored.Hash, []byte(token)) || len(stored.Hash) != 32 {
				t.Errorf("the token is stored: %+v", stored)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTokenCreationRefusals(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	h.role(1, 10, "USER_QUERY")
	h.account("owner", 1)
	token := h.token("owner", `{"name":"x"}`)
	for name, tt := range map[string]struct {
		body   string
		status int
		part   string
	}{
		"no name":              {`{}`, 400, "name"},
		"long name":            {`{"name":"` + strings.Repeat("x", 65) + `"}`, 400, "name"},
		"permission of others": {`{"name":"x","permissions":["*"]}`, 401, "permissions that you lack"},
		"unknown permission":   {`{"name":"x","permissions":["NOTHING"]}`, 400, "match no permission"},
		"past":                 {`{"name":"x","expirationDate":"2001-01-01T00:00:00Z"}`, 400, "future"},
		"network":              {`{"name":"x","networks":["10.0.0.0/99"]}`, 400, "networks"},
	} {
		expect(t, name, h.call("owner", "POST", "/admins/tokens", tt.body), tt.status, tt.part)
	}
	expect(t, "a token that creates tokens", h.bearer(token.Token, "POST", "/admins/tokens", `{"name":"y"}`), 401, "cannot create tokens")
	expect(t, "a token that logs in", h.bearer(token.Token, "POST", "/admins/sessions", ""), 401, "password")
	expect(t, "others' tokens", h.call("owner", "GET", "/admins/tokens?ownerIds=0", ""), 401, "ADMIN_QUERY")
	root := h.token("app", `{"name":"root's"}`)
	expect(t, "revoke others' tokens", h.call("owner", "DELETE", fmt.Sprintf("/admins/tokens?ids=%d,%d", token.ID, root.ID), ""), 401, "ADMIN_UPDATE")
	expect(t, "nothing was revoked", h.bearer(token.Token, "HEAD", "/admins", ""), 200, "")
	expect(t, "a token sees itself only", h.bearer(token.Token, "GET", "/admins/tokens/page", ""), 200, `"total":1`)
	for range 99 {
		h.token("owner", `{"name":"many"}`)
	}
	expect(t, "too many", h.call("owner", "POST", "/admins/tokens", `{"name":"x"}`), 400, "100 tokens")
}

// TestTokensDoNotEscalate proves that a token cannot use its owner's rank to
// get more than it has.
func TestTokensDoNotEscalate(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	h.role(1, 10, "*")
	h.role(2, 5, "SHUTDOWN", "ADMIN_UPDATE")
	h.role(3, 5, "ADMIN_CREATE")
	owner := h.account("owner", 1)
	victim := h.account("victim", 2)
	token := h.token("owner", `{"name":"x","permissions":["ADMIN_CREATE","ADMIN_UPDATE","ADMIN_ROLE_*"]}`).Token
	for name, tt := range map[string]struct{ method, target, body string }{
		"give a role":              {"POST", "/admins", `{"loginName":"n","password":"n","roleIds":[2]}`},
		"make a role":              {"POST", "/admins/roles", `{"id":9,"name":"N","permissions":["SHUTDOWN"],"rank":1}`},
		"widen a role":             {"PUT", "/admins/roles?ids=3", `{"permissions":["SHUTDOWN"]}`},
		"password of the owner":    {"PUT", fmt.Sprintf("/admins?ids=%d", owner), `{"password":"mine"}`},
		"password of the stronger": {"PUT", fmt.Sprintf("/admins?ids=%d", victim), `{"password":"mine"}`},
	} {
		expect(t, name, h.bearer(token, tt.method, tt.target, tt.body), 401, "lack")
	}
	expect(t, "give what it has", h.bearer(token, "POST", "/admins", `{"loginName":"n","password":"n","roleIds":[3]}`), 200, "")
}

func TestAdminSessions(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.role(1, 10, "USER_QUERY", "ADMIN_UPDATE")
		owner := h.account("owner", 1)
		session := h.session("owner")
		if fmt.Sprint(session.Permissions) != "[USER_QUERY ADMIN_UPDATE]" || !strings.HasPrefix(session.Token, "app_session_") {
			t.Errorf("session %+v", session)
		}
		expect(t, "use", h.bearer(session.Token, "GET", "/users", ""), 204, "")
		expect(t, "a session creates tokens", h.bearer(session.Token, "POST", "/admins/tokens", `{"name":"x"}`), 200, "app_token_")
		expect(t, "a session does not log in", h.bearer(session.Token, "POST", "/admins/sessions", ""), 401, "password")
		expect(t, "list", h.call("owner", "GET", "/admins/tokens?kinds=SESSION", ""), 200, `"kind":"SESSION"`)
		expect(t, "log out with a password", h.call("owner", "DELETE", "/admins/sessions?current=true", ""), 400, "session")
		expect(t, "log out without saying so", h.bearer(session.Token, "DELETE", "/admins/sessions?current=false", ""), 400, "")
		expect(t, "log out", h.bearer(session.Token, "DELETE", "/admins/sessions?current=true", ""), 200, `"deletedCount":1`)
		expect(t, "after log out", h.bearer(session.Token, "GET", "/users", ""), 401, "unknown or revoked")

		// A new password ends the other sessions.
		mine, others := h.session("owner"), h.session("owner")
		expect(t, "new password", h.bearer(mine.Token, "PUT", fmt.Sprintf("/admins?ids=%d", owner), `{"password":"next"}`), 200, "")
		expect(t, "the session that changed it", h.bearer(mine.Token, "GET", "/users", ""), 204, "")
		expect(t, "another session", h.bearer(others.Token, "GET", "/users", ""), 401, "unknown or revoked")
	})
}

func TestAdminSessionsEnd(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	start := time.Now()
	session, token := h.session("app"), h.token("app", `{"name":"x"}`)
	for _, step := range []struct {
		at             time.Duration
		session, token int
	}{
		{20 * time.Minute, 200, 200},
		{49 * time.Minute, 200, 200}, // in time after the last use
		{80 * time.Minute, 401, 200},
		{91 * 24 * time.Hour, 401, 401},
	} {
		h.now.Store(start.Add(step.at).UnixNano())
		if r := h.bearer(session.Token, "HEAD", "/admins", ""); r.status != step.session {
			t.Errorf("session after %s: %d", step.at, r.status)
		}
		if r := h.bearer(token.Token, "HEAD", "/admins", ""); r.status != step.token {
			t.Errorf("token after %s: %d", step.at, r.status)
		}
	}
	n, err := h.directory.DeleteExpiredTokens(t.Context(), h.DB)
	if n != 1 || err != nil {
		t.Errorf("%d expired tokens were deleted (%v), want the session", n, err)
	}
}

func TestRankBelowZero(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	expect(t, "new role", h.call("app", "POST", "/admins/roles", `{"id":1,"name":"R","permissions":["LOG_QUERY"],"rank":-1}`), 400, "rank")
	h.role(1, 1, "LOG_QUERY")
	expect(t, "role", h.call("app", "PUT", "/admins/roles?ids=1", `{"rank":-5}`), 400, "rank")
}

// TestRolesAreGivenByThoseWhoHoldThem proves that a rank alone is not enough.
func TestRolesAreGivenByThoseWhoHoldThem(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	h.role(1, 10, "ADMIN_*")
	h.role(2, 5, "SHUTDOWN")
	h.role(3, 5, "ADMIN_QUERY")
	h.account("manager", 1)
	stopper := h.account("stopper", 2)
	reader := h.account("reader", 3)
	expect(t, "give a role", h.call("manager", "POST", "/admins", `{"loginName":"x","password":"x","roleIds":[2]}`), 401, "SHUTDOWN")
	expect(t, "give a role to another", h.call("manager", "PUT", fmt.Sprintf("/admins?ids=%d", reader), `{"roleIds":[2]}`), 401, "SHUTDOWN")
	expect(t, "take over an account", h.call("manager", "PUT", fmt.Sprintf("/admins?ids=%d,%d", reader, stopper), `{"password":"mine"}`), 401, "SHUTDOWN")
	expect(t, "nothing was changed", h.call("reader", "HEAD", "/admins", ""), 200, "")
	expect(t, "what is held", h.call("manager", "PUT", fmt.Sprintf("/admins?ids=%d", reader), `{"password":"next"}`), 200, "")
	expect(t, "a display name", h.call("manager", "PUT", fmt.Sprintf("/admins?ids=%d", stopper), `{"displayName":"Stopper"}`), 200, "")
}

func TestLoginNames(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	h.role(1, 1, "LOG_QUERY")
	for name, status := range map[string]int{
		"a:b": 400, "a\u0000b": 400, "a\u200bb": 400, "a\u202eb": 400, "a b": 400, strings.Repeat("x", 65): 400,
		strings.Repeat("y", 64): 200, "ädmin": 200, " trimmed ": 200,
	} {
		body, _ := json.Marshal(map[string]any{"loginName": name, "password": "x", "roleIds": []int{1}})
		if r := h.call("app", "POST", "/admins", string(body)); r.status != status {
			t.Errorf("%q: %d %s", name, r.status, r.body)
		}
	}
	expect(t, "trimmed", h.call("trimmed:x", "HEAD", "/admins", ""), 200, "")
}
