// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

func TestOIDC(t *testing.T) {
	for issuer, ok := range map[string]bool{
		"": true, "https://id.example.org/realms/staff": true, "http://localhost:8080": true, "http://127.0.0.1:8080/x": true, "http://[::1]:1": true,
		"http://id.example.org": false, "https://user:secret@id.example.org": false, "https://id.example.org?x=1": false, "https://id.example.org#x": false,
		"id.example.org": false, "ftp://localhost": false, "https://": false, "http://127.0.0.1.example.org": false,
	} {
		c := Default()
		c.Security.OIDC.Issuer, c.Security.OIDC.ClientID = issuer, "app"
		if err := c.Validate(); (err == nil) != ok {
			t.Errorf("the issuer %q: %v", issuer, err)
		}
	}
	c := Default()
	c.Security.OIDC.Issuer = "https://id.example.org"
	wantError(t, c.Validate(), `app.security.oidc.client-id = "": must not be empty when there is an issuer`)
	c.Security.OIDC.ClientID, c.Security.OIDC.RedirectURL = "app", "http://admin.example.org/-/sign-on/callback"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "redirect-url") {
		t.Errorf("a redirect over plain HTTP: %v", err)
	}
	c = Default()
	c.Security.OIDC.RoleMapping = []OIDCRole{{ClaimValue: "x", RoleIDs: []int64{0}}}
	if err := c.Validate(); err == nil {
		t.Error("the root role was mapped")
	}
	for _, p := range Properties() {
		if strings.HasPrefix(p.Name, "app.security.oidc.") && (p.Mutable || p.Global) {
			t.Errorf("%s can be changed at run time, so that whoever may change settings can take roles", p.Name)
		}
	}
	c = Default()
	c.Security.OIDC.ClientSecret = "do not show"
	if b, ok := c.Redacted()["security"].(map[string]any); !ok || b["oidc"].(map[string]any)["clientSecret"] != "***" {
		t.Errorf("the secret is shown: %v", b["oidc"])
	}
}
