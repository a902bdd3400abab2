// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
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
	tr := configTree()
	for _, p := range Properties() {
		if !strings.HasSuffix(p.Doc, ".") || strings.Contains(p.Doc, "\n") {
			t.Errorf("%s: the documentation %q is not a sentence", p.Name, p.Doc)
		}
		name := strings.ReplaceAll(p.Name, "[?]", "[0]")
		for _, spelling := range []string{name, "app." + strings.ReplaceAll(p.JSONPath, "[?]", "[0]")} {
			path, _ := strings.CutPrefix(spelling, "app.")
			patch, err := tr.newPatch().descend(path, input{}, assignment{})
			if err != nil || patch.node.name != p.Name {
				t.Errorf("%s: the spelling %q leads elsewhere: %v", p.Name, spelling, err)
			}
		}
		path, ok := tr.root.matchEnv(strings.TrimPrefix(strings.ReplaceAll(p.Env, "?", "0"), "APP_"))
		if !ok || "app."+path != name {
			t.Errorf("%s: the environment variable %s leads to %q", p.Name, p.Env, path)
		}
	}
	tr.root.walk(func(n *node) {
		if n.kind == kindGroup && !strings.HasSuffix(n.prop.Doc, ".") {
			t.Errorf("%s: the documentation %q is not a sentence", n.name, n.prop.Doc)
		}
	})
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

	s := sample{Labels: map[string]string{"a": "b"}, Plugins: []samplePlugin{{Tags: []string{"x"}}}}
	copied := s
	deepCopy(reflect.ValueOf(&copied).Elem())
	copied.Labels["a"], copied.Plugins[0].Tags[0] = "c", "y"
	if s.Labels["a"] != "b" || s.Plugins[0].Tags[0] != "x" {
		t.Error("a change of the copy changes the original")
	}
}

// TestDefaultsAreNotShared proves that a list default belongs to its owner.
func TestDefaultsAreNotShared(t *testing.T) {
	tr := sampleTree(t)
	var a, b sample
	tr.setDefaults(reflect.ValueOf(&a).Elem())
	a.Names[0], a.Levels[0].Times = "changed", 99
	tr.setDefaults(reflect.ValueOf(&b).Elem())
	if b.Names[0] != "a" || b.Levels[0].Times != 5 {
		t.Error("a change reaches the defaults")
	}
}

func TestValidateByHand(t *testing.T) {
	c := Default()
	c.Logging.Console.Level = "LOUD"
	wantError(t, c.Validate(), `app.logging.console.level = "LOUD": must be one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL`)
	c = Default()
	c.Store.URL = ""
	wantError(t, c.Validate(), "app.store.url = ***: must not be empty")

	tr := sampleTree(t)
	var s sample
	tr.setDefaults(reflect.ValueOf(&s).Elem())
	s.Labels = map[string]string{"b": "", "a": ""}
	s.Ports = []int32{1, 10}
	wantError(t, tr.validate(reflect.ValueOf(&s).Elem()), `app.ports[1] = "10": must be between 1 and 9`)
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
	keep := func(p Property) bool { return p.Mutable && !p.Global }
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
