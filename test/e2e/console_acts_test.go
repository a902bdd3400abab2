// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"example.org/app/internal/role"
)

// consoleSettings changes a setting and reverts it.
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

// consolePluginSettings changes settings that a plugin declares, including a secret. The id of the
// plugin contains a dot.
func consolePluginSettings(c *console, t *testing.T) {
	service := c.server.URL(role.Service)
	send(t, "POST", service+"/plugins/js", fmt.Sprintf(`{"scripts":[{"code":%s}]}`, quote(`
		class Limits extends AppExtension {
			getExtensionPoints() { return ['AdminActionHandler']; }
			onSettingsChanged(settings) { app.log.info('limits are ' + JSON.stringify(settings)); }
			handleAdminAction() {}
		}
		export default class extends AppPlugin {
			getDescriptor() {
				return { id: 'com.example.limits', version: '1', settings: { type: 'object', properties: {
					numbers: { type: 'array', items: { type: 'integer' }, default: [1] },
					token: { type: 'string', writeOnly: true },
				} } };
			}
			getExtensions() { return [Limits]; }
		}`)))
	const group = "plugins.com.example.limits."
	c.open("cluster/settings?q=" + group)
	c.wait("document.querySelectorAll('[data-setting]').length === 2")
	c.fill("[name='"+group+"token']", "planted-secret")
	c.fill("input[aria-label='"+group+"numbers']", "7")
	c.wait("document.querySelector(\"input[aria-label='" + group + "numbers']\").dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }))")
	c.click("[name=apply-settings]")
	c.waitText("[role=dialog]", group+"token")
	c.waitText("[role=dialog]", "[1,7]")
	if eval[bool](c.page, "document.body.innerText.includes('planted-secret')") {
		t.Error("the list of changes shows the secret")
	}
	c.click("[name=confirm-settings]")
	c.waitText("[data-setting='"+group+"token']", "source: cluster")
	if got := send(t, "GET", service+"/cluster/settings", ""); !strings.Contains(got, `"numbers":[1,7]`) || strings.Contains(got, "planted-secret") {
		t.Errorf("the settings are %s", got)
	}
	send(t, "DELETE", service+"/plugins?ids=com.example.limits", "")
}

// consoleSettingLists edits a list of objects and a setting of one node.
func consoleSettingLists(c *console, t *testing.T) {
	const list = "service.user.settings.allowedSettings"
	c.open("cluster/settings?q=" + list)
	c.click("[name='" + list + ".add']")
	c.fill("[name='"+list+"[0].sourceName']", hack)
	c.click("[name='" + list + "[0].deletable']")
	c.click("[name=apply-settings]")
	c.click("[name=confirm-settings]")
	c.waitText("[data-setting='"+list+"']", "source: cluster")
	c.noHack()
	if got := c.server.Config().Current().Service.User.Settings.AllowedSettings; len(got) != 1 || got[0].SourceName != hack || !got[0].Deletable {
		t.Errorf("the list is %+v", got)
	}
	c.open("cluster/settings?q=" + list)
	c.click("[aria-label='Reset to the default " + list + "']")
	c.click("[name=apply-settings]")
	c.click("[name=confirm-settings]")
	c.wait("!document.querySelector('[name=\"" + list + "[0].sourceName\"]')")

	// A setting that each node has for itself.
	c.open("")
	c.wait("document.querySelectorAll('tr[data-node]').length === 2")
	node := eval[string](c.page, "[...document.querySelectorAll('tr[data-node]')].find(r => r.innerText.includes('Service')).dataset.node")
	const own = "flightRecorder.maxRecordings"
	c.open("cluster/settings?q=" + own + "&node=" + node)
	c.fill("[name='"+own+"']", "9")
	c.click("[name=apply-settings]")
	c.click("[name=confirm-settings]")
	c.waitText("[data-setting='"+own+"']", "source: file")
	if n := c.server.Config().Current().FlightRecorder.MaxRecordings; n != 9 {
		t.Errorf("%s is %d", own, n)
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

// consoleQueryOnly shows the console to an administrator who may only query users.
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
