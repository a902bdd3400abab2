// SPDX-License-Identifier: Apache-2.0

// Package message holds the rules about messages: who may send them to whom, what
// is kept of them, who may query, edit and recall them, and for how long they
// stay. Administrators and clients act through it. It does not carry messages to
// anybody: whoever does is a Deliverer.
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

// Members tells what the rules about messages need to know of the members of groups. Its methods are called inside
// transactions and use r alone.
type Members interface {
	// Speaker finds out what decides whether a user may send messages to a group.
	Speaker(ctx context.Context, r store.Reader, groupID, userID int64) (group.Speaker, error)
	// Speakers is Speaker for many users of groups at once.
	Speakers(ctx context.Context, r store.Reader, keys []store.GroupUserKey) (map[store.GroupUserKey]group.Speaker, error)
	// Roster returns the members of a group, in ascending order and not to be changed,
	// or false for a group that has too many to be kept.
	Roster(ctx context.Context, r store.Reader, groupID int64) (members []int64, ok bool, err error)
}

// Options are what a Directory is built from.
type Options struct {
	Store *store.DB
	IDs   *ids.Generator
	// Settings and ReadReceipts return the current rules.
	Settings     func() config.Message
	ReadReceipts func() config.ReadReceipt
	Members      Members
	// HasAccounts reports whether every user has an account in the store. Where
	// identities are kept elsewhere, nothing is known of recipients, and whether they
	// are active is not checked. Nil is true.
	HasAccounts func() bool
	// Deliverer carries messages to those who are online; nil is nobody.
	Deliverer Deliverer
	// BeforeDelete is asked, outside of any transaction, which of the messages that
	// are kept no longer shall be deleted. An error ends the clean-up. Nil deletes
	// all.
	BeforeDelete func(ctx context.Context, expired []store.Message) ([]store.Message, error)
	// AsksBeforeDelete reports whether BeforeDelete asks anybody. Nil is always.
	AsksBeforeDelete func() bool
	// Sent is told how many messages users and administrators sent. It may be nil.
	Sent func(n int64)
	// Logger gets what could not be delivered; nil is silence.
	Logger *slog.Logger
	// Clock is time.Now if it is nil.
	Clock func() time.Time
}

// Directory knows all messages of the cluster. It keeps nothing in memory but what
// is being sent.
type Directory struct {
	Statistics
	opts Options
	// lanes store messages at the same time, those of one conversation in the same one.
	lanes []batch
	// runners store what is in the lanes.
	runners sync.WaitGroup
	// delivered are the messages with a key that were delivered lately.
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
	lanes := 1 // SQLite has one writer.
	if o.Store != nil && o.Store.Engine() == store.PostgreSQL {
		lanes = postgresLanes
	}
	return &Directory{Statistics: Statistics{o.Store}, opts: o, lanes: make([]batch, lanes)}
}

func (d *Directory) now() time.Time { return d.opts.Clock().UTC().Truncate(time.Millisecond) }

// Find returns messages, deleted and recalled ones included.
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

// withDirections makes a query for private messages between users one for whole
// conversations if messages have the ids of conversations.
func (d *Directory) withDirections(f store.MessageFilter) store.MessageFilter {
	f.BothDirections = d.opts.Settings().UseConversationID && f.IsGroupMessage != nil && !*f.IsGroupMessage
	return f
}

// Delete removes the messages with these ids, all of them or none, and returns how
// many. Logically deleted messages are only given a deletion date, again if they
// have one. What the settings say decides if logically is nil.
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

// DeleteOfUsers forgets the numbers of the messages from and to deleted users, in
// the transaction that deletes them. The messages stay.
func DeleteOfUsers(ctx context.Context, tx store.Tx, userIDs []int64) error {
	return store.DeletePrivateSequences(ctx, tx, userIDs)
}

// DeleteOfGroups forgets the numbers of the messages to deleted groups, in the
// transaction that deletes them. The messages stay.
func DeleteOfGroups(ctx context.Context, tx store.Tx, groupIDs []int64) error {
	return store.DeleteGroupSequences(ctx, tx, groupIDs)
}

var _ Members = (*group.Members)(nil)
