// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.org/app/internal/permission"
)

func adminJSON(id, login, display, roles string) string {
	return fmt.Sprintf(`{"id":%s,"loginName":%q,"displayName":%q,"roleIds":%s,"registrationDate":"DATE"}`, id, login, display, roles)
}

func TestAdmins(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.role(1, 10, "ADMIN_*", "LOG_QUERY")
		h.role(2, 5, "ADMIN_*")
		h.role(3, 5, "LOG_QUERY")
		manager := h.account("manager", 1)
		peer := h.account("peer", 1)
		junior := h.account("junior", 2)
		logger := h.account("logger", 3)
		root := adminJSON("0", "app", "app", "[0]")
		query := func(ids ...int64) string {
			return "/admins?ids=" + strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")
		}
		h.play([]scenario{
			// HEAD: the login probe.
			{name: "probe", as: "manager", method: "HEAD", target: "/admins", status: 200},
			{name: "probe without credentials", method: "HEAD", target: "/admins", status: 401},
			{name: "probe with a wrong password", as: "manager:x", method: "HEAD", target: "/admins", status: 401},
			{name: "probe with an unknown name", as: "nobody", method: "HEAD", target: "/admins", status: 401},

			// GET.
			{name: "all", as: "app", method: "GET", target: "/admins", status: 200, want: ok("[" + strings.Join([]string{
				root, adminJSON("ID", "manager", "manager", "[1]"), adminJSON("ID", "peer", "peer", "[1]"),
				adminJSON("ID", "junior", "junior", "[2]"), adminJSON("ID", "logger", "logger", "[3]"),
			}, ",") + "]")},
			{name: "hashes stay inside", as: "app", method: "GET", target: "/admins?ids=0&withPassword=true", status: 200, want: ok("[" + root + "]")},
			{name: "by login name, as the web UI asks", as: "manager", method: "GET", target: "/admins?loginNames[]=app", status: 200, want: ok("[" + root + "]")},
			{name: "by role", as: "app", method: "GET", target: "/admins?roleIds=2,3", status: 200, want: ok("[" + adminJSON("ID", "junior", "junior", "[2]") + "," + adminJSON("ID", "logger", "logger", "[3]") + "]")},
			{name: "filters are combined", as: "app", method: "GET", target: "/admins?roleIds=2,3&loginNames=app,logger", status: 200, want: ok("[" + adminJSON("ID", "logger", "logger", "[3]") + "]")},
			{name: "none", as: "app", method: "GET", target: "/admins?ids=99", status: 204},
			{name: "oneself without permission", as: "logger", method: "GET", target: query(logger), status: 200, want: ok("[" + adminJSON("ID", "logger", "logger", "[3]") + "]")},
			{name: "others without permission", as: "logger", method: "GET", target: query(logger, junior), status: 401, want: "~ADMIN_QUERY"},
			{name: "page", as: "app", method: "GET", target: "/admins/page?page=1&size=2", status: 200, want: ok(`{"total":5,"records":[` + adminJSON("ID", "peer", "peer", "[1]") + "," + adminJSON("ID", "junior", "junior", "[2]") + `]}`)},
			{name: "total counts with the filters", as: "app", method: "GET", target: "/admins/page?loginNames=app", status: 200, want: ok(`{"total":1,"records":[` + root + `]}`)},
			{name: "page beyond the end", as: "app", method: "GET", target: "/admins/page?page=9", status: 200, want: ok(`{"total":5,"records":[]}`)},
			{name: "empty page", as: "app", method: "GET", target: "/admins/page?ids=99", status: 204},
			{name: "negative page", as: "app", method: "GET", target: "/admins/page?page=-1", status: 400, want: `~\"page\": -1 must be at least 0`},

			// POST.
			{
				name: "create", as: "manager", method: "POST", target: "/admins", changes: true,
				body:   `{"loginName":"new","password":"secret","displayName":"The new one","roleIds":[2,3,2]}`,
				status: 200, want: ok(adminJSON("ID", "new", "The new one", "[2,3]")),
			},
			{name: "the new one logs in", as: "new:secret", method: "HEAD", target: "/admins", status: 200},
			{name: "login name taken", as: "manager", method: "POST", target: "/admins", body: `{"loginName":"new","roleIds":[2]}`, status: 409, want: `~"code":1103`},
			{name: "no roles", as: "manager", method: "POST", target: "/admins", body: `{"loginName":"x"}`, status: 400, want: "~roleIds: is required"},
			{name: "empty roles", as: "manager", method: "POST", target: "/admins", body: `{"loginName":"x","roleIds":[]}`, status: 400, want: "~at least one role"},
			{name: "root role", as: "app", method: "POST", target: "/admins", body: `{"loginName":"x","roleIds":[0]}`, status: 400, want: "~the root role"},
			{name: "unknown role", as: "manager", method: "POST", target: "/admins", body: `{"loginName":"x","roleIds":[2,77]}`, status: 400, want: "~there is no role 77"},
			{name: "role of the same rank", as: "manager", method: "POST", target: "/admins", body: `{"loginName":"x","roleIds":[1]}`, status: 401, want: "~not below your rank 10"},
			{name: "white space", as: "manager", method: "POST", target: "/admins", body: `{"loginName":"a b","roleIds":[2]}`, status: 400, want: "~loginName: must be 1 to 64 visible characters without white space"},
			{name: "long password", as: "manager", method: "POST", target: "/admins", body: `{"password":"` + strings.Repeat("x", 33) + `","roleIds":[2]}`, status: 400, want: "~password: must have at most 32 characters"},
			{name: "empty display name", as: "manager", method: "POST", target: "/admins", body: `{"displayName":"","roleIds":[2]}`, status: 400, want: "~displayName: must have at least 1"},
			{name: "without permission", as: "logger", method: "POST", target: "/admins", body: `{"roleIds":[3]}`, status: 401, want: "~ADMIN_CREATE"},
			{name: "role as a bare number in quotes", as: "app", method: "POST", target: "/admins", body: `{"loginName":"quoted","roleIds":"3"}`, status: 200, changes: true, want: ok(adminJSON("ID", "quoted", "quoted", "[3]"))},

			// PUT.
			{name: "change the display name", as: "manager", method: "PUT", target: query(junior), body: `{"displayName":"Jr."}`, status: 200, want: updated(1, 1), changes: true},
			{name: "change nothing", as: "manager", method: "PUT", target: query(junior), body: `{}`, status: 200, want: updated(0, 0)},
			{name: "change to the same", as: "manager", method: "PUT", target: query(junior), body: `{"displayName":"Jr."}`, status: 200, want: updated(1, 0)},
			{name: "change an unknown one", as: "manager", method: "PUT", target: "/admins?ids=99", body: `{"displayName":"x"}`, status: 200, want: updated(0, 0)},
			{name: "change the password", as: "manager", method: "PUT", target: query(junior), body: `{"password":"changed"}`, status: 200, want: updated(1, 1), changes: true},
			{name: "the old password is gone", as: "junior", method: "HEAD", target: "/admins", status: 401},
			{name: "the new password works", as: "junior:changed", method: "HEAD", target: "/admins", status: 200},
			{name: "change one's own password", as: "manager", method: "PUT", target: query(manager), body: `{"password":"manager"}`, status: 200, want: updated(1, 1), changes: true},
			{name: "change a peer", as: "manager", method: "PUT", target: query(peer), body: `{"displayName":"x"}`, status: 401, want: "~not below your rank"},
			{name: "change root", as: "manager", method: "PUT", target: "/admins?ids=0", body: `{"password":"mine"}`, status: 401, want: "~not below your rank"},
			{name: "one of many is too high", as: "manager", method: "PUT", target: query(junior, peer), body: `{"displayName":"x"}`, status: 401, want: "~not below your rank"},
			{name: "change one's own roles", as: "manager", method: "PUT", target: query(manager), body: `{"roleIds":[2]}`, status: 401, want: "~their own roles"},
			{name: "change roles", as: "manager", method: "PUT", target: query(junior), body: `{"roleIds":[3]}`, status: 200, want: updated(1, 1), changes: true},
			{name: "the roles are stored", as: "app", method: "GET", target: query(junior), status: 200, want: ok("[" + adminJSON("ID", "junior", "Jr.", "[3]") + "]")},
			{name: "the old roles do not count", as: "junior:changed", method: "GET", target: "/admins", status: 401, want: "~ADMIN_QUERY"},
			{name: "give a role of one's own rank", as: "manager", method: "PUT", target: query(junior), body: `{"roleIds":[1]}`, status: 401, want: "~not below your rank"},
			{name: "give the root role", as: "app", method: "PUT", target: query(junior), body: `{"roleIds":[0]}`, status: 400, want: "~the root role"},
			{name: "take all roles", as: "app", method: "PUT", target: query(junior), body: `{"roleIds":[]}`, status: 400, want: "~at least one role"},
			{name: "update without ids", as: "app", method: "PUT", target: "/admins", body: `{"displayName":"x"}`, status: 400, want: `~parameter \"ids\": is required`},
			{name: "login names stay", as: "app", method: "PUT", target: query(junior), body: `{"loginName":"x"}`, status: 400, want: `~there is no field \"loginName\"`},
			{name: "no body", as: "app", method: "PUT", target: query(junior), status: 400, want: "~the body is empty"},

			// DELETE.
			{name: "delete without ids", as: "app", method: "DELETE", target: "/admins", status: 400, want: `~parameter \"ids\": is required`},
			{name: "delete root", as: "app", method: "DELETE", target: "/admins?ids=0", status: 400, want: "~cannot be deleted"},
			{name: "delete a peer", as: "manager", method: "DELETE", target: query(peer), status: 401, want: "~not below your rank"},
			{name: "delete", as: "manager", method: "DELETE", target: query(junior, 99), status: 200, want: deleted(1), changes: true},
			{name: "a deleted one cannot log in", as: "junior:changed", method: "HEAD", target: "/admins", status: 401},
			{name: "delete again", as: "manager", method: "DELETE", target: query(junior), status: 200, want: deleted(0)},
			{name: "delete oneself", as: "manager", method: "DELETE", target: query(manager), status: 200, want: deleted(1), changes: true},
			{name: "and be gone", as: "manager", method: "HEAD", target: "/admins", status: 401},
		})
	})
}

func TestAdminDefaults(t *testing.T) {
	h := newSQLiteHarness(t)
	h.role(1, 1, "LOG_QUERY")
	r := h.must("app", "POST", "/admins", `{"roleIds":1}`)
	var e struct {
		Data struct{ LoginName, DisplayName, Password string }
	}
	if err := json.Unmarshal([]byte(r.body), &e); err != nil {
		t.Fatal(err)
	}
	if len(e.Data.LoginName) != 16 || e.Data.DisplayName != e.Data.LoginName || e.Data.Password != "" {
		t.Errorf("made up %+v", e.Data)
	}
}

// TestRequesterWithoutRole takes away the roles of somebody who is logged in.
func TestRequesterWithoutRole(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.role(1, 1, "*")
		id := h.account("orphan", 1)
		h.must("orphan", "HEAD", "/admins", "")
		h.must("app", "DELETE", "/admins/roles?ids=1", "")
		if r := h.call("orphan", "GET", "/admins", ""); r.status != 401 {
			t.Errorf("GET /admins: %d", r.status)
		}
		if r := h.call("orphan", "GET", fmt.Sprintf("/admins?ids=%d", id), ""); r.status != 200 || !strings.Contains(r.body, `"roleIds":[1]`) {
			t.Errorf("the dangling role id: %d %s", r.status, r.body)
		}
	})
}

func TestAdminRoles(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.role(10, 10, "ADMIN_*", "LOG_QUERY")
		h.role(9, 9, "ADMIN_ROLE_*")
		h.account("manager", 10)
		h.account("clerk", 9)
		role := func(id, name, permissions, rank string) string {
			return fmt.Sprintf(`{"id":%s,"name":%q,"permissions":%s,"rank":%s,"creationDate":"DATE"}`, id, name, permissions, rank)
		}
		all, _ := json.Marshal(permission.Names())
		root := role("0", "ROOT", string(all), "2147483647")
		ten := role("10", "ROLE10", `["ADMIN_CREATE","ADMIN_DELETE","ADMIN_PERMISSION_QUERY","ADMIN_QUERY","ADMIN_ROLE_CREATE","ADMIN_ROLE_DELETE","ADMIN_ROLE_QUERY","ADMIN_ROLE_UPDATE","ADMIN_UPDATE","LOG_QUERY"]`, "10")
		nine := role("9", "ROLE9", `["ADMIN_ROLE_CREATE","ADMIN_ROLE_DELETE","ADMIN_ROLE_QUERY","ADMIN_ROLE_UPDATE"]`, "9")
		everything := strings.Join(permission.Names(), ",")
		h.play([]scenario{
			{name: "all, root first", as: "manager", method: "GET", target: "/admins/roles", status: 200, want: ok("[" + root + "," + nine + "," + ten + "]")},
			{name: "size", as: "manager", method: "GET", target: "/admins/roles?size=1", status: 200, want: ok("[" + root + "]")},
			{name: "by id", as: "manager", method: "GET", target: "/admins/roles?ids=9", status: 200, want: ok("[" + nine + "]")},
			{name: "by name", as: "manager", method: "GET", target: "/admins/roles?names=ROOT,ROLE10", status: 200, want: ok("[" + root + "," + ten + "]")},
			{name: "by rank", as: "manager", method: "GET", target: "/admins/roles?ranks=9", status: 200, want: ok("[" + nine + "]")},
			{name: "by permission", as: "manager", method: "GET", target: "/admins/roles?includedPermissions=LOG_QUERY,SHUTDOWN", status: 200, want: ok("[" + ten + "]")},
			{name: "by every permission", as: "manager", method: "GET", target: "/admins/roles?includedPermissions=" + everything, status: 200, want: ok("[" + root + "," + nine + "," + ten + "]")},
			{name: "by an unknown permission", as: "manager", method: "GET", target: "/admins/roles?includedPermissions=FLY", status: 400, want: `~\"FLY\" must be one of`},
			{name: "none", as: "manager", method: "GET", target: "/admins/roles?ids=77", status: 204},
			{name: "page 0", as: "manager", method: "GET", target: "/admins/roles/page?size=2", status: 200, want: ok(`{"total":3,"records":[` + root + "," + nine + "]}")},
			{name: "page 1 has no root", as: "manager", method: "GET", target: "/admins/roles/page?size=2&page=1", status: 200, want: ok(`{"total":3,"records":[` + ten + "]}")},
			{name: "total without root", as: "manager", method: "GET", target: "/admins/roles/page?ids=9", status: 200, want: ok(`{"total":1,"records":[` + nine + "]}")},
			{name: "empty page", as: "manager", method: "GET", target: "/admins/roles/page?ids=77", status: 204},

			{name: "create", as: "manager", method: "POST", target: "/admins/roles", body: `{"id":5,"name":"FIVE","permissions":["LOG_*","*_ROLE_QUERY","ADMIN_?UERY","NOTHING"],"rank":5}`, status: 401, want: "~you cannot give permissions that you lack: [USER_ROLE_QUERY]"},
			{name: "create with what one has", as: "manager", method: "POST", target: "/admins/roles", body: `{"id":5,"name":"FIVE","permissions":["LOG_*","ADMIN_?UERY","NOTHING"],"rank":5}`, status: 200, changes: true, want: ok(role("5", "FIVE", `["ADMIN_QUERY","LOG_QUERY"]`, "5"))},
			{name: "id taken", as: "manager", method: "POST", target: "/admins/roles", body: `{"id":5,"name":"FIVE","permissions":["LOG_*"],"rank":5}`, status: 409, want: `~"code":1103`},
			{name: "root id", as: "app", method: "POST", target: "/admins/roles", body: `{"id":0,"name":"X","permissions":["LOG_*"],"rank":5}`, status: 401, want: "~reserved"},
			{name: "own rank", as: "manager", method: "POST", target: "/admins/roles", body: `{"id":6,"name":"X","permissions":["LOG_*"],"rank":10}`, status: 401, want: "~the rank 10 is not below your rank 10"},
			{name: "highest rank", as: "app", method: "POST", target: "/admins/roles", body: `{"id":6,"name":"X","permissions":["LOG_*"],"rank":2147483647}`, status: 401, want: "~not below your rank"},
			{name: "no permission matches", as: "app", method: "POST", target: "/admins/roles", body: `{"id":6,"name":"X","permissions":["FLY_*"],"rank":1}`, status: 400, want: "~match no permission"},
			{name: "no rank", as: "app", method: "POST", target: "/admins/roles", body: `{"id":6,"name":"X","permissions":["LOG_*"]}`, status: 400, want: "~rank: is required"},
			{name: "rank too large", as: "app", method: "POST", target: "/admins/roles", body: `{"id":6,"name":"X","permissions":["LOG_*"],"rank":2147483648}`, status: 400, want: "~integer of 32 bits"},
			{name: "name with white space", as: "app", method: "POST", target: "/admins/roles", body: `{"id":6,"name":"X Y","permissions":["LOG_*"],"rank":1}`, status: 400, want: "~name: must not contain white space"},

			{name: "update", as: "manager", method: "PUT", target: "/admins/roles?ids=5", body: `{"name":"V","rank":4,"permissions":["LOG_QUERY"]}`, status: 200, want: updated(1, 1), changes: true},
			{name: "is stored", as: "manager", method: "GET", target: "/admins/roles?ids=5", status: 200, want: ok("[" + role("5", "V", `["LOG_QUERY"]`, "4") + "]")},
			{name: "change nothing", as: "manager", method: "PUT", target: "/admins/roles?ids=5", body: `{}`, status: 200, want: updated(0, 0)},
			{name: "change to the same", as: "manager", method: "PUT", target: "/admins/roles?ids=5", body: `{"rank":4}`, status: 200, want: updated(1, 0)},
			{name: "lift to one's own rank", as: "manager", method: "PUT", target: "/admins/roles?ids=5", body: `{"rank":10}`, status: 401, want: "~not below your rank"},
			{name: "lift above one's own rank", as: "manager", method: "PUT", target: "/admins/roles?ids=5", body: `{"rank":11}`, status: 401, want: "~not below your rank"},
			{name: "lift one's own role", as: "clerk", method: "PUT", target: "/admins/roles?ids=9", body: `{"rank":11}`, status: 401, want: "~not below your rank"},
			{name: "add what one lacks", as: "clerk", method: "PUT", target: "/admins/roles?ids=5", body: `{"permissions":["SHUTDOWN"]}`, status: 401, want: "~[SHUTDOWN]"},
			{name: "change the root role", as: "app", method: "PUT", target: "/admins/roles?ids=0", body: `{"name":"X"}`, status: 401, want: "~of role 0"},
			{name: "change an unknown role", as: "manager", method: "PUT", target: "/admins/roles?ids=77", body: `{"name":"X"}`, status: 200, want: updated(0, 0)},

			{name: "delete the root role", as: "app", method: "DELETE", target: "/admins/roles?ids=0,5", status: 401, want: "~of role 0"},
			{name: "delete a role of one's own rank", as: "manager", method: "DELETE", target: "/admins/roles?ids=10", status: 401, want: "~not below your rank"},
			{name: "delete", as: "manager", method: "DELETE", target: "/admins/roles?ids=5,77", status: 200, want: deleted(1), changes: true},
			{name: "delete without ids", as: "manager", method: "DELETE", target: "/admins/roles", status: 400, want: `~parameter \"ids\": is required`},

			{name: "permissions", as: "manager", method: "GET", target: "/admins/permissions", status: 200, want: `~"data":[{"group":"FLIGHT_RECORDING","permission":"FLIGHT_RECORDING_CREATE"},`},
		})
	})
}

// TestRaces lets many administrators do the same at once: one wins, the others
// hear what is the matter, and the ranks hold.
func TestRaces(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.role(1, 100, "*")
		h.account("a", 1)
		h.account("b", 1)
		const workers = 16
		together := func(call func(i int) reply) map[int]int {
			var mu sync.Mutex
			var wg sync.WaitGroup
			counts := map[int]int{}
			for i := range workers {
				wg.Go(func() {
					r := call(i)
					mu.Lock()
					defer mu.Unlock()
					counts[r.status]++
				})
			}
			wg.Wait()
			return counts
		}
		as := func(i int) string { return []string{"a", "b"}[i%2] }
		if got := together(func(i int) reply {
			return h.call(as(i), "POST", "/admins/roles", `{"id":7,"name":"SEVEN","permissions":["LOG_QUERY"],"rank":7}`)
		}); got[200] != 1 || got[409] != workers-1 {
			t.Errorf("the same role created at once: %v", got)
		}
		if got := together(func(i int) reply {
			return h.call(as(i), "POST", "/admins", `{"loginName":"same","roleIds":[7]}`)
		}); got[200] != 1 || got[409] != workers-1 {
			t.Errorf("the same login name created at once: %v", got)
		}
		// While half of them lift role 7 and the other half give it to somebody, nobody
		// ends up with a role of a rank that its giver could not give.
		together(func(i int) reply {
			if i%2 == 0 {
				return h.call("app", "PUT", "/admins/roles?ids=7", `{"rank":200}`)
			}
			return h.call("b", "POST", "/admins", fmt.Sprintf(`{"loginName":"n%d","roleIds":[7]}`, i))
		})
		if r := h.call("b", "POST", "/admins", `{"loginName":"late","roleIds":[7]}`); r.status != 401 {
			t.Errorf("a role above the giver's rank was given: %d %s", r.status, r.body)
		}
	})
}
