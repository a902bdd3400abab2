// SPDX-License-Identifier: Apache-2.0

// Package user holds the rules about user accounts and user roles, which define which groups users
// may create. Relationships are in package relationship; presence is elsewhere.
package user

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/check"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
)

// Options configure a Directory.
type Options struct {
	Store *store.DB
	IDs   *ids.Generator
	// Hasher hashes the passwords of users.
	Hasher password.Hasher
	// Settings returns the current rules.
	Settings func() config.User
	// Clock is time.Now if it is nil.
	Clock func() time.Time

	// OnDelete are called in the transaction that deletes users physically, to delete dependent
	// data atomically. They may run more than once. The ids may include users without account.
	OnDelete []func(ctx context.Context, tx store.Tx, userIDs []int64) error
	// Disconnect is called after users were deleted or deactivated. It must close their sessions
	// without waiting for that. It may be nil.
	Disconnect func(userIDs []int64)
	// Registered and Deleted are called with the number of new and deleted users. They may be nil.
	Registered, Deleted func(n int64)
}

// Directory manages all users of the cluster. It has no cache.
type Directory struct {
	opts        Options
	verifier    *verifier
	credentials *credentials
}

// New returns the directory over a store.
func New(o Options) *Directory {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Disconnect == nil {
		o.Disconnect = func([]int64) {}
	}
	if o.Registered == nil {
		o.Registered = func(int64) {}
	}
	if o.Deleted == nil {
		o.Deleted = func(int64) {}
	}
	return &Directory{opts: o, verifier: newVerifier(o.Hasher), credentials: &credentials{store: o.Store}}
}

func (d *Directory) now() time.Time { return d.opts.Clock().UTC().Truncate(time.Millisecond) }

// Creation defines a new user.
type Creation struct {
	// ID is generated if it is nil.
	ID *int64
	// Password is required depending on the settings; an empty one means none.
	Password              *string
	Name, Intro           string
	ProfilePicture        *string
	ProfileAccessStrategy store.ProfileAccessStrategy
	// RoleID need not exist.
	RoleID int64
	// RegistrationDate is now if it is nil.
	RegistrationDate *time.Time
	// IsActive is true if the account is active; nil means the setting.
	IsActive *bool
}

// Create adds a user with a default relationship group.
func (d *Directory) Create(ctx context.Context, c Creation) (store.User, error) {
	now, settings := d.now(), d.opts.Settings()
	u := store.User{
		Name: c.Name, Intro: c.Intro, ProfilePicture: c.ProfilePicture, ProfileAccessStrategy: c.ProfileAccessStrategy, RoleID: c.RoleID,
		RegistrationDate: now, LastUpdatedDate: now, IsActive: settings.ActivateUserWhenAdded,
	}
	if c.Password == nil && settings.Info.MinPasswordLength >= 0 {
		return store.User{}, apierr.New(apierr.IllegalArgument, "password: is required")
	}
	err := cmp.Or(checkInfo(settings.Info, c.Password, &c.Name, &c.Intro, c.ProfilePicture), check.NotFuture("registrationDate", c.RegistrationDate, now))
	if err != nil {
		return store.User{}, err
	}
	if c.RegistrationDate != nil {
		u.RegistrationDate = *c.RegistrationDate
	}
	if c.IsActive != nil {
		u.IsActive = *c.IsActive
	}
	if u.ID, err = d.newID(ctx, c.ID); err != nil {
		return store.User{}, err
	}
	if c.Password != nil {
		if u.Password, err = d.hash(*c.Password); err != nil {
			return store.User{}, fmt.Errorf("create user: %w", err)
		}
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := store.InsertUsers(ctx, tx, u); err != nil {
			return err
		}
		created, err := store.InsertUserVersions(ctx, tx, now, u.ID)
		if err != nil {
			return err
		}
		if created == 0 {
			// Others had relationships to the user before it had an account.
			return relationship.EnsureDefaultGroups(ctx, tx, now, u.ID)
		}
		// Nobody can have an outdated copy of the lists yet.
		_, err = store.EnsureDefaultRelationshipGroups(ctx, tx, now, u.ID)
		return err
	})
	if err != nil {
		return store.User{}, err
	}
	d.opts.Registered(1)
	return u, nil
}

func (d *Directory) newID(ctx context.Context, given *int64) (int64, error) {
	if given == nil {
		return d.opts.IDs.NextContext(ctx)
	}
	return *given, check.UserID("id", *given)
}

// checkInfo checks the lengths of the texts.
func checkInfo(s config.UserInfo, password, name, intro, picture *string) error {
	if password != nil {
		if least := max(0, int(s.MinPasswordLength)); check.Length(*password) < least {
			return apierr.New(apierr.IllegalArgument, "password: must have at least %d characters", least)
		}
	}
	for _, limit := range []struct {
		field string
		text  *string
		most  int32
	}{
		{"password", password, s.MaxPasswordLength},
		{"name", name, s.MaxNameLength},
		{"intro", intro, s.MaxIntroLength},
		{"profilePicture", picture, s.MaxProfilePictureLength},
	} {
		if limit.text == nil {
			continue
		}
		if err := check.MaxLength(limit.field, *limit.text, limit.most); err != nil {
			return err
		}
	}
	return nil
}

// hash returns the stored form of a password. It is empty for an empty password, which does not
// allow a login.
func (d *Directory) hash(password string) ([]byte, error) {
	if password == "" {
		return nil, nil
	}
	return d.opts.Hasher.Hash(password)
}

// Find returns users in the order of their ids, or of the first date that the
// filter asks for, deleted ones included.
func (d *Directory) Find(ctx context.Context, f store.UserFilter, limit, offset int) (users []store.User, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		users, err = store.FindUsers(ctx, r, f, store.Page{Limit: limit, Offset: offset})
		return err
	})
	return users, err
}

// FindPage returns a page of users and how many there are in all, as far as
// store.ForTotal counts.
func (d *Directory) FindPage(ctx context.Context, f store.UserFilter, page store.Page) (total int64, users []store.User, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total, err = store.CountUsers(ctx, store.ForTotal(r, page), f); err != nil || total == 0 {
			return err
		}
		users, err = store.FindUsers(ctx, r, f, page)
		return err
	})
	return total, users, err
}

// Count returns how many users match the filter.
func (d *Directory) Count(ctx context.Context, f store.UserFilter) (count int64, err error) {
	err = d.opts.Store.Scan(ctx, func(ctx context.Context, r store.Reader) error {
		count, err = store.CountUsers(ctx, r, f)
		return err
	})
	return count, err
}

// Change is a change of users. Nil fields stay unchanged.
type Change struct {
	// Password removes the password if it is empty.
	Password              *string
	Name, Intro           *string
	ProfilePicture        *string
	ProfileAccessStrategy *store.ProfileAccessStrategy
	RoleID                *int64
	RegistrationDate      *time.Time
	IsActive              *bool
}

// nothing reports whether the change is empty. Empty texts count as absent, because forms send them
// for blank fields.
func (c Change) nothing() bool {
	for _, text := range []*string{c.Password, c.Name, c.Intro, c.ProfilePicture} {
		if text != nil && *text != "" {
			return false
		}
	}
	return c.ProfileAccessStrategy == nil && c.RoleID == nil && c.RegistrationDate == nil && c.IsActive == nil
}

// Update changes the users with these ids, all or none. It closes the sessions of users who are
// made inactive.
func (d *Directory) Update(ctx context.Context, userIDs []int64, c Change) (result store.UpdateResult, err error) {
	now := d.now()
	err = cmp.Or(checkInfo(d.opts.Settings().Info, c.Password, c.Name, c.Intro, c.ProfilePicture), check.NotFuture("registrationDate", c.RegistrationDate, now))
	if err != nil || c.nothing() {
		return store.UpdateResult{}, err
	}
	change := store.UserChange{
		Name: c.Name, Intro: c.Intro, ProfilePicture: c.ProfilePicture, ProfileAccessStrategy: c.ProfileAccessStrategy,
		RoleID: c.RoleID, RegistrationDate: c.RegistrationDate, IsActive: c.IsActive,
	}
	if c.Password != nil {
		hash, err := d.hash(*c.Password)
		if err != nil {
			return store.UpdateResult{}, fmt.Errorf("update users: %w", err)
		}
		change.Password = &hash
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		result, err = store.UpdateUsers(ctx, tx, userIDs, change, now)
		return err
	})
	if err == nil && c.IsActive != nil && !*c.IsActive && result.Modified > 0 {
		d.opts.Disconnect(userIDs)
	}
	return result, err
}

// Delete deletes the users with these ids, all or none, and closes their sessions. Logical deletion
// sets, or replaces, the deletion date. Physical deletion includes relationships in both directions
// and what the OnDelete functions delete. If logically is nil, the settings decide.
func (d *Directory) Delete(ctx context.Context, userIDs []int64, logically *bool) (deleted int64, err error) {
	now := d.now()
	if logically == nil {
		logically = new(d.opts.Settings().DeleteUserLogically)
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if *logically {
			deleted, err = store.MarkUsersDeleted(ctx, tx, userIDs, now)
			return err
		}
		deleted, err = d.erase(ctx, tx, userIDs, now)
		return err
	})
	if err != nil {
		return 0, err
	}
	d.opts.Disconnect(userIDs)
	if deleted > 0 {
		d.opts.Deleted(deleted)
	}
	return deleted, nil
}

func (d *Directory) erase(ctx context.Context, tx store.Tx, userIDs []int64, now time.Time) (int64, error) {
	deleted, err := store.DeleteUsers(ctx, tx, userIDs)
	if err != nil {
		return 0, err
	}
	if err := store.DeleteUserSettings(ctx, tx, userIDs); err != nil {
		return 0, err
	}
	if err := relationship.DeleteOf(ctx, tx, now, userIDs); err != nil {
		return 0, err
	}
	for _, hook := range d.opts.OnDelete {
		if err := hook(ctx, tx, userIDs); err != nil {
			return 0, err
		}
	}
	// The versions go last, because the preceding steps change lists.
	return deleted, store.DeleteUserVersions(ctx, tx, userIDs)
}
