// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// An EventType is the kind of an event.
type EventType string

// The types of events.
const (
	UserCreated    EventType = "USER_CREATED"
	UserUpdated    EventType = "USER_UPDATED"
	UserDeleted    EventType = "USER_DELETED"
	GroupCreated   EventType = "GROUP_CREATED"
	GroupUpdated   EventType = "GROUP_UPDATED"
	GroupDissolved EventType = "GROUP_DISSOLVED"
	MemberJoined   EventType = "MEMBER_JOINED"
	MemberLeft     EventType = "MEMBER_LEFT"
	MessageStored  EventType = "MESSAGE_STORED"
	MessageUpdated EventType = "MESSAGE_UPDATED"
	MessageDeleted EventType = "MESSAGE_DELETED"
)

// An Event describes a change by a transaction, for consumers. It identifies what changed but does
// not contain the values, which may have changed again when it is delivered.
type Event struct {
	// ID is its position in the outbox; 0 if it is not there.
	ID   int64
	Type EventType
	Date time.Time
	// UserID is the user, the member or the sender of a new message; nil for changed and deleted
	// messages.
	UserID *int64
	// GroupID is the group, or the target group of a message.
	GroupID *int64
	// MessageID and TargetID are a message and its target user.
	MessageID, TargetID *int64
}

// An EventSink receives events.
type EventSink interface {
	// Wants reports whether events are wanted after the commit, and whether they must be stored in
	// the outbox. It is called for each transaction.
	Wants() (committed, kept bool)
	// Committed receives the events of a transaction after its commit. It must not block.
	Committed(events []Event)
}

// ObserveEvents makes a sink receive the events of all later transactions of this process.
func ObserveEvents(db *DB, sink EventSink) {
	db.Observe(func() sqldb.Journal {
		if committed, kept := sink.Wants(); committed || kept {
			return &eventJournal{sink: sink, kept: kept}
		}
		return nil
	})
}

// eventJournal collects the events of one run of a Write function.
type eventJournal struct {
	sink   EventSink
	kept   bool
	events []Event
}

// Close implements sqldb.Journal. It is the last step before the commit.
func (j *eventJournal) Close(ctx context.Context, tx sqldb.Tx) error {
	if !j.kept || len(j.events) == 0 {
		return nil
	}
	return insertEvents(ctx, tx, j.events)
}

// Committed implements sqldb.Journal.
func (j *eventJournal) Committed() {
	if len(j.events) > 0 {
		j.sink.Committed(j.events)
	}
}

// WantsEvents reports whether the events of a transaction are wanted.
func WantsEvents(tx Tx) bool { return sqldb.ObserverOf(tx) != nil }

// noteEvents adds an event for each element of a list, if events are wanted.
func noteEvents[E any](tx Tx, kind EventType, list []E, fill func(*Event, *E)) {
	j, ok := sqldb.ObserverOf(tx).(*eventJournal)
	if !ok {
		return
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	for i := range list {
		e := Event{Type: kind, Date: now}
		fill(&e, &list[i])
		j.events = append(j.events, e)
	}
}

func userEvent(e *Event, id *int64)    { e.UserID = new(*id) }
func groupEvent(e *Event, id *int64)   { e.GroupID = new(*id) }
func messageEvent(e *Event, id *int64) { e.MessageID = new(*id) }

func memberEvent(e *Event, m *GroupMember) { e.GroupID, e.UserID = new(m.GroupID), new(m.UserID) }

func storedEvent(e *Event, m *Message) {
	e.MessageID, e.UserID = new(m.ID), new(m.SenderID)
	if m.IsGroupMessage {
		e.GroupID = new(m.TargetID)
	} else {
		e.TargetID = new(m.TargetID)
	}
}

// deletedIDs deletes the rows of a table with ids, and adds an event for each that existed.
func deletedIDs(ctx context.Context, tx Tx, table string, ids []int64, kind EventType, fill func(*Event, *int64)) (int64, error) {
	if !WantsEvents(tx) {
		return deleteRows(ctx, tx, table, in("t.id", ids))
	}
	gone, err := deleted(ctx, tx, table, "id", in("t.id", ids))
	if err != nil {
		return 0, fmt.Errorf("delete with events: %w", err)
	}
	noteEvents(tx, kind, gone, fill)
	return int64(len(gone)), nil
}
