// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"iter"
	"slices"

	"example.org/app/internal/store"
)

// A Deliverer carries messages to the recipients who are online. It is called once
// for each message, after what the message changed is committed, by the goroutine
// that sends the message: it should hand over and return. The context does not end
// with the request of the sender. An error is logged and changes nothing else: who
// was not reached finds the message by a query.
type Deliverer interface {
	Deliver(ctx context.Context, d Delivery) error
}

// An Event is what recipients learn of a message.
type Event int

// The events.
const (
	// Created is a message that is new.
	Created Event = iota
	// Updated is a message that its sender edited or recalled.
	Updated
)

// A Delivery is a message on its way.
type Delivery struct {
	Event Event
	// Message has also what is delivered but not stored: records and the id of the
	// message before it.
	Message store.Message
	// Edit is what the sender changed; it is set for Updated only.
	Edit Edit
	// SenderDevice is the type of the device that the message came from, such as
	// DESKTOP: the sender's other devices get the message as well. Empty is unknown,
	// and no device of the sender gets it.
	SenderDevice string
	// Origin is what the sender's request was, if there was one.
	Origin any
	// InTurn says that it had a turn, which is not over: what comes before it in the conversation was delivered.
	InTurn bool
	// InOrder says that the message had a turn: its id is greater than those of the messages of the conversation before it.
	InOrder bool
	// Recipients are the users who get the message, without the sender, in parts. The
	// members of a group are read while they are asked for, and an error ends them.
	Recipients iter.Seq2[[]int64, error]
}

// recipientChunk bounds how many members of a group are read at once.
const recipientChunk = 1000

// deliver hands a message to the Deliverer.
func (d *Directory) deliver(ctx context.Context, delivery Delivery) {
	if d.opts.Deliverer == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	m := delivery.Message
	delivery.Recipients = d.Recipients(ctx, m)
	if err := d.opts.Deliverer.Deliver(ctx, delivery); err != nil {
		d.opts.Logger.ErrorContext(ctx, "could not deliver a message", "message", m.ID, "target", m.TargetID, "group", m.IsGroupMessage, "error", err)
	}
}

// Recipients returns the users who get a message, without the sender, in parts. The members of a group are read while they are
// asked for, and an error ends them.
func (d *Directory) Recipients(ctx context.Context, m store.Message) iter.Seq2[[]int64, error] {
	if !m.IsGroupMessage {
		return func(yield func([]int64, error) bool) {
			if m.TargetID != m.SenderID {
				yield([]int64{m.TargetID}, nil)
			}
		}
	}
	return func(yield func([]int64, error) bool) {
		var members []int64
		ok := false
		err := d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			members, ok, err = d.opts.Members.Roster(ctx, r, m.TargetID)
			return err
		})
		switch {
		case err != nil:
			yield(nil, err)
		case !ok:
			d.readRecipients(ctx, m, yield)
		default:
			for part := range slices.Chunk(members, recipientChunk) {
				if others := without(part, m.SenderID); len(others) > 0 && !yield(others, nil) {
					return
				}
			}
		}
	}
}

// readRecipients yields the members of a group that has too many to be kept.
func (d *Directory) readRecipients(ctx context.Context, m store.Message, yield func([]int64, error) bool) {
	var after *int64
	for {
		var members []int64
		err := d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			members, err = store.GroupMemberIDsAfter(ctx, r, m.TargetID, after, recipientChunk)
			return err
		})
		if err != nil {
			yield(nil, err)
			return
		}
		if others := without(members, m.SenderID); len(others) > 0 && !yield(others, nil) {
			return
		}
		if len(members) < recipientChunk {
			return
		}
		after = new(members[len(members)-1])
	}
}

// without returns the members but one.
func without(members []int64, one int64) []int64 {
	others := make([]int64, 0, len(members))
	for _, member := range members {
		if member != one {
			others = append(others, member)
		}
	}
	return others
}
