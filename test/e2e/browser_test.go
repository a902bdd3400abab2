// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the server from the outside, as users see it: with a real browser and over real
// connections.
package e2e

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

func TestMain(m *testing.M) {
	if set := os.Getenv(nodeVariable); set != "" {
		runNode(set)
		return
	}
	storetest.Main(tests{m})
}

// tests are the tests of the package. programDir exists while they run.
type tests struct{ *testing.M }

func (m tests) Run() int {
	dir, err := os.MkdirTemp("", "app-e2e")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	programDir = dir
	return m.M.Run()
}

// openBrowser starts Chromium with a new profile. The context controls one tab, which is closed
// when the test ends.
func openBrowser(t testing.TB) context.Context {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.WindowSize(1280, 1024),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-gpu", true),
	)
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // Chromium refuses to run its sandbox as root.
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), opts...)
	tab, stopTab := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(tab); err != nil {
			t.Logf("close the browser: %v", err)
		}
		stopTab()
		stopAllocator()
	})
	if err := chromedp.Do(tab, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("start %s: %v", chromium(t), err)
	}
	ctx, cancel := context.WithTimeout(tab, 20*time.Minute) // Limits a browser that hangs, not a slow machine.
	t.Cleanup(cancel)
	return ctx
}

func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	need.Skip(t, "chromium", "make setup found none")
	return ""
}
