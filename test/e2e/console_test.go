// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// page drives the console in a browser.
type page struct {
	t        *testing.T
	ctx      context.Context
	base     string
	problems func() []string
}

// startConsole runs a server that is filled with made-up data.
func startConsole(t *testing.T, set ...string) *apptest.Server {
	t.Helper()
	return apptest.Start(t, role.All, append([]string{
		"app.service.fake.enabled=true", "app.service.fake.user-count=60", "app.service.fake.group-count=3", "app.service.fake.message-count=40",
		"app.service.admin-api.rate-limiting.capacity=1000000", "app.service.admin-api.rate-limiting.initial-tokens=1000000",
		"app.gateway.admin-api.rate-limiting.capacity=1000000", "app.gateway.admin-api.rate-limiting.initial-tokens=1000000",
	}, set...)...)
}

// openConsole opens the console in a browser of its own.
func openConsole(t *testing.T, base string) *page {
	t.Helper()
	p := &page{t: t, ctx: openBrowserFor(t, 20*time.Minute), base: base} // It bounds a browser that hangs, not a slow machine.
	p.problems = watch(p.ctx, strings.TrimSuffix(base, "/"))
	p.open("")
	return p
}

// open goes to an address of the console.
func (p *page) open(path string) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Navigate(p.base+path)); err != nil {
		p.t.Fatalf("open %q: %v", path, err)
	}
}

// login logs in with the form.
func (p *page) login(name, password string) {
	p.t.Helper()
	p.fill("input[name=loginName]", name)
	p.fill("input[name=password]", password)
	p.click("button[type=submit]")
	p.wait("document.querySelector('header')")
}

// eval runs an expression in the page.
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

// quote writes a string as JavaScript does.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// click clicks what a selector finds as soon as it can be clicked.
func (p *page) click(css string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("(e => e && !e.disabled && !e.hasAttribute('data-disabled') && (e.click(), true))(document.querySelector(%s))", quote(css)))
}

// fill gives an input a value as typing does.
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

// waitText waits until the page shows a text.
func (p *page) waitText(css, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("[...document.querySelectorAll(%s)].some(e => e.innerText.includes(%s))", quote(css), quote(text)))
}

// shoot takes a picture if the environment says where to put it.
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

// clean fails the test if the page had problems.
func (p *page) clean() {
	p.t.Helper()
	if list := p.problems(); len(list) > 0 {
		p.t.Errorf("problems of the pages: %q", list)
	}
}

// hack runs if it is taken for HTML.
const hack = `<img src=x onerror="window.hacked=1">`

// TestConsole logs in, creates, finds, changes and deletes a user, keeps the
// session over a reload and ends it.
func TestConsole(t *testing.T) {
	server := startConsole(t)
	for _, at := range []struct{ name, url, id string }{
		{"own port", server.ConsoleURL(), "9007199254740993"}, // 2^53 + 1
		{"admin port", server.URL(role.Service) + "/console/", "9007199254740995"},
	} {
		t.Run(at.name, func(t *testing.T) {
			p := openConsole(t, at.url)
			p.login("app", "app")
			p.wait("document.querySelectorAll('tr[data-node]').length === 2")
			if got := eval[string](p, "document.querySelector('header a[target=_blank]').href"); got != at.url+"docs/" {
				t.Errorf("the documentation is at %q, want %sdocs/", got, at.url)
			}

			p.open("users")
			p.waitText("[data-total]", " records")
			total, id := eval[float64](p, "parseInt(document.querySelector('[data-total]').innerText)"), at.id
			p.click("button[name=create]")
			p.fill("[data-dialog=createUser] input[name=id]", id)
			p.fill("[data-dialog=createUser] input[name=name]", "<b>Ann</b>")
			p.fill("[data-dialog=createUser] textarea[name=intro]", hack)
			p.click("[data-dialog=createUser] button[type=submit]")
			p.waitText("[data-total]", fmt.Sprintf("%.0f records", total+1))

			p.open("users?ids=" + id)
			p.waitText("[data-row]", "<b>Ann</b>")
			p.waitText("[data-row]", hack)
			p.waitText("[data-row]", id)
			p.click("[data-row='" + id + "'] input[type=checkbox]")
			p.click("button[name=update]")
			p.wait("document.querySelector('[data-dialog=updateUsers] input[name=name]').value.startsWith('<b>')")
			p.fill("[data-dialog=updateUsers] input[name=name]", "Ann")
			p.waitText("[data-changes]", "Ann")
			p.click("[data-dialog=updateUsers] button[type=submit]")
			p.waitText("[data-row]", "Ann")
			p.shoot("console-users")

			if eval[bool](p, "'hacked' in window") {
				t.Error("text of a user was run as a script")
			}
			p.open("users?ids=" + id) // A reload keeps the session.
			p.click("[data-row='" + id + "'] input[type=checkbox]")
			p.click("button[name=delete]")
			p.waitText("[data-dialog=deleteUsers]", "Delete 1 record(s)?")
			p.click("button[name=confirm-delete]")
			p.wait("!document.querySelector('[data-dialog=deleteUsers]')")

			p.click("button[name=account]")
			p.click("[data-logout]")
			p.wait("document.querySelector('input[name=loginName]')")
			status := eval[float64](p, fmt.Sprintf("(() => { const x = new XMLHttpRequest(); x.open('HEAD', %s, false); x.send(); return x.status })()", quote(strings.TrimSuffix(at.url, "/")+"/icon.svg")))
			if status != 200 {
				t.Errorf("the files are gone after logging out: %v", status)
			}
			if n := eval[float64](p, "(() => { const x = new XMLHttpRequest(); x.open('GET', document.baseURI + '-/session', false); x.send(); return x.status })()"); n != 204 {
				t.Errorf("the session survived logging out: %v", n)
			}
			p.clean()
		})
	}
}
