// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"fmt"
	"runtime"
)

// maxScans is the number of concurrent scans: half of the processors that SQLite shares with the
// server, a quarter of the connections to PostgreSQL.
func maxScans(kind Engine, o Options) int {
	if kind == SQLite {
		return max(1, runtime.GOMAXPROCS(0)/2)
	}
	return max(1, o.MaxConnections/4)
}

// Scan is Read for functions that read many rows, such as statistics. The number of concurrent
// scans is limited, which leaves processors and connections to other reads; further ones wait.
func (db *DB) Scan(ctx context.Context, fn func(ctx context.Context, r Reader) error) error {
	return db.Read(ctx, func(ctx context.Context, r Reader) error { return Scan(ctx, r, fn) })
}

// Scan runs a scan within a Read. Inside a transaction, which others may wait for, it does not
// wait.
func Scan(ctx context.Context, r Reader, fn func(ctx context.Context, r Reader) error) error {
	end, err := r.session().beginScan(ctx)
	if err != nil {
		return err
	}
	defer end()
	return fn(ctx, r)
}

// beginScan waits until a scan may run. The caller must call end after it.
func (s *session) beginScan(ctx context.Context) (end func(), err error) {
	if s.tx != nil || s.scans == nil {
		return func() {}, nil
	}
	select {
	case s.scans <- struct{}{}:
		return func() { <-s.scans }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other statistics to end: %w", ctx.Err())
	}
}
