// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// TestDistributionKeys wants the distribution key of a table in its primary key and in everything
// else that is unique in it: a server of a distributed database knows its own rows only.
func TestDistributionKeys(t *testing.T) {
	// A message has an id and no other key: two messages have the same one only if a caller gives
	// it to both.
	withoutKey := map[string]bool{"message_pkey": true}
	db := storetest.PostgreSQL(t)
	var indexes []map[string]any
	err := db.Read(t.Context(), func(ctx context.Context, r store.Reader) (err error) {
		indexes, err = storetest.Rows(ctx, r, "SELECT CAST(c.relname AS TEXT) AS tab, CAST(x.relname AS TEXT) AS name, i.indisprimary AS is_key, "+
			"(SELECT string_agg(a.attname, ' ') FROM pg_attribute AS a WHERE a.attrelid = i.indexrelid) AS columns "+
			"FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid JOIN pg_class AS x ON x.oid = i.indexrelid "+
			"WHERE i.indisunique AND c.relnamespace = CAST(current_schema() AS regnamespace) AND NOT c.relispartition")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	keyed := map[string]bool{}
	for _, index := range indexes {
		table, name := index["tab"].(string), index["name"].(string)
		keyed[table] = keyed[table] || index["is_key"].(bool)
		key, ok := storetest.DistributionKeys[table]
		if has := slices.Contains(strings.Fields(index["columns"].(string)), key); ok && has == withoutKey[name] {
			t.Errorf("the unique index %s of %s has the columns %s; with the key %s: %v", name, table, index["columns"], key, has)
		}
	}
	for table := range storetest.DistributionKeys {
		if !keyed[table] {
			t.Errorf("table %s has no primary key, or there is no such table", table)
		}
	}
	for _, table := range storetest.ReferenceTables {
		if _, both := storetest.DistributionKeys[table]; both || !keyed[table] {
			t.Errorf("table %s has a distribution key, or there is no such table", table)
		}
	}
}
