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
	// fewEvents is how many events of a transaction are sent to PostgreSQL with the commit, each in
	// its own statement.
	fewEvents = 4
)

// insertEvents inserts events into the outbox as the last step of their transaction, so that later
// changes of the same records have later events.
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

// An EventMark is a position up to which the outbox is complete once all transactions that ran when
// the mark was made have ended. On PostgreSQL a transaction may take an id and commit after one
// that took a later id.
type EventMark struct {
	// Last is the last event before the mark; 0 means none.
	Last int64
	// before is the id of a transaction that began after every transaction with an event up to
	// Last; 0 if the outbox is complete, as always on SQLite, where transactions are serial.
	before int64
}

// MarkEvents returns a mark at the end of the outbox. If there is no event after a position, Last
// is at most that position and the mark is useless. It must not run in a transaction.
func MarkEvents(ctx context.Context, r Reader, after int64) (m EventMark, err error) {
	err = sqldb.First(ctx, r, sqldb.New("SELECT coalesce(max(id), 0) FROM event_outbox"), &m.Last)
	if err == nil && m.Last > after && sqldb.EngineOf(r) == PostgreSQL {
		// Events are inserted after the changes. So a transaction has its own id before it takes
		// one for an event, and one that took an id before Last was committed has an earlier id
		// than a transaction that begins now.
		err = sqldb.First(ctx, r, sqldb.New("SELECT CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT)"), &m.before)
	}
	if err != nil {
		return EventMark{}, fmt.Errorf("mark events: %w", err)
	}
	return m, nil
}

// IsComplete reports whether the outbox is complete up to the mark.
func (m *EventMark) IsComplete(ctx context.Context, r Reader) (bool, error) {
	if m.before == 0 {
		return true, nil
	}
	var oldest int64 // of the running transactions
	err := sqldb.First(ctx, r, sqldb.New("SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)"), &oldest)
	if err != nil {
		return false, fmt.Errorf("look for transactions with events: %w", err)
	}
	if oldest > m.before {
		m.before = 0
	}
	return m.before == 0, nil
}

// FindEvents returns the events after one position and up to another, in order.
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

// An EventConsumer is an extension of a plugin that receives every event at least once.
type EventConsumer struct{ PluginID, Extension string }

// An EventPosition is the progress of a consumer.
type EventPosition struct {
	// Position is the last event that it received.
	Position int64
	// Lost is how many events were dropped before it received them.
	Lost int64
	// Owner is the node that delivers its events, until LeaseDate.
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

// FindEventPosition returns the position of a consumer; found is false if there is none.
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

// ClaimEvents makes a node the owner of a consumer until a date, unless another node is, and
// reports whether it did. A new consumer starts after all existing events.
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

// MoveEvents advances the position of a consumer and extends the node's lease until a date. It
// reports false if the node is no longer the owner, or the position is behind.
func MoveEvents(ctx context.Context, tx Tx, c EventConsumer, owner string, position int64, until time.Time) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, sqldb.New("UPDATE event_consumer SET position = ?, lease_date = ? WHERE plugin_id = ? AND extension = ? AND owner = ? AND position < ?",
		position, until.UnixMilli(), c.PluginID, c.Extension, owner, position))
	if err != nil {
		return false, fmt.Errorf("note the events that plugin %q got: %w", c.PluginID, err)
	}
	return n == 1, nil
}

// ReleaseEvents ends a node's lease of a consumer.
func ReleaseEvents(ctx context.Context, tx Tx, c EventConsumer, owner string, now time.Time) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("UPDATE event_consumer SET lease_date = ? WHERE plugin_id = ? AND extension = ? AND owner = ? AND lease_date >= ?",
		now.UnixMilli()-1, c.PluginID, c.Extension, owner, now.UnixMilli()))
	if err != nil {
		return fmt.Errorf("release the events of plugin %q: %w", c.PluginID, err)
	}
	return nil
}

// DeleteEventConsumer deletes a consumer unless another node owns it, and reports whether it did.
func DeleteEventConsumer(ctx context.Context, tx Tx, c EventConsumer, owner string, now time.Time) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, sqldb.New("DELETE FROM event_consumer WHERE plugin_id = ? AND extension = ? AND (owner = ? OR lease_date < ?)",
		c.PluginID, c.Extension, owner, now.UnixMilli()))
	if err != nil {
		return false, fmt.Errorf("delete the consumer of events of plugin %q: %w", c.PluginID, err)
	}
	return n == 1, nil
}

// An EventRetention defines which events are dropped even if consumers have not received them.
type EventRetention struct {
	// Since is the minimum date of retained events and of the last delivery to retained consumers.
	Since time.Time
	// Most is the maximum number of events.
	Most int64
}

// trimBatch is how many events one transaction deletes.
const trimBatch = 10_000

// TrimEvents deletes consumers without deliveries, and events that all consumers have received or
// that exceed the retention. It reads from db and writes with w. It returns the number of deleted
// events, and how many of them consumers have lost, counted once per consumer.
func TrimEvents(ctx context.Context, db *DB, w Writer, keep EventRetention) (deleted, lost int64, err error) {
	// Reads outside of the transactions do not conflict with those that insert events.
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

// dropEvents deletes consumers without deliveries, and advances the others to at least floor. It
// returns the position that all have received, up to last, and how many events were lost.
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
