// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"net/http"
	"strings"
	"testing"

	"example.org/app/internal/app"
	"example.org/app/internal/app/apptest"
	"example.org/app/internal/config"
	"example.org/app/internal/role"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

// TestFakeData starts a service on an empty database, which it fills, and others
// on the same database, which leave it alone.
func TestFakeData(t *testing.T) {
	need.Time(t)
	for name, url := range map[string]string{"SQLite": storetest.MigratedSQLiteURL(t), "PostgreSQL": storetest.MigratedURL(t)} {
		t.Run(name, func(t *testing.T) {
			set := []string{
				"app.store.url=" + url, "app.service.fake.enabled=true", "app.service.fake.user-count=200", "app.service.fake.group-count=3",
				"app.service.fake.message-count=50",
			}
			t.Run("first", func(t *testing.T) { wantFake(t, apptest.Start(t, []role.Role{role.Service}, set...)) })
			t.Run("second", func(t *testing.T) { wantFake(t, apptest.Start(t, []role.Role{role.Service}, set...)) })
			c, err := config.Load(config.Options{Home: t.TempDir(), Set: set})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := app.Fake(t.Context(), app.FakeOptions{Config: c}); err == nil || !strings.Contains(err.Error(), "not empty") {
				t.Errorf("got %v", err)
			}
			if _, err := app.Fake(t.Context(), app.FakeOptions{Config: c, Clear: true}); err != nil {
				t.Error(err)
			}
		})
	}
}

func wantFake(t *testing.T, a *apptest.Server) {
	t.Helper()
	for path, want := range map[string]string{
		"/users/page?size=1": `"total":200`, "/groups/members/page?groupIds=1&size=1": `"total":20`, "/messages/page?size=1": `"total":50`,
		"/users/relationships/friend-requests/page?recipientId=1&size=1": `"total":20`,
	} {
		if status, body := get(t, a.URL(role.Service)+path, "guest:guest"); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s, want %s", path, status, body, want)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, a.URL(role.Service)+"/users?ids=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("guest", "guest")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the guest deletes a user: %s", resp.Status)
	}
}
