// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// A ConversationKey names a conversation as one user sees it.
type ConversationKey struct {
	OwnerID int64
	// IsGroup says that TargetID is a group, not a user.
	IsGroup  bool
	TargetID int64
}

// ConversationSettings are what a user keeps on the server about a conversation.
type ConversationSettings struct {
	ConversationKey
	// Settings are anything that has a JSON form. Numbers are json.Number when read.
	Settings        map[string]any
	LastUpdatedDate time.Time
}

// A ConversationSettingFilter selects settings of conversations of one owner: those with the users and those of the
// groups, or all if neither is given.
type ConversationSettingFilter struct {
	OwnerID           int64
	UserIDs, GroupIDs []int64
	LastUpdated       DateRange
}

type conversationSettingRow struct {
	bun.BaseModel   `bun:"table:conversation_setting,alias:t"`
	OwnerID         int64  `bun:"owner_id,pk"`
	IsGroup         bool   `bun:"is_group,pk"`
	TargetID        int64  `bun:"target_id,pk"`
	Settings        string `bun:"settings"`
	LastUpdatedDate int64  `bun:"last_updated_date"`
}

func (f ConversationSettingFilter) conditions(engine Engine) conditions {
	list := conditions{bun.SafeQuery("t.owner_id = ?", f.OwnerID)}
	private := bun.SafeQuery("(t.is_group = ? AND ?)", false, In(engine, "t.target_id", f.UserIDs))
	groups := bun.SafeQuery("(t.is_group = ? AND ?)", true, In(engine, "t.target_id", f.GroupIDs))
	switch {
	case len(f.UserIDs) > 0 && len(f.GroupIDs) > 0:
		list.and(bun.SafeQuery("(? OR ?)", private, groups))
	case len(f.UserIDs) > 0:
		list.and(private)
	case len(f.GroupIDs) > 0:
		list.and(groups)
	}
	list.and(f.LastUpdated.conditions("t.last_updated_date")...)
	return list
}

// FindConversationSettings returns the settings that match the filter, those of private conversations first, ordered by
// target.
func FindConversationSettings(ctx context.Context, r Reader, filter ConversationSettingFilter) ([]ConversationSettings, error) {
	var rows []conversationSettingRow
	query := whereAll(r.NewSelect().Model(&rows), filter.conditions(r.Engine()))
	if err := query.OrderExpr("t.is_group ASC, t.target_id ASC").Scan(ctx); err != nil {
		return nil, fmt.Errorf("find settings of conversations: %w", translate(err))
	}
	found := make([]ConversationSettings, len(rows))
	for i, row := range rows {
		settings, err := readSettings(row.Settings)
		if err != nil {
			return nil, fmt.Errorf("find settings of conversations: %w", err)
		}
		found[i] = ConversationSettings{
			ConversationKey: ConversationKey{row.OwnerID, row.IsGroup, row.TargetID}, Settings: settings,
			LastUpdatedDate: time.UnixMilli(row.LastUpdatedDate).UTC(),
		}
	}
	return found, nil
}

// PutConversationSettings replaces the settings of a conversation. Without settings nothing is left.
func PutConversationSettings(ctx context.Context, tx Tx, s ConversationSettings) error {
	if len(s.Settings) == 0 {
		return deleteConversationSettings(ctx, tx, bun.SafeQuery("t.owner_id = ? AND t.is_group = ? AND t.target_id = ?", s.OwnerID, s.IsGroup, s.TargetID))
	}
	text, err := writeSettings(s.Settings)
	if err != nil {
		return fmt.Errorf("put settings of a conversation: %w", err)
	}
	row := conversationSettingRow{OwnerID: s.OwnerID, IsGroup: s.IsGroup, TargetID: s.TargetID, Settings: text, LastUpdatedDate: s.LastUpdatedDate.UnixMilli()}
	_, err = tx.NewInsert().Model(&row).On("CONFLICT (owner_id, is_group, target_id) DO UPDATE").
		Set("settings = excluded.settings, last_updated_date = excluded.last_updated_date").Returning("NULL").Exec(ctx)
	if err != nil {
		return fmt.Errorf("put settings of a conversation: %w", err)
	}
	return nil
}

// DeleteConversationSettingsOfUsers deletes the settings of users and those of others about conversations with them.
func DeleteConversationSettingsOfUsers(ctx context.Context, tx Tx, users []int64) error {
	if err := deleteConversationSettings(ctx, tx, In(tx.Engine(), "t.owner_id", users)); err != nil {
		return err
	}
	return deleteConversationSettings(ctx, tx, bun.SafeQuery("t.is_group = ? AND ?", false, In(tx.Engine(), "t.target_id", users)))
}

// DeleteConversationSettingsOfGroups deletes the settings about the conversations of groups.
func DeleteConversationSettingsOfGroups(ctx context.Context, tx Tx, groups []int64) error {
	return deleteConversationSettings(ctx, tx, bun.SafeQuery("t.is_group = ? AND ?", true, In(tx.Engine(), "t.target_id", groups)))
}

func deleteConversationSettings(ctx context.Context, tx Tx, where schema.QueryAppender) error {
	_, err := deleteRows(ctx, tx, "conversation_setting", conditions{where})
	return err
}
