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
	// TokenOfTicket lets somebody whom the identity provider has logged in begin a session.
	TokenOfTicket TokenKind = "TICKET"
)

// externalPrefix begins the login names of administrators whom an identity provider knows. Nobody can choose such a name,
// and no password is ever asked for with it: login names have no colon.
const externalPrefix = "oidc:"

const (
	ticketPrefix = "app_ticket_"
	// ticketLifetime is how long a ticket is valid. The server itself uses it at once.
	ticketLifetime = time.Minute
	// maxDisplayName is counted in characters.
	maxDisplayName = 64
)

// ErrNoRole means that the identity provider knows somebody who has no role here.
var ErrNoRole = errors.New("no role")

// External is an administrator whom an identity provider knows.
type External struct {
	Issuer, Subject string
	DisplayName     string
	// RoleIDs are the roles that the provider's claims are mapped to. Those that do not exist count for nothing.
	RoleIDs []int64
}

// loginName is unique for a subject of an issuer.
func (e External) loginName() string {
	issuer := sha256.Sum256([]byte(e.Issuer))
	return externalPrefix + hex.EncodeToString(issuer[:4]) + ":" + e.Subject
}

// AuthenticateExternal returns the administrator, with the permissions of the roles given here and no others, whatever
// the account had before. An unknown one gets an account, so that what it does has an author.
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

// SignOn is AuthenticateExternal for somebody who has just logged in at the provider: the account gets the roles too. The
// ticket begins one session.
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

// external returns who the administrator is, without the id.
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

// keep stores an administrator, with the roles that it has now.
func (d *Directory) keep(ctx context.Context, e External, id *Identity) (*Identity, error) {
	name := []rune(strings.TrimSpace(e.DisplayName))
	a := store.Admin{
		LoginName: id.LoginName, DisplayName: string(name[:min(len(name), maxDisplayName)]), RoleIDs: id.Token.Roles,
		RegistrationDate: d.opts.Now().UTC().Truncate(time.Millisecond),
	}
	if a.DisplayName == "" {
		a.DisplayName = e.Subject
	}
	// Nobody learns the password, and nobody could send it.
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

// tickets are valid once, on this node, for a short while.
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

// take returns who a ticket was issued to, once.
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

// isExternal reports whether an identity provider knows the administrator.
func isExternal(loginName string) bool { return strings.HasPrefix(loginName, externalPrefix) }

// mayHaveTokens refuses tokens that would outlive what the identity provider says.
func (r requester) mayHaveTokens() error {
	if r.external {
		return unauthorized("administrators who sign in through the identity provider have no tokens of this server; programs can send tokens of the provider")
	}
	return nil
}
