// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/netip"
	"net/url"

	"example.org/app/internal/config/property"
)

// OIDC is single sign-on of administrators. Nothing of it can be changed at run time: whoever may change settings could
// give themselves roles.
type OIDC struct {
	Issuer                string          `doc:"The issuer of the OpenID Connect provider, as its tokens name it; https, or http on this machine. Empty switches single sign-on off."`
	Name                  string          `default:"single sign-on" required:"true" maxlen:"64" doc:"What the console calls the provider."`
	ClientID              string          `doc:"The id that the provider gave to this server."`
	ClientSecret          property.Secret `doc:"The secret that the provider gave to this server; empty for a public client."`
	RedirectURL           string          `doc:"The address of the console to which the provider sends browsers back, which ends with /-/sign-on/callback; empty derives it from the address that the browser asked for."`
	Scopes                []string        `default:"openid,profile,email" minlen:"1" doc:"The scopes that the console asks for."`
	Audiences             []string        `doc:"The audiences of which a token that a program presents must have one; empty means the client id."`
	RolesClaim            string          `default:"roles" required:"true" doc:"The claim with the roles or groups, a text or a list; a dot leads into an object, such as realm_access.roles."`
	NameClaim             string          `default:"name" required:"true" doc:"The claim with the name that is shown."`
	RoleMapping           []OIDCRole      `default:"[]" doc:"Which values of the claim give which roles of this server. Who has none of them is refused."`
	ClockSkewMillis       int32           `default:"30000" min:"0" max:"300000" doc:"How far the clock of the provider may be from that of this machine."`
	TimeoutMillis         int32           `default:"10000" min:"1" doc:"How long a request to the provider may take."`
	SessionLifetimeMillis int64           `default:"3600000" min:"1000" doc:"How long a session that the provider began lasts at most: roles that were taken away there are noticed by then. It is bounded by app.security.admin-session as well."`
}

// OIDCRole says which roles a value of the claim gives.
type OIDCRole struct {
	ClaimValue string  `required:"true" doc:"The value of the claim."`
	RoleIDs    []int64 `min:"1" minlen:"1" doc:"The ids of roles of this server; the root role cannot be given."`
}

// Validate checks that single sign-on has what it needs.
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

// secureURL reports whether nobody in between can read or change what is sent to an address.
func secureURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && addr.IsLoopback())
}
