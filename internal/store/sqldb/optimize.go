// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"fmt"
)

// Optimize updates SQLite's statistics if the sizes of its tables changed much, so that it chooses
// good indexes. It samples the rows and takes milliseconds. PostgreSQL does this automatically.
func (db *DB) Optimize(ctx context.Context) error {
	if db.kind != SQLite {
		return nil
	}
	err := db.Write(ctx, func(ctx context.Context, tx Tx) error {
		// 0x10000 includes all tables, 0x10 limits the sample, 2 is ANALYZE where useful.
		_, err := Exec(ctx, tx, New("PRAGMA optimize=0x10012"))
		return err
	})
	if err != nil {
		return fmt.Errorf("renew the statistics of the database: %w", err)
	}
	// A connection reads the statistics when it is opened.
	db.read.SetMaxIdleConns(0)
	db.read.SetMaxIdleConns(sqliteReaders())
	return nil
}
