// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// An EventType is what happened.
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

// An Event is something that a transaction did, for those who wait for such things. It names what changed and does not have its
// values, which may have changed again when somebody gets it.
type Event struct {
	// ID is its place among the events of the outbox; 0 if it is not in it.
	ID   int64
	Type EventType
	Date time.Time
	// UserID is the user, the member or the sender of a message; of a message that was changed or deleted it is nil.
	UserID *int64
	// GroupID is the group, or the one that a message was sent to.
	GroupID *int64
	// MessageID and TargetID are a message and the user that it was sent to.
	MessageID, TargetID *int64
}

// An EventSink gets events.
type EventSink interface {
	// Wants reports whether somebody wants events when they are committed, and whether they are to be kept in the outbox. It is
	// asked for each transaction.
	Wants() (committed, kept bool)
	// Committed gets the events of a transaction after it was committed. It must not wait.
	Committed(events []Event)
}

// ObserveEvents lets a sink get the events of all transactions of this process from now on.
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

// Close implements sqldb.Journal. It is the last thing that the transaction does but for its commit.
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

// noteEvents notes an event for each element of a list, if events are wanted.
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

// deletedIDs deletes the rows of a table with ids. Those that there were are told by an event.
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
