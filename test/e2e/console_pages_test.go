// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"example.org/app/internal/role"
)

// send sends a request as an administrator.
func send(t testing.TB, method, url, body string) string {
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

// consolePages opens every page in both colour schemes, wide and narrow, and looks for errors, text
// that overflows the window, and accessibility problems.
func consolePages(c *console, t *testing.T) {
	axe, err := os.ReadFile("../../web/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("%v (make unit installs it)", err)
	}
	// Pages of records show text that users entered.
	service := c.server.URL(role.Service)
	for path, fields := range map[string][]string{"users?ids=1": {"name", "intro", "profilePicture"}, "groups?ids=1": {"name", "intro", "announcement"}} {
		body := map[string]string{}
		for _, field := range fields {
			body[field] = hack
			if field == "name" {
				body[field] = "<i>name</i>" // Names have a length limit.
			}
		}
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		send(t, "PUT", service+"/"+path, string(data))
	}
	send(t, "POST", service+"/admins/roles", fmt.Sprintf(`{"id":77,"name":%s,"permissions":["USER_QUERY"],"rank":0}`, quote(hack)))
	send(t, "POST", service+"/admins", fmt.Sprintf(`{"loginName":"hacked","password":"hackedhacked","displayName":%s,"roleIds":[77]}`, quote(hack)))
	send(t, "POST", service+"/plugins/js", fmt.Sprintf(`{"scripts":[{"code":%s}]}`, quote(fmt.Sprintf(`export default class extends AppPlugin {
		getDescriptor() { return { id: %[1]s, version: %[1]s }; }
		getExtensions() { return [class extends AppExtension { getExtensionPoints() { return ['AdminActionHandler']; } handleAdminAction() {} }]; }
	}`, quote(hack)))))
	shows := map[string]string{"users": hack, "groups": hack, "messages?senderIds=1&targetIds=2": hack, "admins": hack, "admin-roles": hack, "cluster/plugin": hack}
	send(t, "POST", service+"/messages?send=false", fmt.Sprintf(`{"isGroupMessage":false,"isSystemMessage":false,"senderId":1,"targetId":2,"text":%s}`, quote(hack)))
	c.open("")
	c.wait("document.querySelectorAll('tr[data-node]').length === 2")
	paths := eval[[]string](c.page, "[...document.querySelectorAll('nav a')].map(a => new URL(a.href).pathname.slice(1))")
	if len(paths) < 25 {
		t.Fatalf("the menu has %d pages: %q", len(paths), paths)
	}
	node := eval[string](c.page, "document.querySelector('tr[data-node]').dataset.node")
	paths = append(paths, "users/1", "users/1?tab=relationships", "groups/1?tab=members", "cluster/settings?tab=history", "cluster/settings?q=admin", "api?op=queryUsers", "nodes/"+node, "messages?senderIds=1&targetIds=2")
	resize := func(width, height int64) {
		if _, err := chromedp.Call(c.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: false}); err != nil {
			t.Fatal(err)
		}
	}
	// The contrast is the only rule of axe that depends on the colours. The frame of the pages is
	// the same for all of them and only checked with the first.
	first := true
	check := func(path, rules string) {
		part := "'main'"
		if first {
			part = "document"
		}
		// The colours of a transition are those of neither state.
		const settled = `Promise.all(document.getAnimations().filter(a => isFinite(a.effect.getComputedTiming().endTime)).map(a => a.finished.catch(() => {})))`
		found, err := chromedp.Run(c.ctx, chromedp.Evaluate[[]string](settled+`.then(() => axe.run(`+part+`, { runOnly: `+rules+`, resultTypes: ['violations'], preload: false })).then(r => r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(' | ')))`, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		for _, violation := range found {
			t.Errorf("%s: %s", path, violation)
		}
	}
	scheme := func(name string) {
		c.wait(fmt.Sprintf("(document.documentElement.dataset.mantineColorScheme === %s) || (document.querySelector('[data-color-scheme]').click(), false)", quote(name)))
	}
	eval[bool](c.page, string(axe)+";true")
	for _, path := range paths {
		name := "console-" + strings.NewReplacer("/", "-", "?", "-", "=", "-", node, "id").Replace(path)
		resize(1280, 1024)
		c.visit(path)
		c.wait("document.querySelector('main h1')")
		c.wait("!document.querySelector('[role=status]')")
		scheme("light")
		if alert := eval[string](c.page, "[...document.querySelectorAll('main [role=alert]')].map(e => e.innerText).join()"); alert != "" {
			t.Errorf("%s shows %q", path, alert)
		}
		check(path, "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']")
		if text := shows[path]; text != "" {
			c.waitText("main", text)
			delete(shows, path)
		}
		c.shoot(name + "-light")
		scheme("dark")
		check(path+" (dark)", "{ type: 'rule', values: ['color-contrast'] }")
		c.shoot(name + "-dark")
		resize(390, 844)
		c.wait("window.innerWidth === 390")
		c.wait("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
		c.shoot(name + "-390")
		c.noHack()
		first = false
	}
	resize(1280, 1024)
	for path := range shows {
		t.Errorf("there is no page %q in the menu", path)
	}
}

// consoleChinese opens all pages of the menu in Chinese: none shows English words of the console.
func consoleChinese(c *console, t *testing.T) {
	c.open("")
	c.wait("document.querySelectorAll('tr[data-node]').length === 2")
	c.click("[aria-label=Language]")
	c.click("[role=menuitem][lang=zh-CN]")
	c.wait("document.documentElement.lang === 'zh-CN' && document.querySelector('nav a').innerText.match(/\\p{Script=Han}/u)")
	for i := range int(eval[float64](c.page, "document.querySelectorAll('nav a').length")) {
		path := eval[string](c.page, fmt.Sprintf("(a => (a.click(), a.pathname))(document.querySelectorAll('nav a')[%d])", i))
		c.wait(fmt.Sprintf("location.pathname === %s && document.querySelector('main h1')?.innerText === document.querySelectorAll('nav a')[%d].innerText", quote(path), i))
		c.wait("!document.querySelector('main [role=status]')")
		if strings.HasSuffix(path, "/api") {
			continue // The API document is in English.
		}
		// The server names series of charts and groups of settings.
		for _, text := range eval[[]string](c.page, `[...document.querySelectorAll('nav a, main h1, main h2, main button, main th, main label, main legend')]
			.filter(e => !e.closest('.u-series:not(:first-child)')).map(e => e.innerText.trim())
			.filter(text => !/^[a-z][A-Za-z.]* \(\d+\)$/.test(text) && /[A-Za-z]{3}/.test(text) && !/\p{Script=Han}/u.test(text))`) {
			if text != "CPU" {
				t.Errorf("%s shows %q", path, text)
			}
		}
	}
	c.open("")
	c.click("[aria-label=语言]")
	c.click("[role=menuitem][lang=en]")
	c.wait("document.documentElement.lang === 'en'")
}

// consoleAPI follows a link to an operation, which is then in view, and opens others, which stay
// where they are.
func consoleAPI(c *console, _ *testing.T) {
	inSight := "(e => e && e.getBoundingClientRect().top >= 0 && e.getBoundingClientRect().top < innerHeight / 2)(document.querySelector(%s)?.closest('.mantine-Accordion-item'))"
	c.open("api?op=queryUsers")
	c.wait(fmt.Sprintf(inSight, quote("[data-operation=queryUsers]")))
	c.wait("scrollY > innerHeight") // It is far below the top.
	c.wait("document.querySelector('[data-operation=queryUsers]').closest('.mantine-Accordion-item').nextElementSibling.querySelector('button').click() || true")
	c.wait("!document.querySelector('[data-operation=queryUsers]') && scrollY > innerHeight")
}

// consoleLogs follows a log file: the page stays at its end until the user scrolls up, and again
// after scrolling back.
func consoleLogs(c *console, t *testing.T) {
	file, err := os.Create(filepath.Join(c.server.Config().Current().Home(), "log", "follow.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	last := 0
	add := func(n int) {
		t.Helper()
		var text strings.Builder
		for range n {
			last++
			fmt.Fprintf(&text, "level=INFO msg=\"a line\" line=%d\n", last)
		}
		if _, err := file.WriteString(text.String()); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(line int) string {
		return fmt.Sprintf("[...document.querySelectorAll('.logline')].some(e => e.innerText.endsWith('line=%d'))", line)
	}
	add(300)
	c.open("logs?path=follow.log")
	c.wait(shown(300))
	// The browser may report the scrolling only after further lines have arrived.
	eval[bool](c.page, `(log => {
		new MutationObserver(() => log.dispatchEvent(new Event('scroll'))).observe(log, { subtree: true, childList: true, attributes: true })
		return true
	})(document.querySelector('[role=log]'))`)
	for range 5 {
		add(200)
		c.wait(shown(last))
	}
	eval[bool](c.page, "(document.querySelector('[role=log]').scrollTop -= 3000) > 0")
	c.wait("!(" + shown(last) + ")")
	add(200)
	c.wait(fmt.Sprintf("document.querySelector('[role=log]').scrollHeight >= 18 * %d", last))
	if eval[bool](c.page, shown(last)) {
		t.Error("the page does not stay where somebody scrolled to")
	}
	eval[bool](c.page, "(log => (log.scrollTop = log.scrollHeight) > 0)(document.querySelector('[role=log]'))")
	c.wait(shown(last))
	add(200)
	c.wait(shown(last))
}
