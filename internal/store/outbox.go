// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

const (
	eventHead = "INSERT INTO event_outbox (type, date, user_id, group_id, message_id, target_id) VALUES "
	eventRow  = "(?, ?, ?, ?, ?, ?)"
	// fewEvents is up to how many events of a transaction travel to PostgreSQL with the commit, each by a statement of its own.
	fewEvents = 4
)

// insertEvents puts events into the outbox as the last thing that their transaction does: whoever changes the same record
// afterwards has later events then.
func insertEvents(ctx context.Context, tx Tx, events []Event) error {
	err := error(nil)
	if sqldb.EngineOf(tx) == SQLite || len(events) <= fewEvents {
		for _, e := range events {
			if err == nil {
				err = sqldb.InsertLast(tx, eventHead, eventRow, e.appendTo(nil))
			}
		}
	} else {
		var list []sqldb.SQL
		for len(events) > 0 {
			n := sqldb.RowsPerStatement(len(events))
			var args []any
			for _, e := range events[:n] {
				args = e.appendTo(args)
			}
			list = append(list, sqldb.Rows(eventHead, eventRow, n, "", args))
			events = events[n:]
		}
		_, err = sqldb.ExecAll(ctx, tx, list)
	}
	if err != nil {
		return fmt.Errorf("insert events: %w", err)
	}
	return nil
}

// appendTo appends the values of the columns.
func (e *Event) appendTo(args []any) []any {
	return append(args, string(e.Type), e.Date.UnixMilli(), orNull(e.UserID), orNull(e.GroupID), orNull(e.MessageID), orNull(e.TargetID))
}

// An EventMark is a position up to which the outbox is complete as soon as all transactions have ended that ran when the
// mark was made. On PostgreSQL a transaction may take an id and commit after one that took a later id.
type EventMark struct {
	// Last is the last event before the mark; 0 is none.
	Last int64
	// before is the id of a transaction that began after every transaction that has an event up to Last; 0 if it is complete,
	// as it always is on SQLite, where transactions run one after another.
	before int64
}

// MarkEvents makes a mark at the end of the outbox. If there is no event after a position, Last is that position at most and
// the mark is of no use. It must not run in a transaction.
func MarkEvents(ctx context.Context, r Reader, after int64) (m EventMark, err error) {
	err = sqldb.First(ctx, r, sqldb.New("SELECT coalesce(max(id), 0) FROM event_outbox"), &m.Last)
	if err == nil && m.Last > after && sqldb.EngineOf(r) == PostgreSQL {
		// Events are inserted after the changes that they tell of. So a transaction has its own id before it takes one for an
		// event, and one that took an id before Last was committed has an earlier id than a transaction that begins now.
		err = sqldb.First(ctx, r, sqldb.New("SELECT CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT)"), &m.before)
	}
	if err != nil {
		return EventMark{}, fmt.Errorf("mark events: %w", err)
	}
	return m, nil
}

// IsComplete reports whether the outbox is complete up to the mark: every transaction has ended that ran when it was made.
func (m *EventMark) IsComplete(ctx context.Context, r Reader) (bool, error) {
	if m.before == 0 {
		return true, nil
	}
	var oldest int64 // of the transactions that run
	err := sqldb.First(ctx, r, sqldb.New("SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)"), &oldest)
	if err != nil {
		return false, fmt.Errorf("look for transactions with events: %w", err)
	}
	if oldest > m.before {
		m.before = 0
	}
	return m.before == 0, nil
}

// FindEvents returns events after a position and up to another one, in their order.
func FindEvents(ctx context.Context, r Reader, after, last int64, limit int) ([]Event, error) {
	query := sqldb.New("SELECT id, type, date, user_id, group_id, message_id, target_id FROM event_outbox WHERE id > ? AND id <= ? ORDER BY id LIMIT ?", after, last, limit)
	var list []Event
	err := sqldb.Query(ctx, r, query, func(row sqldb.Row) error {
		var e Event
		err := row.Scan(&e.ID, &e.Type, (*millis)(&e.Date), &e.UserID, &e.GroupID, &e.MessageID, &e.TargetID)
		list = append(list, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find events: %w", err)
	}
	return list, nil
}

// An EventConsumer is an extension of a plugin that gets every event at least once.
type EventConsumer struct{ PluginID, Extension string }

// An EventPosition is how far a consumer is.
type EventPosition struct {
	// Position is the last event that it has got.
	Position int64
	// Lost is how many events were dropped before it got them.
	Lost int64
	// Owner is the node that brings events to it, until LeaseDate.
	Owner     string
	LeaseDate time.Time
}

// HasEventConsumers reports whether there is a consumer.
func HasEventConsumers(ctx context.Context, r Reader) (bool, error) {
	n := int64(0)
	if err := sqldb.First(ctx, r, sqldb.New("SELECT count(*) FROM (SELECT 1 FROM event_consumer LIMIT 1) AS c"), &n); err != nil {
		return false, fmt.Errorf("look for consumers of events: %w", err)
	}
	return n > 0, nil
}

// FindEventPosition returns how far a consumer is, or false if there is no such consumer.
func FindEventPosition(ctx context.Context, r Reader, c EventConsumer) (p EventPosition, found bool, err error) {
	err = sqldb.First(ctx, r, sqldb.New("SELECT position, lost, owner, lease_date FROM event_consumer WHERE plugin_id = ? AND extension = ?", c.PluginID, c.Extension),
		&p.Position, &p.Lost, &p.Owner, (*millis)(&p.LeaseDate))
	if errors.Is(err, ErrNotFound) {
		return EventPosition{}, false, nil
	}
	if err != nil {
		return EventPosition{}, false, fmt.Errorf("find the consumer of events of plugin %q: %w", c.PluginID, err)
	}
	return p, true, nil
}

// ClaimEvents lets a node bring events to a consumer until a date, if nobody else does now. It reports whether it did.
// A new consumer begins after all events that there are.
func ClaimEvents(ctx context.Context, tx Tx, c EventConsumer, owner string, now, until time.Time) (mine bool, err error) {
	n, err := sqldb.Exec(ctx, tx, sqldb.New("UPDATE event_consumer SET owner = ?, lease_date = ? WHERE plugin_id = ? AND extension = ? AND (owner = ? OR lease_date < ?)",
		owner, until.UnixMilli(), c.PluginID, c.Extension, owner, now.UnixMilli()))
	if err == nil && n == 0 {
		n, err = sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO event_consumer (plugin_id, extension, position, lost, owner, lease_date) "+
			"SELECT ?, ?, coalesce(max(id), 0), 0, ?, ? FROM event_outbox WHERE true ON CONFLICT (plugin_id, extension) DO NOTHING",
			c.PluginID, c.Extension, owner, until.UnixMilli()))
	}
	if err != nil {
		return false, fmt.Errorf("claim the events of plugin %q: %w", c.PluginID, err)
	}
	return n == 1, nil
}

// MoveEvents notes that a consumer has got all events up to a position, and lets the node go on until a date. It reports
// false if the node has lost the consumer, or the consumer is further.
func MoveEvents(ctx context.Context, tx Tx, c EventConsumer, owner string, position int64, until time.Time) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, sqldb.New("UPDATE event_consumer SET position = ?, lease_date = ? WHERE plugin_id = ? AND extension = ? AND owner = ? AND position < ?",
		position, until.UnixMilli(), c.PluginID, c.Extension, owner, position))
	if err != nil {
		return false, fmt.Errorf("note the events that plugin %q got: %w", c.PluginID, err)
	}
	return n == 1, nil
}

// ReleaseEvents lets other nodes bring events to a consumer of a node from now on.
func ReleaseEvents(ctx context.Context, tx Tx, c EventConsumer, owner string, now time.Time) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("UPDATE event_consumer SET lease_date = ? WHERE plugin_id = ? AND extension = ? AND owner = ? AND lease_date >= ?",
		now.UnixMilli()-1, c.PluginID, c.Extension, owner, now.UnixMilli()))
	if err != nil {
		return fmt.Errorf("release the events of plugin %q: %w", c.PluginID, err)
	}
	return nil
}

// DeleteEventConsumer forgets a consumer, unless another node brings events to it. It reports whether it did.
func DeleteEventConsumer(ctx context.Context, tx Tx, c EventConsumer, owner string, now time.Time) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, sqldb.New("DELETE FROM event_consumer WHERE plugin_id = ? AND extension = ? AND (owner = ? OR lease_date < ?)",
		c.PluginID, c.Extension, owner, now.UnixMilli()))
	if err != nil {
		return false, fmt.Errorf("delete the consumer of events of plugin %q: %w", c.PluginID, err)
	}
	return n == 1, nil
}

// An EventRetention says what is dropped although consumers have not got it.
type EventRetention struct {
	// Since is when events must have happened, and consumers must have been served, to be kept.
	Since time.Time
	// Most is how many events are kept.
	Most int64
}

// trimBatch is how many events one transaction deletes.
const trimBatch = 10_000

// TrimEvents forgets consumers that nobody serves, and deletes events that all consumers have got or that are not to be kept.
// It reads from db and writes with w. It returns how many events it deleted, and how many of them consumers have lost, each counted once for each consumer.
func TrimEvents(ctx context.Context, db *DB, w Writer, keep EventRetention) (deleted, lost int64, err error) {
	// What is read outside of the transactions does not conflict with those that insert events.
	var first, last, young int64
	err = db.Read(ctx, func(ctx context.Context, r Reader) error {
		err := sqldb.First(ctx, r, sqldb.New("SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM event_outbox"), &first, &last)
		if err != nil || first == 0 {
			return err
		}
		err = sqldb.First(ctx, r, sqldb.New("SELECT id FROM event_outbox WHERE date >= ? ORDER BY id LIMIT 1", keep.Since.UnixMilli()), &young)
		if errors.Is(err, ErrNotFound) {
			young, err = last+1, nil
		}
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("look for events: %w", err)
	}
	end := int64(0)
	err = w.Write(ctx, func(ctx context.Context, tx Tx) (err error) {
		end, lost, err = dropEvents(ctx, tx, keep.Since, max(young-1, last-keep.Most), last)
		return err
	})
	for n := int64(trimBatch); err == nil && n == trimBatch && first > 0 && first <= end; {
		err = w.Write(ctx, func(ctx context.Context, tx Tx) (err error) {
			n, err = sqldb.Exec(ctx, tx, sqldb.New("DELETE FROM event_outbox WHERE id IN (SELECT id FROM event_outbox WHERE id <= ? ORDER BY id LIMIT ?)", end, trimBatch))
			return err
		})
		if err == nil {
			deleted += n
		}
	}
	if err != nil {
		return deleted, lost, fmt.Errorf("delete events: %w", err)
	}
	return deleted, lost, nil
}

// dropEvents forgets consumers that nobody serves, and moves the others to a position at least. It returns up to where all
// have got the events, if there are any up to last, and how many they have lost.
func dropEvents(ctx context.Context, tx Tx, served time.Time, floor, last int64) (end, lost int64, err error) {
	if _, err = sqldb.Exec(ctx, tx, sqldb.New("DELETE FROM event_consumer WHERE lease_date < ?", served.UnixMilli())); err != nil {
		return 0, 0, err
	}
	var behind, slowest int64
	err = sqldb.First(ctx, tx, sqldb.New("SELECT count(CASE WHEN position < ? THEN 1 END), coalesce(min(position), ?) FROM event_consumer", floor, last), &behind, &slowest)
	if err != nil || behind == 0 {
		return slowest, 0, err
	}
	const missed = "(SELECT count(*) FROM event_outbox AS e WHERE e.id > event_consumer.position AND e.id <= ?)"
	err = sqldb.First(ctx, tx, sqldb.New("SELECT CAST(sum("+missed+") AS BIGINT) FROM event_consumer WHERE position < ?", floor, floor), &lost)
	if err == nil {
		_, err = sqldb.Exec(ctx, tx, sqldb.New("UPDATE event_consumer SET lost = lost + "+missed+", position = ? WHERE position < ?", floor, floor, floor))
	}
	return floor, lost, err
}
