// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// BlockBy keeps a user out of a group on behalf of a requester. A member leaves
// by it and therefore must have less power than the requester.
func (d *Directory) BlockBy(ctx context.Context, requester, groupID, userID int64) error {
	if requester == userID {
		return apierr.New(apierr.IllegalArgument, "userId: nobody can block oneself")
	}
	if err := check.UserID("userId", userID); err != nil {
		return err
	}
	keys, now := []store.GroupUserKey{{GroupID: groupID, UserID: userID}}, d.now()
	return d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		at, err := d.managed(ctx, tx, groupID, requester, apierr.NotGroupOwnerOrManagerToAddBlockedUser)
		if err != nil {
			return err
		}
		members, err := store.GetGroupMembers(ctx, tx, keys)
		if err != nil {
			return err
		}
		for _, m := range members {
			if !at.above(m) {
				return apierr.New(apierr.NotGroupOwnerToRemoveGroupOwnerOrManager, "user %d is %s of group %d", userID, m.Role, groupID)
			}
			if err := d.leave(ctx, tx, keys, now); err != nil {
				return err
			}
		}
		return block(ctx, tx, store.GroupBlockedUser{GroupUserKey: keys[0], BlockDate: now, RequesterID: requester}, now)
	})
}

// UnblockBy lifts the block of a user on behalf of a requester and reports
// whether there was one.
func (d *Directory) UnblockBy(ctx context.Context, requester, groupID, userID int64) (lifted bool, err error) {
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := d.managed(ctx, tx, groupID, requester, apierr.NotGroupOwnerOrManagerToRemoveBlockedUser); err != nil {
			return err
		}
		n, err := d.unblock(ctx, tx, []store.GroupUserKey{{GroupID: groupID, UserID: userID}})
		lifted = n > 0
		return err
	})
	return lifted, err
}
