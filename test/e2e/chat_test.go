// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestTenMinutes runs the commands of the first chapter of the README as printed; only the
// addresses differ.
func TestTenMinutes(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(readme), "## Ten minutes")
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(chapter, -1)
	if len(blocks) != 3 {
		t.Fatalf("the chapter has %d blocks of commands, want: start, users, plugin", len(blocks))
	}

	// make run builds bin/app and runs it with ARGS.
	dir := t.TempDir()
	installApp(t, dir)
	found := regexp.MustCompile(`^make run ARGS='(.*)'\n$`).FindStringSubmatch(blocks[0][1])
	if found == nil {
		t.Fatalf("the first block is %q", blocks[0][1])
	}
	screen := &terminal{}
	startDev(t, dir, "bin/app all "+found[1]+freePorts, screen)
	hosts := strings.NewReplacer("localhost:8510", screen.wait(t, `service  admin interface  http://(\S+)`))
	server := screen.wait(t, `clients +(ws://\S+)`)

	run(t, dir, hosts.Replace(blocks[1][1]), `"code":1000`)
	ann := openBrowser(t)
	bob, closeTab := chromedp.NewContext(ann)
	defer closeTab()
	chats := []*chatPage{{t, ann}, {t, bob}}
	chats[0].login(server, "11", "12")
	chats[1].login(server, "12", "11")
	chats[0].send("hello Bob")
	chats[1].await("#messages", "11: hello Bob")
	chats[1].send("hello <b>Ann</b> 😀")
	chats[0].await("#messages", "12: hello <b>Ann</b> 😀")

	out := run(t, dir, hosts.Replace(blocks[2][1]), "")
	_, query, _ := strings.Cut(blocks[2][1], "\nEND\n")
	for end := time.Now().Add(patience); !strings.Contains(out, `"state":"STARTED"`); time.Sleep(50 * time.Millisecond) {
		if out = run(t, dir, hosts.Replace(query), ""); time.Now().After(end) {
			t.Fatalf("the plugin is not started: %s", out)
		}
	}
	chats[0].send("cheap spam")
	chats[0].await("#messages .error", "not sent: 5010 no spam, please")
	chats[0].send("good bye")
	chats[1].await("#messages", "11: good bye")
	if text := chats[1].text("#messages"); strings.Contains(text, "cheap") {
		t.Errorf("Bob reads %q", text)
	}

	// A wrong password, and a login that closes the user's other session.
	chats[1].do(`document.querySelector('#login [name=password]').value = 'wrong'; document.querySelector('#login button').click()`)
	chats[1].await("#status", "login refused: 2011")
	chats[1].login(server, "11", "12")
	chats[0].await("#status", "another tab or device logged in")
}

// freePorts are flags that let a server choose free ports.
const freePorts = " --set app.service.admin-api.http.port=0 --set app.gateway.admin-api.http.port=0 --set app.gateway.websocket.port=0 --set app.gateway.tcp.port=0" +
	" --set app.service.admin-api.http.host=127.0.0.1 --set app.gateway.admin-api.http.host=127.0.0.1 --set app.gateway.websocket.host=127.0.0.1" +
	" --set app.health-check.cpu.unhealthy-load-threshold-percentage=100"

// run runs commands in a folder. Each line that they print must contain want.
func run(t *testing.T, dir, commands, want string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-ec", commands)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) {
		t.Fatalf("%s\n%v\n%s", commands, err, out)
	}
	return string(out)
}

// A chatPage is a tab that shows examples/chat.
type chatPage struct {
	t   *testing.T
	ctx context.Context
}

func (p *chatPage) login(server, user, to string) {
	p.t.Helper()
	path, err := filepath.Abs("../../examples/chat/index.html")
	if err != nil {
		p.t.Fatal(err)
	}
	address := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"server": {server}, "user": {user}, "to": {to}, "password": {"123"}}.Encode()}
	if err := chromedp.Do(p.ctx, chromedp.Navigate(address.String()), click("#login button")); err != nil {
		p.t.Fatal(err)
	}
	p.await("#status", "logged in as "+user)
}

func (p *chatPage) send(text string) {
	p.t.Helper()
	// The field still contains the refused text.
	p.do(`document.querySelector('#chat [name=text]').value = ''`)
	if err := chromedp.Do(p.ctx, write("#chat [name=text]", text), click("#chat button")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *chatPage) do(script string) {
	p.t.Helper()
	if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](script)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *chatPage) text(css string) string {
	p.t.Helper()
	s, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`[...document.querySelectorAll(`+"`"+css+"`"+`)].map((e) => e.value ?? e.innerText).join('\n')`))
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// await waits until an element shows a text.
func (p *chatPage) await(css, want string) {
	p.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(p.text(css), want); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%s never shows %q but %q", css, want, p.text(css))
		}
	}
}
