// SPDX-License-Identifier: Apache-2.0

// Package administrator holds the rules about administrators and their roles: authentication,
// permissions, and who may change whom. It does not know HTTP; the admin interface uses it.
package administrator

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"example.org/app/internal/apierr"
	"example.org/app/internal/ids"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
)

// Options configure a Directory.
type Options struct {
	Store  *store.DB
	IDs    *ids.Generator
	Hasher password.Hasher
	Logger *slog.Logger
	// DefaultPassword is the publicly known default password of root.
	DefaultPassword string
	// Lifetimes returns the current lifetimes of tokens and sessions; nil means
	// the usual ones.
	Lifetimes func() Lifetimes
	// Client maps an address to the one that counts for limits; nil means the address itself.
	Client func(netip.Addr) netip.Addr
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Directory manages all administrators and roles of the cluster. It caches them to check
// credentials quickly; the store is authoritative, and a change on another node is visible within a
// second.
type Directory struct {
	opts     Options
	current  atomic.Pointer[snapshot]
	loading  sync.Mutex
	verifier *verifier
	uses     tokenUses
	gate     *gate
	flights  flights
	tickets  tickets
}

// NewDirectory reads the administrators. Run must be called next, to follow the changes of other
// nodes.
func NewDirectory(ctx context.Context, opts Options) (*Directory, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	d := &Directory{opts: opts, gate: newGate(), verifier: newVerifier(opts.Hasher)}
	if _, err := d.fresh(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// Creation defines a new administrator. Defaults of empty fields: a random login name, a random
// password that is not shown, and the login name as display name.
type Creation struct {
	LoginName   string
	Password    string
	DisplayName string
	RoleIDs     []int64
}

const (
	randomLoginNameLength = 16
	randomPasswordLength  = 10
)

// Create adds an administrator on behalf of the requester.
func (d *Directory) Create(ctx context.Context, by By, c Creation) (store.Admin, error) {
	c.LoginName = strings.TrimSpace(c.LoginName)
	if err := checkLoginName(c.LoginName); err != nil {
		return store.Admin{}, err
	}
	a := store.Admin{
		ID:               d.opts.IDs.Next(),
		LoginName:        orElse(c.LoginName, func() string { return randomLetters(randomLoginNameLength) }),
		RegistrationDate: time.Now().UTC().Truncate(time.Millisecond),
		RoleIDs:          c.RoleIDs,
	}
	a.DisplayName = orElse(c.DisplayName, func() string { return a.LoginName })
	var err error
	if a.Password, err = d.opts.Hasher.Hash(orElse(c.Password, func() string { return randomLetters(randomPasswordLength) })); err != nil {
		return store.Admin{}, fmt.Errorf("create administrator: %w", err)
	}
	err = d.change(ctx, func(ctx context.Context, tx store.Tx) error {
		r, err := loadRequester(ctx, tx, by)
		if err != nil {
			return err
		}
		if err := r.mayGrant(ctx, tx, c.RoleIDs); err != nil {
			return err
		}
		return store.InsertAdmins(ctx, tx, a)
	})
	if err != nil {
		return store.Admin{}, err
	}
	return a, nil
}

// maxLoginName is counted in characters.
const maxLoginName = 64

// checkLoginName returns an error for names that cannot be sent as credentials or that are
// confusable. An empty name gets a default later.
func checkLoginName(name string) error {
	bad := func(r rune) bool { return r == ':' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if utf8.RuneCountInString(name) > maxLoginName || strings.ContainsFunc(name, bad) || !utf8.ValidString(name) {
		return apierr.New(apierr.IllegalArgument, "loginName: must be 1 to %d visible characters without white space or colon", maxLoginName)
	}
	return nil
}

// Find returns administrators in the order of their ids.
func (d *Directory) Find(ctx context.Context, f store.AdminFilter, limit, offset int) (admins []store.Admin, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		admins, err = store.FindAdmins(ctx, r, f, store.Page{Limit: limit, Offset: offset})
		return err
	})
	return admins, err
}

// FindPage returns a page of administrators and how many there are in all.
func (d *Directory) FindPage(ctx context.Context, f store.AdminFilter, page store.Page) (total int64, admins []store.Admin, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total, err = store.CountAdmins(ctx, r, f); err != nil || total == 0 {
			return err
		}
		admins, err = store.FindAdmins(ctx, r, f, page)
		return err
	})
	return total, admins, err
}

// Change is a change of administrators. Nil fields stay unchanged.
type Change struct {
	Password    *string
	DisplayName *string
	RoleIDs     *[]int64
}

// Update changes the administrators with these ids, all or none.
func (d *Directory) Update(ctx context.Context, by By, adminIDs []int64, c Change) (store.UpdateResult, error) {
	if c == (Change{}) {
		return store.UpdateResult{}, nil
	}
	change := store.AdminChange{DisplayName: c.DisplayName, RoleIDs: c.RoleIDs}
	if c.Password != nil {
		hash, err := d.opts.Hasher.Hash(*c.Password)
		if err != nil {
			return store.UpdateResult{}, fmt.Errorf("update administrators: %w", err)
		}
		change.Password = &hash
	}
	var result store.UpdateResult
	err := d.change(ctx, func(ctx context.Context, tx store.Tx) error {
		r, err := loadRequester(ctx, tx, by)
		if err != nil {
			return err
		}
		if err := r.mayChange(ctx, tx, adminIDs); err != nil {
			return err
		}
		if c.Password != nil {
			if err := r.mayTakeOver(ctx, tx, adminIDs); err != nil {
				return err
			}
		}
		if c.RoleIDs != nil {
			if slices.Contains(adminIDs, by.ID) {
				return unauthorized("administrators cannot change their own roles")
			}
			if err := r.mayGrant(ctx, tx, *c.RoleIDs); err != nil {
				return err
			}
		}
		if result, err = store.UpdateAdmins(ctx, tx, adminIDs, change); err != nil || c.Password == nil {
			return err
		}
		return endSessions(ctx, tx, by, adminIDs)
	})
	return result, err
}

// Delete deletes the administrators with these ids, all or none. Administrators may delete
// themselves, except root.
func (d *Directory) Delete(ctx context.Context, by By, adminIDs []int64) (deleted int64, err error) {
	if slices.Contains(adminIDs, RootID) {
		return 0, apierr.New(apierr.IllegalArgument, "the root administrator (id %d) cannot be deleted", RootID)
	}
	err = d.change(ctx, func(ctx context.Context, tx store.Tx) error {
		r, err := loadRequester(ctx, tx, by)
		if err != nil {
			return err
		}
		if err := r.mayChange(ctx, tx, adminIDs); err != nil {
			return err
		}
		deleted, err = store.DeleteAdmins(ctx, tx, adminIDs)
		return err
	})
	return deleted, err
}

// change runs a change in one transaction and makes it visible on this node before it returns.
func (d *Directory) change(ctx context.Context, fn store.WriteFunc) error {
	if err := d.opts.Store.Write(ctx, fn); err != nil {
		return err
	}
	// The change is committed: return success even if reading fails now. Run retries.
	if _, err := d.fresh(context.WithoutCancel(ctx)); err != nil {
		d.opts.Logger.Warn("administrators could not be read again after a change", "error", err)
	}
	return nil
}

func orElse(s string, otherwise func() string) string {
	if s != "" {
		return s
	}
	return otherwise()
}

// randomLetters returns n unpredictable letters.
func randomLetters(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	out := make([]byte, 0, n)
	for b := make([]byte, 2*n); len(out) < n; {
		rand.Read(b)
		for _, c := range b {
			// Larger values would make some letters more likely.
			if int(c) < 256-256%len(letters) && len(out) < n {
				out = append(out, letters[int(c)%len(letters)])
			}
		}
	}
	return string(out)
}
