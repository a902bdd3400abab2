// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// FindJobRun returns when a job of the leader was last done. It returns ErrNotFound if it never
// ran.
func FindJobRun(ctx context.Context, r Reader, name string) (at time.Time, err error) {
	var ms int64
	if err := sqldb.First(ctx, r, sqldb.New("SELECT t.last_run FROM job AS t WHERE t.name = ?", name), &ms); err != nil {
		return at, fmt.Errorf("find the last run of job %q: %w", name, err)
	}
	return time.UnixMilli(ms), nil
}

// SetJobRun stores when a job of the leader ran, unless a later run is stored.
func SetJobRun(ctx context.Context, tx Tx, name string, at time.Time) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO job (name, last_run) VALUES (?, ?) "+
		"ON CONFLICT (name) DO UPDATE SET last_run = excluded.last_run WHERE job.last_run < excluded.last_run", name, at.UnixMilli()))
	if err != nil {
		return fmt.Errorf("note a run of job %q: %w", name, err)
	}
	return nil
}
