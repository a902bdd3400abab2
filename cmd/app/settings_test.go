// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/setting"
)

// TestSettingsCommand changes and resets settings of a stopped cluster.
func TestSettingsCommand(t *testing.T) {
	s := source{Home: t.TempDir()}
	overrides := func() (text string) {
		err := s.with("", func(_ context.Context, settings *setting.Settings) error {
			_, values := settings.Overrides()
			text = fmt.Sprint(values)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	const capacity = "app.service.admin-api.rate-limiting.capacity"
	if err := (settingsSet{s, []string{capacity + "=77", "app.service.admin-api.log.enabled=false"}}).Run(); err != nil {
		t.Fatal(err)
	}
	if got := overrides(); !strings.Contains(got, "rateLimiting.capacity:77") || !strings.Contains(got, "log.enabled:false") {
		t.Errorf("the settings are %s", got)
	}
	for _, bad := range []string{"app.unknown=1", capacity, capacity + "=x", "app.store.url=x", "app.service.admin-api.rate-limiting.refill-interval-millis=0"} {
		if err := (settingsSet{s, []string{bad}}).Run(); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	if err := (settingsShow{s}).Run(); err != nil {
		t.Error(err)
	}
	if err := (settingsReset{s}).Run(); err != nil {
		t.Fatal(err)
	}
	if got := overrides(); got != "map[]" {
		t.Errorf("after a reset the settings are %s", got)
	}
}

// TestIgnoreClusterSettings changes a setting of a running cluster, starts the program without the
// settings of the cluster, and resets the setting while it runs.
func TestIgnoreClusterSettings(t *testing.T) {
	home := t.TempDir()
	capacity := func(s *server) (n int64) {
		status, body := s.get("/cluster/settings", "app")
		if status == http.StatusTooManyRequests {
			return -1
		}
		var e struct {
			Data struct {
				Settings struct {
					Service struct {
						AdminAPI struct {
							RateLimiting struct{ Capacity int64 }
						}
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &e); status != 200 || err != nil {
			t.Fatalf("%d %s: %v", status, body, err)
		}
		return e.Data.Settings.Service.AdminAPI.RateLimiting.Capacity
	}
	settings := func(want string, args ...string) {
		t.Helper()
		out, code := runApp(t, append([]string{"settings", args[0], "--home", home}, args[1:]...)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("settings %q: exit code %d, %s lacks %q", args, code, out, want)
		}
	}
	stop := func(s *server) {
		t.Helper()
		s.Process.Signal(syscall.SIGTERM)
		if code := s.wait(); code != 0 {
			t.Errorf("exit code %d\n%s", code, s.stderr.String())
		}
	}
	s := run(t, home)
	given := capacity(s)
	settings("revision 1", "set", "app.service.admin-api.rate-limiting.capacity=77")
	for end := time.Now().Add(2 * time.Minute); capacity(s) != 77; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the setting has not reached the server that runs")
		}
	}
	stop(s)
	s = run(t, home, "--ignore-cluster-settings")
	if got := capacity(s); got != given {
		t.Errorf("the capacity is %d in spite of --ignore-cluster-settings, want %d", got, given)
	}
	settings("77", "show")
	settings("revision 2", "reset")
	stop(s)
}
