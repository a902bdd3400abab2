// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/group"
	"example.org/app/internal/store"
)

// Query selects the messages that a user wants to read.
type Query struct {
	IDs               []int64
	AreGroupMessages  bool
	AreSystemMessages *bool
	// FromIDs are groups, of which the user must be a member, or senders. Empty means all joined
	// groups, or all senders.
	FromIDs      []int64
	DeliveryDate store.DateRange
	// MaxCount is the limit; nil means the default.
	MaxCount   *int32
	Descending bool
}

// Part is the part of a result that comes from one group or one sender.
type Part struct {
	FromID int64
	// Total is the number of messages in the range of dates.
	Total    int64
	Messages []store.Message
}

// Query returns messages that a user may read, without deleted ones. Recalled ones are included
// only if the settings say so.
func (d *Directory) Query(ctx context.Context, userID int64, q Query) (found []store.Message, err error) {
	s := d.opts.Settings()
	limit := count(q.MaxCount, s.DefaultAvailableMessagesNumberWithoutTotal, s.MaxAvailableMessagesNumberWithoutTotal)
	now := d.now()
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, err = d.query(ctx, r, userID, &q, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, d.noteQueried(ctx, userID, q, now)
}

// QueryWithTotal returns messages that a user may read, grouped by source, with their numbers.
func (d *Directory) QueryWithTotal(ctx context.Context, userID int64, q Query) (parts []Part, err error) {
	s := d.opts.Settings()
	limit := count(q.MaxCount, s.DefaultAvailableMessagesNumberWithTotal, s.MaxAvailableMessagesNumberWithTotal)
	now := d.now()
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, err := d.query(ctx, r, userID, &q, limit)
		if err != nil {
			return err
		}
		parts = split(found, userID)
		for i := range parts {
			f := store.MessageFilter{IsGroupMessage: &q.AreGroupMessages, IsSystemMessage: q.AreSystemMessages, Deleted: new(false), DeliveryDate: q.DeliveryDate}
			if !d.opts.Settings().IsRecalledMessageVisible {
				f.Recalled = new(false)
			}
			if q.AreGroupMessages {
				f.TargetIDs = []int64{parts[i].FromID}
			} else {
				f.SenderIDs, f.TargetIDs = []int64{parts[i].FromID}, []int64{userID}
			}
			if parts[i].Total, err = store.CountMessages(ctx, r, f); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return parts, d.noteQueried(ctx, userID, q, now)
}

// count returns the effective limit.
func count(asked *int32, otherwise, most int32) int32 {
	if asked != nil && *asked > 0 {
		otherwise = *asked
	}
	return min(otherwise, most)
}

// split groups messages by the group or the other user, in order of first appearance.
func split(found []store.Message, userID int64) (parts []Part) {
	position := map[int64]int{}
	for _, m := range found {
		from := m.SenderID
		if m.IsGroupMessage || from == userID {
			from = m.TargetID
		}
		i, known := position[from]
		if !known {
			i = len(parts)
			position[from] = i
			parts = append(parts, Part{FromID: from})
		}
		parts[i].Messages = append(parts[i].Messages, m)
	}
	return parts
}

// query sets the default of FromIDs for groups.
func (d *Directory) query(ctx context.Context, r store.Reader, userID int64, q *Query, limit int32) ([]store.Message, error) {
	s := d.opts.Settings()
	f := store.MessageFilter{
		IDs: q.IDs, IsGroupMessage: &q.AreGroupMessages, IsSystemMessage: q.AreSystemMessages, Deleted: new(false), DeliveryDate: q.DeliveryDate,
	}
	if !s.IsRecalledMessageVisible {
		f.Recalled = new(false)
	}
	if q.AreGroupMessages {
		if err := d.resolveGroups(ctx, r, userID, q); err != nil {
			return nil, err
		}
		if len(q.FromIDs) == 0 {
			return nil, nil
		}
		f.TargetIDs = q.FromIDs
	} else {
		f.SenderIDs, f.TargetIDs, f.BothDirections = q.FromIDs, []int64{userID}, s.UseConversationID
	}
	if limit == 0 {
		return nil, nil
	}
	order := store.MessagesOldestFirst
	if q.Descending {
		order = store.MessagesNewestFirst
	}
	return store.FindMessages(ctx, r, f, order, store.Page{Limit: int(limit)})
}

func (d *Directory) resolveGroups(ctx context.Context, r store.Reader, userID int64, q *Query) (err error) {
	if len(q.FromIDs) == 0 {
		q.FromIDs, err = store.JoinedGroupIDs(ctx, r, userID)
		return err
	}
	for _, groupID := range q.FromIDs {
		member, err := group.IsMember(ctx, r, groupID, userID)
		if err != nil {
			return err
		}
		if !member {
			return apierr.New(apierr.NotGroupMemberToQueryGroupMessages, "")
		}
	}
	return nil
}

// noteQueried moves the read dates of queried conversations forward, if the settings say so.
func (d *Directory) noteQueried(ctx context.Context, userID int64, q Query, now time.Time) error {
	receipts := d.opts.ReadReceipts()
	if !receipts.Enabled || !receipts.UpdateReadDateWhenUserQueryingMessage || len(q.FromIDs) == 0 {
		return nil
	}
	return d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if q.AreGroupMessages {
			keys := make([]store.GroupUserKey, len(q.FromIDs))
			for i, groupID := range q.FromIDs {
				keys[i] = store.GroupUserKey{GroupID: groupID, UserID: userID}
			}
			return conversation.NoteGroup(ctx, tx, now, keys...)
		}
		keys := make([]store.PrivateConversationKey, len(q.FromIDs))
		for i, peerID := range q.FromIDs {
			keys[i] = store.PrivateConversationKey{OwnerID: userID, TargetID: peerID}
		}
		return conversation.NotePrivate(ctx, tx, now, keys...)
	})
}
