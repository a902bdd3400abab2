// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// BumpRevision increments the named counter in the transaction of a change, so that caches see a
// new number if and only if the change is committed.
func BumpRevision(ctx context.Context, tx Tx, name string) error {
	_, err := Exec(ctx, tx, New("INSERT INTO revision AS r (name, value) VALUES (?, 1) "+
		"ON CONFLICT (name) DO UPDATE SET value = r.value + 1", name))
	if err != nil {
		return fmt.Errorf("bump revision %q: %w", name, err)
	}
	return nil
}

func revisionQuery(engine Engine) string {
	if engine == PostgreSQL {
		return "SELECT value FROM revision WHERE name = $1"
	}
	return "SELECT value FROM revision WHERE name = ?"
}

// Revision returns the last committed value of the named counter; 0 if it was never incremented. It
// is one statement on dedicated connections of SQLite, cheap enough to run before every use of a
// cache.
func (db *DB) Revision(ctx context.Context, name string) (int64, error) {
	if err := db.enter(); err != nil {
		return 0, err
	}
	defer db.reads.Done()
	if err := ctx.Err(); err != nil {
		return 0, Translate(err)
	}
	if err := CheckText(name); err != nil {
		return 0, fmt.Errorf("read revision: %w", err)
	}
	if db.kind == SQLite {
		// Readers do not block there, and watching a context would cost more than the query.
		ctx = context.Background()
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, db.options.Timeout)
		defer cancel()
	}
	var value int64
	err := db.revision.QueryRowContext(ctx, revisionQuery(db.kind), name).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read revision %q: %w", name, Translate(err))
	}
	return value, nil
}
