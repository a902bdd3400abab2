// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// BumpRevision adds one to the named counter in the transaction of a change, so that whoever caches what was changed
// sees a new number as soon as, and only if, the change is committed.
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

// Revision returns the named counter as last committed; one that was never bumped is 0. It is one statement on
// connections that SQLite keeps for it alone: cheap enough to ask before every use of a cache.
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
		// A reader waits for nobody there, and watching a context would cost more than the query itself.
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
