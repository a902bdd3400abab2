// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"context"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/group"
	"example.org/app/internal/im/value"
	"example.org/app/internal/store"
)

// UpdateSettings sets settings of the owner about a conversation, all or none, and reports whether
// anything changed. The owner must be related to the user, or a member of the group, of the
// conversation.
func (d *Directory) UpdateSettings(ctx context.Context, key store.ConversationKey, wanted map[string]any) (changed bool, err error) {
	rules, now := d.opts.Settings().Settings, d.now()
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := d.mayHaveSettings(ctx, tx, key); err != nil {
			return err
		}
		found, err := store.FindConversationSettings(ctx, tx, only(key))
		if err != nil {
			return err
		}
		s := store.ConversationSettings{ConversationKey: key, LastUpdatedDate: now}
		if len(found) > 0 {
			s.Settings = found[0].Settings
		}
		if s.Settings, changed, err = value.Merge("settings", s.Settings, wanted, rules); err != nil || !changed {
			return err
		}
		return store.PutConversationSettings(ctx, tx, s)
	})
	return changed && err == nil, err
}

// only is the filter for one conversation.
func only(key store.ConversationKey) store.ConversationSettingFilter {
	f := store.ConversationSettingFilter{OwnerID: key.OwnerID}
	if key.IsGroup {
		f.GroupIDs = []int64{key.TargetID}
	} else {
		f.UserIDs = []int64{key.TargetID}
	}
	return f
}

func (d *Directory) mayHaveSettings(ctx context.Context, r store.Reader, key store.ConversationKey) error {
	if key.IsGroup {
		member, err := group.IsMember(ctx, r, key.TargetID, key.OwnerID)
		if err == nil && !member {
			err = apierr.New(apierr.NotGroupMemberToUpdateGroupConversationSetting, "")
		}
		return err
	}
	related, err := store.FindRelationship(ctx, r, store.RelationshipKey{OwnerID: key.OwnerID, RelatedUserID: key.TargetID})
	if err == nil && related == nil {
		err = apierr.New(apierr.NotRelatedUserToUpdatePrivateConversationSetting, "")
	}
	return err
}

// DeleteSettings removes settings of the owner about the conversations that the
// filter selects, in all of them or in none: those with the names, or all that may
// be removed without names. It reports whether there were any in private
// conversations and in those of groups.
func (d *Directory) DeleteSettings(ctx context.Context, f store.ConversationSettingFilter, names []string) (private, groups bool, err error) {
	rules, now := d.opts.Settings().Settings, d.now()
	// Invalid names are an error even if there is nothing to remove.
	if _, _, err := value.Remove(nil, names, rules); err != nil {
		return false, false, err
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		private, groups = false, false
		found, err := store.FindConversationSettings(ctx, tx, f)
		if err != nil {
			return err
		}
		for _, s := range found {
			rest, changed, err := value.Remove(s.Settings, names, rules)
			if err != nil {
				return err
			}
			if !changed {
				continue
			}
			private, groups = private || !s.IsGroup, groups || s.IsGroup
			s.Settings, s.LastUpdatedDate = rest, now
			if err := store.PutConversationSettings(ctx, tx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, false, err
	}
	return private, groups, nil
}

// FindSettings returns the settings of the owner about the conversations that the
// filter selects and that have any: those with the names, or all without names.
func (d *Directory) FindSettings(ctx context.Context, f store.ConversationSettingFilter, names []string) (found []store.ConversationSettings, err error) {
	rules := d.opts.Settings().Settings
	var stored []store.ConversationSettings
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		stored, err = store.FindConversationSettings(ctx, r, f)
		return err
	})
	for _, s := range stored {
		if s.Settings = value.Show(s.Settings, names, rules); len(s.Settings) > 0 {
			found = append(found, s)
		}
	}
	return found, err
}
