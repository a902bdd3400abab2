// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"fmt"
)

// Optimize renews what SQLite knows of the sizes of its tables if they changed much, so that it chooses good indexes. It
// looks at a sample of the rows and takes milliseconds. PostgreSQL does that by itself.
func (db *DB) Optimize(ctx context.Context) error {
	if db.kind != SQLite {
		return nil
	}
	err := db.Write(ctx, func(ctx context.Context, tx Tx) error {
		// 0x10000 takes in all tables, whichever this connection used, 0x10 looks at a sample, 2 is ANALYZE where it is of use.
		_, err := Exec(ctx, tx, New("PRAGMA optimize=0x10012"))
		return err
	})
	if err != nil {
		return fmt.Errorf("renew the statistics of the database: %w", err)
	}
	// A connection reads the statistics when it is made.
	db.read.SetMaxIdleConns(0)
	db.read.SetMaxIdleConns(sqliteReaders())
	return nil
}
