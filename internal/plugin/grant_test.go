// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestNewGrants(t *testing.T) {
	var many []string
	for i := range maxGrantedHosts + 1 {
		many = append(many, fmt.Sprintf("h%d.example", i))
	}
	for _, tt := range []struct {
		name               string
		permissions, hosts []string
		want, err          string
	}{
		{name: "nothing", want: "nothing"},
		{name: "one permission", permissions: []string{"USER_QUERY"}, want: "the permission USER_QUERY"},
		{name: "order of the table", permissions: []string{"USER_QUERY", "USER_CREATE"}, want: "the permissions USER_CREATE, USER_QUERY"},
		{name: "both", permissions: []string{"USER_QUERY"}, hosts: []string{"B.example.", "a.example:443"}, want: "the permission USER_QUERY and the hosts a.example:443, b.example"},
		{name: "unknown", permissions: []string{"USER_READ"}, err: `permissions: "USER_READ" is not a permission of the admin interface`},
		{name: "pattern", permissions: []string{"USER_*"}, err: `"USER_*" is not a permission`},
		{name: "twice", permissions: []string{"USER_QUERY", "USER_QUERY"}, err: "permissions: USER_QUERY is there twice"},
		{name: "too many permissions", permissions: make([]string, 1000), err: "permissions has 1000 entries"},
		{name: "too many hosts", hosts: many, err: "hosts has 101 entries, at most 100 are allowed"},
		{name: "the same host", hosts: []string{"example.org", "EXAMPLE.org."}, err: `hosts: "EXAMPLE.org." is there twice`},
		{name: "IPv6", hosts: []string{"2001:DB8:0::1", "[::1]:8080", "[::ffff:10.0.0.1]"}, want: "the hosts 10.0.0.1, [2001:db8::1], [::1]:8080"},
		{name: "punycode", hosts: []string{"*.Bücher.example"}, want: "the host *.xn--bcher-kva.example"},
		{name: "every host", hosts: []string{"*", "*:443"}, want: "the hosts *, *:443"},
		{name: "empty host", hosts: []string{""}, err: "it is empty"},
		{name: "scheme", hosts: []string{"https://example.org"}, err: "without scheme, path and user"},
		{name: "path", hosts: []string{"example.org/x"}, err: "without scheme, path and user"},
		{name: "user", hosts: []string{"me@example.org"}, err: "without scheme, path and user"},
		{name: "star inside", hosts: []string{"a.*.example.org"}, err: "the name is not one of a host"},
		{name: "star in a label", hosts: []string{"a*.example.org"}, err: "the name is not one of a host"},
		{name: "star alone below", hosts: []string{"*."}, err: "the name is not one of a host"},
		{name: "star before an address", hosts: []string{"*.10.0.0.1"}, err: "not before an address"},
		{name: "port 0", hosts: []string{"example.org:0"}, err: "the port must be a number from 1 to 65535"},
		{name: "port of five digits", hosts: []string{"example.org:65536"}, err: "the port must be"},
		{name: "no port", hosts: []string{"example.org:"}, err: "the port must be"},
		{name: "port in words", hosts: []string{"example.org:http"}, err: "the port must be"},
		{name: "open bracket", hosts: []string{"[::1"}, err: "the bracket of the address is not closed"},
		{name: "after the bracket", hosts: []string{"[::1]8080"}, err: "comes nothing or a port"},
		{name: "name in brackets", hosts: []string{"[example.org]"}, err: "in brackets stands an IPv6 address"},
		{name: "zone", hosts: []string{"fe80::1%eth0"}, err: "without scheme, path and user"},
		{name: "short address", hosts: []string{"127.1"}, err: "a name does not end in a number"},
		{name: "hexadecimal address", hosts: []string{"0x7f000001"}, err: "a name does not end in a number"},
		{name: "empty label", hosts: []string{"a..example"}, err: "the name is not one of a host"},
		{name: "long", hosts: []string{strings.Repeat("a", 301)}, err: "more than 300 bytes"},
		{name: "long label", hosts: []string{strings.Repeat("a", 64) + ".example"}, err: "the name is not one of a host"},
		{name: "control character", hosts: []string{"exam\x00ple.org"}, err: "the name is not one of a host"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := NewGrants(tt.permissions, tt.hosts, false)
			switch {
			case tt.err == "" && (err != nil || g.String() != tt.want):
				t.Errorf("%s, %v; want %s", g, err, tt.want)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error %v; want %s", err, tt.err)
			}
		})
	}
}

func TestGrantsReach(t *testing.T) {
	for _, tt := range []struct {
		hosts   string
		reaches []string
		refuses []string
	}{
		{"", nil, []string{"http://example.org/", "http://127.0.0.1/"}},
		{
			"example.org",
			[]string{"http://example.org/", "https://EXAMPLE.org:8443/x", "ws://example.org./", "https://me:pw@example.org/"},
			[]string{"http://a.example.org/", "http://example.org.evil.example/", "http://example.org@evil.example/", "http://xexample.org/", "http://127.0.0.1/"},
		},
		{
			"*.example.org",
			[]string{"http://a.example.org/", "http://a.b.EXAMPLE.org./"},
			[]string{"http://example.org/", "http://aexample.org/", "http://example.org.a/", "http://10.0.0.1/"},
		},
		{
			"example.org:443 localhost:8080",
			[]string{"https://example.org/", "wss://example.org/", "http://example.org:443/", "http://localhost:8080/"},
			[]string{"http://example.org/", "https://example.org:8443/", "http://localhost/", "http://127.0.0.1:8080/"},
		},
		{"127.0.0.1", []string{"http://127.0.0.1:1/", "http://[::ffff:127.0.0.1]/"}, []string{"http://localhost/", "http://127.0.0.2/", "http://127.1/", "http://2130706433/", "http://0x7f000001/"}},
		{"[::1]:80", []string{"http://[::1]/", "http://[0:0:0:0:0:0:0:1]:80/"}, []string{"http://[::1]:81/", "http://[::2]/", "http://[::1%25lo]/"}},
		{"bücher.example", []string{"http://xn--bcher-kva.example/", "http://BÜCHER.example/"}, []string{"http://bucher.example/"}},
		{"*", []string{"http://example.org/", "http://10.0.0.1:99/", "http://[::1]/"}, nil},
		{"*:443", []string{"https://example.org/"}, []string{"http://example.org/"}},
	} {
		g, err := NewGrants(nil, strings.Fields(tt.hosts), false)
		if err != nil {
			t.Fatal(err)
		}
		for want, list := range map[bool][]string{true: tt.reaches, false: tt.refuses} {
			for _, text := range list {
				u, err := url.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				if got := g.Reaches(u); got != want {
					t.Errorf("%q reaches %s: %t", tt.hosts, text, got)
				}
			}
		}
	}
}

func TestMissingGrants(t *testing.T) {
	grants := func(permissions, hosts string, java bool) Grants {
		g, err := NewGrants(strings.Fields(permissions), strings.Fields(hosts), java)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, tt := range []struct {
		name       string
		have, want Grants
		missing    string
	}{
		{"nothing", Grants{}, Grants{}, "nothing"},
		{"the same", grants("USER_QUERY", "a.example *.b.example", true), grants("USER_QUERY", "a.example *.b.example", true), "nothing"},
		{"less", grants("USER_QUERY USER_CREATE", "*.example:80 a.example", true), grants("USER_QUERY", "a.b.example:80 a.example:81 *.c.example:80", false), "nothing"},
		{"more", grants("USER_QUERY", "a.example:80 *.b.example", false), grants("USER_QUERY USER_DELETE", "a.example b.example *.example", true), "the permission USER_DELETE and the hosts *.example, a.example, b.example and classes of Java"},
		{"every host", grants("", "*.example", false), grants("", "*", false), "the host *"},
		{"of every host", grants("", "*", false), grants("", "*.example 10.0.0.1 x:1", false), "nothing"},
	} {
		if got := tt.have.Missing(tt.want).String(); got != tt.missing {
			t.Errorf("%s: %s is missing, want %s", tt.name, got, tt.missing)
		}
	}
	both := grants("USER_QUERY", "b.example", false).Union(grants("USER_CREATE USER_QUERY", "a.example b.example", true))
	if got := both.String(); got != "the permissions USER_CREATE, USER_QUERY and the hosts a.example, b.example and classes of Java" {
		t.Error(got)
	}
}

func FuzzHostPattern(f *testing.F) {
	for _, s := range []string{"example.org", "*.example.org:443", "[::1]:80", "127.0.0.1", "*", "bücher.example", "a.b.", "::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseHost(text)
		if err != nil {
			return
		}
		again, err := parseHost(p.String())
		if err != nil || again != p || !p.covers(p) {
			t.Errorf("%q is %q, and that is %q, %v", text, p, again, err)
		}
	})
}
