// SPDX-License-Identifier: Apache-2.0

package administrator

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

const (
	// TokenOfProvider is a token of the identity provider, which a program presents.
	TokenOfProvider TokenKind = "PROVIDER"
	// TokenOfTicket allows a user authenticated by the identity provider to begin a session.
	TokenOfTicket TokenKind = "TICKET"
)

// externalPrefix is the prefix of the login names of administrators from an identity provider. It
// cannot be chosen, and there is no password login with it, because login names have no colon.
const externalPrefix = "oidc:"

const (
	ticketPrefix = "app_ticket_"
	// ticketLifetime is how long a ticket is valid. The server redeems it at once.
	ticketLifetime = time.Minute
	// maxDisplayName is counted in characters.
	maxDisplayName = 64
)

// ErrNoRole means that a user of the identity provider has no role here.
var ErrNoRole = errors.New("no role")

// External is an administrator from an identity provider.
type External struct {
	Issuer, Subject string
	DisplayName     string
	// RoleIDs are the roles mapped from the provider's claims. Unknown ones are ignored.
	RoleIDs []int64
}

// loginName is unique for a subject of an issuer.
func (e External) loginName() string {
	issuer := sha256.Sum256([]byte(e.Issuer))
	return externalPrefix + hex.EncodeToString(issuer[:4]) + ":" + e.Subject
}

// AuthenticateExternal returns the administrator, with the permissions of exactly the given roles.
// An unknown one gets an account, so that the audit trail has an author.
func (d *Directory) AuthenticateExternal(ctx context.Context, e External) (*Identity, error) {
	s := d.current.Load()
	if s.accounts[e.loginName()] == nil {
		fresh, err := d.fresh(ctx)
		if err != nil {
			return nil, err
		}
		s = fresh
	}
	id, err := s.external(e)
	if err != nil {
		return nil, err
	}
	if acc := s.accounts[id.LoginName]; acc != nil {
		id.ID = acc.ID
		return id, nil
	}
	return d.keep(ctx, e, id)
}

// SignOn is AuthenticateExternal after an interactive login at the provider: it also stores the
// roles in the account. The ticket begins one session.
func (d *Directory) SignOn(ctx context.Context, e External) (ticket string, err error) {
	s, err := d.fresh(ctx)
	if err != nil {
		return "", err
	}
	id, err := s.external(e)
	if err != nil {
		return "", err
	}
	if id, err = d.keep(ctx, e, id); err != nil {
		return "", err
	}
	id.Token.Kind = TokenOfTicket
	return d.tickets.issue(id, d.opts.Now()), nil
}

// external returns the identity of the administrator, without the id.
func (s *snapshot) external(e External) (*Identity, error) {
	id := &Identity{LoginName: e.loginName(), Token: &TokenInfo{Name: e.Subject, Kind: TokenOfProvider}}
	for _, role := range s.roles {
		if role.ID != RootRoleID && slices.Contains(e.RoleIDs, role.ID) {
			id.Permissions = id.Permissions.Union(permissionSet(role))
			id.Token.Roles = append(id.Token.Roles, role.ID)
		}
	}
	if len(id.Token.Roles) == 0 {
		return nil, &apierr.Error{
			Code: apierr.Unauthorized, Err: ErrNoRole,
			Reason: fmt.Sprintf("%q is known to the identity provider, but none of its claims gives a role on this server; see app.security.oidc.role-mapping", e.Subject),
		}
	}
	return id, nil
}

// keep stores an administrator with its current roles.
func (d *Directory) keep(ctx context.Context, e External, id *Identity) (*Identity, error) {
	name := []rune(strings.TrimSpace(e.DisplayName))
	a := store.Admin{
		LoginName: id.LoginName, DisplayName: string(name[:min(len(name), maxDisplayName)]), RoleIDs: id.Token.Roles,
		RegistrationDate: d.opts.Now().UTC().Truncate(time.Millisecond),
	}
	if a.DisplayName == "" {
		a.DisplayName = e.Subject
	}
	// The password is unknown and cannot be used.
	hash, err := d.opts.Hasher.Hash(rand.Text())
	if err != nil {
		return nil, fmt.Errorf("sign on: %w", err)
	}
	a.Password = hash
	write := func(ctx context.Context, tx store.Tx) error {
		found, err := store.FindAdmins(ctx, tx, store.AdminFilter{LoginNames: []string{a.LoginName}}, store.Page{})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			a.ID = d.opts.IDs.Next()
			return store.InsertAdmins(ctx, tx, a)
		}
		a.ID = found[0].ID
		if found[0].DisplayName == a.DisplayName && slices.Equal(found[0].RoleIDs, a.RoleIDs) {
			return nil
		}
		_, err = store.UpdateAdmins(ctx, tx, []int64{a.ID}, store.AdminChange{DisplayName: &a.DisplayName, RoleIDs: &a.RoleIDs})
		return err
	}
	err = d.change(ctx, write)
	if errors.Is(err, store.ErrDuplicateKey) {
		err = d.change(ctx, write) // Another request of the same administrator was faster.
	}
	if err != nil {
		return nil, fmt.Errorf("sign on: %w", err)
	}
	id.ID = a.ID
	return id, nil
}

// tickets are valid once, on this node, for a short time.
type tickets struct {
	mu   sync.Mutex
	open map[tokenHash]ticket
}

type ticket struct {
	id      *Identity
	expires time.Time
}

func (t *tickets) issue(id *Identity, now time.Time) string {
	text, hash := newToken(ticketPrefix)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[tokenHash]ticket{}
	}
	for key, other := range t.open {
		if now.After(other.expires) {
			delete(t.open, key)
		}
	}
	t.open[tokenHash(hash)] = ticket{id, now.Add(ticketLifetime)}
	return text
}

// take redeems a ticket and returns its identity, or nil.
func (t *tickets) take(text string, now time.Time) (*Identity, error) {
	key := tokenHash(sha256.Sum256([]byte(text)))
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.open[key]
	delete(t.open, key)
	if !ok || now.After(found.expires) {
		return nil, unauthorized("the ticket is unknown, used or expired")
	}
	return found.id, nil
}

// isExternal reports whether the administrator is from an identity provider.
func isExternal(loginName string) bool { return strings.HasPrefix(loginName, externalPrefix) }

// mayHaveTokens returns an error for external administrators, whose tokens would outlive the
// provider's login.
func (r requester) mayHaveTokens() error {
	if r.external {
		return unauthorized("administrators who sign in through the identity provider have no tokens of this server; programs can send tokens of the provider")
	}
	return nil
}
