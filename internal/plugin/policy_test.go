// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"reflect"
	"testing"

	"example.org/app/internal/config"
)

// TestEveryPointHasItsSettings proves that each point is led by the settings that have its name,
// and that no settings lead none.
func TestEveryPointHasItsSettings(t *testing.T) {
	fields := reflect.TypeFor[config.ExtensionPoints]()
	if fields.NumField() != len(Points) {
		t.Errorf("there are %d settings for %d points", fields.NumField(), len(Points))
	}
	for _, p := range Points {
		var s config.Plugin
		field := reflect.ValueOf(&s.ExtensionPoints).Elem().FieldByName(p.Name)
		if !field.IsValid() {
			t.Errorf("%s has no settings", p.Name)
			continue
		}
		want := config.ExtensionPoint{TimeoutMillis: 7, OnFailure: config.FailureIgnore}
		field.Set(reflect.ValueOf(want))
		if got := settingsOf(&s, p); got != want {
			t.Errorf("%s is led by %+v", p.Name, got)
		}
	}
}
