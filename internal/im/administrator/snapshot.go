// SPDX-License-Identifier: Apache-2.0

package administrator

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"example.org/app/internal/password"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

// snapshot is the content of the store at one revision. It is immutable.
type snapshot struct {
	revision int64
	accounts map[string]*account // by login name
	roles    []store.AdminRole   // by id, the root role first
	tokens   map[tokenHash]*token
	// rootPassword is the stored form of root's password, and rootIsOpen computes whether it is the
	// default one; nil means no.
	rootPassword []byte
	rootIsOpen   func() bool
}

type account struct {
	Identity
	password []byte
}

// Identity is an administrator with its permissions.
type Identity struct {
	ID          int64
	LoginName   string
	Permissions permission.Set
	// Token is the token or session that was presented; nil after a password.
	Token *TokenInfo
}

// fresh returns the snapshot of the store's current revision.
func (d *Directory) fresh(ctx context.Context) (*snapshot, error) {
	revision, err := d.opts.Store.Revision(ctx, store.RevisionAdmin)
	if err != nil {
		return nil, fmt.Errorf("read administrators: %w", err)
	}
	if s := d.current.Load(); s != nil && s.revision == revision {
		return s, nil
	}
	d.loading.Lock()
	defer d.loading.Unlock()
	if s := d.current.Load(); s != nil && s.revision >= revision {
		return s, nil
	}
	s, err := d.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("read administrators: %w", err)
	}
	d.judgeRoot(s)
	d.current.Store(s)
	d.verifier.keep(s)
	d.uses.keep(s)
	return s, nil
}

// judgeRoot prepares the check whether root has the default password. The comparison is slow, so it
// runs only for a new stored form, in the first caller that needs it: the start does not wait for
// it.
func (d *Directory) judgeRoot(s *snapshot) {
	root := s.accounts[RootLoginName]
	if root == nil || d.opts.DefaultPassword == "" {
		return
	}
	s.rootPassword = root.password
	if old := d.current.Load(); old != nil && bytes.Equal(old.rootPassword, root.password) {
		s.rootIsOpen = old.rootIsOpen
		return
	}
	s.rootIsOpen = sync.OnceValue(func() bool { return password.Verify(root.password, d.opts.DefaultPassword) == nil })
}

// RootIsOpen reports whether root has the default password.
func (d *Directory) RootIsOpen() bool {
	isOpen := d.current.Load().rootIsOpen
	return isOpen != nil && isOpen()
}

// load reads the revision first: after a concurrent change the snapshot is newer than its revision,
// and the next check loads it again.
func (d *Directory) load(ctx context.Context) (*snapshot, error) {
	revision, err := d.opts.Store.Revision(ctx, store.RevisionAdmin)
	if err != nil {
		return nil, err
	}
	s := &snapshot{revision: revision, accounts: map[string]*account{}, roles: []store.AdminRole{RootRole}}
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		roles, err := store.FindAdminRoles(ctx, r, store.AdminRoleFilter{}, store.Page{})
		if err != nil {
			return err
		}
		s.roles = append(s.roles, roles...)
		admins, err := store.FindAdmins(ctx, r, store.AdminFilter{}, store.Page{})
		if err != nil {
			return err
		}
		s.index(admins)
		tokens, err := store.FindAdminTokens(ctx, r, store.AdminTokenFilter{}, store.Page{})
		if err != nil {
			return err
		}
		s.indexTokens(tokens)
		return nil
	})
	return s, err
}

func (s *snapshot) index(admins []store.Admin) {
	sets := make(map[int64]permission.Set, len(s.roles))
	for _, role := range s.roles {
		sets[role.ID] = permissionSet(role)
	}
	for _, a := range admins {
		acc := &account{Identity: Identity{ID: a.ID, LoginName: a.LoginName}, password: a.Password}
		for _, id := range a.RoleIDs {
			acc.Permissions = acc.Permissions.Union(sets[id])
		}
		s.accounts[a.LoginName] = acc
	}
}

// pollInterval bounds the delay until a change on another node is visible.
const pollInterval = time.Second

// Run follows the changes of other nodes until ctx ends, and stores when tokens were used.
func (d *Directory) Run(ctx context.Context) error {
	noted := d.opts.Now()
	err := store.Watch(ctx, pollInterval, d.opts.Logger, "administrators", func(ctx context.Context) error {
		if now := d.opts.Now(); now.Sub(noted) >= noteInterval {
			noted = now
			if err := d.noteUses(ctx); err != nil {
				return err
			}
		}
		_, err := d.fresh(ctx)
		return err
	})
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastNoteTimeout)
	defer cancel()
	if err := d.noteUses(last); err != nil {
		d.opts.Logger.Warn("the last uses of tokens could not be stored", "error", err)
	}
	return err
}
