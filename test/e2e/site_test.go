// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"testing"

	"example.org/app/internal/app"
	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// TestDocumentationSite finds a property and an operation with the search of the documentation: in
// the console, on the admin port and on disk.
func TestDocumentationSite(t *testing.T) {
	t.Parallel()
	server := apptest.Start(t, role.All)
	folder := filepath.Join(t.TempDir(), "manual")
	if err := app.Documentation().Write(folder); err != nil {
		t.Fatal(err)
	}
	for name, base := range map[string]string{
		"own port":   server.ConsoleURL() + "docs",
		"admin port": server.URL(role.Service) + "/console/docs",
		"disk":       "file://" + folder,
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{t: t, ctx: openBrowser(t), base: base}
			p.problems = watch(p.ctx, base)
			p.open("/index.html")
			p.waitText("h1", "Documentation")
			p.fill("#search", "load-timeout-millis")
			p.waitText("#results li", "app.plugin")
			p.shoot("documentation-search")
			p.click("#results li a")
			p.waitText("h1", "Configuration")
			p.fill("#search", "/users/page")
			p.click("#results li a")
			p.wait("location.hash === '#queryUserPage'")
			p.waitText("h3", "/users/page")
			p.shoot("documentation-operation")
			p.fill("#search", "xyzzy plugh") // words that are on no page
			p.waitText("#count", "Nothing found")
			p.clean()
		})
	}
}
