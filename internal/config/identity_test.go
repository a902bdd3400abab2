// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestIdentityProperties pins name, type, default and flags of the properties of logins. M is
// mutable, G global, S sensitive, H hidden.
func TestIdentityProperties(t *testing.T) {
	want := []string{
		"enabled boolean true MG",
		"type enum PASSWORD ",
		"jwt.authentication.expectation.custom-payload-claims map of string {authenticated: true} ",
		"jwt.verification.issuer string  ",
		"jwt.verification.audience string  ",
		"jwt.verification.custom-payload-claims map of string {} ",
	}
	for _, name := range []string{"rsa256", "rsa384", "rsa512", "ps256", "ps384", "ps512", "ecdsa256", "ecdsa384", "ecdsa512", "hmac256", "hmac384", "hmac512"} {
		path := ".pem-file-path"
		if strings.HasPrefix(name, "hmac") {
			path = ".file-path"
		}
		want = append(want, "jwt.algorithm."+name+path+" string  ", "jwt.algorithm."+name+".p12.file-path string  ",
			"jwt.algorithm."+name+".p12.password string  S", "jwt.algorithm."+name+".p12.key-alias string  ")
	}
	want = append(want,
		"http.request.url string  ",
		"http.request.headers map of string {} S",
		"http.request.http-method enum GET ",
		"http.request.timeout-millis int 30000 ",
		"http.authentication.response-expectation.status-codes list of string 2?? ",
		"http.authentication.response-expectation.headers map of string {} ",
		"http.authentication.response-expectation.body-fields map of string {authenticated: true} ",
		"ldap.base-dn string  ",
		"ldap.admin.host string localhost ",
		"ldap.admin.port int 389 ",
		"ldap.admin.username string  ",
		"ldap.admin.password string  S",
		"ldap.admin.ssl.enabled boolean false H",
		"ldap.admin.ssl.ca-file string  H",
		"ldap.admin.ssl.certificate-file string  H",
		"ldap.admin.ssl.private-key-file string  H",
		"ldap.user.host string localhost ",
		"ldap.user.port int 389 ",
		"ldap.user.ssl.enabled boolean false H",
		"ldap.user.ssl.ca-file string  H",
		"ldap.user.ssl.certificate-file string  H",
		"ldap.user.ssl.private-key-file string  H",
		"ldap.user.search-filter string uid=${userId} ",
		"ldap.timeout-millis int 10000 ",
		"ldap.max-connections int 8 ",
	)
	var got []string
	for _, p := range Properties() {
		name, ok := strings.CutPrefix(p.Name, "app.gateway.session.identity-access-management.")
		if !ok {
			continue
		}
		flags := ""
		for i, set := range []bool{p.Mutable, p.Global, p.Sensitive, p.Hidden} {
			if set {
				flags += "MGSH"[i : i+1]
			}
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", name, p.Type, p.Default, flags))
	}
	if !slices.Equal(got, want) {
		t.Errorf("properties are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestIdentityRules(t *testing.T) {
	const prefix = "app.gateway.session.identity-access-management."
	for _, test := range []struct {
		name   string
		change func(*IdentityAccessManagement)
		want   string // empty if it is allowed
	}{
		{"unknown type", func(i *IdentityAccessManagement) { i.Type = "OAUTH" }, `type = "OAUTH": must be one of NOOP, HTTP, JWT, PASSWORD, LDAP`},
		{"JWT without key", func(i *IdentityAccessManagement) { i.Type = LoginJWT }, "jwt.algorithm: must have at least one key when the type is JWT"},
		{"JWT with a key", func(i *IdentityAccessManagement) { i.Type, i.JWT.Algorithm.PS384.P12.FilePath = LoginJWT, "x" }, ""},
		{"JWT with a secret", func(i *IdentityAccessManagement) { i.Type, i.JWT.Algorithm.HMAC384.FilePath = LoginJWT, "x" }, ""},
		{"two public keys", func(i *IdentityAccessManagement) {
			i.JWT.Algorithm.RSA256 = JWTPublicKey{PEMFilePath: "a", P12: P12{FilePath: "b"}}
		}, `jwt.algorithm.rsa256.p12.file-path = "b": must be empty when there is another file for the same key`},
		{"two secret keys", func(i *IdentityAccessManagement) {
			i.JWT.Algorithm.HMAC512 = JWTSecretKey{FilePath: "a", P12: P12{FilePath: "b"}}
		}, `jwt.algorithm.hmac512.p12.file-path = "b": must be empty when there is another file for the same key`},
		{"no expectation", func(i *IdentityAccessManagement) { i.JWT.Authentication.Expectation.CustomPayloadClaims = nil }, "jwt.authentication.expectation.custom-payload-claims: must have at least 1 element"},
		{"HTTP without address", func(i *IdentityAccessManagement) { i.Type = LoginHTTP }, `http.request.url = "": must be an absolute http or https address when the type is HTTP`},
		{"HTTP with half an address", func(i *IdentityAccessManagement) { i.Type, i.HTTP.Request.URL = LoginHTTP, "//host/path" }, `http.request.url = "//host/path": must be an absolute http or https address when the type is HTTP`},
		{"HTTP with another scheme", func(i *IdentityAccessManagement) { i.Type, i.HTTP.Request.URL = LoginHTTP, "file:///etc/passwd" }, `http.request.url = "file:///etc/passwd": must be an absolute http or https address when the type is HTTP`},
		{"HTTP", func(i *IdentityAccessManagement) { i.Type, i.HTTP.Request.URL = LoginHTTP, "https://example.org/login" }, ""},
		{"HEAD", func(i *IdentityAccessManagement) {
			i.Type, i.HTTP.Request.URL, i.HTTP.Request.HTTPMethod = LoginHTTP, "https://example.org/login", "HEAD"
		}, `http.request.http-method = "HEAD": must not be HEAD when the type is HTTP, because the answer must have a body`},
		{"unknown method", func(i *IdentityAccessManagement) { i.HTTP.Request.HTTPMethod = "TRACE" }, `http.request.http-method = "TRACE": must be one of POST, GET, PUT, PATCH, DELETE, HEAD`},
		{"no time", func(i *IdentityAccessManagement) { i.HTTP.Request.TimeoutMillis = 0 }, `http.request.timeout-millis = "0": must be at least 1`},
		{"bad pattern", func(i *IdentityAccessManagement) {
			i.HTTP.Authentication.ResponseExpectation.StatusCodes = []string{"2??", "[2]"}
		}, `http.authentication.response-expectation.status-codes[1] = "[2]": must be of digits, ? and *`},
		{"no pattern", func(i *IdentityAccessManagement) { i.HTTP.Authentication.ResponseExpectation.StatusCodes = nil }, "http.authentication.response-expectation.status-codes: must have at least 1 element"},
		{"no host", func(i *IdentityAccessManagement) { i.LDAP.User.Host = "" }, `ldap.user.host = "": must not be empty`},
		{"no port", func(i *IdentityAccessManagement) { i.LDAP.Admin.Port = 0 }, `ldap.admin.port = "0": must be between 1 and 65535`},
		{"name without password", func(i *IdentityAccessManagement) { i.LDAP.Admin.Username = "cn=admin" }, "ldap.admin.password = ***: must not be empty when there is a username"},
		{"filter for everybody", func(i *IdentityAccessManagement) { i.LDAP.User.SearchFilter = "uid=1" }, `ldap.user.search-filter = "uid=1": must contain ${userId}`},
		{"certificate without key", func(i *IdentityAccessManagement) { i.LDAP.User.SSL.CertificateFile = "x" }, `ldap.user.ssl.private-key-file = "": must not be empty when there is a certificate-file`},
		{"key without certificate", func(i *IdentityAccessManagement) { i.LDAP.Admin.SSL.PrivateKeyFile = "x" }, `ldap.admin.ssl.certificate-file = "": must not be empty when there is a private-key-file`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Default()
			test.change(&c.Gateway.Session.IdentityAccessManagement)
			if test.want == "" {
				if err := c.Validate(); err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, c.Validate(), prefix+test.want)
		})
	}
	algorithms := Default().Gateway.Session.IdentityAccessManagement.JWT.Algorithm
	if names := append(slices.Collect(maps.Keys(algorithms.Public())), slices.Collect(maps.Keys(algorithms.Secret()))...); len(names) != 12 {
		t.Errorf("there are the algorithms %q", names)
	}
}

// TestIdentityIsRead reads the properties as they stand in a file, where an expectation replaces
// the default one.
func TestIdentityIsRead(t *testing.T) {
	c := Default()
	err := c.Merge(map[string]any{"gateway": map[string]any{"session": map[string]any{"identityAccessManagement": map[string]any{
		"jwt": map[string]any{
			"authentication": map[string]any{"expectation": map[string]any{"customPayloadClaims": map[string]any{"level": 3, "admin": false}}},
			"algorithm":      map[string]any{"rsa256": map[string]any{"pemFilePath": "key.pem", "p12": map[string]any{"keyAlias": "x"}}},
		},
		"http": map[string]any{"request": map[string]any{"headers": map[string]any{"X-Token": "tell-nobody"}}},
	}}}}, MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i := c.Gateway.Session.IdentityAccessManagement
	if want := map[string]string{"level": "3", "admin": "false"}; !maps.Equal(i.JWT.Authentication.Expectation.CustomPayloadClaims, want) {
		t.Errorf("the claims are %v", i.JWT.Authentication.Expectation.CustomPayloadClaims)
	}
	if i.JWT.Algorithm.RSA256.PEMFilePath != "key.pem" || i.HTTP.Request.Headers["X-Token"].Reveal() != "tell-nobody" {
		t.Errorf("got %v", i)
	}
	if shown := fmt.Sprint(c.Redacted()); strings.Contains(shown, "tell-nobody") || !strings.Contains(shown, "X-Token") {
		t.Error("a header field is shown, or its name is not")
	}
}
