// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A ConversationKey identifies one user's view of a conversation.
type ConversationKey struct {
	OwnerID int64
	// IsGroup is true if TargetID is a group.
	IsGroup  bool
	TargetID int64
}

// ConversationSettings are a user's settings about a conversation.
type ConversationSettings struct {
	ConversationKey
	// Settings are anything that has a JSON form. Numbers are json.Number when read.
	Settings        map[string]any
	LastUpdatedDate time.Time
}

// A ConversationSettingFilter selects settings of conversations of one owner: with the users and
// the groups, or all if neither is given.
type ConversationSettingFilter struct {
	OwnerID           int64
	UserIDs, GroupIDs []int64
	LastUpdated       DateRange
}

var conversationSettings = newTable("conversation_setting", "owner_id is_group target_id settings last_updated_date", func(s *ConversationSettings) []any {
	return []any{&s.OwnerID, &s.IsGroup, &s.TargetID, (*object)(&s.Settings), (*millis)(&s.LastUpdatedDate)}
})

func (f ConversationSettingFilter) conditions() conditions {
	list := where("t.owner_id = ?", f.OwnerID)
	private := sqldb.New("(t.is_group = ? AND ?)", false, sqldb.In("t.target_id", f.UserIDs))
	groups := sqldb.New("(t.is_group = ? AND ?)", true, sqldb.In("t.target_id", f.GroupIDs))
	switch {
	case len(f.UserIDs) > 0 && len(f.GroupIDs) > 0:
		list.when("(? OR ?)", private, groups)
	case len(f.UserIDs) > 0:
		list.and(private)
	case len(f.GroupIDs) > 0:
		list.and(groups)
	}
	list.and(f.LastUpdated.conditions("t.last_updated_date")...)
	return list
}

// FindConversationSettings returns the settings that match the filter, those of private
// conversations first, ordered by target.
func FindConversationSettings(ctx context.Context, r Reader, filter ConversationSettingFilter) ([]ConversationSettings, error) {
	found, err := conversationSettings.find(ctx, r, filter.conditions(), Page{}, "t.is_group", "t.target_id")
	if err != nil {
		return nil, fmt.Errorf("find settings of conversations: %w", err)
	}
	return found, nil
}

// PutConversationSettings replaces the settings of a conversation. Empty settings delete the row.
func PutConversationSettings(ctx context.Context, tx Tx, s ConversationSettings) error {
	if len(s.Settings) == 0 {
		return deleteConversationSettings(ctx, tx, sqldb.New("t.owner_id = ? AND t.is_group = ? AND t.target_id = ?", s.OwnerID, s.IsGroup, s.TargetID))
	}
	_, err := conversationSettings.put(ctx, tx, []ConversationSettings{s},
		"(owner_id, is_group, target_id) DO UPDATE SET settings = excluded.settings, last_updated_date = excluded.last_updated_date")
	if err != nil {
		return fmt.Errorf("put settings of a conversation: %w", err)
	}
	return nil
}

// DeleteConversationSettingsOfUsers deletes the settings of users and those of others about
// conversations with them.
func DeleteConversationSettingsOfUsers(ctx context.Context, tx Tx, users []int64) error {
	if err := deleteConversationSettings(ctx, tx, sqldb.In("t.owner_id", users)); err != nil {
		return err
	}
	return deleteConversationSettings(ctx, tx, sqldb.New("t.is_group = ? AND ?", false, sqldb.In("t.target_id", users)))
}

// DeleteConversationSettingsOfGroups deletes the settings about the conversations of groups.
func DeleteConversationSettingsOfGroups(ctx context.Context, tx Tx, groups []int64) error {
	return deleteConversationSettings(ctx, tx, sqldb.New("t.is_group = ? AND ?", true, sqldb.In("t.target_id", groups)))
}

func deleteConversationSettings(ctx context.Context, tx Tx, where sqldb.SQL) error {
	_, err := deleteRows(ctx, tx, "conversation_setting", conditions{where})
	return err
}
