// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// downloads makes the browser save files in a folder of the test and returns a function that waits
// for one of them.
func (p *page) downloads() func(name string) []byte {
	p.t.Helper()
	dir := p.t.TempDir()
	if _, err := chromedp.Call(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir}); err != nil {
		p.t.Fatal(err)
	}
	return func(name string) []byte {
		p.t.Helper()
		for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && len(data) > 0 {
				return data
			}
			if time.Now().After(deadline) {
				found, _ := filepath.Glob(filepath.Join(dir, "*"))
				p.t.Fatalf("%s was not downloaded, only %q; the page has %q", name, found, eval[string](p, "document.body.innerText"))
			}
		}
	}
}

// consoleRecordings starts a flight recording with its own settings, stops it, downloads it in
// every format and deletes it.
func consoleRecordings(c *console, t *testing.T) {
	saved := c.downloads()
	c.open("recordings")
	c.waitText("[data-recordings]", "No recordings.")
	if n := eval[float64](c.page, "document.querySelectorAll('[data-recordings]').length"); n != 1 {
		t.Errorf("the nodes of one process are shown as %v", n)
	}
	const form = "[data-dialog=startRecording] "
	c.click("[name=start-recording]")
	c.fill(form+"[name=description]", hack)
	c.fill(form+"[name=durationSeconds]", "600")
	c.waitText(form, "10 min")
	c.click(form + "[name='customSettings.add']")
	c.fill(form+"[name='customSettings.key.0']", "app.SqlTransaction#threshold")
	c.fill(form+"[name='customSettings.value.0']", "soon")
	c.click(form + "[name=confirm-start]")
	c.waitText(form+"[role=alert]", "app.SqlTransaction#threshold")
	c.refused("400 (Bad Request)")
	c.fill(form+"[name='customSettings.value.0']", "1 ms")
	c.click(form + "[name='customSettings.add']")
	c.fill(form+"[name='customSettings.key.1']", "go.ExecutionTrace#enabled")
	c.fill(form+"[name='customSettings.value.1']", "true")
	c.click(form + "[name=confirm-start]")
	c.waitText("[data-recording='1'][data-state=RUNNING]", hack)

	c.click("[data-recording='1'] [name=stop-recording]")
	c.click("[data-stop] [name=stop-and-download]")
	if data := saved("1.jfr"); !bytes.HasPrefix(data, []byte("FLR\x00")) {
		t.Errorf("1.jfr begins with %q", data[:min(len(data), 8)])
	}
	c.wait("document.querySelector('[data-recording=\"1\"][data-state=CLOSED]')")
	c.click("[data-recording='1'] [name=download-recording]")
	c.wait("document.querySelectorAll('[data-form]').length === 7")
	forms := eval[[]string](c.page, "[...document.querySelectorAll('[data-form]')].map(e => e.dataset.form)")
	for _, kind := range forms[1:] {
		c.wait("!document.querySelector('[data-recording=\"1\"] [data-loading=true]')")
		// A closing menu still has its items.
		c.wait("(b => b.getAttribute('aria-expanded') === 'true' ? document.querySelector('[data-form=" + kind + "]') : (b.click(), false))(document.querySelector('[name=download-recording]'))")
		c.click("[data-form=" + kind + "]")
		name, magic := "1."+kind+".pprof", []byte{0x1f, 0x8b}
		if kind == "trace" {
			name, magic = "1.trace", []byte("go 1.")
		}
		if data := saved(name); !bytes.HasPrefix(data, magic) {
			t.Errorf("%s begins with %q", name, data[:min(len(data), 8)])
		}
	}
	c.noHack()
	c.click("[data-recording='1'] [name=delete-recording]")
	c.click("[name=confirm-delete]")
	c.waitText("[data-recordings]", "No recordings.")
}
