// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"example.org/app/internal/config/property"
)

func TestDefaultIsValid(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if c.Service.AdminAPI.HTTP.Port != 8510 || c.Gateway.AdminAPI.HTTP.Port != 9510 {
		t.Errorf("got the ports %d and %d", c.Service.AdminAPI.HTTP.Port, c.Gateway.AdminAPI.HTTP.Port)
	}
	if c.Store.URL.Reveal() != "sqlite:data/app.db" || c.Security.Password.InitialRootPassword.Reveal() != "app" {
		t.Error("wrong default of a secret")
	}
}

// TestPropertiesAreComplete proves that each property, now and later, can be
// read about and set by each of its names.
func TestPropertiesAreComplete(t *testing.T) {
	if err := configTree().Check(); err != nil {
		t.Error(err)
	}
}

func TestClone(t *testing.T) {
	c := Default()
	c.Metrics.OpenTo = []string{"10.0.0.0/8"}
	clone := c.Clone()
	if !reflect.DeepEqual(c, clone) {
		t.Error("the clone differs")
	}
	clone.Metrics.OpenTo[0] = "::1"
	clone.Store.MaxConnections = 99
	if c.Metrics.OpenTo[0] != "10.0.0.0/8" || c.Store.MaxConnections != 10 {
		t.Error("a change of the clone changes the original")
	}
}

func TestValidateByHand(t *testing.T) {
	c := Default()
	c.Logging.Console.Level = "LOUD"
	wantError(t, c.Validate(), `app.logging.console.level = "LOUD": must be one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL`)
	c = Default()
	c.Store.URL = ""
	wantError(t, c.Validate(), "app.store.url = ***: must not be empty")
}

func TestNetworks(t *testing.T) {
	m := Metrics{OpenTo: []string{"10.1.2.3/8", "127.0.0.1", "::1", "::ffff:192.0.2.1", "bad"}}
	want := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32"),
		netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("192.0.2.1/32"),
	}
	if got := m.Networks(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSelect(t *testing.T) {
	keep := func(p property.Property) bool { return p.Mutable && !p.Global }
	selected := Default().Select(keep)
	for _, p := range Properties() {
		if strings.Contains(p.Name, "[?]") {
			continue
		}
		segments := strings.Split(p.JSONPath, ".")
		group := selected
		for _, segment := range segments[:len(segments)-1] {
			inner, ok := group[segment].(map[string]any)
			if !ok {
				t.Fatalf("%s: the group %q is missing", p.Name, segment)
			}
			group = inner
		}
		got, ok := group[segments[len(segments)-1]]
		if ok != keep(p) || ok && !reflect.DeepEqual(got, Default().Value(p)) {
			t.Errorf("%s: selected %v as %v", p.Name, ok, got)
		}
	}
}
