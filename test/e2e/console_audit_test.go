// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"example.org/app/internal/role"
)

// consoleAudit finds a change in the audit log with its old and new values, and exports all rows
// that match the filter.
func consoleAudit(c *console, t *testing.T) {
	service := c.server.URL(role.Service)
	const target = 31
	before := fmt.Sprintf("<i>before</i> %s", hack)
	send(t, "PUT", fmt.Sprintf("%s/users?ids=%d", service, target), fmt.Sprintf(`{"name":"first","intro":%s}`, quote(before)))
	send(t, "PUT", fmt.Sprintf("%s/users?ids=%d", service, target), `{"intro":"after"}`)
	for i := range 30 {
		send(t, "PUT", fmt.Sprintf("%s/users?ids=%d", service, target), fmt.Sprintf(`{"name":"name %d"}`, i))
	}

	c.open("")
	c.waitText("[data-latest=updateUsers]", fmt.Sprintf("Update User %d: Name", target))
	c.open(fmt.Sprintf("audit?targetId=%d&operations=updateUsers&size=50", target))
	c.waitText("[data-total]", "32 records")
	c.click("tbody tr:nth-child(31) button[aria-label^=Details]")
	c.waitText("[data-audit] [data-field=intro] .removed", before)
	c.waitText("[data-audit] [data-field=intro] .added", "after")
	c.shoot("console-audit-detail")
	c.noHack()

	// The export contains all matching rows, not only one page.
	send(t, "PUT", service+"/cluster/settings", `{"service":{"adminApi":{"maxAvailableRecordsPerRequest":12}}}`)
	saved := c.downloads()
	c.open(fmt.Sprintf("audit?targetId=%d&operations=updateUsers", target))
	c.waitText("[data-total]", "32 records")
	c.click("button[name=export]")
	content := string(saved("Audit log.csv"))
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(content, "\ufeff"))).ReadAll()
	if err != nil || len(rows) != 33 {
		t.Errorf("the export has %d lines, want 33 (%v)", len(rows), err)
	}
	// The page did not buffer the export, but streamed it to the storage of the browser.
	size, err := chromedp.Run(c.ctx, chromedp.Evaluate[float64](`(async () => {
		let size = 0
		for await (const [name, file] of (await navigator.storage.getDirectory()).entries()) if (name.startsWith('export-')) size += (await file.getFile()).size
		return size
	})()`, chromedp.EvalAwaitPromise))
	if err != nil || int(size) != len(content) {
		t.Errorf("the storage of the browser has %v bytes of exports (%v), want %d", size, err, len(content))
	}
	send(t, "PUT", service+"/cluster/settings", `{"service":{"adminApi":{"maxAvailableRecordsPerRequest":1000}}}`)
}
