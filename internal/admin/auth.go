// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"encoding/base64"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
)

// RootID is the id of the administrator that always exists.
const RootID int64 = 0

// Principal is the administrator who sends a request.
type Principal struct {
	ID          int64
	LoginName   string
	Permissions permission.Set
	// Token is the token or session of the request; nil means a password. Permissions are limited
	// to the token's.
	Token *Token
	// Plugin is the id of the plugin that acts as an administrator, and PluginVersion its version;
	// empty for administrators.
	Plugin, PluginVersion string
	// OnBehalfOf is the user or administrator for whom the plugin acts; empty if it acts by itself.
	OnBehalfOf string
}

// Token describes the token of a request.
type Token struct {
	ID   int64
	Name string
	Kind string // opaque here
	// Roles replace those of the token's owner; opaque here.
	Roles []int64
}

// Credentials authenticate a caller: a token, or a login name and a password.
type Credentials struct {
	LoginName, Password string
	Token               string
	// Remote is the address of the caller.
	Remote netip.Addr
}

// Authenticator authenticates administrators.
type Authenticator interface {
	// Authenticate returns the administrator with these credentials. It is called concurrently, for
	// every request with credentials, and must take the same time for an unknown name as for a
	// wrong password. For wrong credentials it returns apierr.Unauthorized; any other error means
	// that authentication failed.
	Authenticate(ctx context.Context, c Credentials) (*Principal, error)
}

type principalKey struct{}

// Requester returns the administrator who sends the request, or nil for a caller without
// credentials.
func Requester(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// WithRequester returns a context with the requester p.
func WithRequester(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// rootPrincipal is the requester if authentication is disabled.
var rootPrincipal = &Principal{ID: RootID, Permissions: permission.NewSet(permission.All()...)}

func unauthorized(format string, args ...any) error {
	return apierr.New(apierr.Unauthorized, format, args...)
}

// authorize authenticates and authorises the caller. It returns nil without error for a caller
// without credentials that needs none.
func (c *call) authorize() (*Principal, error) {
	r, op := c.r, c.op
	if !c.settings.UseAuthentication {
		return rootPrincipal, nil
	}
	credentials, ok := readCredentials(r.Header.Get("Authorization"))
	if !ok {
		if op.Access == Public || op.Open != nil && op.Open(c.remote) {
			return nil, nil
		}
		return nil, unauthorized("this request needs credentials (HTTP Basic or a bearer token)")
	}
	if c.api.opts.LocalOnly != nil && !c.local() && c.api.opts.LocalOnly() {
		return nil, errLocalOnly
	}
	if strings.ContainsFunc(credentials.LoginName, unicode.IsSpace) || strings.ContainsFunc(credentials.Password, unicode.IsSpace) {
		return nil, illegal("login name and password must not contain white space")
	}
	credentials.Remote = c.remote
	p, err := c.api.opts.Authenticator.Authenticate(r.Context(), credentials)
	if err != nil {
		c.tried = clip(credentials.LoginName)
		return nil, err
	}
	if op.Access == Privileged && !p.Permissions.Has(op.Permission) && !op.asksForSelf(r.URL.RawQuery, p.ID) {
		return p, unauthorized("the permission %s is needed", op.Permission)
	}
	return p, nil
}

// errLocalOnly is returned to remote callers while root has the default password.
var errLocalOnly = unauthorized("the root administrator still has the default password, so only callers on the server's own machine are let in: " +
	"set app.security.password.initial-root-password before the first start, or change the password there with PUT /admins?ids=0")

// local reports whether the caller is on this machine: by its address, and not through a page of
// another site in a browser or a proxy.
func (c *call) local() bool {
	if !c.remote.IsLoopback() {
		return false
	}
	h := c.r.Header
	if h.Get("Forwarded") != "" || h.Get("X-Forwarded-For") != "" || h.Get("X-Real-Ip") != "" {
		return false
	}
	origin := h.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// asksForSelf reports whether the parameter OwnID contains exactly the id.
func (op *Operation) asksForSelf(rawQuery string, id int64) bool {
	if op.OwnID == "" {
		return false
	}
	q, err := ParseQuery(rawQuery)
	if err != nil {
		return false
	}
	p := q[op.OwnID]
	return p != nil && len(p.objects) == 0 && len(p.values) == 1 && p.values[0] == strconv.FormatInt(id, 10)
}

// readCredentials parses an Authorization header. An unusable one counts as none.
func readCredentials(header string) (c Credentials, ok bool) {
	scheme, rest, _ := strings.Cut(header, " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		c.Token = strings.TrimSpace(rest)
		return c, c.Token != ""
	case scheme == "Basic":
		c.LoginName, c.Password, ok = basicCredentials(rest)
	}
	return c, ok
}

// basicCredentials decodes login name and password, as UTF-8 if valid, else as Latin-1: browsers
// and tools differ.
func basicCredentials(encoded string) (name, password string, ok bool) {
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", "", false
	}
	text := string(b)
	if !utf8.Valid(b) {
		runes := make([]rune, len(b))
		for i, c := range b {
			runes[i] = rune(c)
		}
		text = string(runes)
	}
	return strings.Cut(text, ":")
}
