// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// TestDocumentationPage opens the API documentation of both roles, logs in and sends a request from
// the page.
func TestDocumentationPage(t *testing.T) {
	t.Parallel()
	server := apptest.Start(t, role.All)
	for _, tt := range []struct {
		role           role.Role
		tag, operation string
		want           string
	}{
		{role.Service, "AdminController", "queryAdmins", `"loginName": "app"`},
		{role.Service, "GroupBlocklistController", "deleteGroupBlockedUsers", `"deletedCount": 0`}, // The page fills in composite keys.
		{role.Gateway, "SystemController", "queryInfos", `"version": "dev"`},
	} {
		t.Run(string(tt.role), func(t *testing.T) {
			ctx := openBrowser(t)
			url := server.URL(tt.role)
			problems := watch(ctx, url)
			op := "#operations-" + tt.tag + "-" + tt.operation
			err := chromedp.Do(
				ctx,
				chromedp.Navigate(url+"/openapi/ui"),
				click(".btn.authorize"),
				write(".auth-container input[name=username]", "app"),
				write(".auth-container input[name=password]", "app"),
				click(".auth-btn-wrapper button.authorize"),
				click(".auth-btn-wrapper button.btn-done"),
				click("#operations-tag-"+tt.tag),
				click(op+" .opblock-summary-control"),
				click(op+" .try-out__btn"),
				click(op+" .execute"),
			)
			if err != nil {
				t.Fatalf("drive the page: %v", err)
			}
			title := text(t, ctx, ".info .title")
			status := text(t, ctx, op+" .live-responses-table tbody .response-col_status")
			body := text(t, ctx, op+" .live-responses-table .highlight-code")
			shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if dir := os.Getenv("APP_TEST_SCREENSHOTS"); dir != "" {
				if err := os.WriteFile(dir+"/docs-"+tt.role.Name()+".png", shot, 0o600); err != nil {
					t.Error(err)
				}
			}
			if !strings.Contains(title, "app-"+tt.role.Name()) {
				t.Errorf("title %q", title)
			}
			if !strings.HasPrefix(strings.TrimSpace(status), "200") || !strings.Contains(body, tt.want) {
				t.Errorf("the page shows status %q and body %q", status, body)
			}
			if list := problems(); len(list) > 0 {
				t.Errorf("problems of the page: %q", list)
			}
		})
	}
}

func click(css string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.CSS(css), chromedp.NodeVisible)
}

func write(css, text string) chromedp.Action[chromedp.Void] {
	return chromedp.SendKeys(chromedp.CSS(css), text, chromedp.NodeVisible)
}

func text(t *testing.T, ctx context.Context, css string) string {
	t.Helper()
	s, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS(css), chromedp.NodeVisible))
	if err != nil {
		t.Fatalf("read %s: %v", css, err)
	}
	return s
}

// watch records what a page must not do: send requests to other hosts, or log errors.
func watch(ctx context.Context, own ...string) (problems func() []string) {
	var mu sync.Mutex
	var list []string
	add := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, s)
	}
	requests, messages := chromedp.Events(ctx, network.RequestWillBeSent), chromedp.Console(ctx)
	go func() {
		for e, err := range requests {
			if err != nil {
				return // The browser is closed.
			}
			u := e.Request.URL
			inside := func(host string) bool { return strings.HasPrefix(u, host+"/") }
			if !slices.ContainsFunc(own, inside) && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:") {
				add("request to " + u)
			}
		}
	}()
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == "error" {
				add(m.String())
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), list...)
	}
}
