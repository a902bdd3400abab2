// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"example.org/app/internal/role"
)

// send sends an administrator's request.
func send(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s, %v", method, url, resp.StatusCode, data, err)
	}
	return string(data)
}

// TestConsolePages opens every page, in both colours, wide and narrow, and looks
// for errors, for text that runs out of the window and for what hinders people
// with disabilities.
func TestConsolePages(t *testing.T) {
	server := startConsole(t)
	axe, err := os.ReadFile("../../web/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("%v (make unit installs it)", err)
	}
	p := openConsole(t, server.ConsoleURL())
	p.login("app", "app")
	p.wait("document.querySelectorAll('tr[data-node]').length === 2")
	paths := eval[[]string](p, "[...document.querySelectorAll('nav a')].map(a => new URL(a.href).pathname.slice(1))")
	if len(paths) < 25 {
		t.Fatalf("the menu has %d pages: %q", len(paths), paths)
	}
	paths = append(paths, "users/1", "users/1?tab=relationships", "groups/1?tab=members", "cluster/settings?tab=history", "api?op=queryUserPage")
	for _, path := range paths {
		p.open(path)
		p.wait("document.querySelector('main h1')")
		p.wait("!document.querySelector('[role=status]')")
		if alert := eval[string](p, "[...document.querySelectorAll('main [role=alert]')].map(e => e.innerText).join()"); alert != "" {
			t.Errorf("%s shows %q", path, alert)
		}
		if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](string(axe)+";true")); err != nil {
			t.Fatal(err)
		}
		const run = `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }).then(r => r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(' | ')))`
		found, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](run, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		for _, violation := range found {
			t.Errorf("%s: %s", path, violation)
		}
		p.shoot("console-" + strings.NewReplacer("/", "-", "?", "-", "=", "-").Replace(path) + "-light")
	}
	// Narrow and dark.
	if _, err := chromedp.Call(p.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 1, Mobile: false}); err != nil {
		t.Fatal(err)
	}
	eval[bool](p, "localStorage.setItem('mantine-color-scheme-value', 'dark'), true")
	for _, path := range paths {
		p.open(path)
		p.wait("document.querySelector('main h1')")
		p.wait("!document.querySelector('[role=status]')")
		if over := eval[float64](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
			t.Errorf("%s is %v pixels too wide for 390", path, over)
		}
		p.shoot("console-" + strings.NewReplacer("/", "-", "?", "-", "=", "-").Replace(path) + "-dark-390")
	}
	p.clean()
}

// TestConsoleActs changes settings, uploads a plugin and logs in as a user.
func TestConsoleActs(t *testing.T) {
	server := startConsole(t)
	p := openConsole(t, server.ConsoleURL())
	p.login("app", "app")

	t.Run("settings", func(t *testing.T) {
		p.t = t
		const setting = "service.adminApi.defaultAvailableRecordsPerRequest"
		p.open("cluster/settings?q=" + setting)
		p.fill("[name='"+setting+"']", "11")
		p.click("[name=apply-settings]")
		p.click("[name=confirm-settings]")
		p.waitText("[data-setting='"+setting+"']", "source: cluster")
		p.open("cluster/settings?tab=history")
		p.waitText("[data-revision]", setting+": 10 → 11")
		p.click("[name=revert]")
		p.click("[name=confirm-revert]")
		p.wait("document.querySelectorAll('[data-revision]').length === 2")
		if n := server.Config().Current().Service.AdminAPI.DefaultAvailableRecordsPerRequest; n != 10 {
			t.Errorf("the setting is %d after going back", n)
		}
	})

	t.Run("plugin", func(t *testing.T) {
		p.t = t
		p.open("cluster/plugin?role=SERVICE")
		p.wait("document.querySelector('[name=plugin-files]')")
		const code = `class E extends AppExtension {
			getExtensionPoints() { return ['AdminActionHandler']; }
			handleAdminAction() {}
		}
		export default class extends AppPlugin {
			getDescriptor() { return { id: 'e2e-plugin', version: '1', description: '<img src=x onerror="window.hacked=1">' }; }
			getExtensions() { return [E]; }
		}`
		p.wait(fmt.Sprintf(`(() => {
			const files = new DataTransfer()
			files.items.add(new File([%s], 'e2e.js', { type: 'text/javascript' }))
			document.querySelector('[data-plugins]').dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: files }))
			return true
		})()`, quote(code)))
		p.click("[data-upload] [name=dry-run]")
		p.waitText("[data-results]", "would load")
		p.click("[data-upload] [name=publish]")
		p.waitText("[data-results]", "e2e-plugin")
		p.open("cluster/plugin?role=SERVICE")
		p.waitText("[data-plugin=e2e-plugin]", hack)
		if eval[bool](p, "'hacked' in window") {
			t.Error("text of a plugin was run as a script")
		}
	})

	t.Run("playground", func(t *testing.T) {
		p.t = t
		send(t, "PUT", server.URL(role.Service)+"/users?ids=1", `{"password":"secret"}`)
		p.open("playground")
		p.fill("[name=play-user]", "1")
		p.fill("[name=play-password]", "secret")
		p.click("[name=play-connect]")
		p.waitText("[data-entry=response]", "1000")
		p.fill("[name=play-recipientId]", "2")
		p.fill("[name=play-text]", "hello from the console")
		p.click("[name=play-send]")
		p.wait("document.querySelectorAll('[data-entry=response]').length >= 2")
		if text := eval[string](p, "document.body.innerText"); strings.Contains(text, `"secret"`) {
			t.Error("the password is shown")
		}
	})

	t.Run("query only", func(t *testing.T) {
		p.t = t
		send(t, "POST", server.URL(role.Service)+"/admins/roles", `{"id":5,"name":"ONLY_QUERY","permissions":["USER_QUERY","CLUSTER_MEMBER_QUERY"],"rank":1}`)
		send(t, "POST", server.URL(role.Service)+"/admins", `{"loginName":"viewer","password":"viewerviewer","roleIds":[5]}`)
		p.click("button[name=account]")
		p.click("[data-logout]")
		p.login("viewer", "viewerviewer")
		p.open("users")
		p.waitText("[data-total]", "records")
		p.wait("document.querySelector('[data-missing=USER_CREATE] button[disabled]') && document.querySelector('[data-missing=USER_DELETE] button[disabled]')")
		p.open("messages")
		p.waitText("[role=alert]", "MESSAGE_QUERY")
	})
	p.t = t
	p.clean()
}
