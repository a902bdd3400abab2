// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"example.org/app/internal/role"
)

// devTools is the window of Chromium's DevTools, controlled by mouse and keyboard events.
type devTools struct {
	t   *testing.T
	ctx context.Context
}

// search defines find(css, text), which returns the positions of the visible elements that match a
// selector and a text, in all shadow trees.
const search = `
const all = function* (root) {
  for (const e of root.querySelectorAll('*')) {
    yield e;
    if (e.shadowRoot) yield* all(e.shadowRoot);
  }
};
const find = (css, text) => [...all(document)].filter((e) => e.matches(css) && e.textContent.trim().includes(text) && e.checkVisibility()).map((e) => {
  const r = e.getBoundingClientRect();
  return { x: r.x + r.width / 2, y: r.y + r.height / 2, text: e.textContent.trim() };
}).filter((e) => e.x > 0 && e.y > 0);
`

// element is a visible element.
type element struct {
	X, Y float64
	Text string
}

func (d *devTools) find(css, text string) []element {
	d.t.Helper()
	list, err := chromedp.Run(d.ctx, chromedp.Evaluate[[]element](fmt.Sprintf("(() => { %s return find(%q, %q); })()", search, css, text)))
	if err != nil {
		d.t.Fatalf("look for %s with %q: %v", css, text, err)
	}
	return list
}

// patience is the time limit for the window to show something.
const patience = 90 * time.Second

// until waits until an element exists, or does not, and reports whether that happened in time.
func (d *devTools) until(there bool, css, text string, patience time.Duration) ([]element, bool) {
	d.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if list := d.find(css, text); (len(list) > 0) == there {
			return list, true
		}
	}
	return nil, false
}

// await waits for an element.
func (d *devTools) await(css, text string) element {
	d.t.Helper()
	list, ok := d.until(true, css, text, patience)
	if !ok {
		d.fail("%s with %q does not appear", css, text)
	}
	return list[0]
}

// openFile opens a file by its name. The window does not show when it starts to handle keys, so
// they are repeated.
func (d *devTools) openFile(name string) {
	d.t.Helper()
	for range 10 {
		d.do(chromedp.KeyEvent("p", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
		if _, ok := d.until(true, "[role=dialog][aria-label='Quick open']", "", patience/10); ok {
			d.do(chromedp.KeyEvent(name))
			d.await("[role=option]", name)
			d.do(chromedp.KeyEvent(kb.Enter))
			return
		}
	}
	d.fail("files cannot be opened")
}

// fail fails the test with the text of the window.
func (d *devTools) fail(format string, args ...any) {
	d.t.Helper()
	var shown []string
	for _, e := range d.find("span, div.cm-line, button, [role=tab], [role=treeitem]", "") {
		shown = append(shown, e.Text)
	}
	d.t.Fatalf(format+"; there are: %s", append(args, strings.Join(shown, " | "))...)
}

func (d *devTools) do(actions ...chromedp.Action[chromedp.Void]) {
	d.t.Helper()
	if err := chromedp.Do(d.ctx, actions...); err != nil {
		d.t.Fatal(err)
	}
}

func (d *devTools) click(e element) {
	d.t.Helper()
	d.do(chromedp.MouseClickXY(e.X, e.Y))
}

// TestDevTools opens the DevTools of Chromium on a plugin by the link in the server's log, finds
// the source, sets a breakpoint and stops there.
func TestDevTools(t *testing.T) {
	t.Parallel()
	s, port, log := startDebugged(t)
	link := loggedLink(t, log)
	var list []struct {
		DevtoolsFrontendURL string `json:"devtoolsFrontendUrl"`
	}
	getJSON(t, "http://localhost:"+port+"/json/list", &list)
	if len(list) != 1 || list[0].DevtoolsFrontendURL != link {
		t.Errorf("the log has the link %s, the list has %v", link, list)
	}
	d := &devTools{t, openBrowser(t)}
	d.do(chromedp.Navigate(link))
	d.click(d.await("[role=tab]", "Sources"))
	d.openFile("guard.js")
	d.await(".cm-line", "this.#seen++")
	line := 1 + strings.Count(guard[:strings.Index(guard, "this.#seen++")], "\n")
	d.click(d.await(".cm-lineNumbers .cm-gutterElement", strconv.Itoa(line)))
	d.await(".cm-breakpoint", strconv.Itoa(line))

	answered := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(role.Service)+"/plugins", nil)
		if err == nil {
			req.SetBasicAuth("app", "app")
			var resp *http.Response
			if resp, err = http.DefaultClient.Do(req); err == nil {
				err = resp.Body.Close()
			}
		}
		answered <- err
	}()
	d.await("*", "Paused on breakpoint")
	d.await(".cm-executionLine", "this.#seen++")
	d.await("[role=treeitem]", "action")
	if err := <-answered; err != nil {
		t.Error(err)
	}
	d.do(chromedp.KeyEvent(kb.F8))
	if _, ok := d.until(false, ".cm-executionLine", "", patience); !ok {
		d.fail("the plugin does not go on")
	}
}

var debugLink = regexp.MustCompile(`a plugin waits for a debugger.*(devtools://[^"\s]+)`)

// loggedLink waits for the link to the debugger in a log, which is written asynchronously, and
// returns it.
func loggedLink(t *testing.T, log string) string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(log)
		if found := debugLink.FindSubmatch(text); found != nil {
			return string(found[1])
		}
		if time.Now().After(end) {
			t.Fatalf("the log has no link to the debugger: %s, %v", text, err)
		}
	}
}

func getJSON(t *testing.T, url string, into any) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}
