// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// A Blocklist is a table of blocked clients. Every change of it gets a number, which grows with each commit, so that a
// mirror can ask for what changed since the last number that it knows:
//
//   - a row carries the number of the change that wrote it last;
//   - a lifted block leaves a row that has ended, until Sweep removes it;
//   - emptying the list is one number, the rows up to which count no more.
type Blocklist[K Key] struct{ table, array string }

// The blocklists. The key of an address is its canonical text.
var (
	BlockedIPs   = Blocklist[string]{table: "blocked_ip", array: "text[]"}
	BlockedUsers = Blocklist[int64]{table: "blocked_user", array: "bigint[]"}
)

// Revision is the name of the revision that every change bumps.
func (b Blocklist[K]) Revision() string { return b.table }

// The names of the two other numbers that are kept with the revision.
func (b Blocklist[K]) clearedName() string { return b.table + ".cleared" }
func (b Blocklist[K]) sweptName() string   { return b.table + ".swept" }

// A Blocked is a row of a blocklist.
type Blocked[K Key] struct {
	Key K
	// End is when the block ends; of a block that was lifted it is before 1970.
	End time.Time
	// Seq is the number of the change that wrote the row.
	Seq int64
}

// A BlocklistState are the numbers that a mirror needs to know before it reads changes.
type BlocklistState struct {
	// Revision is the number of the last change.
	Revision int64
	// Cleared is the number of the change that emptied the list last: what is not newer is gone.
	Cleared int64
	// Swept is the greatest number of a row that Sweep removed: who has not seen it has missed something that cannot
	// be read any more, and must read the whole list.
	Swept int64
}

// State returns the numbers as of one moment.
func (b Blocklist[K]) State(ctx context.Context, r Reader) (BlocklistState, error) {
	var rows []revisionRow
	names := []string{b.Revision(), b.clearedName(), b.sweptName()}
	err := r.NewSelect().TableExpr("revision AS r").Column("r.name", "r.value").Where("?", In(r.Engine(), "r.name", names)).Scan(ctx, &rows)
	if err != nil {
		return BlocklistState{}, fmt.Errorf("read the state of %q: %w", b.table, translate(err))
	}
	var state BlocklistState
	for _, row := range rows {
		switch row.Name {
		case b.Revision():
			state.Revision = row.Value
		case b.clearedName():
			state.Cleared = row.Value
		default:
			state.Swept = row.Value
		}
	}
	return state, nil
}

// Put blocks the keys until end. It replaces the end of blocks that exist; if extend is true, only of those that end
// earlier.
func (b Blocklist[K]) Put(ctx context.Context, tx Tx, keys []K, end time.Time, extend bool) error {
	if len(keys) == 0 {
		return nil
	}
	seq, err := b.next(ctx, tx)
	if err != nil {
		return err
	}
	condition := bun.SafeQuery("")
	if extend {
		condition = bun.SafeQuery("WHERE b.end_time < excluded.end_time OR b.change_seq <= ?", b.cleared())
	}
	_, err = tx.NewRaw("INSERT INTO ? AS b (id, end_time, change_seq) SELECT k.value, ?, ? FROM ? WHERE 1 = 1 "+
		"ON CONFLICT (id) DO UPDATE SET end_time = excluded.end_time, change_seq = excluded.change_seq ?",
		bun.Ident(b.table), end.UnixMilli(), seq, b.source(tx.Engine(), keys), condition).Exec(ctx)
	if err != nil {
		return fmt.Errorf("insert into %q: %w", b.table, err)
	}
	return nil
}

// source is a table "k" with a column "value" that holds the distinct keys. It is one value, however many there are.
func (b Blocklist[K]) source(engine Engine, keys []K) schema.QueryAppender {
	keys = uniqueSorted(keys)
	if engine == PostgreSQL {
		return bun.SafeQuery("unnest(CAST(? AS "+b.array+")) AS k (value)", arrayOf(keys))
	}
	document, err := json.Marshal(keys)
	if err != nil {
		// Numbers and text always have a JSON form.
		panic(err)
	}
	return bun.SafeQuery("json_each(?) AS k", string(document))
}

// next bumps the revision and returns it.
func (b Blocklist[K]) next(ctx context.Context, tx Tx) (int64, error) {
	if err := BumpRevision(ctx, tx, b.Revision()); err != nil {
		return 0, err
	}
	var seq int64
	if err := tx.NewSelect().TableExpr("revision").Column("value").Where("name = ?", b.Revision()).Scan(ctx, &seq); err != nil {
		return 0, fmt.Errorf("read revision %q: %w", b.Revision(), translate(err))
	}
	return seq, nil
}

// cleared is the number of the change that emptied the list last, as an expression.
func (b Blocklist[K]) cleared() schema.QueryAppender {
	return bun.SafeQuery("COALESCE((SELECT r.value FROM revision AS r WHERE r.name = ?), 0)", b.clearedName())
}

// Delete lifts the blocks of the keys at the moment now and returns how many there were.
func (b Blocklist[K]) Delete(ctx context.Context, tx Tx, keys []K, now time.Time) (int64, error) {
	var found []K
	err := tx.NewSelect().TableExpr("? AS b", bun.Ident(b.table)).Column("b.id").Where("?", In(tx.Engine(), "b.id", keys)).
		Where("b.end_time > 0").Where("b.change_seq > ?", b.cleared()).Scan(ctx, &found)
	if err != nil {
		return 0, fmt.Errorf("find in %q: %w", b.table, translate(err))
	}
	if len(found) == 0 {
		return 0, nil
	}
	seq, err := b.next(ctx, tx)
	if err != nil {
		return 0, err
	}
	_, err = tx.NewUpdate().TableExpr("? AS b", bun.Ident(b.table)).Set("end_time = ?", -now.UnixMilli()).Set("change_seq = ?", seq).
		Where("?", In(tx.Engine(), "b.id", found)).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete from %q: %w", b.table, err)
	}
	return int64(len(found)), nil
}

// Clear lifts all blocks. It takes the same time for any number of them; Sweep removes the rows.
func (b Blocklist[K]) Clear(ctx context.Context, tx Tx) error {
	seq, err := b.next(ctx, tx)
	if err != nil {
		return err
	}
	return b.note(ctx, tx, b.clearedName(), seq)
}

// note raises a number that is kept with the revision.
func (b Blocklist[K]) note(ctx context.Context, tx Tx, name string, value int64) error {
	_, err := tx.NewInsert().Model(&revisionRow{Name: name, Value: value}).ModelTableExpr("revision AS r").
		On("CONFLICT (name) DO UPDATE").Set("value = excluded.value").Where("r.value < excluded.value").Exec(ctx)
	if err != nil {
		return fmt.Errorf("note %q: %w", name, err)
	}
	return nil
}

// live selects the blocks that last at the moment now; nil keys are all.
func (b Blocklist[K]) live(r Reader, keys []K, now time.Time) *bun.SelectQuery {
	query := r.NewSelect().TableExpr("? AS b", bun.Ident(b.table)).
		Where("b.end_time > ?", now.UnixMilli()).Where("b.change_seq > ?", b.cleared())
	if keys != nil {
		query = query.Where("?", In(r.Engine(), "b.id", keys))
	}
	return query
}

// Find returns the blocks of these keys that last at the moment now, ordered by key; nil keys are all.
func (b Blocklist[K]) Find(ctx context.Context, r Reader, keys []K, now time.Time, page Page) ([]Blocked[K], error) {
	found := []Blocked[K]{}
	query := page.apply(b.live(r, keys, now), "b.id")
	if err := b.scan(ctx, query, func(row Blocked[K]) { found = append(found, row) }); err != nil {
		return nil, fmt.Errorf("find in %q: %w", b.table, err)
	}
	return found, nil
}

// Count returns how many blocks last at the moment now.
func (b Blocklist[K]) Count(ctx context.Context, r Reader, now time.Time) (int64, error) {
	var count int64
	if err := b.live(r, nil, now).ColumnExpr("count(*)").Scan(ctx, &count); err != nil {
		return 0, fmt.Errorf("count %q: %w", b.table, translate(err))
	}
	return count, nil
}

// scan hands over the rows of a query one by one.
func (b Blocklist[K]) scan(ctx context.Context, query *bun.SelectQuery, each func(Blocked[K])) (err error) {
	rows, err := query.ColumnExpr("b.id, b.end_time, b.change_seq").Rows(ctx)
	if err != nil {
		return translate(err)
	}
	defer func() { err = translate(errors.Join(err, rows.Close())) }()
	for rows.Next() {
		var row Blocked[K]
		var end int64
		if err := rows.Scan(&row.Key, &end, &row.Seq); err != nil {
			return err
		}
		row.End = time.UnixMilli(end).UTC()
		each(row)
	}
	return rows.Err()
}

// A BlocklistPosition is a place in the order in which Changes returns rows: after those of the change Seq, or, if Key
// is set, after the row with that number and key.
type BlocklistPosition[K Key] struct {
	Seq int64
	Key *K
}

// Changes hands over the rows after a position in the order of their numbers, at most limit of them, and returns how
// many there were and the position of the last. A row that is written meanwhile moves to the end.
func (b Blocklist[K]) Changes(ctx context.Context, r Reader, after BlocklistPosition[K], limit int, each func(Blocked[K])) (n int, last BlocklistPosition[K], err error) {
	query := r.NewSelect().TableExpr("? AS b", bun.Ident(b.table)).OrderExpr("b.change_seq, b.id").Limit(int64(limit))
	if after.Key == nil {
		query = query.Where("b.change_seq > ?", after.Seq)
	} else {
		query = query.Where("(b.change_seq, b.id) > (?, ?)", after.Seq, *after.Key)
	}
	last = after
	err = b.scan(ctx, query, func(row Blocked[K]) {
		n++
		last = BlocklistPosition[K]{Seq: row.Seq, Key: &row.Key}
		each(row)
	})
	if err != nil {
		return 0, after, fmt.Errorf("read changes of %q: %w", b.table, err)
	}
	return n, last, nil
}

// Sweep removes rows of no more use, at most limit of them, and returns how many: blocks that ended or were lifted
// before the given moment, and those that Clear left behind.
func (b Blocklist[K]) Sweep(ctx context.Context, tx Tx, before time.Time, limit int) (int64, error) {
	var keys []K
	collect := func(row Blocked[K]) { keys = append(keys, row.Key) }
	cleared := tx.NewSelect().TableExpr("? AS b", bun.Ident(b.table)).Where("b.change_seq <= ?", b.cleared()).
		OrderExpr("b.change_seq, b.id").Limit(int64(limit))
	if err := b.scan(ctx, cleared, collect); err != nil {
		return 0, fmt.Errorf("find what to sweep of %q: %w", b.table, err)
	}
	if rest := limit - len(keys); rest > 0 {
		var swept int64
		end := before.UnixMilli()
		ended := tx.NewSelect().TableExpr("? AS b", bun.Ident(b.table)).Where("b.end_time BETWEEN ? AND ?", -end, end).
			Where("b.change_seq > ?", b.cleared()).OrderExpr("b.end_time").Limit(int64(rest))
		err := b.scan(ctx, ended, func(row Blocked[K]) {
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
	_, err := tx.NewDelete().TableExpr("? AS b", bun.Ident(b.table)).Where("?", In(tx.Engine(), "b.id", keys)).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("sweep %q: %w", b.table, err)
	}
	return int64(len(keys)), nil
}
