// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"net/netip"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const adminTokenTag = "AdminTokenController"

type adminTokenHandlers struct{ directory *administrator.Directory }

func adminTokenOperations(d *administrator.Directory) []*admin.Operation {
	h := adminTokenHandlers{d}
	r := resource.Resource{
		Path: "/admins/tokens", Tag: adminTokenTag, Name: "AdminToken", Records: "tokens and sessions", AnyAdmin: true,
		Pages: "Returns a page of what `GET /admins/tokens` returns, and how many match.",
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Create a token",
			Description: "Creates a token of the caller, to be sent as `Authorization: Bearer <token>`. The answer is the only one that shows it. " +
				"A token has at most the permissions of its owner, whatever happens to those later. A token cannot create tokens; a password or a session can.",
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query tokens and sessions",
			Description: "Returns the tokens and sessions of the caller, or with the permission `ADMIN_QUERY` of all administrators; never the tokens themselves. " +
				"A token without that permission finds only itself.",
		}, adminTokenFilter.filter, h.find, h.findPage, newAdminToken),
		resource.DeleteByID(r, admin.Operation{
			Summary: "Revoke tokens and sessions",
			Description: "Revokes tokens and sessions of the caller, or with the permission `ADMIN_UPDATE` of administrators who rank below the caller. " +
				"They are refused from then on.",
		}, h.delete),
		resource.Handle(r, admin.Operation{
			ID: "createAdminSession", Method: http.MethodPost, Path: "/admins/sessions", Access: admin.AnyAdmin,
			Summary: "Log in",
			Description: "Exchanges login name and password (HTTP Basic) for a session with all permissions of the administrator. " +
				"Its token is sent as `Authorization: Bearer <token>`. The session ends at its expiration date, when it is not used for a while, " +
				"when the password changes, and with `DELETE /admins/sessions?current=true`.",
		}, h.logIn),
		resource.Handle(r, admin.Operation{
			ID: "deleteAdminSession", Method: http.MethodDelete, Path: "/admins/sessions", Access: admin.AnyAdmin,
			Summary: "Log out", Description: "Ends the session that the request came with.",
		}, h.logOut),
	)
}

// AdminToken is a token or a session as the interface returns it.
type AdminToken struct {
	ID             int64       `json:"id" doc:"Id." example:"1234567890123456789"`
	OwnerID        int64       `json:"ownerId" doc:"Id of the administrator who owns the token." example:"1234567890123456788"`
	Kind           string      `json:"kind" enum:"TOKEN,SESSION" doc:"Whether it was created for a program or by a login." example:"TOKEN"`
	Name           string      `json:"name,omitempty" doc:"Name; sessions have none." example:"nightly backup"`
	Permissions    []string    `json:"permissions,omitempty" doc:"Permissions; absent for sessions, which have all permissions of the owner." example:"[\"USER_QUERY\"]"`
	Networks       []string    `json:"networks" doc:"Networks from which it may be used; empty means every address." example:"[\"10.0.0.0/8\"]"`
	CreationDate   admin.Date  `json:"creationDate" doc:"When it was created."`
	ExpirationDate admin.Date  `json:"expirationDate" doc:"When it expires."`
	LastUseDate    *admin.Date `json:"lastUseDate,omitempty" doc:"When it was last used; absent: never."`
}

func newAdminToken(t store.AdminToken) AdminToken {
	out := AdminToken{
		ID: t.ID, OwnerID: t.OwnerID, Kind: t.Kind, Name: t.Name, Permissions: t.Permissions, Networks: t.Networks,
		CreationDate: admin.NewDate(t.CreationDate), ExpirationDate: admin.NewDate(t.ExpirationDate),
	}
	if !t.LastUseDate.IsZero() {
		date := admin.NewDate(t.LastUseDate)
		out.LastUseDate = &date
	}
	return out
}

// adminTokenCreation is the body of POST /admins/tokens.
type adminTokenCreation struct {
	Name           string      `json:"name" minLength:"1" maxLength:"64" doc:"Purpose of the token." example:"nightly backup"`
	Permissions    []string    `json:"permissions,omitempty" uniqueItems:"true" maxItems:"1000" doc:"Permissions or patterns, all of which the caller must have; absent: all that the caller has now." example:"[\"USER_QUERY\"]"`
	ExpirationDate *admin.Date `json:"expirationDate,omitempty" doc:"When it expires; absent: after the configured lifetime."`
	Networks       []string    `json:"networks,omitempty" uniqueItems:"true" maxItems:"100" doc:"Addresses or networks (CIDR) from which it may be used; absent: every address." example:"[\"10.0.0.0/8\"]"`
}

// NewAdminToken is a token with the text that its owner sends.
type NewAdminToken struct {
	AdminToken
	Token string `json:"token" doc:"The token. It is shown once." example:"app_token_…"`
}

func (h adminTokenHandlers) create(ctx context.Context, b adminTokenCreation) (NewAdminToken, error) {
	if p := admin.Requester(ctx); p.Plugin != "" {
		return NewAdminToken{}, apierr.New(apierr.Unauthorized, "plugins cannot create tokens")
	}
	c := administrator.TokenCreation{Name: b.Name, Permissions: b.Permissions}
	if b.ExpirationDate != nil {
		c.ExpirationDate = b.ExpirationDate.Time
	}
	for _, text := range b.Networks {
		network, err := parseNetwork(text)
		if err != nil {
			return NewAdminToken{}, apierr.New(apierr.IllegalArgument, "networks: %q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		c.Networks = append(c.Networks, network)
	}
	t, text, err := h.directory.CreateToken(ctx, requester(ctx), c)
	return NewAdminToken{newAdminToken(t), text}, err
}

// parseNetwork reads an address or a network.
func parseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Unmap().WithZone("").Prefix(addr.Unmap().BitLen())
	}
	return netip.ParsePrefix(text)
}

type adminTokenFilter struct {
	IDs      []int64  `query:"ids" uniqueItems:"true" doc:"Ids of tokens." example:"[1]"`
	OwnerIDs []int64  `query:"ownerIds" uniqueItems:"true" doc:"Ids of administrators." example:"[1]"`
	Kinds    []string `query:"kinds" uniqueItems:"true" enum:"TOKEN,SESSION" doc:"Tokens of programs, or sessions."`
}

func (f adminTokenFilter) filter() (store.AdminTokenFilter, error) {
	return store.AdminTokenFilter(f), nil
}

func (h adminTokenHandlers) find(ctx context.Context, f store.AdminTokenFilter, limit, offset int) ([]store.AdminToken, error) {
	_, found, err := h.findPage(ctx, f, store.Page{Limit: limit, Offset: offset})
	return found, err
}

func (h adminTokenHandlers) findPage(ctx context.Context, f store.AdminTokenFilter, page store.Page) (int64, []store.AdminToken, error) {
	p, by := admin.Requester(ctx), requester(ctx)
	if p.Plugin != "" && !p.Permissions.Has(permission.AdminQuery) { // It has no tokens of its own.
		return 0, nil, admin.NoGrant(p, permission.AdminQuery, "query tokens")
	}
	identity := administrator.Identity{ID: p.ID, LoginName: p.LoginName, Permissions: p.Permissions, Token: by.Token}
	return h.directory.FindTokens(ctx, &identity, f, page.Limit, page.Offset)
}

func (h adminTokenHandlers) delete(ctx context.Context, ids []int64) (int64, error) {
	if p := admin.Requester(ctx); p.Plugin != "" && !p.Permissions.Has(permission.AdminUpdate) { // It has no tokens of its own.
		return 0, admin.NoGrant(p, permission.AdminUpdate, "revoke tokens")
	}
	return h.directory.DeleteTokens(ctx, requester(ctx), ids)
}

// AdminSession is a new session and who logged in.
type AdminSession struct {
	ID             int64      `json:"id" doc:"Id of the session." example:"1234567890123456789"`
	Token          string     `json:"token" doc:"The token of the session. It is shown once." example:"app_session_…"`
	AdminID        int64      `json:"adminId" doc:"Id of the administrator." example:"1234567890123456788"`
	LoginName      string     `json:"loginName" doc:"Login name of the administrator." example:"alice"`
	Permissions    []string   `json:"permissions" doc:"Current permissions of the administrator." example:"[\"USER_QUERY\"]"`
	CreationDate   admin.Date `json:"creationDate" doc:"When the session began."`
	ExpirationDate admin.Date `json:"expirationDate" doc:"When it expires."`
}

func (h adminTokenHandlers) logIn(ctx context.Context, _ *admin.NoInput) (AdminSession, error) {
	p := admin.Requester(ctx)
	if p.Plugin != "" {
		return AdminSession{}, apierr.New(apierr.Unauthorized, "plugins cannot log in")
	}
	t, text, err := h.directory.CreateSession(ctx, requester(ctx))
	return AdminSession{
		ID: t.ID, Token: text, AdminID: p.ID, LoginName: p.LoginName, Permissions: p.Permissions.Names(),
		CreationDate: admin.NewDate(t.CreationDate), ExpirationDate: admin.NewDate(t.ExpirationDate),
	}, err
}

type adminSessionDeletion struct {
	Current bool `query:"current" required:"true" selector:"true" doc:"Must be true: the session that the request came with is ended."`
}

func (h adminTokenHandlers) logOut(ctx context.Context, in *adminSessionDeletion) (admin.DeleteResult, error) {
	by := requester(ctx)
	if !in.Current {
		return admin.DeleteResult{}, apierr.New(apierr.IllegalArgument, "parameter \"current\": must be true")
	}
	if by.Token == nil || by.Token.Kind != administrator.TokenOfSession {
		return admin.DeleteResult{}, apierr.New(apierr.IllegalArgument, "the request did not come with a session")
	}
	n, err := h.delete(ctx, []int64{by.Token.ID})
	return admin.DeleteResult{DeletedCount: n}, err
}
