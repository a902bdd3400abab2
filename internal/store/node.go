// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// ErrFenced means that another leader has taken over since the fencing number was issued.
var ErrFenced = errors.New("another leader has taken over")

// A NodeNumber is a lease of a node number. The holder may only make ids with times in [Floor,
// HighWater).
type NodeNumber struct {
	Number           int
	Holder           string
	Floor, HighWater time.Time
}

// leaderFence is the name of the one row of its table.
const leaderFence = "leader"

// clock returns the time of the clock shared by all users of the database: that of the PostgreSQL
// server, or of the machine with the SQLite file.
func clock(ctx context.Context, r Reader) (int64, error) {
	if sqldb.EngineOf(r) != PostgreSQL {
		return time.Now().UnixMilli(), nil
	}
	var now int64
	err := sqldb.First(ctx, r, sqldb.New("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"), &now)
	return now, err
}

// TakenNodeNumbers returns the numbers whose lease has not ended, or ended less than margin ago, in
// ascending order.
func TakenNodeNumbers(ctx context.Context, r Reader, margin time.Duration) ([]int, error) {
	now, err := clock(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read the database's clock: %w", err)
	}
	taken, err := sqldb.List[int](ctx, r, sqldb.New("SELECT number FROM node_number WHERE expires > ? ORDER BY number", now-margin.Milliseconds()))
	if err != nil {
		return nil, fmt.Errorf("read taken node numbers: %w", err)
	}
	return taken, nil
}

// NodeNumbers returns the numbers that were not released and whose lease has not ended, or ended
// less than margin ago, in ascending order, without Floor.
func NodeNumbers(ctx context.Context, r Reader, margin time.Duration) ([]NodeNumber, error) {
	now, err := clock(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read the database's clock: %w", err)
	}
	var list []NodeNumber
	err = sqldb.Query(ctx, r, sqldb.New("SELECT number, holder, high_water FROM node_number WHERE expires > ? AND holder <> '' ORDER BY number",
		now-margin.Milliseconds()), func(row sqldb.Row) error {
		var n NodeNumber
		var highWater int64
		if err := row.Scan(&n.Number, &n.Holder, &highWater); err != nil {
			return err
		}
		n.HighWater = time.UnixMilli(highWater).UTC()
		list = append(list, n)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read node numbers: %w", err)
	}
	return list, nil
}

// LeaseNodeNumber leases a number to holder for the duration lease by the database's clock, with
// the ids of the duration span from now, by the holder's clock, or from the end of earlier holders'
// ids if that is later. ok is false if another holder's lease has not ended, or ended less than
// margin ago.
func LeaseNodeNumber(ctx context.Context, tx Tx, number int, holder string, now time.Time, span, lease, margin time.Duration) (
	leased NodeNumber, ok bool, err error,
) {
	clockNow, err := clock(ctx, tx)
	if err != nil {
		return NodeNumber{}, false, fmt.Errorf("lease node number %d: %w", number, err)
	}
	var lastHolder string
	var expires, lastHighWater int64
	err = sqldb.First(ctx, tx, sqldb.New("SELECT holder, expires, high_water FROM node_number WHERE number = ?", number), &lastHolder, &expires, &lastHighWater)
	floor := now.UnixMilli()
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return NodeNumber{}, false, fmt.Errorf("lease node number %d: %w", number, err)
	case lastHolder != holder && expires > clockNow-margin.Milliseconds():
		return NodeNumber{}, false, nil
	default:
		floor = max(floor, lastHighWater)
	}
	highWater := floor + span.Milliseconds()
	_, err = sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO node_number (number, holder, expires, high_water) VALUES (?, ?, ?, ?) ON CONFLICT (number) "+
		"DO UPDATE SET holder = excluded.holder, expires = excluded.expires, high_water = excluded.high_water",
		number, holder, clockNow+lease.Milliseconds(), highWater))
	if err != nil {
		return NodeNumber{}, false, fmt.Errorf("lease node number %d: %w", number, err)
	}
	return NodeNumber{
		Number: number, Holder: holder,
		Floor: time.UnixMilli(floor).UTC(), HighWater: time.UnixMilli(highWater).UTC(),
	}, true, nil
}

// RenewNodeNumber extends the lease of the number and raises its high-water mark. ok is false if
// another holder has the number.
func RenewNodeNumber(ctx context.Context, tx Tx, number int, holder string, highWater time.Time, lease time.Duration) (ok bool, err error) {
	now, err := clock(ctx, tx)
	if err != nil {
		return false, fmt.Errorf("renew node number %d: %w", number, err)
	}
	mark := highWater.UnixMilli()
	count, err := sqldb.Exec(ctx, tx, sqldb.New("UPDATE node_number SET expires = ?, high_water = CASE WHEN high_water > ? THEN high_water ELSE ? END "+
		"WHERE number = ? AND holder = ?", now+lease.Milliseconds(), mark, mark, number, holder))
	if err != nil {
		return false, fmt.Errorf("renew node number %d: %w", number, err)
	}
	return count > 0, nil
}

// ReleaseNodeNumber ends the lease of the number, which is free at once. highWater is above every
// id that the holder made. It does nothing if another holder has the number.
func ReleaseNodeNumber(ctx context.Context, tx Tx, number int, holder string, highWater time.Time) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("UPDATE node_number SET expires = 0, holder = '', high_water = ? WHERE number = ? AND holder = ?",
		highWater.UnixMilli(), number, holder))
	if err != nil {
		return fmt.Errorf("release node number %d: %w", number, err)
	}
	return nil
}

// LeaderFence returns the last fencing number, 0 if there is none, and its holder, which is empty
// after a resignation.
func LeaderFence(ctx context.Context, r Reader) (fence int64, holder string, err error) {
	err = sqldb.First(ctx, r, sqldb.New("SELECT value, holder FROM leader_fence WHERE name = ?", leaderFence), &fence, &holder)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, "", fmt.Errorf("read the leader's fence: %w", err)
	}
	return fence, holder, nil
}

// TakeLead issues the next fencing number to holder if the last one is the expected one. Otherwise
// another node has taken the lead, and ok is false.
func TakeLead(ctx context.Context, tx Tx, expected int64, holder string) (fence int64, ok bool, err error) {
	last, _, err := LeaderFence(ctx, tx)
	if err != nil || last != expected {
		return 0, false, err
	}
	_, err = sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO leader_fence (name, value, holder) VALUES (?, ?, ?) "+
		"ON CONFLICT (name) DO UPDATE SET value = excluded.value, holder = excluded.holder", leaderFence, last+1, holder))
	if err != nil {
		return 0, false, fmt.Errorf("take the lead: %w", err)
	}
	return last + 1, true, nil
}

// ReleaseLead records that the leader with this fencing number has resigned. The number is not
// reused.
func ReleaseLead(ctx context.Context, tx Tx, fence int64) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("UPDATE leader_fence SET holder = '' WHERE name = ? AND value = ?", leaderFence, fence))
	if err != nil {
		return fmt.Errorf("release the lead: %w", err)
	}
	return nil
}

// CheckLead returns ErrFenced unless fence is the newest fencing number. A transaction that called
// it commits only if that is still true.
func CheckLead(ctx context.Context, tx Tx, fence int64) error {
	last, _, err := LeaderFence(ctx, tx)
	if err != nil {
		return err
	}
	if last != fence {
		return fmt.Errorf("%w: fence %d was followed by %d", ErrFenced, fence, last)
	}
	return nil
}
