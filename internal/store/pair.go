// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// A Pair is a key of two numbers.
type Pair [2]int64

// InPairs returns the condition "the two columns are one of the pairs" for any number of pairs, as one argument of a
// query. Without pairs the condition is false. See In.
func InPairs(engine Engine, columns [2]string, pairs []Pair) schema.QueryAppender {
	if len(pairs) == 0 {
		return bun.SafeQuery("1 = 0")
	}
	first, second := bun.Ident(columns[0]), bun.Ident(columns[1])
	if engine == PostgreSQL {
		lists := [2][]int64{}
		for _, pair := range pairs {
			lists[0], lists[1] = append(lists[0], pair[0]), append(lists[1], pair[1])
		}
		return bun.SafeQuery("(?, ?) IN (SELECT * FROM unnest(CAST(? AS bigint[]), CAST(? AS bigint[])))",
			first, second, arrayOf(lists[0]), arrayOf(lists[1]))
	}
	document, err := json.Marshal(pairs)
	if err != nil {
		// Numbers always have a JSON form.
		panic(err)
	}
	return bun.SafeQuery("(?, ?) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))",
		first, second, string(document))
}

// idTable is a table "k" with a column "value" that holds the distinct ids, as one argument of a query.
func idTable(engine Engine, ids []int64) schema.QueryAppender {
	ids = uniqueSorted(ids)
	if engine == PostgreSQL {
		return bun.SafeQuery("unnest(CAST(? AS bigint[])) AS k (value)", arrayOf(ids))
	}
	if len(ids) == 1 {
		return bun.SafeQuery("(SELECT ? AS value) AS k", ids[0])
	}
	document, err := json.Marshal(ids)
	if err != nil {
		// Numbers always have a JSON form.
		panic(err)
	}
	return bun.SafeQuery("json_each(?) AS k", string(document))
}
