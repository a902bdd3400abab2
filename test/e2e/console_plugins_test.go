// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/role"
)

// drop drops a file on the plugins page.
func (p *page) drop(name string, data []byte) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`(page => {
		if (!page) return false
		const files = new DataTransfer()
		files.items.add(new File([Uint8Array.from(atob(%s), c => c.charCodeAt(0))], %s))
		page.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: files }))
		return true
	})(document.querySelector('[data-plugins]'))`, quote(base64.StdEncoding.EncodeToString(data)), quote(name)))
}

// publish uploads the dropped file, after a dry run.
func (p *page) publish(id string) {
	p.t.Helper()
	p.click("[data-upload] [name=dry-run]")
	p.waitText("[data-results]", "would load")
	p.click("[data-upload] [name=publish]")
	p.waitText("[data-results]", "loaded")
	p.waitText("[data-results]", id)
	p.open("cluster/plugin?role=SERVICE")
}

// consolePlugin uploads a plugin by drag and drop, follows its log, pauses
// it and stops it.
func consolePlugin(c *console, t *testing.T) {
	c.open("cluster/plugin?role=SERVICE")
	c.wait("document.querySelector('[data-plugin-node]')")
	if n := eval[float64](c.page, "document.querySelectorAll('[data-plugin-node]').length"); n != 1 {
		t.Errorf("the nodes of one process are shown as %v", n)
	}
	c.drop("broken.js", []byte("class {"))
	c.click("[data-upload] [name=dry-run]")
	c.waitText("[data-results]", "broken.js")
	c.refused("400 (Bad Request)")
	c.wait("document.querySelector('[data-upload] [name=publish]').disabled")
	c.open("cluster/plugin?role=SERVICE")
	c.drop("e2e.js", []byte(`class E extends AppExtension {
		getExtensionPoints() { return ['AdminActionHandler']; }
		start() { app.log.info('started <img/src="x"/onerror=hacked=1>'); }
		handleAdminAction(action) { app.log.info('saw an action'); }
	}
	export default class extends AppPlugin {
		getDescriptor() { return { id: 'e2e-plugin', version: '1', description: '<img/src="x"/onerror=hacked=1>' }; }
		getExtensions() { return [E]; }
	}`))
	c.publish("e2e-plugin")
	c.waitText("[data-plugin=e2e-plugin]", hack)
	c.click("[data-plugin=e2e-plugin] [name=plugin-details]")
	c.waitText("[data-plugin-details] .logline", "started")
	c.waitText("[data-plugin-details] .logline", "saw an action") // The requests of the page are actions.
	c.waitText("[data-timings]", "AdminActionHandler.handleAdminAction")
	for _, usage := range []string{"Memory", "iB", "Processor time", "Excess"} {
		c.waitText("[data-plugin-details] .record", usage)
	}
	c.shoot("console-plugin-details")
	c.noHack()

	c.open("cluster/plugin?role=SERVICE")
	for _, step := range []struct{ action, state string }{{"Pause", "PAUSED"}, {"Resume", "STARTED"}, {"Stop", "STOPPED"}} {
		c.wait(fmt.Sprintf("(b => b && (b.click(), true))([...document.querySelectorAll('[data-plugin=e2e-plugin] button')].find(b => b.innerText === %s))", quote(step.action)))
		c.wait("document.querySelector('[data-plugin=e2e-plugin][data-state=" + step.state + "]')")
	}
	// A stopped plugin can only be replaced or removed.
	if got := eval[string](c.page, "[...document.querySelectorAll('[data-plugin=e2e-plugin] button')].map(b => b.innerText).join()"); got != "Details,Edit,Remove" {
		t.Errorf("the actions on a stopped plugin are %s", got)
	}
	c.click("[data-plugin=e2e-plugin] input[type=checkbox]")
	c.wait("[...document.querySelectorAll('[data-plugins] button')].filter(b => ['Start', 'Pause', 'Resume', 'Stop'].includes(b.innerText)).every(b => b.disabled)")
}

// consoleEditor writes a plugin in the editor, which knows the typings, tries it and publishes it.
func consoleEditor(c *console, _ *testing.T) {
	c.open("cluster/plugin?role=SERVICE")
	c.click("[name=new-script]")
	c.wait("document.querySelector('[data-editor] .cm-content')")
	c.fill("[name=script-name]", "edited.js")
	c.click("[name=dry-run]")
	c.waitText("[data-results]", "would load")
	c.click("[name=publish]")
	c.waitText("[data-results]", "loaded")
	c.open("cluster/plugin?role=SERVICE")
	c.wait("document.querySelector('[data-plugin=my-plugin][data-state=STARTED]')")

	// A running plugin can be edited.
	c.edit("my-plugin", "// mended\n")
	c.click("[name=publish]")
	c.waitText("[data-results]", "replaced")
	c.open("cluster/plugin?role=SERVICE")
	c.wait("document.querySelector('[data-plugin=my-plugin][data-state=STARTED]')")
	c.click("[data-plugin=my-plugin] [name=edit-script]")
	c.waitText("[data-editor] .cm-content", "// mended")
	c.open("cluster/plugin?role=SERVICE")
	c.removePlugin("my-plugin")
}

// edit opens the script of a plugin in the editor and inserts text before it.
func (p *page) edit(id, text string) {
	p.t.Helper()
	p.click("[data-plugin=" + id + "] [name=edit-script]")
	p.waitText("[data-editor] .cm-content", "getDescriptor")
	p.wait(fmt.Sprintf(`(e => {
		if (e.innerText.includes(%[1]s)) return true
		e.focus()
		document.execCommand('insertText', false, %[2]s)
		return false
	})(document.querySelector('[data-editor] .cm-content'))`, quote(strings.TrimSpace(text)), quote(text)))
}

// pick selects an option of a list.
func (p *page) pick(css, option string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`((input, text) => {
		if (!input) return false
		if (input.value === text) return true
		const list = document.getElementById(input.getAttribute('aria-controls'))
		const option = list && [...list.querySelectorAll('[role=option]')].find(o => o.innerText === text)
		if (option) option.click()
		else input.click()
		return false
	})(document.querySelector(%s), %s)`, quote(css), quote(option)))
}

// consoleClusterPlugin publishes a plugin to all nodes, changes it, tries a version and activates
// an earlier one.
func consoleClusterPlugin(c *console, t *testing.T) {
	c.open("cluster/plugin?role=SERVICE")
	c.drop("shared.js", []byte(`class E extends AppExtension {
		getExtensionPoints() { return ['AdminActionHandler', 'DomainEventConsumer']; }
		getEndpoints() { return [{ method: 'GET', path: '/report', summary: 'Report of a plugin', permission: 'USER_QUERY', handler: 'report' }]; }
		start() { app.schedule('1h', { name: 'hourly', leaderOnly: true }, () => {}); }
		handleAdminAction() {}
		consumeDomainEvents() {}
		report() { return {}; }
	}
	export default class extends AppPlugin {
		getDescriptor() { return { id: 'shared-plugin', version: '1' }; }
		getExtensions() { return [E]; }
	}`))
	c.pick("[data-upload] input[aria-haspopup=listbox]", "All nodes of the cluster, also later ones")
	c.publish("shared-plugin")
	c.wait("document.querySelector('[data-plugin=shared-plugin][data-state=STARTED]')")
	c.edit("shared-plugin", "// second\n")
	c.click("[name=publish]")
	c.waitText("[data-results]", "replaced")

	details := func() {
		t.Helper()
		c.open("cluster/plugin?role=SERVICE")
		c.click("[data-plugin=shared-plugin] [name=plugin-details]")
	}
	details()
	c.wait("document.querySelector('[data-version=\"2\"][data-active=true]')")
	c.waitText("[data-plugin-nodes]", "Started")
	c.waitText("[data-work=schedules]", "hourly")
	c.waitText("[data-work=schedules]", "on one node")
	c.waitText("[data-work=endpoints]", "/plugins/endpoints/shared-plugin/report")
	c.wait("document.querySelector('[data-work=events]')")
	c.click("[data-version='1'] [name=activate-version]")
	c.wait("document.querySelector('[data-version=\"1\"][data-active=true]')")

	c.click("[data-version='2'] [name=try-version]")
	c.click("[data-dialog=createPluginRollout] button[type=submit]")
	c.wait("document.querySelector('[data-rollout=RUNNING]')")
	c.shoot("console-plugin-cluster")
	c.wait("document.querySelector('[data-version=\"2\"] [name=activate-version]').disabled") // A rollout is already in progress.
	c.click("[name=rollout-ABORT]")
	c.wait("document.querySelector('[data-rollout=ABORTED]')")

	// Rollouts to some users, in steps, and as a shadow: the page shows to whom the version is
	// rolled out.
	service := c.server.URL(role.Service)
	send(t, "POST", service+"/plugins/rollouts", `{"pluginId":"shared-plugin","number":2,"userIds":[7],"steps":[{"percentage":10},{"percentage":50}]}`)
	details()
	c.waitText("[data-rollout=RUNNING]", "10 % of users")
	c.waitText("[data-rollout=RUNNING]", "step 1 of 2")
	c.wait("document.querySelector('[data-candidate=STARTED]')")
	c.click("[name=rollout-NEXT]")
	c.waitText("[data-rollout=RUNNING]", "50 % of users")
	eval[bool](c.page, "(document.querySelector('[data-rollouts]').scrollIntoView(), true)")
	c.shoot("console-plugin-steps")
	c.click("[name=rollout-ABORT]")
	c.wait("!document.querySelector('[data-rollout=RUNNING]')")
	send(t, "POST", service+"/plugins/rollouts", `{"pluginId":"shared-plugin","number":2,"shadow":true}`)
	details()
	c.waitText("[data-rollout=RUNNING]", "copies of calls")
	c.waitText("[data-rollout=RUNNING]", "Calls ")
	eval[bool](c.page, "(document.querySelector('[data-rollouts]').scrollIntoView(), true)")
	c.shoot("console-plugin-shadow")
	c.click("[name=rollout-ABORT]")
	c.wait("!document.querySelector('[data-rollout=RUNNING]')")
	c.waitText("[data-rollouts]", "Candidate: Calls ")
	c.shoot("console-plugin-figures")
	c.click("[data-version='2'] [name=delete-version]")
	c.wait("!document.querySelector('[data-version=\"2\"]')")
	c.open("cluster/plugin?role=SERVICE")
	c.removePlugin("shared-plugin")
}

// removePlugin removes a plugin with its button.
func (p *page) removePlugin(id string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("(b => b && (b.click(), true))([...document.querySelectorAll('[data-plugin=%s] button')].find(b => b.innerText === 'Remove'))", id))
	p.click("[name=confirm-delete]")
	p.wait("document.querySelector('[data-plugin-node]') && !document.querySelector('[data-plugin=" + id + "]')")
}

// consoleJar uploads a plugin in Java.
func consoleJar(c *console, t *testing.T) {
	jar := javatest.Jar(t, javatest.Plugin{ID: "e2e-jar", Version: "1", Class: "e2e.Quiet", Sources: map[string]string{"e2e/Quiet.java": `
package e2e;
import im.app.plugin.*;
import im.app.plugin.model.*;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.util.*;

public class Quiet extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(Handler.class); }

    public static class Handler extends AppExtension implements ClientRequestHandler {
        @Override
        public void start() { logger().info("the jar runs"); }

        @Override
        public ClientRequest transform(ClientRequest request) { return null; }
    }
}`}})
	c.open("cluster/plugin?role=SERVICE")
	c.drop("e2e.jar", jar)
	c.publish("e2e-jar")
	c.waitText("[data-plugin=e2e-jar]", "Java")
	c.click("[data-plugin=e2e-jar] [name=plugin-details]")
	c.waitText("[data-plugin-details] .logline", "the jar runs")
	c.open("cluster/plugin?role=SERVICE")
	c.removePlugin("e2e-jar")
}
