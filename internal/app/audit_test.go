// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"strings"
	"testing"

	"example.org/app/internal/app"
	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestAuditTrail checks the trail of writes by an administrator and a plugin on a running server.
func TestAuditTrail(t *testing.T) {
	folder := folderOf(t, map[string]string{
		"writer.js": pluginScript("writer", "'ClientRequestHandler', 'AdminActionHandler'", `
  async start() { await app.api.users.create({body: {id: 901, name: 'start'}}); }
  async transform(request) {
    if (request.request.queryUserProfilesRequest) await app.api.users.update({ids: [901], body: {name: 'request'}});
  }
  async handleAdminAction({action}) {
    if (action === 'updateUsers') await app.api.users.update({ids: [901], body: {intro: 'action'}});
  }`),
	})
	s := apptest.Start(t, role.All, "app.plugin.dir="+folder)
	want(t, s, role.Service, "POST", "/users", `{"id":7,"name":"Ann","password":"hidden-secret"}`, 200)
	ann := chat.LogIn(t, s.ClientURLs()[0], 7, chat.WithPassword("hidden-secret"))
	if _, err := ann.Do(t.Context(), &wire.QueryUserProfilesRequest{UserIds: []int64{7}}); err != nil {
		t.Fatal(err)
	}
	want(t, s, role.Service, "PUT", "/users?ids=7", `{"name":"Anne"}`, 200)
	trail := func(query string) string {
		_, body := ask(t, s, role.Service, "GET", "/audit?size=100&"+query, "")
		return body
	}
	eventually(t, "the rows of the plugin", func() bool { return strings.Count(trail("pluginIds=writer"), `"outcome":"DONE"`) >= 3 })
	byPlugin := trail("pluginIds=writer")
	for _, part := range []string{
		`"loginName":"plugin:writer","pluginId":"writer","pluginVersion":"1.0","onBehalfOf":"user 7"`,
		`"loginName":"plugin:writer","pluginId":"writer","pluginVersion":"1.0","onBehalfOf":"admin 0"`,
		`"before":{"name":"start"},"after":{"name":"request"}`, `"before":{"intro":""},"after":{"intro":"action"}`,
		`"operation":"createUser","targetIds":["901"]`,
	} {
		if !strings.Contains(byPlugin, part) {
			t.Errorf("the rows of the plugin lack %s: %s", part, byPlugin)
		}
	}
	if strings.Contains(byPlugin, `"adminId"`) {
		t.Errorf("a plugin stands as an administrator in %s", byPlugin)
	}
	if status, _ := ask(t, s, role.Gateway, "DELETE", "/plugins", ""); status != 400 {
		t.Errorf("status %d", status)
	}
	eventually(t, "the row of what the gateway refused", func() bool {
		return strings.Contains(trail("outcomes=REFUSED&operations=deletePlugins"), `"status":400`)
	})
	eventually(t, "all rows are sealed", func() bool {
		report, err := app.VerifyAudit(t.Context(), s.Config().Current(), nil)
		return err == nil && report.Sealed >= 5 && report.Unsealed == 0
	})
	if strings.Contains(trail(""), "hidden-secret") {
		t.Error("the trail shows a password")
	}
}

// TestAuditTrailSwitchedOff writes nothing.
func TestAuditTrailSwitchedOff(t *testing.T) {
	s := apptest.Start(t, []role.Role{role.Service}, "app.audit.enabled=false")
	want(t, s, role.Service, "POST", "/users", `{"id":7,"name":"Ann"}`, 200)
	want(t, s, role.Service, "GET", "/audit", "", 204)
}
