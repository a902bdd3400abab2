// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"iter"
	"slices"

	"example.org/app/internal/store"
)

// A Deliverer delivers messages to online recipients. It is called once for each message, after the
// commit, by the goroutine that sends the message, and should only queue it. The context does not
// end with the sender's request. An error is only logged: recipients who were not reached find the
// message by a query.
type Deliverer interface {
	Deliver(ctx context.Context, d Delivery) error
}

// An Event is the kind of a delivery.
type Event int

// The events.
const (
	// Created is a new message.
	Created Event = iota
	// Updated is a message that its sender edited or recalled.
	Updated
)

// A Delivery is a message to be delivered.
type Delivery struct {
	Event Event
	// Message includes the data that is delivered but not stored: records and the id of the
	// previous message.
	Message store.Message
	// Edit is the sender's change; it is set only for Updated.
	Edit Edit
	// SenderDevice is the type of the sending device, such as DESKTOP: the sender's other devices
	// get the message, too. If empty, no device of the sender gets it.
	SenderDevice string
	// Origin is the origin of the sender's request; nil means none.
	Origin any
	// InTurn is true if the message has a turn that has not ended: earlier messages of the
	// conversation were delivered.
	InTurn bool
	// InOrder is true if the message had a turn: its id is greater than those of earlier messages
	// of the conversation.
	InOrder bool
	// Recipients are the users who get the message, without the sender, in chunks. The members of a
	// group are read during iteration, and an error ends it.
	Recipients iter.Seq2[[]int64, error]
}

// recipientChunk is how many members of a group are read at once.
const recipientChunk = 1000

// deliver calls the Deliverer.
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

// Recipients returns the users who get a message, without the sender, in chunks. The members of a
// group are read during iteration, and an error ends it.
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

// readRecipients yields the members of a group that is too large for a roster.
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
