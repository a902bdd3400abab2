// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
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

// TestProperties pins name, type, default and flags of every property: what
// operators, scripts and the settings interface rely on. M is mutable, G
// global, S sensitive, H hidden.
func TestProperties(t *testing.T) {
	adminAPI := func(role, port string) []string {
		lines := []string{
			"enabled boolean true -",
			"use-authentication boolean true -",
			"http.host string 0.0.0.0 -",
			"http.port int " + port + " -",
			"http.connect-timeout-millis int 30000 -",
			"http.idle-timeout-millis int 180000 -",
			"http.request-read-timeout-millis int 180000 -",
			"http.max-request-body-size-bytes int 10485760 -",
			"http.ssl.enabled boolean false H",
			"http.ssl.certificate-file string  H",
			"http.ssl.private-key-file string  H",
			"rate-limiting.capacity int 50 MG",
			"rate-limiting.initial-tokens int 50 MG",
			"rate-limiting.tokens-per-period int 50 MG",
			"rate-limiting.refill-interval-millis int 1000 MG",
			"log.enabled boolean true MG",
			"log.log-request-params boolean true MG",
			"openapi.enabled boolean true M",
		}
		for i := range lines {
			lines[i] = "app." + role + ".admin-api." + lines[i]
		}
		return lines
	}
	const levels = "[{block-duration-millis: 600000, reduce-one-trigger-time-interval-millis: 60000, trigger-times-threshold: 5}, " +
		"{block-duration-millis: 1800000, reduce-one-trigger-time-interval-millis: 60000, trigger-times-threshold: 1}, " +
		"{block-duration-millis: 3600000, reduce-one-trigger-time-interval-millis: 60000, trigger-times-threshold: 1}]"
	blocklist := func(name string) []string {
		lines := []string{"enabled boolean true -", "sync-blocklist-interval-millis int 1000 -"}
		for _, cause := range []string{"corrupted-frame", "corrupted-request", "frequent-request"} {
			rule := "auto-block." + cause + "."
			lines = append(lines,
				rule+"enabled boolean true -",
				rule+"block-levels list of object "+levels+" -",
				rule+"block-levels[?].block-duration-millis long 600000 -",
				rule+"block-levels[?].reduce-one-trigger-time-interval-millis int 60000 -",
				rule+"block-levels[?].trigger-times-threshold int 1 -",
			)
		}
		for i := range lines {
			lines[i] = "app.security.blocklist." + name + "." + lines[i]
		}
		return lines
	}
	want := slices.Concat([]string{
		"app.store.url string sqlite:data/app.db SH",
		"app.store.max-connections int 10 -",
		"app.store.timeout-millis int 10000 -",
		"app.store.lock-timeout-millis int 5000 -",
		"app.logging.console.enabled boolean true -",
		"app.logging.console.level enum INFO -",
		"app.logging.console.format enum TEXT -",
		"app.logging.file.enabled boolean true -",
		"app.logging.file.level enum INFO -",
		"app.logging.file.file-path string @HOME/log/@ROLE.log -",
		"app.logging.file.max-files int 320 -",
		"app.logging.file.max-file-size-mb int 32 -",
		"app.logging.file.compression.enabled boolean true -",
		"app.logging.audit.file-path string @HOME/log/@ROLE-admin-api.log -",
		"app.metrics.open-to list of string [] M",
		"app.security.password.initial-root-password string app S",
		"app.security.password.user-password-encoding-algorithm enum SALTED_SHA256 -",
		"app.security.password.admin-password-encoding-algorithm enum BCRYPT -",
		"app.security.password.bcrypt-cost int 10 -",
	}, blocklist("ip"), blocklist("user-id"), []string{
		"app.shutdown.job-graceful-timeout-millis long 60000 -",
		"app.shutdown.job-forced-timeout-millis long 90000 -",
	}, adminAPI("gateway", "9510"), adminAPI("service", "8510"), []string{
		"app.service.admin-api.allow-delete-without-filter boolean false MG",
		"app.service.admin-api.max-available-records-per-request int 1000 MG",
		"app.service.admin-api.default-available-records-per-request int 10 MG",
	})
	var got []string
	for _, p := range Properties() {
		flags := ""
		for flag, on := range map[string]bool{"M": p.Mutable, "G": p.Global, "S": p.Sensitive, "H": p.Hidden} {
			if on {
				flags += flag
			}
		}
		flags = strings.Join(slices.SortedFunc(strings.SplitSeq(flags, ""), func(a, b string) int {
			return strings.Index("MGSH", a) - strings.Index("MGSH", b)
		}), "")
		if flags == "" {
			flags = "-"
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", p.Name, p.Type, p.Default, flags))
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("property %d differs\n got: %q\nwant: %q", i, got[min(i, len(got)):], want[min(i, len(want)):])
		}
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
	c := Default()
	got := c.Select(func(p Property) bool { return p.Mutable && !p.Global })
	api := map[string]any{
		"http": map[string]any{"ssl": map[string]any{}}, "rateLimiting": map[string]any{},
		"log": map[string]any{}, "openapi": map[string]any{"enabled": true},
	}
	blocklist := map[string]any{"autoBlock": map[string]any{
		"corruptedFrame": map[string]any{}, "corruptedRequest": map[string]any{}, "frequentRequest": map[string]any{},
	}}
	want := map[string]any{
		"store":    map[string]any{},
		"logging":  map[string]any{"console": map[string]any{}, "file": map[string]any{"compression": map[string]any{}}, "audit": map[string]any{}},
		"metrics":  map[string]any{"openTo": []any{}},
		"security": map[string]any{"password": map[string]any{}, "blocklist": map[string]any{"ip": blocklist, "userId": blocklist}},
		"shutdown": map[string]any{},
		"gateway":  map[string]any{"adminApi": api},
		"service":  map[string]any{"adminApi": api},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
