// SPDX-License-Identifier: Apache-2.0

package administrator

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

// TokenKind tells what a token is for.
type TokenKind string

// The kinds of tokens.
const (
	// TokenOfProgram is a token for a program.
	TokenOfProgram TokenKind = "TOKEN"
	// TokenOfSession is a token from a login. It has all permissions of its owner, a short lifetime
	// and an idle time-out.
	TokenOfSession TokenKind = "SESSION"
)

// Prefixes make tokens recognisable for people and secret scanners.
const (
	programPrefix = "app_token_"
	sessionPrefix = "app_session_"
)

// maxTokens bounds the tokens and, separately, the sessions of one administrator.
const maxTokens = 100

// Lifetimes say how long tokens are valid.
type Lifetimes struct {
	// Token is the default lifetime of a token, and MaxToken the maximum; 0 means no limit.
	Token, MaxToken time.Duration
	// Session is the lifetime of a session, and Idle its idle time-out.
	Session, Idle time.Duration
	// SignOn is the maximum lifetime of sessions from an identity provider; 0 means Session.
	SignOn time.Duration
}

// defaultLifetimes are the default of Options.Lifetimes.
var defaultLifetimes = Lifetimes{Token: 90 * 24 * time.Hour, Session: 12 * time.Hour, Idle: 30 * time.Minute}

// TokenInfo describes the token or session of a request.
type TokenInfo struct {
	ID   int64
	Name string
	Kind TokenKind
	// Roles replace those of the account for a token of the identity provider; nil means the
	// account's.
	Roles []int64
}

type tokenHash [sha256.Size]byte

// token is a valid token in a snapshot.
type token struct {
	Identity
	networks []netip.Prefix
	expires  time.Time
	lastUse  time.Time
}

// indexTokens gives each token the permissions that both it and its owner have.
func (s *snapshot) indexTokens(stored []store.AdminToken) {
	owners := make(map[int64]*account, len(s.accounts))
	for _, acc := range s.accounts {
		owners[acc.ID] = acc
	}
	s.tokens = make(map[tokenHash]*token, len(stored))
	for _, st := range stored {
		owner := owners[st.OwnerID]
		if owner == nil || len(st.Hash) != sha256.Size {
			continue
		}
		t := &token{Identity: owner.Identity, expires: st.ExpirationDate, lastUse: st.LastUseDate}
		if t.lastUse.IsZero() {
			t.lastUse = st.CreationDate
		}
		t.Token = &TokenInfo{ID: st.ID, Name: st.Name, Kind: TokenKind(st.Kind)}
		if st.Permissions != nil {
			t.Permissions = t.Permissions.Intersect(setOf(st.Permissions))
		}
		for _, n := range st.Networks {
			if prefix, err := netip.ParsePrefix(n); err == nil {
				t.networks = append(t.networks, prefix)
			}
		}
		if len(t.networks) < len(st.Networks) {
			continue // An invalid limit must not count as none.
		}
		s.tokens[tokenHash(st.Hash)] = t
	}
}

func setOf(names []string) permission.Set {
	list := make([]permission.Permission, len(names))
	for i, n := range names {
		list[i] = permission.Permission(n)
	}
	return permission.NewSet(list...)
}

// AuthenticateToken returns the administrator of this token or session, or an apierr.Unauthorized
// error.
func (d *Directory) AuthenticateToken(ctx context.Context, text string, remote netip.Addr) (*Identity, error) {
	if strings.HasPrefix(text, ticketPrefix) {
		return d.tickets.take(text, d.opts.Now())
	}
	hash := tokenHash(sha256.Sum256([]byte(text)))
	t := d.current.Load().tokens[hash]
	if t == nil {
		// Another node may just have created it.
		if s, err := d.fresh(ctx); err == nil {
			t = s.tokens[hash]
		}
	}
	if t == nil {
		return nil, unauthorized("the token is unknown or revoked")
	}
	now := d.opts.Now()
	if !now.Before(t.expires) {
		return nil, unauthorized("the %s expired at %s", t.Token.Kind.noun(), t.expires.UTC().Format(time.RFC3339))
	}
	if t.Token.Kind == TokenOfSession && d.idle(ctx, t, now) {
		return nil, unauthorized("the session ended because it was not used; log in again")
	}
	remote = remote.Unmap().WithZone("")
	if len(t.networks) > 0 && !slices.ContainsFunc(t.networks, func(p netip.Prefix) bool { return p.Contains(remote) }) {
		return nil, unauthorized("the token %q may not be used from the address %s", t.Token.Name, remote)
	}
	d.uses.add(t.Token.ID, now)
	return &t.Identity, nil
}

func (k TokenKind) noun() string {
	if k == TokenOfSession {
		return "session"
	}
	return "token"
}

// idle reports whether a session has exceeded its idle time-out. Its last use may have been on
// another node.
func (d *Directory) idle(ctx context.Context, t *token, now time.Time) bool {
	limit := d.lifetimes().Idle
	since := func(last time.Time) bool { return now.Sub(last) > limit }
	if limit <= 0 || !since(t.lastUse) || !since(d.uses.last(t.Token.ID)) {
		return false
	}
	var found []store.AdminToken
	err := d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
		found, err = store.FindAdminTokens(ctx, r, store.AdminTokenFilter{IDs: []int64{t.Token.ID}}, store.Page{})
		return err
	})
	return err != nil || len(found) == 0 || since(found[0].LastUseDate)
}

func (d *Directory) lifetimes() Lifetimes {
	if d.opts.Lifetimes == nil {
		return defaultLifetimes
	}
	return d.opts.Lifetimes()
}

// TokenCreation defines a new token.
type TokenCreation struct {
	Name string
	// Permissions are patterns; empty means all those of the creator.
	Permissions []string
	// ExpirationDate may be zero for the default lifetime.
	ExpirationDate time.Time
	Networks       []netip.Prefix
}

// CreateToken creates a token for a program. The text of the token is returned only here.
func (d *Directory) CreateToken(ctx context.Context, by By, c TokenCreation) (t store.AdminToken, text string, err error) {
	if by.Token != nil && by.Token.Kind != TokenOfSession {
		return t, "", unauthorized("a token cannot create tokens; use a password or a session")
	}
	now := d.opts.Now().UTC().Truncate(time.Millisecond)
	t = store.AdminToken{
		ID: d.opts.IDs.Next(), OwnerID: by.ID, Kind: string(TokenOfProgram), Name: c.Name, CreationDate: now, ExpirationDate: c.ExpirationDate.Truncate(time.Millisecond),
		Networks: make([]string, len(c.Networks)),
	}
	for i, n := range c.Networks {
		t.Networks[i] = n.Masked().String()
	}
	if t.ExpirationDate, err = d.expiration(t.ExpirationDate, now); err != nil {
		return t, "", err
	}
	if len(c.Permissions) > 0 {
		if t.Permissions, err = expand(c.Permissions); err != nil {
			return t, "", err
		}
	}
	text, t.Hash = newToken(programPrefix)
	err = d.change(ctx, func(ctx context.Context, tx store.Tx) error {
		r, err := loadRequester(ctx, tx, by)
		if err != nil {
			return err
		}
		if err := r.mayHaveTokens(); err != nil {
			return err
		}
		if t.Permissions == nil {
			t.Permissions = r.permissions.Names()
		} else if err := r.holds(t.Permissions); err != nil {
			return err
		}
		n, err := store.CountAdminTokens(ctx, tx, store.AdminTokenFilter{OwnerIDs: []int64{by.ID}, Kinds: []string{t.Kind}})
		if err != nil {
			return err
		}
		if n >= maxTokens {
			return apierr.New(apierr.IllegalArgument, "you have %d tokens, which is the most that an administrator can have; revoke one first", n)
		}
		return store.InsertAdminToken(ctx, tx, t)
	})
	return t, text, err
}

// expiration returns when a new token expires.
func (d *Directory) expiration(wanted, now time.Time) (time.Time, error) {
	l := d.lifetimes()
	if wanted.IsZero() {
		usual := l.Token
		if l.MaxToken > 0 {
			usual = min(usual, l.MaxToken)
		}
		return now.Add(usual), nil
	}
	if !wanted.After(now) {
		return wanted, apierr.New(apierr.IllegalArgument, "expirationDate: must be in the future")
	}
	if l.MaxToken > 0 && wanted.After(now.Add(l.MaxToken)) {
		return wanted, apierr.New(apierr.IllegalArgument, "expirationDate: must be at most %s ahead", l.MaxToken)
	}
	return wanted, nil
}

func newToken(prefix string) (text string, hash []byte) {
	text = prefix + rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(text))
	return text, sum[:]
}

// CreateSession begins a session after password authentication. The oldest session ends if there
// are too many.
func (d *Directory) CreateSession(ctx context.Context, by By) (t store.AdminToken, text string, err error) {
	now, lifetime := d.opts.Now().UTC().Truncate(time.Millisecond), d.lifetimes().Session
	if by.Token != nil {
		if by.Token.Kind != TokenOfTicket {
			return t, "", unauthorized("log in with login name and password")
		}
		if most := d.lifetimes().SignOn; most > 0 {
			lifetime = min(lifetime, most)
		}
	}
	t = store.AdminToken{
		ID: d.opts.IDs.Next(), OwnerID: by.ID, Kind: string(TokenOfSession), Networks: []string{},
		CreationDate: now, ExpirationDate: now.Add(lifetime),
	}
	text, t.Hash = newToken(sessionPrefix)
	err = d.change(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := loadRequester(ctx, tx, by); err != nil {
			return err
		}
		sessions, err := store.FindAdminTokens(ctx, tx, store.AdminTokenFilter{OwnerIDs: []int64{by.ID}, Kinds: []string{t.Kind}}, store.Page{})
		if err != nil {
			return err
		}
		if excess := len(sessions) - maxTokens + 1; excess > 0 {
			if _, err := store.DeleteAdminTokens(ctx, tx, tokenIDs(sessions[:excess])); err != nil {
				return err
			}
		}
		return store.InsertAdminToken(ctx, tx, t)
	})
	return t, text, err
}

func tokenIDs(tokens []store.AdminToken) []int64 {
	ids := make([]int64, len(tokens))
	for i, t := range tokens {
		ids[i] = t.ID
	}
	return ids
}

// endSessions revokes the sessions of administrators whose password changes, except the requesting
// one.
func endSessions(ctx context.Context, tx store.Tx, by By, adminIDs []int64) error {
	sessions, err := store.FindAdminTokens(ctx, tx, store.AdminTokenFilter{OwnerIDs: adminIDs, Kinds: []string{string(TokenOfSession)}}, store.Page{})
	if err != nil {
		return err
	}
	sessions = slices.DeleteFunc(sessions, func(t store.AdminToken) bool { return by.Token != nil && by.Token.ID == t.ID })
	if len(sessions) == 0 {
		return nil
	}
	_, err = store.DeleteAdminTokens(ctx, tx, tokenIDs(sessions))
	return err
}

// FindTokens returns a page of tokens by id, without their texts, and the total number. Without
// permission to query administrators, only the requester's own tokens are found; a token finds only
// itself.
func (d *Directory) FindTokens(ctx context.Context, by *Identity, f store.AdminTokenFilter, limit, offset int) (total int64, tokens []store.AdminToken, err error) {
	if !by.Permissions.Has(permission.AdminQuery) {
		if len(f.OwnerIDs) > 0 && !slices.Equal(f.OwnerIDs, []int64{by.ID}) {
			return 0, nil, unauthorized("the permission %s is needed to query tokens of others", permission.AdminQuery)
		}
		f.OwnerIDs = []int64{by.ID}
		if by.Token != nil && by.Token.Kind == TokenOfProgram {
			if len(f.IDs) > 0 && !slices.Contains(f.IDs, by.Token.ID) {
				return 0, nil, nil
			}
			f.IDs = []int64{by.Token.ID}
		}
	}
	if err := d.noteUses(ctx); err != nil {
		return 0, nil, err
	}
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total, err = store.CountAdminTokens(ctx, r, f); err != nil || total == 0 {
			return err
		}
		tokens, err = store.FindAdminTokens(ctx, r, f, store.Page{Limit: limit, Offset: offset})
		return err
	})
	return total, tokens, err
}

// DeleteTokens revokes tokens and sessions, all or none. Administrators may revoke their own and,
// if they may update administrators, those of lower-ranking ones; a token may revoke itself.
func (d *Directory) DeleteTokens(ctx context.Context, by By, ids []int64) (deleted int64, err error) {
	err = d.change(ctx, func(ctx context.Context, tx store.Tx) error {
		tokens, err := store.FindAdminTokens(ctx, tx, store.AdminTokenFilter{IDs: ids}, store.Page{})
		if err != nil {
			return err
		}
		var owners []int64
		for _, t := range tokens {
			self := t.OwnerID == by.ID && (by.Token == nil || by.Token.Kind == TokenOfSession || by.Token.ID == t.ID)
			if !self {
				owners = append(owners, t.OwnerID)
			}
		}
		if len(owners) > 0 {
			r, err := loadRequester(ctx, tx, by)
			if err != nil {
				return err
			}
			if !r.permissions.Has(permission.AdminUpdate) {
				return unauthorized("the permission %s is needed to revoke tokens of others", permission.AdminUpdate)
			}
			if err := r.mayChange(ctx, tx, owners); err != nil {
				return err
			}
		}
		deleted, err = store.DeleteAdminTokens(ctx, tx, ids)
		return err
	})
	return deleted, err
}

// expiredFor is how long an expired token stays visible.
const expiredFor = 24 * time.Hour

// DeleteExpiredTokens removes tokens and sessions that expired a while ago.
func (d *Directory) DeleteExpiredTokens(ctx context.Context, db store.Writer) (deleted int64, err error) {
	err = db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		deleted, err = store.DeleteExpiredAdminTokens(ctx, tx, d.opts.Now().Add(-expiredFor))
		return err
	})
	return deleted, err
}

const (
	// noteInterval is how often uses of tokens are stored.
	noteInterval = 30 * time.Second
	// lastNoteTimeout bounds the last write when the server stops.
	lastNoteTimeout = 5 * time.Second
)

// tokenUses collects the times of use of tokens on this node.
type tokenUses struct {
	mu     sync.Mutex
	latest map[int64]time.Time
	unsent map[int64]bool
}

func (u *tokenUses) add(id int64, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.latest == nil {
		u.latest, u.unsent = map[int64]time.Time{}, map[int64]bool{}
	}
	u.latest[id] = at
	u.unsent[id] = true
}

func (u *tokenUses) last(id int64) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.latest[id]
}

// take returns and clears the uses that are not stored.
func (u *tokenUses) take() map[int64]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	uses := make(map[int64]time.Time, len(u.unsent))
	for id := range u.unsent {
		uses[id] = u.latest[id]
	}
	clear(u.unsent)
	return uses
}

// putBack restores uses after a failed write.
func (u *tokenUses) putBack(uses map[int64]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id := range uses {
		u.unsent[id] = true
	}
}

// keep drops deleted tokens.
func (u *tokenUses) keep(s *snapshot) {
	known := make(map[int64]bool, len(s.tokens))
	for _, t := range s.tokens {
		known[t.Token.ID] = true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for id := range u.latest {
		if !known[id] {
			delete(u.latest, id)
			delete(u.unsent, id)
		}
	}
}

// noteUses stores the uses of tokens on this node.
func (d *Directory) noteUses(ctx context.Context) error {
	uses := d.uses.take()
	if len(uses) == 0 {
		return nil
	}
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		for id, at := range uses {
			if err := store.TouchAdminToken(ctx, tx, id, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		d.uses.putBack(uses)
	}
	return err
}
