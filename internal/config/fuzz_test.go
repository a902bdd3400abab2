// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"example.org/app/internal/config/property"
)

// FuzzLoad feeds the real tree through its door.
func FuzzLoad(f *testing.F) {
	f.Add("app.service.admin-api.http.port: 1", "app.metrics.open-to=::1")
	f.Add("app: {store: {url: 'postgres://x'}}", "app.store.url=sqlite:?")
	f.Fuzz(func(t *testing.T, yaml, set string) {
		c, err := Load(Options{Home: "/srv/app", File: writeFile(t, yaml), Set: []string{set}})
		if err != nil {
			checkErrorLine(t, err)
			return
		}
		if err := c.Validate(); err != nil {
			t.Errorf("Load returned an invalid configuration: %v", err)
		}
		again := c.Clone()
		if err := again.Merge(c.Select(func(p property.Property) bool { return !p.Sensitive }), MergeOptions{}); err != nil {
			t.Errorf("the values cannot be merged back: %v", err)
		}
		if !reflect.DeepEqual(again, c) {
			t.Errorf("the values change when merged back: %+v, %+v", again, c)
		}
	})
}

func checkErrorLine(t *testing.T, err error) {
	t.Helper()
	var e *property.Error
	if !errors.As(err, &e) || e.Rule == "" {
		t.Errorf("not an *property.Error with a rule: %v", err)
	}
	if strings.ContainsAny(err.Error(), "\n\r\x00\u2028") {
		t.Errorf("not one line: %q", err)
	}
}
