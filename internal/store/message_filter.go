// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/ids"
	"example.org/app/internal/store/sqldb"
)

// A MessageFilter selects messages. Empty fields do not restrict; all others must match.
type MessageFilter struct {
	IDs, SenderIDs, TargetIDs []int64
	// BothDirections also selects messages from the targets to the senders.
	BothDirections bool
	// IsGroupMessage and IsSystemMessage select kinds of messages.
	IsGroupMessage, IsSystemMessage *bool
	// Deleted and Recalled select messages with, or without, a date of that kind.
	Deleted, Recalled                      *bool
	DeliveryDate, DeletionDate, RecallDate DateRange
}

// A MessageOrder is an order of messages.
type MessageOrder int

// The orders of messages.
const (
	// MessagesByID is by the date with a range, if any, and by id; messages of one kind are by
	// delivery date, then by id.
	MessagesByID MessageOrder = iota
	// MessagesOldestFirst and MessagesNewestFirst are by delivery date, then by id.
	MessagesOldestFirst
	MessagesNewestFirst
)

func (f MessageFilter) conditions() (c conditions) {
	anyOf(&c, "t.id", f.IDs)
	if f.BothDirections && len(f.SenderIDs) > 0 && len(f.TargetIDs) > 0 {
		c.when("((? AND ?) OR (? AND ?))",
			sqldb.In("t.sender_id", f.SenderIDs), sqldb.In("t.target_id", f.TargetIDs),
			sqldb.In("t.sender_id", f.TargetIDs), sqldb.In("t.target_id", f.SenderIDs))
	} else {
		anyOf(&c, "t.sender_id", f.SenderIDs)
		anyOf(&c, "t.target_id", f.TargetIDs)
	}
	if f.IsGroupMessage != nil {
		c.when("t.is_group_message = ?", *f.IsGroupMessage)
	} else if f.IsSystemMessage != nil {
		// It is always true, but allows the index of the kinds to be used.
		c.when("t.is_group_message IN (?, ?)", false, true)
	}
	if f.IsSystemMessage != nil {
		c.when("t.is_system_message = ?", *f.IsSystemMessage)
	}
	for _, date := range []struct {
		column string
		has    *bool
	}{{"t.deletion_date", f.Deleted}, {"t.recall_date", f.Recalled}} {
		switch {
		case date.has == nil:
		case *date.has:
			c.when(date.column + " IS NOT NULL")
		default:
			c.when(date.column + " IS NULL")
		}
	}
	c.and(f.DeliveryDate.conditions("t.delivery_date")...)
	c.and(f.DeletionDate.conditions("t.deletion_date")...)
	c.and(f.RecallDate.conditions("t.recall_date")...)
	return c
}

// byKind reports whether only the kind of the messages, and perhaps their delivery date, selects
// them.
func (f MessageFilter) byKind() bool {
	return (f.IsGroupMessage != nil || f.IsSystemMessage != nil) && len(f.IDs)+len(f.SenderIDs)+len(f.TargetIDs) == 0 &&
		f.DeletionDate == (DateRange{}) && f.RecallDate == (DateRange{})
}

// kinds splits the filter into one filter for each kind of message.
func (f MessageFilter) kinds() []MessageFilter {
	list := []MessageFilter{f}
	for _, choose := range []func(*MessageFilter) **bool{
		func(f *MessageFilter) **bool { return &f.IsGroupMessage }, func(f *MessageFilter) **bool { return &f.IsSystemMessage },
	} {
		if *choose(&f) != nil {
			continue
		}
		var both []MessageFilter
		for _, kind := range list {
			for _, value := range []bool{false, true} {
				*choose(&kind) = &value
				both = append(both, kind)
			}
		}
		list = both
	}
	return list
}

// selected returns a query for a page of the matching messages, ordered by columns. The index of
// the kinds orders each kind by delivery; pages of several kinds are merged, because PostgreSQL
// would otherwise sort all their messages.
func (f MessageFilter) selected(page Page, columns []string) sqldb.SQL {
	kinds := []MessageFilter{f}
	if f.byKind() {
		kinds = f.kinds()
	}
	if len(kinds) == 1 {
		return pageOf(messages.selected(kinds[0].conditions()), page, columns...)
	}
	parts := make([]sqldb.SQL, len(kinds))
	for i, kind := range kinds {
		parts[i] = messages.selected(kind.conditions())
		if page.Limit > 0 {
			part := Page{Limit: page.Limit + max(page.Offset, 0)}
			parts[i] = sqldb.New("SELECT * FROM (?) AS k", pageOf(parts[i], part, columns...))
		}
	}
	return pageOf(sqldb.New("SELECT "+messages.list("t")+" FROM (?) AS t", sqldb.Join(parts, " UNION ALL ")), page, columns...)
}

// order returns the columns of the default order.
func (f MessageFilter) order() []string {
	if f.byKind() {
		return []string{"t.delivery_date", "t.id"}
	}
	return orderBy([]string{"t.id"}, datedColumn{"t.delivery_date", f.DeliveryDate}, datedColumn{"t.deletion_date", f.DeletionDate},
		datedColumn{"t.recall_date", f.RecallDate})
}

// FindMessages returns the messages that match the filter.
func FindMessages(ctx context.Context, r Reader, filter MessageFilter, order MessageOrder, page Page) ([]Message, error) {
	columns := filter.order()
	switch order {
	case MessagesOldestFirst:
		columns = []string{"t.delivery_date", "t.id"}
	case MessagesNewestFirst:
		columns = []string{"t.delivery_date DESC", "t.id DESC"}
	}
	found, err := messages.read(ctx, r, filter.selected(page, columns))
	if err != nil {
		return nil, fmt.Errorf("find messages: %w", err)
	}
	return found, nil
}

// CountMessages returns how many messages match the filter.
func CountMessages(ctx context.Context, r Reader, filter MessageFilter) (int64, error) {
	return countRows(ctx, r, "message", filter.conditions())
}

// CountMessageSenders returns the number of distinct senders of the messages that match the filter.
func CountMessageSenders(ctx context.Context, r Reader, filter MessageFilter) (int64, error) {
	return countDistinct(ctx, r, "t.sender_id", filter)
}

// CountMessageTargets returns the number of distinct targets of the messages that match the filter.
func CountMessageTargets(ctx context.Context, r Reader, filter MessageFilter) (int64, error) {
	return countDistinct(ctx, r, "t.target_id", filter)
}

func countDistinct(ctx context.Context, r Reader, column string, filter MessageFilter) (int64, error) {
	var count int64
	err := sqldb.First(ctx, r, sqldb.New("SELECT count(DISTINCT "+column+") FROM message AS t?", filter.conditions().clause()), &count)
	if err != nil {
		return 0, fmt.Errorf("count distinct %q of messages: %w", column, err)
	}
	return count, nil
}

// HasPrivateMessage reports whether a private message from a user to another one exists.
func HasPrivateMessage(ctx context.Context, r Reader, sender, target int64) (bool, error) {
	found, err := sqldb.List[int64](ctx, r, sqldb.New(
		"SELECT 1 FROM message AS t WHERE t.sender_id = ? AND t.target_id = ? AND NOT t.is_group_message LIMIT 1", sender, target))
	if err != nil {
		return false, fmt.Errorf("look for a private message: %w", err)
	}
	return len(found) > 0, nil
}

// FindMessagesOfNode returns messages whose ids were generated by the node with a number, with ids
// greater than after and less than before, by id, at most limit.
func FindMessagesOfNode(ctx context.Context, r Reader, number int, after, before int64, limit int) ([]Message, error) {
	c := where("t.id > ?", after)
	c.when("t.id < ?", before)
	c.when("t.id / ? % ? = ?", ids.NodeUnit, ids.MaxNode+1, number)
	found, err := messages.find(ctx, r, c, Page{Limit: limit}, "t.id")
	if err != nil {
		return nil, fmt.Errorf("find the messages of node number %d: %w", number, err)
	}
	return found, nil
}

// FindMessagesBefore returns messages delivered before a date, the oldest first, starting after the
// given one, at most limit.
func FindMessagesBefore(ctx context.Context, r Reader, date time.Time, after *Message, limit int) ([]Message, error) {
	c := where("t.delivery_date < ?", date.UnixMilli())
	if after != nil {
		c.when("(t.delivery_date, t.id) > (?, ?)", after.DeliveryDate.UnixMilli(), after.ID)
	}
	found, err := messages.find(ctx, r, c, Page{Limit: limit}, "t.delivery_date", "t.id")
	if err != nil {
		return nil, fmt.Errorf("find old messages: %w", err)
	}
	return found, nil
}
