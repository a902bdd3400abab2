// SPDX-License-Identifier: Apache-2.0

// Package oidc finds out who somebody is from an OpenID Connect provider: it runs the authorization code flow with PKCE
// for browsers, and verifies tokens that programs got from the provider themselves.
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
	// ErrUnavailable means that the provider cannot be reached or does not work. It says nothing of the person.
	ErrUnavailable = errors.New("the identity provider cannot be reached")
	// ErrRefused means that a token or a login is not valid.
	ErrRefused = errors.New("refused")
)

// Options are what a Provider is built from.
type Options struct {
	Issuer, ClientID, ClientSecret string
	Scopes                         []string
	// Audiences are those of which a token of a program must have one; none means ClientID.
	Audiences []string
	// RolesClaim and NameClaim are names of claims; a dot leads into an object.
	RolesClaim, NameClaim string
	// Skew is how far the clocks of the provider and of this machine may be apart.
	Skew time.Duration
	// Timeout bounds each request to the provider; 0 means 10 seconds.
	Timeout time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// A Person is somebody, or some program, that the provider vouches for.
type Person struct {
	Issuer, Subject string
	// Name is for people; it need not be unique.
	Name string
	// Roles are the values of the claim.
	Roles []string
}

const (
	// discoveryAge is how long the description of the provider is used. Keys are looked up when one is missing.
	discoveryAge = time.Hour
	// discoveryPause is how long a provider that did not answer is left alone.
	discoveryPause = 3 * time.Second
	// maxToken bounds a token in bytes.
	maxToken = 16 << 10
)

// A Provider is an OpenID Connect provider. It is not contacted before somebody needs it.
type Provider struct {
	opts   Options
	client *http.Client
	// turn has an element while the provider is asked for its description.
	turn chan struct{}
	// exchanges bounds the logins that are completed.
	exchanges *rate.Limiter

	mu      sync.Mutex
	current *description
	failed  time.Time
	failure error
}

// description is what the provider says of itself.
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
	// Everybody can make tokens that name keys which the provider does not have; it must not be asked for each of them.
	throttle := &throttled{next: http.DefaultTransport.(*http.Transport).Clone(), limit: rate.NewLimiter(5, 50)}
	return &Provider{
		opts: o, client: &http.Client{Timeout: o.Timeout, Transport: throttle}, turn: make(chan struct{}, 1), exchanges: rate.NewLimiter(10, 30),
	}
}

// throttled refuses to send more requests than the limit allows.
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

// describe returns the description of the provider, which it is asked for if it is missing or old.
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
		// It described itself before: what it said then is tried for a while longer.
		p.current.since = p.opts.Now().Add(discoveryPause - discoveryAge)
	default:
		p.failed, p.failure = p.opts.Now(), fmt.Errorf("%w: %w", ErrUnavailable, err)
		return nil, p.failure
	}
	return p.current, nil
}

// known returns the description if it is not old, or why there is none if that was found out just now.
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

// discover asks the provider for its description. A caller who leaves does not spoil it for those who wait.
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

// algorithms are those of signatures that need no shared secret.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// keySet tells a provider that does not answer from a wrong signature, in one verification.
type keySet struct {
	keys oidc.KeySet
	// failure is why the provider did not answer; nil if it did.
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

// IsJWT reports whether a text has the form of a signed token.
func IsJWT(text string) bool { return strings.Count(text, ".") == 2 && strings.HasPrefix(text, "ey") }

// Verify returns whose token a program presents.
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

// An Attempt is a login that was begun. The browser keeps it.
type Attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// Begin returns the address at which the provider logs somebody in, who is sent to redirect afterwards.
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

// Finish returns who has logged in. The state and the code are those that the browser was sent back with.
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
		// Many providers tell groups there only.
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

// person reads the claims of a token that was verified.
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

// claim returns a claim by its name, or by the names that lead to it.
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

// texts returns a text or a list of texts as a list.
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
