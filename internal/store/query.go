// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A Page is a part of a result. The zero Page is all of it.
type Page struct {
	// Limit is the maximum number of rows; 0 or less means no limit.
	Limit int
	// Offset is the number of rows to skip.
	Offset int
	// Totals define how far ForTotal counts; nil means up to CountLimit.
	Totals *Totals
}

// pageOf orders a query by columns that are unique together, without which pages would overlap, and
// limits it to the page.
func pageOf(query sqldb.SQL, page Page, columns ...string) sqldb.SQL {
	if len(columns) > 0 {
		query = query.And(" ORDER BY " + strings.Join(columns, ", "))
	}
	if page.Limit <= 0 && page.Offset <= 0 {
		return query
	}
	limit := int64(page.Limit)
	if limit <= 0 {
		// SQLite has no offset without a limit.
		limit = math.MaxInt64
	}
	query = query.And(" LIMIT ?", sqldb.Limit(limit))
	if page.Offset > 0 {
		query = query.And(" OFFSET ?", int64(page.Offset))
	}
	return query
}

// CountLimit is how many records after the beginning of a page are counted for its total.
const CountLimit = 10_000

// ForTotal returns a Reader that counts totals for a page: counts stop CountLimit rows after the
// beginning of the page, or as its Totals define. Counting takes time in proportion to the result,
// for a page of a big table far more than reading the page.
func ForTotal(r Reader, page Page) Reader {
	return boundedReader{r, int64(max(page.Offset, 0)) + CountLimit, page.Totals}
}

// boundedReader counts up to most, and beyond that as far as totals allow.
type boundedReader struct {
	Reader
	most   int64
	totals *Totals
}

// Totals define how far the total of a page is counted, and record the result.
type Totals struct {
	// Budget is how long a count beyond CountLimit rows may take; if it is exceeded, the total is a
	// lower bound.
	Budget time.Duration
	// Exact completes every count, however long that takes.
	Exact bool

	bounded atomic.Bool
}

// Bounded reports whether a total is a lower bound.
func (t *Totals) Bounded() bool { return t.bounded.Load() }

// countOn completes a count, as far as t allows; found is the known lower bound.
func (t *Totals) countOn(ctx context.Context, r Reader, found int64, count func(context.Context, Reader) (int64, error)) (total int64, err error) {
	switch {
	case t == nil:
		return found, nil
	case t.Exact:
		err = sqldb.Scan(ctx, r, func(ctx context.Context, r Reader) (err error) {
			total, err = count(ctx, r)
			return err
		})
		return total, err
	case t.Budget > 0:
		ended, err := sqldb.Within(ctx, r, t.Budget, func(ctx context.Context, r Reader) (err error) {
			total, err = count(ctx, r)
			return err
		})
		if ended || err != nil {
			return total, err
		}
	}
	t.bounded.Store(true)
	return found, nil
}

// uniqueSorted returns the distinct values in order, without modifying the argument.
func uniqueSorted[K sqldb.Key](values []K) []K {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// An UpdateResult is the number of rows that an update matched and how many of them it changed.
type UpdateResult struct{ Matched, Modified int64 }
