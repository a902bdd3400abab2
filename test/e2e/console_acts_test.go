// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"example.org/app/internal/role"
)

// consoleSettings changes a setting and goes back to before.
func consoleSettings(c *console, t *testing.T) {
	const setting = "service.adminApi.defaultAvailableRecordsPerRequest"
	c.open("cluster/settings?q=" + setting)
	c.fill("[name='"+setting+"']", "11")
	c.click("[name=apply-settings]")
	c.click("[name=confirm-settings]")
	c.waitText("[data-setting='"+setting+"']", "source: cluster")
	c.open("cluster/settings?tab=history")
	c.waitText("[data-revision]", setting+": 10 → 11")
	c.click("[name=revert]")
	c.click("[name=confirm-revert]")
	c.wait("document.querySelectorAll('[data-revision]').length === 2")
	if n := c.server.Config().Current().Service.AdminAPI.DefaultAvailableRecordsPerRequest; n != 10 {
		t.Errorf("the setting is %d after going back", n)
	}
}

// consolePlayground logs in as a user and sends a message.
func consolePlayground(c *console, t *testing.T) {
	send(t, "PUT", c.server.URL(role.Service)+"/users?ids=1", `{"password":"secret"}`)
	c.open("playground")
	c.fill("[name=play-user]", "1")
	c.fill("[name=play-password]", "secret")
	c.click("[name=play-connect]")
	c.waitText("[data-entry=response]", "1000")
	c.fill("[name=play-recipientId]", "2")
	c.fill("[name=play-text]", "hello from the console")
	c.click("[name=play-send]")
	c.wait("document.querySelectorAll('[data-entry=response]').length >= 2")
	if text := eval[string](c.page, "document.body.innerText"); strings.Contains(text, `"secret"`) {
		t.Error("the password is shown")
	}
}

// consoleQueryOnly sees what an administrator may do who may read users only.
func consoleQueryOnly(c *console, t *testing.T) {
	send(t, "POST", c.server.URL(role.Service)+"/admins/roles", `{"id":5,"name":"ONLY_QUERY","permissions":["USER_QUERY","CLUSTER_MEMBER_QUERY"],"rank":1}`)
	send(t, "POST", c.server.URL(role.Service)+"/admins", `{"loginName":"viewer","password":"viewerviewer","roleIds":[5]}`)
	c.logout()
	c.login("viewer", "viewerviewer")
	c.open("users")
	c.waitText("[data-total]", "records")
	c.wait("document.querySelector('[data-missing=USER_CREATE] button[disabled]') && document.querySelector('[data-missing=USER_DELETE] button[disabled]')")
	c.open("messages")
	c.waitText("[role=alert]", "MESSAGE_QUERY")
}
