// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// A MessageFilter selects messages. An empty field is no restriction; all fields must match.
type MessageFilter struct {
	IDs, SenderIDs, TargetIDs []int64
	// BothDirections selects what the targets sent to the senders as well.
	BothDirections bool
	// IsGroupMessage and IsSystemMessage select kinds of messages.
	IsGroupMessage, IsSystemMessage *bool
	// Deleted and Recalled select messages that have a date of that kind, or that have none.
	Deleted, Recalled                      *bool
	DeliveryDate, DeletionDate, RecallDate DateRange
}

// A MessageOrder is an order of messages.
type MessageOrder int

// The orders of messages.
const (
	// MessagesByID is by the date that the filter asks for, if any, and by id; messages of one kind are by delivery date,
	// then by id.
	MessagesByID MessageOrder = iota
	// MessagesOldestFirst and MessagesNewestFirst are by delivery date, then by id.
	MessagesOldestFirst
	MessagesNewestFirst
)

func (f MessageFilter) conditions(engine Engine) (c conditions) {
	anyOf(&c, engine, "t.id", f.IDs)
	if f.BothDirections && len(f.SenderIDs) > 0 && len(f.TargetIDs) > 0 {
		c.and(bun.SafeQuery("((? AND ?) OR (? AND ?))",
			In(engine, "t.sender_id", f.SenderIDs), In(engine, "t.target_id", f.TargetIDs),
			In(engine, "t.sender_id", f.TargetIDs), In(engine, "t.target_id", f.SenderIDs)))
	} else {
		anyOf(&c, engine, "t.sender_id", f.SenderIDs)
		anyOf(&c, engine, "t.target_id", f.TargetIDs)
	}
	if f.IsGroupMessage != nil {
		c.and(bun.SafeQuery("t.is_group_message = ?", *f.IsGroupMessage))
	} else if f.IsSystemMessage != nil {
		// It says nothing but lets the index of the kinds be used.
		c.and(bun.SafeQuery("t.is_group_message IN (?, ?)", false, true))
	}
	if f.IsSystemMessage != nil {
		c.and(bun.SafeQuery("t.is_system_message = ?", *f.IsSystemMessage))
	}
	for _, date := range []struct {
		column string
		has    *bool
	}{{"t.deletion_date", f.Deleted}, {"t.recall_date", f.Recalled}} {
		switch {
		case date.has == nil:
		case *date.has:
			c.and(bun.SafeQuery("? IS NOT NULL", bun.Ident(date.column)))
		default:
			c.and(bun.SafeQuery("? IS NULL", bun.Ident(date.column)))
		}
	}
	c.and(f.DeliveryDate.conditions("t.delivery_date")...)
	c.and(f.DeletionDate.conditions("t.deletion_date")...)
	c.and(f.RecallDate.conditions("t.recall_date")...)
	return c
}

// byKind reports whether nothing but the kind of the messages, and perhaps their delivery date, leads to them.
func (f MessageFilter) byKind() bool {
	return (f.IsGroupMessage != nil || f.IsSystemMessage != nil) && len(f.IDs)+len(f.SenderIDs)+len(f.TargetIDs) == 0 &&
		f.DeletionDate == (DateRange{}) && f.RecallDate == (DateRange{})
}

// kinds returns the filters that each select messages of one kind and together the same messages.
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

// selected returns a query for the messages that match. The index of the kinds has the messages of each kind in the order
// of their delivery; those of several kinds are put together one after the other.
func (f MessageFilter) selected(r Reader, rows *[]messageRow) *bun.SelectQuery {
	if !f.byKind() {
		return whereAll(r.NewSelect().Model(rows), f.conditions(r.Engine()))
	}
	kinds := f.kinds()
	if len(kinds) == 1 {
		return whereAll(r.NewSelect().Model(rows), kinds[0].conditions(r.Engine()))
	}
	var parts []schema.QueryAppender
	for _, kind := range kinds {
		parts = append(parts, bun.SafeQuery("?", whereAll(r.NewSelect().Model((*messageRow)(nil)), kind.conditions(r.Engine()))))
	}
	return r.NewSelect().Model(rows).ModelTableExpr("(?"+strings.Repeat(" UNION ALL ?", len(parts)-1)+") AS t", toAny(parts)...)
}

func toAny[T any](list []T) []any {
	values := make([]any, len(list))
	for i, value := range list {
		values[i] = value
	}
	return values
}

// order returns the columns by which messages in no particular order are ordered.
func (f MessageFilter) order() []string {
	if f.byKind() {
		return []string{"t.delivery_date", "t.id"}
	}
	return orderBy([]string{"t.id"}, datedColumn{"t.delivery_date", f.DeliveryDate}, datedColumn{"t.deletion_date", f.DeletionDate},
		datedColumn{"t.recall_date", f.RecallDate})
}

// FindMessages returns the messages that match the filter.
func FindMessages(ctx context.Context, r Reader, filter MessageFilter, order MessageOrder, page Page) ([]Message, error) {
	var rows []messageRow
	query := filter.selected(r, &rows)
	switch order {
	case MessagesOldestFirst:
		query = pageOf(query, page, "t.delivery_date", "t.id")
	case MessagesNewestFirst:
		query = pageOf(query.OrderExpr("t.delivery_date DESC, t.id DESC"), page)
	default:
		query = pageOf(query, page, filter.order()...)
	}
	if err := query.Scan(ctx); err != nil {
		return nil, fmt.Errorf("find messages: %w", translate(err))
	}
	return messages(rows)
}

// CountMessages returns how many messages match the filter.
func CountMessages(ctx context.Context, r Reader, filter MessageFilter) (int64, error) {
	return countRows(ctx, r, "message", filter.conditions(r.Engine()))
}

// CountMessageSenders returns how many different senders the messages have that match the filter.
func CountMessageSenders(ctx context.Context, r Reader, filter MessageFilter) (int64, error) {
	return countDistinct(ctx, r, "t.sender_id", filter)
}

// CountMessageTargets returns how many different targets the messages have that match the filter.
func CountMessageTargets(ctx context.Context, r Reader, filter MessageFilter) (int64, error) {
	return countDistinct(ctx, r, "t.target_id", filter)
}

func countDistinct(ctx context.Context, r Reader, column string, filter MessageFilter) (int64, error) {
	var count int64
	query := r.NewSelect().TableExpr("message AS t").ColumnExpr("count(DISTINCT ?)", bun.Ident(column))
	if err := whereAll(query, filter.conditions(r.Engine())).Scan(ctx, &count); err != nil {
		return 0, fmt.Errorf("count distinct %q of messages: %w", column, translate(err))
	}
	return count, nil
}

// HasPrivateMessage reports whether a user ever sent another one a private message that is still there.
func HasPrivateMessage(ctx context.Context, r Reader, sender, target int64) (bool, error) {
	query := r.NewSelect().TableExpr("message AS t").ColumnExpr("1").
		Where("t.sender_id = ?", sender).Where("t.target_id = ?", target).Where("NOT t.is_group_message").Limit(1)
	var found []int64
	if err := query.Scan(ctx, &found); err != nil {
		return false, fmt.Errorf("look for a private message: %w", translate(err))
	}
	return len(found) > 0, nil
}

// FindMessagesBefore returns messages that were delivered before a date, the oldest first, from behind a given one, at
// most limit of them.
func FindMessagesBefore(ctx context.Context, r Reader, date time.Time, after *Message, limit int) ([]Message, error) {
	var rows []messageRow
	query := r.NewSelect().Model(&rows).Where("t.delivery_date < ?", date.UnixMilli())
	if after != nil {
		query = query.Where("(t.delivery_date, t.id) > (?, ?)", after.DeliveryDate.UnixMilli(), after.ID)
	}
	if err := pageOf(query, Page{Limit: limit}, "t.delivery_date", "t.id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("find old messages: %w", translate(err))
	}
	return messages(rows)
}
