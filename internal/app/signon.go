// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/apierr"
	"example.org/app/internal/console"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/oidc"
)

// startProvider configures single sign-on. It does not contact the provider, so that a server
// starts without it.
func (p *administrators) startProvider() {
	c := p.Process.opts.Config.Security.OIDC
	if c.Issuer == "" {
		return
	}
	p.provider = oidc.New(oidc.Options{
		Issuer: c.Issuer, ClientID: c.ClientID, ClientSecret: c.ClientSecret.Reveal(), Scopes: c.Scopes, Audiences: c.Audiences,
		RolesClaim: c.RolesClaim, NameClaim: c.NameClaim,
		Skew: time.Duration(c.ClockSkewMillis) * time.Millisecond, Timeout: time.Duration(c.TimeoutMillis) * time.Millisecond,
	})
	p.Process.lifecycle.add(part{name: "identity provider", stop: func(context.Context) error {
		p.provider.Close()
		return nil
	}})
}

// authenticator returns the authenticator of administrators.
func (p *administrators) authenticator() admin.Authenticator {
	if p.provider == nil {
		return api.NewAuthenticator(p.directory, nil)
	}
	return api.NewAuthenticator(p.directory, func(ctx context.Context, token string) (*administrator.Identity, bool, error) {
		if !oidc.IsJWT(token) {
			return nil, false, nil
		}
		person, err := p.provider.Verify(ctx, token)
		if err != nil {
			return nil, true, p.signOnError(ctx, err)
		}
		id, err := p.directory.AuthenticateExternal(ctx, p.externalOf(person))
		return id, true, forbidden(err)
	})
}

// externalOf maps the claims of a person to roles.
func (p *administrators) externalOf(person *oidc.Person) administrator.External {
	e := administrator.External{Issuer: person.Issuer, Subject: person.Subject, DisplayName: person.Name}
	for _, m := range p.Process.opts.Config.Security.OIDC.RoleMapping {
		if slices.Contains(person.Roles, m.ClaimValue) {
			e.RoleIDs = append(e.RoleIDs, m.RoleIDs...)
		}
	}
	return e
}

// signOnError returns the error for the caller.
func (p *administrators) signOnError(ctx context.Context, err error) error {
	if errors.Is(err, oidc.ErrUnavailable) {
		if ctx.Err() == nil {
			p.Logs.logger.WarnContext(ctx, "the identity provider cannot be used", "issuer", p.Process.opts.Config.Security.OIDC.Issuer, "error", err)
		}
		return &apierr.Error{
			Code: apierr.ServerUnavailable, Status: http.StatusServiceUnavailable, Err: err,
			Reason: "the identity provider cannot be reached; administrators with a password of this server can still log in",
		}
	}
	return &apierr.Error{Code: apierr.Unauthorized, Reason: "the identity provider's token or login is not accepted: " + err.Error(), Err: err}
}

// signOn implements the console's logins through the provider.
type signOn struct{ administrators *administrators }

// consoleSignOn returns nil without single sign-on.
func (p *administrators) consoleSignOn() console.SignOn {
	if p.provider == nil {
		return nil
	}
	return signOn{p}
}

// Name implements console.SignOn.
func (s signOn) Name() string { return s.administrators.Process.opts.Config.Security.OIDC.Name }

// RedirectURL implements console.SignOn.
func (s signOn) RedirectURL() string {
	return s.administrators.Process.opts.Config.Security.OIDC.RedirectURL
}

// Begin implements console.SignOn.
func (s signOn) Begin(ctx context.Context, redirect string) (string, oidc.Attempt, error) {
	address, attempt, err := s.administrators.provider.Begin(ctx, redirect)
	if err != nil {
		err = s.administrators.signOnError(ctx, err)
	}
	return address, attempt, err
}

// Finish implements console.SignOn.
func (s signOn) Finish(ctx context.Context, redirect string, a oidc.Attempt, state, code string) (string, error) {
	person, err := s.administrators.provider.Finish(ctx, redirect, a, state, code)
	if err != nil {
		return "", s.administrators.signOnError(ctx, err)
	}
	ticket, err := s.administrators.directory.SignOn(ctx, s.administrators.externalOf(person))
	return ticket, forbidden(err)
}

// forbidden distinguishes a known user without role from an unknown one.
func forbidden(err error) error {
	if !errors.Is(err, administrator.ErrNoRole) {
		return err
	}
	refused := *apierr.From(err)
	refused.Status = http.StatusForbidden
	return &refused
}

var _ console.SignOn = signOn{}
