// SPDX-License-Identifier: Apache-2.0

// Package oidc authenticates administrators with an OpenID Connect provider: it runs the
// authorization code flow with PKCE for browsers, and verifies tokens that programs got from the
// provider directly.
//
// It does not know administrators, roles of this server, sessions or cookies.
package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"
)

var (
	// ErrUnavailable means that the provider cannot be reached or does not work. It says nothing
	// about the person.
	ErrUnavailable = errors.New("the identity provider cannot be reached")
	// ErrRefused means that a token or a login is invalid.
	ErrRefused = errors.New("refused")
)

// Options configures a Provider.
type Options struct {
	Issuer, ClientID, ClientSecret string
	Scopes                         []string
	// Audiences are the accepted audiences of programs' tokens, of which a token must have at least
	// one; empty means ClientID.
	Audiences []string
	// RolesClaim and NameClaim are names of claims; a dot selects a field of an object.
	RolesClaim, NameClaim string
	// Skew is the tolerated difference between the clocks of the provider and this machine.
	Skew time.Duration
	// Timeout is the time limit of each request to the provider; 0 means 10 seconds.
	Timeout time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// A Person is a person or a program that the provider has authenticated.
type Person struct {
	Issuer, Subject string
	// Name is for people; it need not be unique.
	Name string
	// Roles are the values of the roles claim.
	Roles []string
}

const (
	// discoveryAge is how long the discovery document is used. Keys are fetched when one is
	// missing.
	discoveryAge = time.Hour
	// discoveryPause is how long no request is sent to a provider that did not respond.
	discoveryPause = 3 * time.Second
	// maxToken is the maximum length of a token in bytes.
	maxToken = 16 << 10
)

// A Provider is an OpenID Connect provider. It is contacted at the first use.
type Provider struct {
	opts   Options
	client *http.Client
	// turn contains an element while the discovery document is being fetched.
	turn chan struct{}
	// exchanges limits the rate of code exchanges.
	exchanges *rate.Limiter

	mu      sync.Mutex
	current *description
	failed  time.Time
	failure error
}

// description is the provider's discovery document.
type description struct {
	provider *oidc.Provider
	keys     oidc.KeySet
	algs     []string
	since    time.Time
}

// New returns a provider.
func New(o Options) *Provider {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if len(o.Audiences) == 0 {
		o.Audiences = []string{o.ClientID}
	}
	// Anyone can send tokens that name unknown keys; the provider must not receive a request for
	// each of them.
	throttle := &throttled{next: http.DefaultTransport.(*http.Transport).Clone(), limit: rate.NewLimiter(5, 50)}
	return &Provider{
		opts: o, client: &http.Client{Timeout: o.Timeout, Transport: throttle}, turn: make(chan struct{}, 1), exchanges: rate.NewLimiter(10, 30),
	}
}

// throttled rejects requests beyond the rate limit.
type throttled struct {
	next  http.RoundTripper
	limit *rate.Limiter
}

// RoundTrip implements http.RoundTripper.
func (t *throttled) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.limit.Allow() {
		return nil, errors.New("too many requests to the provider")
	}
	return t.next.RoundTrip(r)
}

// Close closes idle connections.
func (p *Provider) Close() {
	p.client.Transport.(*throttled).next.(*http.Transport).CloseIdleConnections()
}

// describe returns the discovery document, which it fetches if missing or old.
func (p *Provider) describe(ctx context.Context) (*description, error) {
	if d, err := p.known(); d != nil || err != nil {
		return d, err
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	if d, err := p.known(); d != nil || err != nil {
		return d, err
	}
	d, err := p.discover(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.current, p.failure = d, nil
	case p.current != nil:
		// If there is an older document, continue to use it for a while.
		p.current.since = p.opts.Now().Add(discoveryPause - discoveryAge)
	default:
		p.failed, p.failure = p.opts.Now(), fmt.Errorf("%w: %w", ErrUnavailable, err)
		return nil, p.failure
	}
	return p.current, nil
}

// known returns the document if it is recent, or the error if the last fetch failed a moment ago.
func (p *Provider) known() (*description, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.opts.Now()
	if p.current != nil && now.Sub(p.current.since) < discoveryAge {
		return p.current, nil
	}
	if p.failure != nil && now.Sub(p.failed) < discoveryPause {
		return nil, p.failure
	}
	return nil, nil
}

// discover fetches the discovery document. If its caller is cancelled, the others still get the
// document.
func (p *Provider) discover(ctx context.Context) (*description, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.opts.Timeout)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, p.opts.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		Keys string   `json:"jwks_uri"`
		Algs []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, err
	}
	d := &description{provider: provider, since: p.opts.Now(), keys: oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), p.client), more.Keys)}
	for _, alg := range more.Algs {
		if slices.Contains(algorithms, alg) {
			d.algs = append(d.algs, alg)
		}
	}
	if len(d.algs) == 0 {
		return nil, fmt.Errorf("it signs with none of %v", algorithms)
	}
	return d, nil
}

// algorithms are the signature algorithms without a shared secret.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// keySet distinguishes an unavailable provider from a wrong signature, for one verification.
type keySet struct {
	keys oidc.KeySet
	// failure is the error of fetching the keys; nil if there was none.
	failure error
}

// VerifySignature implements oidc.KeySet.
func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.keys.VerifySignature(ctx, jwt)
	if err != nil && strings.HasPrefix(err.Error(), "fetching keys") {
		k.failure = err
	}
	return payload, err
}

// verify checks issuer, expiry, algorithm and signature.
func (p *Provider) verify(ctx context.Context, d *description, text string) (*oidc.IDToken, error) {
	if len(text) > maxToken {
		return nil, fmt.Errorf("%w: the token has more than %d bytes", ErrRefused, maxToken)
	}
	keys := keySet{keys: d.keys}
	verifier := oidc.NewVerifier(p.opts.Issuer, &keys, &oidc.Config{
		SkipClientIDCheck: true, SupportedSigningAlgs: d.algs, Now: func() time.Time { return p.opts.Now().Add(-p.opts.Skew) },
	})
	token, err := verifier.Verify(ctx, text)
	switch {
	case keys.failure != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, keys.failure)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	case token.Subject == "":
		return nil, fmt.Errorf("%w: the token has no subject", ErrRefused)
	case token.IssuedAt.After(p.opts.Now().Add(p.opts.Skew)):
		return nil, fmt.Errorf("%w: the token was issued in the future", ErrRefused)
	}
	return token, nil
}

// IsJWT reports whether a text has the form of a JWT.
func IsJWT(text string) bool { return strings.Count(text, ".") == 2 && strings.HasPrefix(text, "ey") }

// Verify verifies the token of a program and returns whose it is.
func (p *Provider) Verify(ctx context.Context, text string) (*Person, error) {
	d, err := p.describe(ctx)
	if err != nil {
		return nil, err
	}
	token, err := p.verify(ctx, d, text)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(token.Audience, func(a string) bool { return slices.Contains(p.opts.Audiences, a) }) {
		return nil, fmt.Errorf("%w: the token is for %q, not for %q", ErrRefused, token.Audience, p.opts.Audiences)
	}
	claims, err := claimsOf(token)
	if err != nil {
		return nil, err
	}
	return p.person(token, claims), nil
}

// An Attempt is a login in progress. The browser keeps it.
type Attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// Begin returns the URL at which the provider authenticates a person, who is then redirected to
// redirect.
func (p *Provider) Begin(ctx context.Context, redirect string) (address string, a Attempt, err error) {
	d, err := p.describe(ctx)
	if err != nil {
		return "", a, err
	}
	a = Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return p.flow(d, redirect).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), a, nil
}

func (p *Provider) flow(d *description, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.opts.ClientID, ClientSecret: p.opts.ClientSecret, Endpoint: d.provider.Endpoint(), RedirectURL: redirect, Scopes: p.opts.Scopes,
	}
}

// Finish returns the authenticated person. State and code are the parameters of the redirect.
func (p *Provider) Finish(ctx context.Context, redirect string, a Attempt, state, code string) (*Person, error) {
	if a.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) != 1 {
		return nil, fmt.Errorf("%w: the login was not begun in this browser, or too long ago", ErrRefused)
	}
	if !p.exchanges.Allow() {
		return nil, fmt.Errorf("%w: too many logins at once", ErrUnavailable)
	}
	d, err := p.describe(ctx)
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	tokens, err := p.flow(d, redirect).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		var answer *oauth2.RetrieveError
		if errors.As(err, &answer) && answer.Response.StatusCode < http.StatusInternalServerError {
			return nil, fmt.Errorf("%w: the provider does not take the code: %s %s", ErrRefused, answer.ErrorCode, answer.ErrorDescription)
		}
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	text, _ := tokens.Extra("id_token").(string)
	if text == "" {
		return nil, fmt.Errorf("%w: the provider returned no ID token; is openid one of the scopes?", ErrRefused)
	}
	token, err := p.verify(ctx, d, text)
	if err != nil {
		return nil, err
	}
	claims, err := claimsOf(token)
	if err != nil {
		return nil, err
	}
	switch party, _ := claims["azp"].(string); {
	case !slices.Contains(token.Audience, p.opts.ClientID) || len(token.Audience) > 1 && party != p.opts.ClientID:
		return nil, fmt.Errorf("%w: the ID token is for %q, not for %q", ErrRefused, token.Audience, p.opts.ClientID)
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(a.Nonce)) != 1:
		return nil, fmt.Errorf("%w: the ID token has another nonce", ErrRefused)
	}
	person := p.person(token, claims)
	if len(person.Roles) == 0 && d.provider.UserInfoEndpoint() != "" {
		// Many providers return groups only from the userinfo endpoint.
		info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if info.Subject != token.Subject {
			return nil, fmt.Errorf("%w: the provider answered about somebody else", ErrRefused)
		}
		if err := info.Claims(&claims); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		person = p.person(token, claims)
	}
	return person, nil
}

func claimsOf(token *oidc.IDToken) (claims map[string]any, err error) {
	if err := token.Claims(&claims); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return claims, nil
}

// person converts the claims of a verified token.
func (p *Provider) person(token *oidc.IDToken, claims map[string]any) *Person {
	out := &Person{Issuer: token.Issuer, Subject: token.Subject, Name: token.Subject, Roles: texts(claim(claims, p.opts.RolesClaim))}
	for _, name := range []string{p.opts.NameClaim, "name", "preferred_username", "email"} {
		if found := texts(claim(claims, name)); len(found) == 1 && strings.TrimSpace(found[0]) != "" {
			out.Name = found[0]
			break
		}
	}
	return out
}

// claim returns a claim by name or by the dotted path to it.
func claim(claims map[string]any, name string) any {
	if v, ok := claims[name]; ok {
		return v
	}
	first, rest, ok := strings.Cut(name, ".")
	if inner, isObject := claims[first].(map[string]any); ok && isObject {
		return claim(inner, rest)
	}
	return nil
}

// texts returns a string or a list of strings as a list.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				list = append(list, s)
			}
		}
	}
	return list
}
