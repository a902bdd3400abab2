// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.org/app/internal/setting"
)

// TestSettingsCommand changes and takes back settings of a cluster that does not
// run.
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
