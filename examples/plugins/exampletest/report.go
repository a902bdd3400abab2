// SPDX-License-Identifier: Apache-2.0

package exampletest

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// AdminReport checks a report of new users as JSON, as CSV that is safe for spreadsheets, and as a
// page.
func AdminReport(t *testing.T, file string) {
	s := Start(t, file, "app.plugin.grants.mode=DECLARED", "app.service.admin-api.default-available-records-per-request=2",
		"app.service.admin-api.max-available-records-per-request=2") // The CSV has several pages.
	const path = "/plugins/endpoints/admin-report"
	if status, body := Admin(t, s, "POST", "/users", `{"id":7,"name":"=1+1, \"Cid\" <b>","password":"secret"}`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	_, body := Admin(t, s, "GET", path+"/days?days=3", "")
	var report struct {
		Data struct {
			Total int
			Days  []struct {
				Date       string
				Registered int
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &report); err != nil || len(report.Data.Days) != 3 || report.Data.Total < 3 || report.Data.Days[0].Registered != 0 {
		t.Fatalf("the report is %s, %v", body, err)
	}
	if status, body := Admin(t, s, "GET", path+"/days?days=93", ""); status != 400 || !strings.Contains(body, "query.days: ") {
		t.Errorf("too many days: %d %s", status, body)
	}
	_, text := Admin(t, s, "GET", path+"/users.csv?days=3", "")
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) != report.Data.Total+1 {
		t.Fatalf("the CSV has %d lines, %v", len(lines), err)
	}
	names := map[string]string{}
	for _, line := range lines[1:] {
		names[line[0]] = line[1]
	}
	if len(names) != report.Data.Total || names["5"] != "Ann" || names["7"] != `'=1+1, "Cid" <b>` {
		t.Errorf("the CSV has %d users; 5 is %q, 7 is %q", len(names), names["5"], names["7"])
	}
	if _, page := Admin(t, s, "GET", path+"/page", ""); !strings.Contains(page, fmt.Sprintf("<h1>%d new users in 30 days</h1>", report.Data.Total)) || !strings.Contains(page, `href="users.csv?days=30"`) {
		t.Errorf("the page is %s", page)
	}
	// The endpoints are described with their permissions.
	if _, body := Admin(t, s, "GET", "/openapi/docs", ""); !strings.Contains(body, `"/plugins/endpoints/admin-report/users.csv"`) {
		t.Error("the report is not described")
	}
}
