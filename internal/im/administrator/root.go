// SPDX-License-Identifier: Apache-2.0

package administrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/app/internal/store"
)

const (
	// RootID is the id of the administrator that every cluster has.
	RootID int64 = 0
	// RootLoginName is its login name.
	RootLoginName = "app"
)

// EnsureRoot creates the root administrator if no administrator holds the root role. Concurrent
// nodes create only one.
func (d *Directory) EnsureRoot(ctx context.Context, initialPassword string) (created bool, err error) {
	exists := false
	check := func(ctx context.Context, r store.Reader) (err error) {
		exists, err = store.AnyAdminWithRole(ctx, r, RootRoleID)
		return err
	}
	if err := d.opts.Store.Read(ctx, check); err != nil || exists {
		return false, err
	}
	hash, err := d.opts.Hasher.Hash(initialPassword)
	if err != nil {
		return false, fmt.Errorf("create the root administrator: %w", err)
	}
	root := store.Admin{
		ID: RootID, LoginName: RootLoginName, Password: hash, DisplayName: RootLoginName,
		RegistrationDate: time.Now(), RoleIDs: []int64{RootRoleID},
	}
	err = d.change(ctx, func(ctx context.Context, tx store.Tx) error {
		created = false
		if err := check(ctx, tx); err != nil || exists {
			return err
		}
		created = true
		return store.InsertAdmins(ctx, tx, root)
	})
	if errors.Is(err, store.ErrDuplicateKey) {
		// Another node was faster, unless another administrator has the name or the id.
		if checkErr := d.opts.Store.Read(ctx, check); checkErr == nil && exists {
			return false, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("create the root administrator: %w", err)
	}
	return created, nil
}
