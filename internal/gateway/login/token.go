// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.org/app/internal/config"
)

// The claims with a meaning specific to this server.
const (
	claimSubject    = "sub"
	claimStatements = "statements"
)

// tokens authenticates with JSON web tokens. All invalid tokens get the same response.
type tokens struct {
	settings config.LoginByJWT
	// keys has the key of each accepted algorithm. A key is valid only for the configured
	// algorithm, so that a public key cannot be used as a secret one.
	keys   map[string]any
	parser *jwt.Parser
}

func newTokens(settings config.LoginByJWT, clock func() time.Time) (*tokens, error) {
	keys, err := readKeys(settings.Algorithm)
	if err != nil {
		return nil, err
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(slices.Collect(maps.Keys(keys))), jwt.WithJSONNumber(), jwt.WithTimeFunc(clock),
	}
	if settings.Verification.Issuer != "" {
		options = append(options, jwt.WithIssuer(settings.Verification.Issuer))
	}
	if settings.Verification.Audience != "" {
		options = append(options, jwt.WithAudience(settings.Verification.Audience))
	}
	return &tokens{settings, keys, jwt.NewParser(options...)}, nil
}

func (t *tokens) authenticate(_ context.Context, r *Request) (*Permissions, error) {
	if r.Password == nil || strings.TrimSpace(*r.Password) == "" {
		return nil, refuse(errors.New("there is no token"))
	}
	claims := jwt.MapClaims{}
	if _, err := t.parser.ParseWithClaims(*r.Password, claims, t.key); err != nil {
		return nil, refuse(err)
	}
	if !looselyEqual(claims[claimSubject], strconv.FormatInt(r.UserID, 10)) {
		return nil, refuse(fmt.Errorf("the token is for %s, not for user %d", describe(claims[claimSubject]), r.UserID))
	}
	for _, want := range []map[string]string{
		t.settings.Verification.CustomPayloadClaims,
		t.settings.Authentication.Expectation.CustomPayloadClaims,
	} {
		if name, found := mismatch(claims, want); found {
			return nil, refuse(fmt.Errorf("the claim %q is %s, not %q", name, describe(claims[name]), want[name]))
		}
	}
	permissions, err := parsePolicy(claims[claimStatements])
	if err != nil {
		return nil, refuse(err)
	}
	return permissions, nil
}

// key returns the key that verifies a token.
func (t *tokens) key(token *jwt.Token) (any, error) {
	if _, ok := token.Header["crit"]; ok {
		// The token has extensions that its reader must understand.
		return nil, errors.New("the token has critical header fields")
	}
	key, ok := t.keys[token.Method.Alg()]
	if !ok {
		return nil, fmt.Errorf("there is no key for %q", token.Method.Alg())
	}
	return key, nil
}

func (*tokens) close() {}
