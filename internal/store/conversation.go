// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A PrivateConversationKey identifies a user's read date of another user's messages.
type PrivateConversationKey struct{ OwnerID, TargetID int64 }

// A PrivateConversation is the date up to which an owner has read the target's messages.
type PrivateConversation struct {
	PrivateConversationKey
	ReadDate time.Time
}

// A GroupConversation contains the read dates of a group's members.
type GroupConversation struct {
	GroupID   int64
	ReadDates map[int64]time.Time
}

// A PrivateConversationFilter selects private conversations by key or by owner. An empty one
// selects none.
type PrivateConversationFilter struct {
	Keys     []PrivateConversationKey
	OwnerIDs []int64
}

var privateConversations = newTable("private_conversation", "owner_id target_id read_date", func(c *PrivateConversation) []any {
	return []any{&c.OwnerID, &c.TargetID, (*millis)(&c.ReadDate)}
})

// A groupReadDate is the read date of one member of a group.
type groupReadDate struct {
	GroupUserKey
	ReadDate time.Time
}

var groupReadDates = newTable("group_conversation", "group_id member_id read_date", func(c *groupReadDate) []any {
	return []any{&c.GroupID, &c.UserID, (*millis)(&c.ReadDate)}
})

// parts returns conditions whose union selects the conversations.
func (f PrivateConversationFilter) parts() (list []sqldb.SQL) {
	if len(f.Keys) > 0 {
		pairs := make([]sqldb.Pair, len(f.Keys))
		for i, key := range f.Keys {
			pairs[i] = sqldb.Pair{key.OwnerID, key.TargetID}
		}
		list = append(list, sqldb.InPairs("t.owner_id", "t.target_id", pairs))
	}
	if len(f.OwnerIDs) > 0 {
		list = append(list, sqldb.In("t.owner_id", f.OwnerIDs))
	}
	return list
}

// FindPrivateConversations returns the private conversations that the filter selects, each once,
// ordered by owner and target.
func FindPrivateConversations(ctx context.Context, r Reader, filter PrivateConversationFilter) ([]PrivateConversation, error) {
	found := []PrivateConversation{}
	for _, part := range filter.parts() {
		some, err := privateConversations.find(ctx, r, conditions{part}, Page{})
		if err != nil {
			return nil, fmt.Errorf("find private conversations: %w", err)
		}
		found = append(found, some...)
	}
	slices.SortStableFunc(found, func(a, b PrivateConversation) int {
		return slices.Compare([]int64{a.OwnerID, a.TargetID}, []int64{b.OwnerID, b.TargetID})
	})
	// The parts may overlap.
	return slices.CompactFunc(found, func(a, b PrivateConversation) bool { return a.PrivateConversationKey == b.PrivateConversationKey }), nil
}

// FindGroupConversations returns the conversations of the groups that have one, ordered by group.
func FindGroupConversations(ctx context.Context, r Reader, groups []int64) ([]GroupConversation, error) {
	found := []GroupConversation{}
	if len(groups) == 0 {
		return found, nil
	}
	dates, err := groupReadDates.find(ctx, r, in("t.group_id", groups), Page{}, "t.group_id", "t.member_id")
	if err != nil {
		return nil, fmt.Errorf("find group conversations: %w", err)
	}
	for _, date := range dates {
		if last := len(found) - 1; last < 0 || found[last].GroupID != date.GroupID {
			found = append(found, GroupConversation{date.GroupID, map[int64]time.Time{}})
		}
		found[len(found)-1].ReadDates[date.UserID] = date.ReadDate
	}
	return found, nil
}

// PutPrivateReadDates sets the read date of private conversations, which need not exist, and
// returns how many it set. Unless back is set, it changes only earlier dates.
func PutPrivateReadDates(ctx context.Context, tx Tx, keys []PrivateConversationKey, date time.Time, back bool) (int64, error) {
	list := make([]PrivateConversation, len(keys))
	for i, key := range keys {
		list[i] = PrivateConversation{key, date}
	}
	return putReadDates(ctx, tx, privateConversations, list, "(owner_id, target_id)", back)
}

// PutGroupReadDates is PutPrivateReadDates for members of groups.
func PutGroupReadDates(ctx context.Context, tx Tx, keys []GroupUserKey, date time.Time, back bool) (int64, error) {
	list := make([]groupReadDate, len(keys))
	for i, key := range keys {
		list[i] = groupReadDate{key, date}
	}
	return putReadDates(ctx, tx, groupReadDates, list, "(group_id, member_id)", back)
}

// putReadDates requires distinct keys.
func putReadDates[R any](ctx context.Context, tx Tx, t table[R], list []R, key string, back bool) (int64, error) {
	statements, err := readDateStatements(t, list, key, back)
	if err != nil {
		return 0, err
	}
	set, err := sqldb.ExecAll(ctx, tx, statements)
	if err != nil {
		return 0, fmt.Errorf("set read dates: %w", err)
	}
	if set > 0 {
		t.created(tx, list)
	}
	return set, nil
}

func readDateStatements[R any](t table[R], list []R, key string, back bool) ([]sqldb.SQL, error) {
	conflict := key + " DO UPDATE SET read_date = excluded.read_date"
	if !back {
		conflict += " WHERE t.read_date < excluded.read_date"
	}
	return t.puts(list, conflict)
}

// ReadDates are read dates of conversations.
type ReadDates struct {
	Private map[PrivateConversationKey]time.Time
	Members map[GroupUserKey]time.Time
}

// statements returns the statements that set the dates unless later ones are stored. The rows are
// sorted by key, so that concurrent transactions wait for each other without deadlock.
func (d ReadDates) statements() ([]sqldb.SQL, error) {
	private := make([]PrivateConversation, 0, len(d.Private))
	for key, date := range d.Private {
		private = append(private, PrivateConversation{key, date})
	}
	slices.SortFunc(private, func(a, b PrivateConversation) int {
		return cmp.Or(cmp.Compare(a.OwnerID, b.OwnerID), cmp.Compare(a.TargetID, b.TargetID))
	})
	members := make([]groupReadDate, 0, len(d.Members))
	for key, date := range d.Members {
		members = append(members, groupReadDate{key, date})
	}
	slices.SortFunc(members, func(a, b groupReadDate) int {
		return cmp.Or(cmp.Compare(a.GroupID, b.GroupID), cmp.Compare(a.UserID, b.UserID))
	})
	list, err := readDateStatements(privateConversations, private, "(owner_id, target_id)", false)
	if err != nil {
		return nil, err
	}
	more, err := readDateStatements(groupReadDates, members, "(group_id, member_id)", false)
	return append(list, more...), err
}

// PutConversations sets the read dates of conversations, which need not exist. Later dates stay.
func PutConversations(ctx context.Context, tx Tx, dates ReadDates) error {
	statements, err := dates.statements()
	if err != nil {
		return err
	}
	if _, err := sqldb.ExecAll(ctx, tx, statements); err != nil {
		return fmt.Errorf("set read dates: %w", err)
	}
	return nil
}

// DeletePrivateConversations deletes the private conversations that the filter selects and returns
// how many there were.
func DeletePrivateConversations(ctx context.Context, tx Tx, filter PrivateConversationFilter) (deleted int64, err error) {
	for _, part := range filter.parts() {
		n, err := deleteRows(ctx, tx, "private_conversation", conditions{part})
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	return deleted, nil
}

// DeleteGroupConversations deletes the conversations of groups and returns how many groups had one.
func DeleteGroupConversations(ctx context.Context, tx Tx, groups []int64) (int64, error) {
	gone, err := deleted(ctx, tx, "group_conversation", "group_id", in("t.group_id", groups))
	return int64(len(uniqueSorted(gone))), err
}

// DeleteGroupReadDatesOfUsers deletes the read dates of users in groups.
func DeleteGroupReadDatesOfUsers(ctx context.Context, tx Tx, users []int64) error {
	_, err := deleteRows(ctx, tx, "group_conversation", in("t.member_id", users))
	return err
}
