// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// page controls the console in a browser.
type page struct {
	t         testing.TB
	ctx       context.Context
	base      string
	problems  func() []string
	refusals  []string
	tolerated []string
}

// startConsole runs a server that is filled with generated data.
func startConsole(t testing.TB, set ...string) *apptest.Server {
	t.Helper()
	return apptest.Start(t, role.All, append([]string{
		"app.service.fake.enabled=true", "app.service.fake.user-count=60", "app.service.fake.group-count=3", "app.service.fake.message-count=40",
	}, set...)...)
}

// openConsole opens the console in its own browser.
func openConsole(t testing.TB, base string, others ...string) *page {
	t.Helper()
	p := &page{t: t, ctx: openBrowser(t), base: base}
	p.problems = watch(p.ctx, append(others, strings.TrimSuffix(base, "/"))...)
	p.open("")
	return p
}

// open navigates to an address of the console.
func (p *page) open(path string) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Navigate(p.base+path)); err != nil {
		p.t.Fatalf("open %q: %v", path, err)
	}
}

// visit navigates to an address within the console as a link does, which is faster than a full
// load. It goes through an address that does not exist, so that nothing of the previous page
// remains.
func (p *page) visit(path string) {
	p.t.Helper()
	turn := "(history.pushState({}, '', document.baseURI + %s), dispatchEvent(new PopStateEvent('popstate')))"
	eval[bool](p, fmt.Sprintf(turn, quote("-")))
	p.wait("!document.querySelector('main h1')")
	eval[bool](p, fmt.Sprintf(turn, quote(path)))
}

// login logs in with the form.
func (p *page) login(name, password string) {
	p.t.Helper()
	p.fill("input[name=loginName]", name)
	p.fill("input[name=password]", password)
	p.click("button[type=submit]")
	p.wait("document.querySelector('header')")
}

// logout logs out with the menu. Requests that are still in progress then are refused.
func (p *page) logout() {
	p.t.Helper()
	p.tolerate("401 (Unauthorized)")
	p.click("button[name=account]")
	p.click("[data-logout]")
	p.wait("document.querySelector('input[name=loginName]')")
}

// eval evaluates an expression in the page.
func eval[T any](p *page, js string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		p.t.Fatalf("evaluate %s: %v", js, err)
	}
	return v
}

// wait waits until an expression is true.
func (p *page) wait(js string) {
	p.t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for {
		ok, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("!!("+js+")"))
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			text, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText.slice(0, 3000)"))
			p.shoot("failure-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
			p.t.Fatalf("waited in vain for %s (%v); the page shows:\n%s\nproblems: %q", js, err, text, p.problems())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// quote quotes a string as a JavaScript literal.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// click clicks the element of a selector as soon as it is clickable.
func (p *page) click(css string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("(e => e && !e.disabled && !e.hasAttribute('data-disabled') && (e.click(), true))(document.querySelector(%s))", quote(css)))
}

// fill sets the value of an input as typing does.
func (p *page) fill(css, value string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`(e => {
		if (!e) return false
		const proto = e.tagName === 'TEXTAREA' ? HTMLTextAreaElement : HTMLInputElement
		e.focus()
		Object.getOwnPropertyDescriptor(proto.prototype, 'value').set.call(e, %s)
		e.dispatchEvent(new Event('input', { bubbles: true }))
		return true
	})(document.querySelector(%s))`, quote(value), quote(css)))
}

// waitText waits until an element shows a text.
func (p *page) waitText(css, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("[...document.querySelectorAll(%s)].some(e => e.innerText.includes(%s))", quote(css), quote(text)))
}

// shoot takes a screenshot if the environment names a folder for it.
func (p *page) shoot(name string) {
	dir := os.Getenv("APP_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	shot, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o600)
	}
	if err != nil {
		p.t.Logf("screenshot %s: %v", name, err)
	}
}

// noHack fails the test if injected text ran as a script.
func (p *page) noHack() {
	p.t.Helper()
	if eval[bool](p, "'hacked' in window") {
		p.t.Errorf("%s ran text as a script", eval[string](p, "location.href"))
	}
}

// clean fails the test if the page reported problems.
func (p *page) clean() {
	p.t.Helper()
	for _, problem := range p.problems() {
		if slices.ContainsFunc(p.tolerated, func(text string) bool { return strings.Contains(problem, text) }) {
			continue
		}
		if i := slices.IndexFunc(p.refusals, func(status string) bool {
			return strings.HasSuffix(problem, "the server responded with a status of "+status)
		}); i >= 0 {
			p.refusals = slices.Delete(p.refusals, i, i+1)
			continue
		}
		p.t.Errorf("problem of the pages: %s", problem)
	}
}

// tolerate allows requests to fail with this text.
func (p *page) tolerate(text string) { p.tolerated = append(p.tolerated, text) }

// refused allows one request to fail with this status, which the browser reports as an error.
func (p *page) refused(status string) { p.refusals = append(p.refusals, status) }

// hack is text that runs a script if it is rendered as HTML.
const hack = `<img/src="x"/onerror=hacked=1>`

// console is the server that all parts of TestConsole share, and its browser.
type console struct {
	*page
	server *apptest.Server
	// set are the common properties of the nodes of the cluster.
	set []string
}

// TestConsole tests the console. Its parts share a server and a browser, because these take longer
// to start than most parts run. Each part leaves the data that later ones need.
func TestConsole(t *testing.T) {
	t.Parallel()
	set := clustered(t)
	server := startConsole(t, set...)
	c := &console{server: server, set: set, page: openConsole(t, server.ConsoleURL(), server.URL(role.Service))}
	part := func(name string, run func(c *console, t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			c.t = t
			run(c, t)
		})
		c.t = t
	}
	part("admin port", consoleAdminPort)
	c.base = server.ConsoleURL()
	c.open("")
	c.login("app", "app")
	part("users", consoleUsers)
	part("rounds", consoleRounds)
	part("settings", consoleSettings)
	part("setting lists", consoleSettingLists)
	part("plugin settings", consolePluginSettings)
	part("plugin", consolePlugin)
	part("editor", consoleEditor)
	part("cluster plugin", consoleClusterPlugin)
	part("jar", consoleJar)
	part("recordings", consoleRecordings)
	part("audit", consoleAudit)
	part("roles", consoleRoles)
	part("tokens", consoleTokens)
	part("playground", consolePlayground)
	part("nodes", consoleNodes)
	part("offline", consoleOffline)
	part("logs", consoleLogs)
	part("API", consoleAPI)
	part("pages", consolePages)
	part("Chinese", consoleChinese)
	part("query only", consoleQueryOnly)
	part("logout", consoleLogout)
	c.clean()
}

// consoleAdminPort uses the console at the admin port.
func consoleAdminPort(c *console, t *testing.T) {
	c.base = c.server.URL(role.Service) + "/console/"
	c.open("")
	c.login("app", "app")
	c.wait("document.querySelectorAll('tr[data-node]').length === 2")
	if got := eval[string](c.page, "document.querySelector('header a[target=_blank]').href"); got != c.base+"docs/" {
		t.Errorf("the documentation is at %q, want %sdocs/", got, c.base)
	}
	c.open("users?size=10")
	c.waitText("[data-total]", " records")
	consoleLogout(c, t)
}

// consoleLogout ends the session, in the browser and on the server.
func consoleLogout(c *console, t *testing.T) {
	c.logout()
	for _, x := range []struct {
		path string
		want float64
	}{{"icon.svg", 200}, {"-/session", 204}} {
		if got := eval[float64](c.page, fmt.Sprintf("(() => { const x = new XMLHttpRequest(); x.open('GET', document.baseURI + %s, false); x.send(); return x.status })()", quote(x.path))); got != x.want {
			t.Errorf("%s answers %v after logging out, want %v", x.path, got, x.want)
		}
	}
}

// consoleUsers creates, finds, changes and deletes a user whose id is not exact as a JavaScript
// number, and keeps the session over reloads.
func consoleUsers(c *console, t *testing.T) {
	const id = "9007199254740993" // 2^53 + 1
	c.wait("document.querySelectorAll('tr[data-node]').length === 2")
	c.open("users")
	c.waitText("[data-total]", " records")
	total := eval[float64](c.page, "parseInt(document.querySelector('[data-total]').innerText)")
	c.click("button[name=create]")
	c.fill("[data-dialog=createUser] input[name=id]", id)
	c.fill("[data-dialog=createUser] input[name=name]", "<b>Ann</b>")
	c.fill("[data-dialog=createUser] textarea[name=intro]", hack)
	c.click("[data-dialog=createUser] button[type=submit]")
	c.waitText("[data-total]", fmt.Sprintf("%.0f records", total+1))

	c.open("users?ids=" + id)
	c.waitText("[data-row]", "<b>Ann</b>")
	c.waitText("[data-row]", hack)
	c.waitText("[data-row]", id)
	c.click("[data-row='" + id + "'] input[type=checkbox]")
	c.click("button[name=update]")
	c.wait("document.querySelector('[data-dialog=updateUsers] input[name=name]').value.startsWith('<b>')")
	c.fill("[data-dialog=updateUsers] input[name=name]", "Zyxann")
	c.waitText("[data-changes]", "Zyxann")
	c.click("[data-dialog=updateUsers] button[type=submit]")
	c.waitText("[data-row]", "Zyxann")
	c.shoot("console-users")
	c.noHack()
	// Users are found by name, in the list and in the global search.
	c.open("users?name=zyx")
	c.waitText("[data-row]", id)
	c.waitText("[data-total]", "1 records")
	c.click("header button[name=search]")
	c.fill("input[name=palette]", "zYXa")
	c.waitText("[data-found]", "User "+id)
	c.wait(fmt.Sprintf("(e => e && (e.click(), true))([...document.querySelectorAll('[data-found]')].find(e => e.innerText.includes(%s)))", quote(id)))
	c.wait("location.pathname === '/users/" + id + "'")
	c.open("users?ids=" + id)
	c.click("[data-row='" + id + "'] input[type=checkbox]")
	c.click("button[name=delete]")
	c.waitText("[data-dialog=deleteUsers]", "Delete 1 record(s)?")
	c.click("button[name=confirm-delete]")
	c.wait("!document.querySelector('[data-dialog=deleteUsers]')")
}
