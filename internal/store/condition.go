// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"math"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// conditions are what rows must fulfil, all of them. They serve queries, updates and deletions alike.
type conditions []schema.QueryAppender

// and adds conditions.
func (c *conditions) and(more ...schema.QueryAppender) { *c = append(*c, more...) }

// anyOf adds that a column is one of the keys, if there are keys.
func anyOf[K Key](c *conditions, engine Engine, column string, keys []K) {
	if len(keys) > 0 {
		c.and(In(engine, column, keys))
	}
}

// whereAll applies conditions to a query, an update or a deletion.
func whereAll[Q interface {
	Where(query string, args ...any) Q
}](query Q, list conditions,
) Q {
	for _, condition := range list {
		query = query.Where("?", condition)
	}
	return query
}

// countRows returns how many rows of a table fulfil the conditions, which call the table t.
func countRows(ctx context.Context, r Reader, table string, list conditions) (int64, error) {
	return countFrom(ctx, r, table+" AS t", list)
}

// countFrom is countRows for any expression of tables.
func countFrom(ctx context.Context, r Reader, tables string, list conditions) (int64, error) {
	var count int64
	query := whereAll(r.NewSelect().TableExpr(tables), list)
	if bounded, ok := r.(boundedReader); ok {
		query = r.NewSelect().TableExpr("(?) AS b", query.ColumnExpr("1").Limit(bounded.most))
	}
	if err := query.ColumnExpr("count(*)").Scan(ctx, &count); err != nil {
		return 0, fmt.Errorf("count rows of %q: %w", tables, translate(err))
	}
	return count, nil
}

// deleteRows deletes the rows of a table that fulfil the conditions and returns how many there were.
func deleteRows(ctx context.Context, tx Tx, table string, list conditions) (int64, error) {
	result, err := whereAll(tx.NewDelete().TableExpr("? AS t", bun.Ident(table)), list).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete from %q: %w", table, err)
	}
	return result.RowsAffected()
}

// pageOf orders a query by columns that are unique together, without which pages would overlap, and cuts out the page.
func pageOf(query *bun.SelectQuery, page Page, columns ...string) *bun.SelectQuery {
	for _, column := range columns {
		query = query.OrderExpr("? ASC", bun.Ident(column))
	}
	if page.Limit <= 0 && page.Offset <= 0 {
		return query
	}
	limit := int64(page.Limit)
	if limit <= 0 {
		limit = math.MaxInt64
	}
	return query.Limit(limit).Offset(int64(max(page.Offset, 0)))
}

// columnChanges are the values that an update gives to columns.
type columnChanges struct {
	columns []string
	values  []any
	touched int
}

// set changes a column; rows that have the value already are not modified.
func (c *columnChanges) set(column string, value any) {
	c.columns = append(c.columns, column)
	c.values = append(c.values, value)
}

// touch gives a column a value in those rows that are modified for another reason. It comes after all set.
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

// update changes the rows of a table that fulfil the conditions and differ, and returns the column "returning" of each.
func (c *columnChanges) update(ctx context.Context, tx Tx, table, returning string, list conditions) ([]int64, error) {
	compared := len(c.columns) - c.touched
	if compared == 0 {
		return nil, nil
	}
	query := whereAll(tx.NewUpdate().TableExpr("? AS t", bun.Ident(table)), list)
	for i, column := range c.columns {
		query = query.Set("? = ?", bun.Ident(column), c.values[i])
	}
	query = query.WhereGroup(" AND ", func(q *bun.UpdateQuery) *bun.UpdateQuery {
		for i, column := range c.columns[:compared] {
			q = q.WhereOr("? IS DISTINCT FROM ?", bun.Ident("t."+column), c.values[i])
		}
		return q
	})
	var changed []int64
	if err := query.Returning("?", bun.Ident(returning)).Scan(ctx, &changed); err != nil {
		return nil, fmt.Errorf("update %q: %w", table, translate(err))
	}
	return changed, nil
}
