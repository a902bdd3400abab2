// SPDX-License-Identifier: Apache-2.0

package user

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/value"
	"example.org/app/internal/store"
)

// What users see of each other and change about themselves.

// Profiles returns the profiles of the users who are not deleted, by id, or only those that changed
// after a date.
func (d *Directory) Profiles(ctx context.Context, userIDs []int64, after *time.Time) (profiles []store.User, err error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	found, err := d.Find(ctx, store.UserFilter{IDs: userIDs}, 0, 0)
	for _, u := range found {
		if u.DeletionDate == nil && (after == nil || u.LastUpdatedDate.After(*after)) {
			profiles = append(profiles, u)
		}
	}
	return profiles, err
}

// Attributes returns the user-defined attributes of a user in their public form.
func (d *Directory) Attributes(u store.User) map[string]any {
	return value.ShowAttributes(u.UserDefinedAttributes, d.opts.Settings().Info.UserDefinedAttributes)
}

// OwnChange is a user's change of its own account. Nil fields stay unchanged.
type OwnChange struct {
	// Password removes the password if it is empty.
	Password              *string
	Name, Intro           *string
	ProfilePicture        *string
	ProfileAccessStrategy *store.ProfileAccessStrategy
	// UserDefinedAttributes are merged into the existing ones.
	UserDefinedAttributes map[string]any
}

// Changed is the result of a change.
type Changed struct {
	// Anything is true if something changed, Profile if others can see it.
	Anything, Profile bool
}

// ChangeOwn changes a user's own account.
func (d *Directory) ChangeOwn(ctx context.Context, userID int64, c OwnChange) (changed Changed, err error) {
	if err := checkInfo(d.opts.Settings().Info, c.Password, c.Name, c.Intro, c.ProfilePicture); err != nil {
		return Changed{}, err
	}
	if s := c.ProfileAccessStrategy; s != nil && (*s < 0 || int(*s) >= len(store.ProfileAccessStrategyNames)) {
		return Changed{}, apierr.New(apierr.IllegalArgument, "profileAccessStrategy: %d must be one of %v", *s, store.ProfileAccessStrategyNames)
	}
	change := store.UserChange{
		Name: c.Name, Intro: c.Intro, ProfilePicture: c.ProfilePicture, ProfileAccessStrategy: c.ProfileAccessStrategy,
	}
	if c.Password != nil {
		// Slow, and therefore not in the transaction.
		hash, err := d.hash(*c.Password)
		if err != nil {
			return Changed{}, fmt.Errorf("change the password of user %d: %w", userID, err)
		}
		change.Password = &hash
	}
	now, rules := d.now(), d.opts.Settings().Info.UserDefinedAttributes
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		changed = Changed{}
		found, err := store.FindUsers(ctx, tx, store.UserFilter{IDs: []int64{userID}}, store.Page{})
		if err != nil {
			return err
		}
		if len(found) == 0 || found[0].DeletionDate != nil {
			return apierr.New(apierr.UpdateInfoOfNonexistentUser, "")
		}
		change := change
		attributes, others, err := value.MergeAttributes(found[0].UserDefinedAttributes, c.UserDefinedAttributes, rules)
		if err != nil {
			return err
		}
		if others {
			change.UserDefinedAttributes = &attributes
		}
		result, err := store.UpdateUsers(ctx, tx, []int64{userID}, change, now)
		if err != nil {
			return err
		}
		changed.Anything = result.Modified > 0
		changed.Profile = others || differs(c.Name, &found[0].Name) || differs(c.Intro, &found[0].Intro) || differs(c.ProfilePicture, found[0].ProfilePicture)
		return nil
	})
	if err != nil {
		return Changed{}, err
	}
	return changed, nil
}

// differs reports whether a text is to be changed to another than it is.
func differs(wanted, is *string) bool {
	return wanted != nil && (is == nil || *wanted != *is)
}
