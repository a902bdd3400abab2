// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A Blocklist is a table of blocked clients. Every change gets a number, increasing by commit, so
// that a mirror can read the changes since the last number that it knows:
//
//   - a row has the number of the change that last wrote it;
//   - a lifted block leaves an expired row, until Sweep removes it;
//   - clearing the list is one number, up to which rows are invalid.
type Blocklist[K sqldb.Key] struct{ table string }

// The blocklists. The key of an address is its canonical text.
var (
	BlockedIPs   = Blocklist[string]{table: "blocked_ip"}
	BlockedUsers = Blocklist[int64]{table: "blocked_user"}
)

// Revision is the name of the revision that every change increments.
func (b Blocklist[K]) Revision() string { return b.table }

// The names of the two other numbers that are kept with the revision.
func (b Blocklist[K]) clearedName() string { return b.table + ".cleared" }
func (b Blocklist[K]) sweptName() string   { return b.table + ".swept" }

// A Blocked is a row of a blocklist.
type Blocked[K sqldb.Key] struct {
	Key K
	// End is the end of the block; before 1970 if it was lifted.
	End time.Time
	// Seq is the number of the change that wrote the row.
	Seq int64
}

// A BlocklistState contains the numbers that a mirror needs before it reads changes.
type BlocklistState struct {
	// Revision is the number of the last change.
	Revision int64
	// Cleared is the number of the last clearing: rows up to it are invalid.
	Cleared int64
	// Swept is the greatest number of a row that Sweep removed: a mirror that has not read that far
	// must read the whole list.
	Swept int64
}

// State returns a consistent snapshot of the numbers.
func (b Blocklist[K]) State(ctx context.Context, r Reader) (BlocklistState, error) {
	var state BlocklistState
	names := []string{b.Revision(), b.clearedName(), b.sweptName()}
	err := sqldb.Query(ctx, r, sqldb.New("SELECT r.name, r.value FROM revision AS r WHERE ?", sqldb.In("r.name", names)), func(row sqldb.Row) error {
		var name string
		var value int64
		if err := row.Scan(&name, &value); err != nil {
			return err
		}
		switch name {
		case b.Revision():
			state.Revision = value
		case b.clearedName():
			state.Cleared = value
		default:
			state.Swept = value
		}
		return nil
	})
	if err != nil {
		return BlocklistState{}, fmt.Errorf("read the state of %q: %w", b.table, err)
	}
	return state, nil
}

// Put blocks the keys until end. It replaces the end of existing blocks; with extend only of those
// that end earlier.
func (b Blocklist[K]) Put(ctx context.Context, tx Tx, keys []K, end time.Time, extend bool) error {
	if len(keys) == 0 {
		return nil
	}
	seq, err := b.next(ctx, tx)
	if err != nil {
		return err
	}
	condition := sqldb.New("")
	if extend {
		condition = sqldb.New("WHERE b.end_time < excluded.end_time OR b.change_seq <= ?", b.cleared())
	}
	_, err = sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO "+b.table+" AS b (id, end_time, change_seq) SELECT k.value, ?, ? FROM ? WHERE 1 = 1 "+
		"ON CONFLICT (id) DO UPDATE SET end_time = excluded.end_time, change_seq = excluded.change_seq ?",
		end.UnixMilli(), seq, sqldb.Keys(uniqueSorted(keys)), condition))
	if err != nil {
		return fmt.Errorf("insert into %q: %w", b.table, err)
	}
	b.noteBlocks(tx, ActionCreate, keys, Values{{"blockEndTime", end.UTC().Format(journalDate)}})
	return nil
}

// noteBlocks adds changes of blocks to the journal.
func (b Blocklist[K]) noteBlocks(tx Tx, action string, keys []K, after Values) {
	j := journalOf(tx)
	if j == nil {
		return
	}
	for _, key := range keys {
		j.note(Change{Record: camelCase(b.table), Action: action, Key: Values{{"id", key}}, After: after})
	}
}

// next increments the revision and returns it.
func (b Blocklist[K]) next(ctx context.Context, tx Tx) (int64, error) {
	if err := BumpRevision(ctx, tx, b.Revision()); err != nil {
		return 0, err
	}
	var seq int64
	if err := sqldb.First(ctx, tx, sqldb.New("SELECT value FROM revision WHERE name = ?", b.Revision()), &seq); err != nil {
		return 0, fmt.Errorf("read revision %q: %w", b.Revision(), err)
	}
	return seq, nil
}

// cleared returns the number of the last clearing as an expression.
func (b Blocklist[K]) cleared() sqldb.SQL {
	return sqldb.New("COALESCE((SELECT r.value FROM revision AS r WHERE r.name = ?), 0)", b.clearedName())
}

// Delete lifts the blocks of the keys and returns how many there were at the time now.
func (b Blocklist[K]) Delete(ctx context.Context, tx Tx, keys []K, now time.Time) (int64, error) {
	found, err := sqldb.List[K](ctx, tx, sqldb.New("SELECT b.id FROM "+b.table+" AS b WHERE ? AND b.end_time > 0 AND b.change_seq > ?", sqldb.In("b.id", keys), b.cleared()))
	if err != nil {
		return 0, fmt.Errorf("find in %q: %w", b.table, err)
	}
	if len(found) == 0 {
		return 0, nil
	}
	seq, err := b.next(ctx, tx)
	if err != nil {
		return 0, err
	}
	_, err = sqldb.Exec(ctx, tx, sqldb.New("UPDATE "+b.table+" AS b SET end_time = ?, change_seq = ? WHERE ?", -now.UnixMilli(), seq, sqldb.In("b.id", found)))
	if err != nil {
		return 0, fmt.Errorf("delete from %q: %w", b.table, err)
	}
	b.noteBlocks(tx, ActionDelete, found, nil)
	return int64(len(found)), nil
}

// Clear lifts all blocks, in constant time; Sweep removes the rows.
func (b Blocklist[K]) Clear(ctx context.Context, tx Tx) error {
	seq, err := b.next(ctx, tx)
	if err != nil {
		return err
	}
	journalOf(tx).note(Change{Record: camelCase(b.table), Action: ActionDelete, Key: Values{{"id", "*"}}})
	return b.note(ctx, tx, b.clearedName(), seq)
}

// note raises a number that is stored with the revision.
func (b Blocklist[K]) note(ctx context.Context, tx Tx, name string, value int64) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO revision AS r (name, value) VALUES (?, ?) "+
		"ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE r.value < excluded.value", name, value))
	if err != nil {
		return fmt.Errorf("note %q: %w", name, err)
	}
	return nil
}

// live selects the blocks that are active at the time now; nil keys means all.
func (b Blocklist[K]) live(keys []K, now time.Time) conditions {
	c := where("b.end_time > ? AND b.change_seq > ?", now.UnixMilli(), b.cleared())
	if keys != nil {
		c.and(sqldb.In("b.id", keys))
	}
	return c
}

// Find returns the blocks of these keys that are active at the time now, ordered by key; nil keys
// means all.
func (b Blocklist[K]) Find(ctx context.Context, r Reader, keys []K, now time.Time, page Page) ([]Blocked[K], error) {
	found := []Blocked[K]{}
	query := pageOf(b.selected(b.live(keys, now)), page, "b.id")
	if err := b.scan(ctx, r, query, func(row Blocked[K]) { found = append(found, row) }); err != nil {
		return nil, fmt.Errorf("find in %q: %w", b.table, err)
	}
	return found, nil
}

// Count returns how many blocks are active at the time now.
func (b Blocklist[K]) Count(ctx context.Context, r Reader, now time.Time) (int64, error) {
	var count int64
	if err := sqldb.First(ctx, r, sqldb.New("SELECT count(*) FROM "+b.table+" AS b?", b.live(nil, now).clause()), &count); err != nil {
		return 0, fmt.Errorf("count %q: %w", b.table, err)
	}
	return count, nil
}

// selected returns a query for the rows of the list, called b, that fulfil conditions.
func (b Blocklist[K]) selected(c conditions) sqldb.SQL {
	return sqldb.New("SELECT b.id, b.end_time, b.change_seq FROM "+b.table+" AS b?", c.clause())
}

// scan calls each with the rows of a query.
func (b Blocklist[K]) scan(ctx context.Context, r Reader, query sqldb.SQL, each func(Blocked[K])) error {
	return sqldb.Query(ctx, r, query, func(row sqldb.Row) error {
		var found Blocked[K]
		if err := row.Scan(&found.Key, (*millis)(&found.End), &found.Seq); err != nil {
			return err
		}
		each(found)
		return nil
	})
}

// A BlocklistPosition is a position in the order of Changes: after the rows of the change Seq, or,
// if Key is set, after the row with that number and key.
type BlocklistPosition[K sqldb.Key] struct {
	Seq int64
	Key *K
}

// Changes calls each with the rows after a position in the order of their numbers, at most limit,
// and returns how many there were and the position of the last. A row that is written concurrently
// moves to the end.
func (b Blocklist[K]) Changes(ctx context.Context, r Reader, after BlocklistPosition[K], limit int, each func(Blocked[K])) (n int, last BlocklistPosition[K], err error) {
	c := where("b.change_seq > ?", after.Seq)
	if after.Key != nil {
		c = where("(b.change_seq, b.id) > (?, ?)", after.Seq, *after.Key)
	}
	last = after
	err = b.scan(ctx, r, pageOf(b.selected(c), Page{Limit: limit}, "b.change_seq", "b.id"), func(row Blocked[K]) {
		n++
		last = BlocklistPosition[K]{Seq: row.Seq, Key: &row.Key}
		each(row)
	})
	if err != nil {
		return 0, after, fmt.Errorf("read changes of %q: %w", b.table, err)
	}
	return n, last, nil
}

// Sweep removes obsolete rows, at most limit, and returns how many: blocks that ended or were
// lifted before the given time, and those invalidated by Clear.
func (b Blocklist[K]) Sweep(ctx context.Context, tx Tx, before time.Time, limit int) (int64, error) {
	var keys []K
	collect := func(row Blocked[K]) { keys = append(keys, row.Key) }
	cleared := pageOf(b.selected(where("b.change_seq <= ?", b.cleared())), Page{Limit: limit}, "b.change_seq", "b.id")
	if err := b.scan(ctx, tx, cleared, collect); err != nil {
		return 0, fmt.Errorf("find what to sweep of %q: %w", b.table, err)
	}
	if rest := limit - len(keys); rest > 0 {
		var swept int64
		end := before.UnixMilli()
		ended := pageOf(b.selected(where("b.end_time BETWEEN ? AND ? AND b.change_seq > ?", -end, end, b.cleared())), Page{Limit: rest}, "b.end_time")
		err := b.scan(ctx, tx, ended, func(row Blocked[K]) {
			collect(row)
			swept = max(swept, row.Seq)
		})
		if err != nil {
			return 0, fmt.Errorf("find what to sweep of %q: %w", b.table, err)
		}
		if swept > 0 {
			if err := b.note(ctx, tx, b.sweptName(), swept); err != nil {
				return 0, err
			}
		}
	}
	if len(keys) == 0 {
		return 0, nil
	}
	if _, err := deleteRows(ctx, tx, b.table, in("t.id", keys)); err != nil {
		return 0, fmt.Errorf("sweep %q: %w", b.table, err)
	}
	return int64(len(keys)), nil
}
