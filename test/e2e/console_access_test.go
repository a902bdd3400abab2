// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/role"
)

// permissionsOf returns the permissions of a role from the API.
func (c *console) permissionsOf(id int) []string {
	c.t.Helper()
	var answer struct {
		Data []struct{ Permissions []string }
	}
	if err := json.Unmarshal([]byte(send(c.t, "GET", fmt.Sprintf("%s/admins/roles?ids=%d", c.server.URL(role.Service), id), "")), &answer); err != nil {
		c.t.Fatal(err)
	}
	if len(answer.Data) != 1 {
		c.t.Fatalf("there are %d roles with the id %d", len(answer.Data), id)
	}
	slices.Sort(answer.Data[0].Permissions)
	return answer.Data[0].Permissions
}

// consoleRoles grants a role a group of permissions and a single one, changes them, and checks that
// administrators cannot grant permissions that they lack.
func consoleRoles(c *console, t *testing.T) {
	const create, update = "[data-dialog=createAdminRole] ", "[data-dialog=updateAdminRoles] "
	c.open("admin-roles")
	c.click("button[name=create]")
	c.fill(create+"[name=id]", "71")
	c.fill(create+"[name=name]", "SUPPORT")
	c.fill(create+"[name=rank]", "7")
	c.click(create + "[name=group-GROUP_TYPE]")
	c.click(create + "[data-permission=USER_QUERY]")
	c.click(create + "[data-permission=ADMIN_PERMISSION_QUERY]")
	c.click(create + "[data-permission=ADMIN_ROLE_CREATE]")
	c.click(create + "[data-permission=ADMIN_ROLE_QUERY]")
	c.shoot("console-role")
	c.click(create + "button[type=submit]")
	c.waitText("[data-row='71']", "SUPPORT")
	if got, want := strings.Join(c.permissionsOf(71), " "), "ADMIN_PERMISSION_QUERY ADMIN_ROLE_CREATE ADMIN_ROLE_QUERY GROUP_TYPE_CREATE GROUP_TYPE_DELETE GROUP_TYPE_QUERY GROUP_TYPE_UPDATE USER_QUERY"; got != want {
		t.Errorf("the role has %s, want %s", got, want)
	}
	c.click("[data-row='71'] input[type=checkbox]")
	c.click("button[name=update]")
	c.wait("document.querySelector('" + update + "[name=group-GROUP_TYPE]').checked")
	c.click(update + "[name=group-GROUP_TYPE]")
	c.click(update + "button[type=submit]")
	c.wait("!document.querySelector('[data-dialog=updateAdminRoles]')")
	if got := strings.Join(c.permissionsOf(71), " "); got != "ADMIN_PERMISSION_QUERY ADMIN_ROLE_CREATE ADMIN_ROLE_QUERY USER_QUERY" {
		t.Errorf("the role has %s after the change", got)
	}

	// An administrator with four permissions can grant four.
	c.open("admins")
	c.click("button[name=create]")
	c.fill("[data-dialog=createAdmin] [name=loginName]", "support")
	c.fill("[data-dialog=createAdmin] [name=password]", "supportsupport")
	c.click("[data-dialog=createAdmin] [name=roleIds]")
	c.wait("(o => o && (o.click(), true))([...document.querySelectorAll('[role=option]')].find(o => o.innerText.startsWith('SUPPORT')))")
	c.click("[data-dialog=createAdmin] button[type=submit]")
	c.waitText("[data-row]", "support")
	c.logout()
	c.login("support", "supportsupport")
	c.open("admin-roles")
	c.click("button[name=create]")
	c.click(create + "[name=all-permissions]")
	c.waitText(create, "Permissions (4 / ")
	c.wait("document.querySelector('" + create + "[data-permission=USER_DELETE]').disabled")
	c.logout()
	c.login("app", "app")
}

// consoleTokens creates a token, which the console shows once, and uses it.
func consoleTokens(c *console, t *testing.T) {
	c.open("tokens")
	c.click("button[name=create]")
	c.fill("[data-dialog=createAdminToken] [name=name]", hack)
	c.click("[data-dialog=createAdminToken] [data-permission=USER_QUERY]")
	c.click("[data-dialog=createAdminToken] button[type=submit]")
	c.wait("document.querySelector('[data-new-token] pre')")
	token := eval[string](c.page, "document.querySelector('[data-new-token] pre').innerText")
	for path, want := range map[string]int{"/users?ids=1": http.StatusOK, "/groups?ids=1": http.StatusUnauthorized} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.server.URL(role.Service)+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want {
			t.Errorf("GET %s with the token: %d, want %d", path, resp.StatusCode, want)
		}
	}
	c.open("tokens")
	c.waitText("[data-row]", hack)
	c.noHack()
	if strings.Contains(eval[string](c.page, "document.body.innerText"), token) {
		t.Error("the token is shown again")
	}
}
