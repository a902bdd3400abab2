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

// Principal is the administrator who makes a request.
type Principal struct {
	ID          int64
	LoginName   string
	Permissions permission.Set
	// Token is the token or session that the request came with; nil means a
	// password. Permissions are those that remain with it.
	Token *Token
	// Plugin is the id of the plugin that acts in the place of an administrator,
	// and PluginVersion its version; they are empty for administrators.
	Plugin, PluginVersion string
	// OnBehalfOf says on whose request the plugin acts; it is empty if it acts by
	// itself.
	OnBehalfOf string
}

// Token tells which token a request came with.
type Token struct {
	ID   int64
	Name string
	Kind string // opaque here
	// Roles are those that the token gives instead of its owner's; opaque here.
	Roles []int64
}

// Credentials are what a caller proves its identity with: a token, or a login
// name and a password.
type Credentials struct {
	LoginName, Password string
	Token               string
	// Remote is the address of the caller.
	Remote netip.Addr
}

// Authenticator knows the administrators.
type Authenticator interface {
	// Authenticate returns the administrator with these credentials. It is called
	// for every request with credentials, concurrently, and must take the same
	// time for an unknown name and for a wrong password. Wrong credentials are an
	// apierr.Unauthorized error; any other error means that it could not tell.
	Authenticate(ctx context.Context, c Credentials) (*Principal, error)
}

type principalKey struct{}

// Requester returns the administrator who makes the request, or nil for a
// caller without credentials.
func Requester(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// WithRequester returns a context in which p makes the request.
func WithRequester(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// rootPrincipal acts when authentication is switched off.
var rootPrincipal = &Principal{ID: RootID, Permissions: permission.NewSet(permission.All()...)}

func unauthorized(format string, args ...any) error {
	return apierr.New(apierr.Unauthorized, format, args...)
}

// authorize finds out who calls and whether they may. It returns nil without
// error for a caller without credentials that may still call.
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

// errLocalOnly is the answer to callers from elsewhere while root is open to
// everybody.
var errLocalOnly = unauthorized("the root administrator still has the default password, so only callers on the server's own machine are let in: " +
	"set app.security.password.initial-root-password before the first start, or change the password there with PUT /admins?ids=0")

// local reports whether the caller is on this machine: by its address, and not
// as a page of another site in a browser or as a proxy for somebody else.
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

// asksForSelf reports whether the parameter OwnID holds exactly the id.
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

// readCredentials reads an Authorization header. Anything that is not usable
// counts as no credentials.
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

// basicCredentials decodes login name and password. The decoded bytes are UTF-8 if they can be, and
// Latin-1 otherwise: browsers and tools differ.
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
