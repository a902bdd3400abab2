// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/netip"
	"net/url"

	"example.org/app/internal/config/property"
)

// OIDC configures single sign-on of administrators. It cannot be changed at run time: whoever may
// change settings could grant themselves roles.
type OIDC struct {
	Issuer                string          `doc:"The issuer of the OpenID Connect provider, as its tokens name it; https, or http on this machine. Empty disables single sign-on."`
	Name                  string          `default:"single sign-on" required:"true" maxlen:"64" doc:"The name of the provider in the console."`
	ClientID              string          `doc:"The client id of this server at the provider."`
	ClientSecret          property.Secret `doc:"The client secret of this server at the provider; empty for a public client."`
	RedirectURL           string          `doc:"The URL of the console to which the provider redirects browsers, which ends with /-/sign-on/callback; empty derives it from the address that the browser requested."`
	Scopes                []string        `default:"openid,profile,email" minlen:"1" doc:"The scopes that the console requests."`
	Audiences             []string        `doc:"The accepted audiences of tokens of programs; empty means the client id."`
	RolesClaim            string          `default:"roles" required:"true" doc:"The claim with the roles or groups, a text or a list; a dot selects a field of an object, such as realm_access.roles."`
	NameClaim             string          `default:"name" required:"true" doc:"The claim with the display name."`
	RoleMapping           []OIDCRole      `default:"[]" doc:"The mapping from values of the claim to roles of this server. Logins without a mapped role are refused."`
	ClockSkewMillis       int32           `default:"30000" min:"0" max:"300000" doc:"The maximum difference between the clocks of the provider and of this machine."`
	TimeoutMillis         int32           `default:"10000" min:"1" doc:"The time limit of a request to the provider."`
	SessionLifetimeMillis int64           `default:"3600000" min:"1000" doc:"The maximum lifetime of a session that the provider authenticated; roles that were removed at the provider take effect by then. app.security.admin-session applies as well."`
}

// OIDCRole maps a value of the claim to roles.
type OIDCRole struct {
	ClaimValue string  `required:"true" doc:"The value of the claim."`
	RoleIDs    []int64 `min:"1" minlen:"1" doc:"The ids of roles of this server; the root role cannot be assigned."`
}

// Validate checks the properties that single sign-on requires.
func (o OIDC) Validate() error {
	if o.Issuer == "" {
		return nil
	}
	if !secureURL(o.Issuer) {
		return property.Violation("issuer", "must be an https URL without query or fragment, or an http URL of this machine")
	}
	if o.ClientID == "" {
		return property.Violation("client-id", "must not be empty when there is an issuer")
	}
	if o.RedirectURL != "" && !secureURL(o.RedirectURL) {
		return property.Violation("redirect-url", "must be an https URL without query or fragment, or an http URL of this machine")
	}
	return nil
}

// secureURL reports whether requests to a URL are protected against interception.
func secureURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && addr.IsLoopback())
}
