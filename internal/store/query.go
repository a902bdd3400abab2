// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"
)

// manyKeys is the number of keys from which In hands them over as one value instead of a list.
const manyKeys = 64

// A Key is a value that In can look for.
type Key interface{ int32 | int64 | string }

// In returns the condition "column is one of keys" for any number of keys, as one argument of a query:
//
//	query.Where("?", store.In(r.Engine(), "a.id", ids))
//
// A long list becomes a single value, an array on PostgreSQL and a JSON document on SQLite, so that neither a limit on
// parameters nor the time to plan the query grows with it. Without keys the condition is false.
func In[K Key](engine Engine, column string, keys []K) schema.QueryAppender {
	name := bun.Ident(column)
	switch {
	case len(keys) == 0:
		return bun.SafeQuery("1 = 0")
	case len(keys) < manyKeys || !storable(keys):
		// Keys that cannot be stored go the plain way, where they are refused like any other value.
		return bun.SafeQuery("? IN (?)", name, bun.List(keys))
	case engine == PostgreSQL:
		return bun.SafeQuery("? = ANY (?)", name, arrayOf(keys))
	}
	document, err := json.Marshal(keys)
	if err != nil {
		// Numbers and valid text always have a JSON form.
		panic(err)
	}
	return bun.SafeQuery("? IN (SELECT value FROM json_each(?))", name, string(document))
}

func storable[K Key](keys []K) bool {
	texts, ok := any(keys).([]string)
	return !ok || !slices.ContainsFunc(texts, func(text string) bool { return checkText(text) != nil })
}

// arrayOf widens int32 because the builder knows no arrays of them.
func arrayOf[K Key](keys []K) any {
	if numbers, ok := any(keys).([]int32); ok {
		wide := make([]int64, len(numbers))
		for i, number := range numbers {
			wide[i] = int64(number)
		}
		return pgdialect.Array(wide)
	}
	return pgdialect.Array(keys)
}

// A Page is a part of a result. The zero Page is all of it.
type Page struct {
	// Limit is the greatest number of rows; 0 or less is no limit.
	Limit int
	// Offset is the number of rows to leave out first.
	Offset int
}

// apply orders the query by a unique column, without which pages would overlap, and cuts out the page.
func (p Page) apply(query *bun.SelectQuery, unique string) *bun.SelectQuery {
	query = query.OrderExpr("? ASC", bun.Ident(unique))
	if p.Limit <= 0 && p.Offset <= 0 {
		return query
	}
	limit := int64(p.Limit)
	if limit <= 0 {
		// SQLite knows no offset without a limit.
		limit = math.MaxInt64
	}
	return query.Limit(limit).Offset(int64(max(p.Offset, 0)))
}

// CountLimit is how many records behind the beginning of a page are counted for the total of the page.
const CountLimit = 10_000

// ForTotal returns a Reader whose counts are totals of a page: they end CountLimit rows behind the beginning of the page.
// To count what a filter selects takes as long as there is to count, which for a page of a big table is far longer than
// to read the page.
func ForTotal(r Reader, page Page) Reader {
	return boundedReader{r, int64(max(page.Offset, 0)) + CountLimit}
}

// boundedReader counts no further than to most.
type boundedReader struct {
	Reader
	most int64
}

// uniqueSorted returns the distinct values in order and leaves the argument as it is.
func uniqueSorted[K Key](values []K) []K {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// insertChunk bounds how many rows one statement inserts.
const insertChunk = 500

// An UpdateResult says how many rows an update found and how many of them it changed.
type UpdateResult struct{ Matched, Modified int64 }
