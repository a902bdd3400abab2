// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A table defines how the fields of a record are stored: fields returns pointers to them, in the
// order of the columns. Columns in another form use a pointer type of field.go.
type table[R any] struct {
	name    string
	columns []string
	fields  func(record *R) []any
	// rule and told define how rows appear in a journal; nil if they do not.
	rule *journalRule
	told []journalColumn
}

// newTable makes a table with the given columns, which are separated by spaces.
func newTable[R any](name, columns string, fields func(*R) []any) table[R] {
	t := table[R]{name: name, columns: strings.Fields(columns), fields: fields}
	if rule, told := journalRules[name]; told {
		t.rule, t.told = &rule, rule.journalColumns(t.columns)
		if journalTables[name] == nil {
			journalTables[name] = t
		}
	}
	return t
}

// list returns the names of the columns of a table that is called alias in a statement.
func (t table[R]) list(alias string) string {
	return alias + "." + strings.Join(t.columns, ", "+alias+".")
}

// selected returns a query for all columns of the rows that satisfy the conditions, with the table
// alias t.
func (t table[R]) selected(where conditions) sqldb.SQL {
	return sqldb.New("SELECT "+t.list("t")+" FROM "+t.name+" AS t?", where.clause())
}

// find returns a page of the records that satisfy the conditions, in the order of columns that are
// unique together.
func (t table[R]) find(ctx context.Context, r Reader, where conditions, page Page, order ...string) ([]R, error) {
	return t.read(ctx, r, pageOf(t.selected(where), page, order...))
}

// moreRecords is the length up to which a list grows faster than append.
const moreRecords = 64

// read returns the records of a statement, which must select all columns.
func (t table[R]) read(ctx context.Context, r Reader, statement sqldb.SQL) ([]R, error) {
	records := []R{}
	err := sqldb.Query(ctx, r, statement, func(row sqldb.Row) error {
		if n := len(records); n == cap(records) && 0 < n && n < moreRecords {
			records = slices.Grow(records, 3*n) // Half as many copies as append makes.
		}
		records = append(records, *new(R))
		return row.Scan(t.fields(&records[len(records)-1])...)
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// delete deletes the records that satisfy the conditions and returns them.
func (t table[R]) delete(ctx context.Context, tx Tx, selected conditions) ([]R, error) {
	gone, err := t.read(ctx, tx, sqldb.New("DELETE FROM "+t.name+" AS t? RETURNING "+strings.Join(t.columns, ", "), selected.clause()))
	if j := journalOf(tx); j != nil && err == nil {
		j.deleted(t.name, t.imagesOf(gone[:min(len(gone), max(j.room(), 0))]), int64(len(gone)))
	}
	return gone, err
}

// insert inserts records, none of which may exist.
func (t table[R]) insert(ctx context.Context, tx Tx, records ...R) error {
	statements, err := t.inserts(sqldb.EngineOf(tx), records)
	if err != nil {
		return err
	}
	if _, err = sqldb.ExecAll(ctx, tx, statements); err == nil {
		t.created(tx, records)
	}
	return err
}

// inserts returns the statements of insert. On SQLite a failing statement may leave some rows
// behind: the transaction fails, too, so the engine need not be able to roll back the statement
// alone.
func (t table[R]) inserts(engine Engine, records []R) ([]sqldb.SQL, error) {
	verb := "INSERT INTO "
	if engine == SQLite {
		verb = "INSERT OR FAIL INTO "
	}
	return t.statements(verb, records, "")
}

// put inserts records and applies the conflict clause to existing ones. It returns how many rows
// were changed.
func (t table[R]) put(ctx context.Context, tx Tx, records []R, conflict string) (int64, error) {
	statements, err := t.puts(records, conflict)
	if err != nil {
		return 0, err
	}
	changed, err := sqldb.ExecAll(ctx, tx, statements)
	if err == nil && changed > 0 {
		t.created(tx, records)
	}
	return changed, err
}

// puts returns the statements of put.
func (t table[R]) puts(records []R, conflict string) ([]sqldb.SQL, error) {
	return t.statements("INSERT INTO ", records, " ON CONFLICT "+conflict)
}

// statements returns statements that insert records.
func (t table[R]) statements(verb string, records []R, tail string) (list []sqldb.SQL, err error) {
	head := verb + t.name + " AS t (" + strings.Join(t.columns, ", ") + ") VALUES "
	row := "(" + sqldb.Repeat("?", len(t.columns), ", ") + ")"
	for len(records) > 0 {
		n := sqldb.RowsPerStatement(len(records))
		args := make([]any, 0, n*len(t.columns))
		for k := range n {
			if args, err = t.values(args, &records[k]); err != nil {
				return nil, err
			}
		}
		list = append(list, sqldb.Rows(head, row, n, tail, args))
		records = records[n:]
	}
	return list, nil
}

// values appends the values of the columns of a record.
func (t table[R]) values(args []any, record *R) ([]any, error) {
	args, err := valuesOf(args, t.fields(record))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	return args, nil
}

// valuesOf appends the values of fields in their stored form.
func valuesOf(args, fields []any) ([]any, error) {
	args = slices.Grow(args, len(fields))
	for _, field := range fields {
		value, err := valueOf(field)
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	return args, nil
}

// valueOf returns the value of a field in its stored form.
func valueOf(field any) (any, error) {
	switch p := field.(type) {
	case *int64:
		return *p, nil
	case *int32:
		return *p, nil
	case *string:
		return *p, nil
	case *bool:
		return *p, nil
	case *[]byte:
		return *p, nil
	case **int64:
		return orNull(*p), nil
	case **int32:
		return orNull(*p), nil
	case **string:
		return orNull(*p), nil
	case driver.Valuer:
		return p.Value()
	}
	return reflect.ValueOf(field).Elem().Interface(), nil
}

// orNull returns what a pointer points to, or NULL for nil.
func orNull[T any](value *T) any {
	if value == nil {
		return nil
	}
	return *value
}

// conditions are conditions that rows must all satisfy. They are used by queries, updates and
// deletions.
type conditions []sqldb.SQL

// where returns one condition; see sqldb.New.
func where(text string, args ...any) conditions { return conditions{sqldb.New(text, args...)} }

// and adds conditions.
func (c *conditions) and(more ...sqldb.SQL) { *c = append(*c, more...) }

// when adds a condition; see sqldb.New.
func (c *conditions) when(text string, args ...any) { c.and(sqldb.New(text, args...)) }

// clause returns the WHERE clause, "" without conditions.
func (c conditions) clause() sqldb.SQL {
	if len(c) == 0 {
		return sqldb.New("")
	}
	return sqldb.New(" WHERE ?", sqldb.Join(c, " AND "))
}

// anyOf adds the condition that a column is one of the keys, unless there are none.
func anyOf[K sqldb.Key](c *conditions, column string, keys []K) {
	if len(keys) > 0 {
		c.and(sqldb.In(column, keys))
	}
}

// in returns the condition that a column is one of the keys.
func in[K sqldb.Key](column string, keys []K) conditions { return conditions{sqldb.In(column, keys)} }

// countRows returns how many rows of a table satisfy the conditions, with the table alias t.
func countRows(ctx context.Context, r Reader, table string, list conditions) (int64, error) {
	return countFrom(ctx, r, table+" AS t", list)
}

// countFrom is countRows for any expression of tables.
func countFrom(ctx context.Context, r Reader, tables string, list conditions) (int64, error) {
	count := func(ctx context.Context, r Reader, statement sqldb.SQL) (n int64, err error) {
		if err := sqldb.First(ctx, r, statement, &n); err != nil {
			return 0, fmt.Errorf("count rows of %q: %w", tables, err)
		}
		return n, nil
	}
	all := sqldb.New("SELECT count(*) FROM "+tables+"?", list.clause())
	bounded, ok := r.(boundedReader)
	if !ok {
		return count(ctx, r, all)
	}
	if len(list) == 0 && sqldb.EngineOf(r) == SQLite {
		if n, err := countQuickly(ctx, r, all); err == nil {
			if n < bounded.most {
				return n, nil
			}
			return bounded.totals.countOn(ctx, r, bounded.most, func(ctx context.Context, _ Reader) (int64, error) { return n, ctx.Err() })
		}
	}
	n, err := sqldb.Count(ctx, r, sqldb.New("SELECT count(*) FROM (SELECT 1 FROM "+tables+"? LIMIT ?) AS b", list.clause(), bounded.most))
	if err != nil {
		return 0, fmt.Errorf("count rows of %q: %w", tables, err)
	}
	if n < bounded.most {
		return n, nil
	}
	return bounded.totals.countOn(ctx, r, n, func(ctx context.Context, r Reader) (int64, error) { return count(ctx, r, all) })
}

// quickCount is how long SQLite may take to count a whole table; after that only the first rows are
// counted. It suffices for about a million rows, because SQLite only visits the pages of an index.
const quickCount = 5 * time.Millisecond

func countQuickly(ctx context.Context, r Reader, all sqldb.SQL) (n int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, quickCount)
	defer cancel()
	err = sqldb.First(ctx, r, all, &n)
	return n, err
}

// deleteRows deletes the rows of a table that satisfy the conditions and returns how many there
// were.
func deleteRows(ctx context.Context, tx Tx, table string, list conditions) (int64, error) {
	j := journalOf(tx)
	gone, err := j.before(ctx, tx, table, list)
	if err == nil {
		err = readSets(ctx, tx, gone)
	}
	if err != nil {
		return 0, err
	}
	n, err := sqldb.Exec(ctx, tx, sqldb.New("DELETE FROM "+table+" AS t?", list.clause()))
	if err != nil {
		return 0, fmt.Errorf("delete from %q: %w", table, err)
	}
	j.deleted(table, gone, n)
	return n, nil
}

// deleted deletes the rows of a table that satisfy the conditions and returns a column of each.
func deleted(ctx context.Context, tx Tx, table, column string, list conditions) ([]int64, error) {
	j := journalOf(tx)
	gone, err := j.before(ctx, tx, table, list)
	if err != nil {
		return nil, err
	}
	found, err := sqldb.List[int64](ctx, tx, sqldb.New("DELETE FROM "+table+" AS t? RETURNING "+column, list.clause()))
	if err != nil {
		return nil, fmt.Errorf("delete from %q: %w", table, err)
	}
	j.deleted(table, gone, int64(len(found)))
	return found, nil
}

// columnChanges are the new values of columns in an update.
type columnChanges struct {
	columns []string
	values  []any
	touched int
	err     error
}

// set sets a column; rows that already have the value are not modified.
func (c *columnChanges) set(column string, value any) {
	c.columns = append(c.columns, column)
	c.values = append(c.values, value)
}

// setField changes a column to the value of a field; see table.
func (c *columnChanges) setField(column string, field any) {
	value, err := valueOf(field)
	if err != nil && c.err == nil {
		c.err = err
	}
	c.set(column, value)
}

// touch gives a column a value in those rows that are modified for another reason. It comes after
// all set.
func (c *columnChanges) touch(column string, value any) {
	c.set(column, value)
	c.touched++
}

// setIf changes a column if there is a value.
func setIf[T any](c *columnChanges, column string, value *T) {
	if value != nil {
		c.set(column, *value)
	}
}

// update changes the rows of a table that satisfy the conditions and differ, and returns the column
// "returning" of each.
func (c *columnChanges) update(ctx context.Context, tx Tx, table, returning string, list conditions) ([]int64, error) {
	_, changed, err := c.run(ctx, tx, table, returning, list, false)
	return changed, err
}

// updateMatched is update that also counts the rows that satisfy the conditions.
func (c *columnChanges) updateMatched(ctx context.Context, tx Tx, table, returning string, list conditions) (UpdateResult, []int64, error) {
	matched, changed, err := c.run(ctx, tx, table, returning, list, true)
	if err != nil {
		return UpdateResult{}, nil, err
	}
	return UpdateResult{Matched: matched, Modified: int64(len(changed))}, changed, nil
}

func (c *columnChanges) run(ctx context.Context, tx Tx, table, returning string, list conditions, count bool) (matched int64, _ []int64, err error) {
	if c.err != nil {
		return 0, nil, fmt.Errorf("update %q: %w", table, c.err)
	}
	compared := len(c.columns) - c.touched
	j := journalOf(tx)
	t := journalTables[table]
	told := t != nil && j != nil && j.room() > 0 && compared > 0
	if count && !told {
		if matched, err = countRows(ctx, tx, table, list); err != nil || matched == 0 {
			return 0, nil, err
		}
	}
	if compared == 0 {
		return matched, nil, nil
	}
	var set, differs []sqldb.SQL
	for i, column := range c.columns {
		set = append(set, sqldb.New(column+" = ?", c.values[i]))
		if i < compared {
			differs = append(differs, sqldb.New("t."+column+" IS DISTINCT FROM ?", c.values[i]))
		}
	}
	u := rowUpdate{
		table: table, returning: returning, columns: c.columns, compared: c.columns[:compared], set: sqldb.Join(set, ", "),
		where: list, differ: sqldb.New("(?)", sqldb.Join(differs, " OR ")), changed: []int64{},
	}
	var was []image
	if !told {
		err = sqldb.Query(ctx, tx, u.statement(), u.scan)
	} else {
		// What is read for the journal counts as well, unless there is more.
		if was, matched, err = t.updating(ctx, tx, &u, count); err == nil && count && matched == maxJournalChanges {
			matched, err = countRows(ctx, tx, table, list)
		}
	}
	if err != nil {
		return 0, nil, fmt.Errorf("update %q: %w", table, err)
	}
	j.updated(table, was, c, len(u.changed))
	return matched, u.changed, nil
}

// A rowUpdate is a statement that changes rows of a table which fulfil conditions and differ from
// what they shall be.
type rowUpdate struct {
	table string
	// returning is the column whose values changed gets. columns are those that it changes,
	// compared those by which rows differ.
	returning         string
	columns, compared []string
	set               sqldb.SQL
	where             conditions
	differ            sqldb.SQL
	changed           []int64
}

// differing are the conditions of the rows that it changes.
func (u *rowUpdate) differing() conditions { return append(slices.Clip(u.where), u.differ) }

// silent is the statement for rows that fulfil conditions, without a result.
func (u *rowUpdate) silent(where conditions) sqldb.SQL {
	return sqldb.New("UPDATE "+u.table+" AS t SET ??", u.set, where.clause())
}

// statement is the statement whose result goes to scan.
func (u *rowUpdate) statement() sqldb.SQL {
	return u.silent(u.differing()).And(" RETURNING " + u.returning)
}

// scan takes a row that was changed.
func (u *rowUpdate) scan(row sqldb.Row) error {
	u.changed = append(u.changed, 0)
	return row.Scan(&u.changed[len(u.changed)-1])
}
