// SPDX-License-Identifier: Apache-2.0

// Package message holds the rules about messages: who may send them to whom, what is stored, who
// may query, edit and recall them, and when they expire. Administrators and clients use it. It does
// not deliver messages; a Deliverer does.
package message

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/group"
	"example.org/app/internal/store"
)

// Members provides the rules about group members. Its methods are called inside transactions and
// must use only r.
type Members interface {
	// Speaker returns what decides whether a user may send messages to a group.
	Speaker(ctx context.Context, r store.Reader, groupID, userID int64) (group.Speaker, error)
	// Speakers is Speaker for many users of groups at once.
	Speakers(ctx context.Context, r store.Reader, keys []store.GroupUserKey) (map[store.GroupUserKey]group.Speaker, error)
	// Roster returns the members of a group in ascending order, read only; ok is false if there are
	// too many to be cached.
	Roster(ctx context.Context, r store.Reader, groupID int64) (members []int64, ok bool, err error)
}

// Options are what a Directory is built from.
type Options struct {
	Store *store.DB
	IDs   *ids.Generator
	// Settings and ReadReceipts return the current settings.
	Settings     func() config.Message
	ReadReceipts func() config.ReadReceipt
	Members      Members
	// HasAccounts reports whether every user has an account in the store. If identities are kept
	// elsewhere, the existence and activity of recipients is not checked. Nil means true.
	HasAccounts func() bool
	// Deliverer delivers messages to online users; nil means no delivery.
	Deliverer Deliverer
	// BeforeDelete returns, outside of any transaction, which of the expired messages to delete. An
	// error ends the clean-up. Nil deletes all.
	BeforeDelete func(ctx context.Context, expired []store.Message) ([]store.Message, error)
	// AsksBeforeDelete reports whether BeforeDelete needs to be called. Nil means always.
	AsksBeforeDelete func() bool
	// Sent is called with the number of messages that users and administrators sent. It may be nil.
	Sent func(n int64)
	// Logger logs failed deliveries; nil discards them.
	Logger *slog.Logger
	// Clock is time.Now if it is nil.
	Clock func() time.Time
}

// Directory manages all messages of the cluster. It keeps only messages being sent in memory.
type Directory struct {
	Statistics
	opts  Options
	batch batch
	// runners counts the goroutines that store batches.
	runners sync.WaitGroup
	// delivered are the recently delivered messages with a key.
	delivered delivered
}

// New returns the directory over a store.
func New(o Options) *Directory {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.HasAccounts == nil {
		o.HasAccounts = func() bool { return true }
	}
	if o.Sent == nil {
		o.Sent = func(int64) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	runners := 1 // SQLite has one writer.
	if o.Store != nil && o.Store.Engine() == store.PostgreSQL {
		runners = postgresRunners
	}
	return &Directory{Statistics: Statistics{o.Store}, opts: o, batch: batch{begun: make([]time.Time, runners), busy: map[uint64]bool{}}}
}

func (d *Directory) now() time.Time { return d.opts.Clock().UTC().Truncate(time.Millisecond) }

// Find returns messages, including deleted and recalled ones.
func (d *Directory) Find(ctx context.Context, f store.MessageFilter, order store.MessageOrder, limit, offset int) (found []store.Message, err error) {
	f = d.withDirections(f)
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, err = store.FindMessages(ctx, r, f, order, store.Page{Limit: limit, Offset: offset})
		return err
	})
	return found, err
}

// FindPage returns a page of messages and how many there are in all, as far as
// store.ForTotal counts.
func (d *Directory) FindPage(ctx context.Context, f store.MessageFilter, order store.MessageOrder, page store.Page) (total int64, found []store.Message, err error) {
	f = d.withDirections(f)
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total, err = store.CountMessages(ctx, store.ForTotal(r, page), f); err != nil || total == 0 {
			return err
		}
		found, err = store.FindMessages(ctx, r, f, order, page)
		return err
	})
	return total, found, err
}

// withDirections extends a query for private messages between users to whole conversations if
// messages have conversation ids.
func (d *Directory) withDirections(f store.MessageFilter) store.MessageFilter {
	f.BothDirections = d.opts.Settings().UseConversationID && f.IsGroupMessage != nil && !*f.IsGroupMessage
	return f
}

// Delete deletes the messages with these ids, all or none, and returns how many. Logical deletion
// sets, or replaces, the deletion date. If logically is nil, the settings decide.
func (d *Directory) Delete(ctx context.Context, messageIDs []int64, logically *bool) (deleted int64, err error) {
	now, keep := d.now(), d.opts.Settings().DeleteMessageLogicallyByDefault
	if logically != nil {
		keep = *logically
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if keep {
			deleted, err = store.MarkMessagesDeleted(ctx, tx, messageIDs, now)
		} else {
			deleted, err = store.DeleteMessages(ctx, tx, messageIDs)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}

// DeleteOfUsers deletes the sequence numbers of private conversations of deleted users, in the
// transaction that deletes them. The messages stay.
func DeleteOfUsers(ctx context.Context, tx store.Tx, userIDs []int64) error {
	return store.DeletePrivateSequences(ctx, tx, userIDs)
}

// DeleteOfGroups deletes the sequence numbers of deleted groups, in the transaction that deletes
// them. The messages stay.
func DeleteOfGroups(ctx context.Context, tx store.Tx, groupIDs []int64) error {
	return store.DeleteGroupSequences(ctx, tx, groupIDs)
}

var _ Members = (*group.Members)(nil)
