// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// ErrFenced means that another leader has taken over since the fencing number was given out.
var ErrFenced = errors.New("another leader has taken over")

// A NodeNumber is a lease of one of the numbers that keep the ids of nodes apart. The holder makes ids with times in
// [Floor, HighWater) only.
type NodeNumber struct {
	Number           int
	Holder           string
	Floor, HighWater time.Time
}

type nodeNumberRow struct {
	bun.BaseModel `bun:"table:node_number,alias:n"`
	Number        int    `bun:"number,pk"`
	Holder        string `bun:"holder"`
	Expires       int64  `bun:"expires"`
	HighWater     int64  `bun:"high_water"`
}

type leaderFenceRow struct {
	bun.BaseModel `bun:"table:leader_fence,alias:l"`
	Name          string `bun:"name,pk"`
	Value         int64  `bun:"value"`
	Holder        string `bun:"holder"`
}

// leaderFence is the name of the one row of its table.
const leaderFence = "leader"

// clock returns the time of the one clock that all users of the database share: that of the PostgreSQL server, or of
// the machine that a SQLite file is on.
func clock(ctx context.Context, r Reader) (int64, error) {
	if r.Engine() != PostgreSQL {
		return time.Now().UnixMilli(), nil
	}
	var now int64
	err := r.NewSelect().ColumnExpr("(extract(epoch FROM clock_timestamp()) * 1000)::bigint").Scan(ctx, &now)
	return now, translate(err)
}

// TakenNodeNumbers returns the numbers whose lease has not ended, or ended less than margin ago, in ascending order.
func TakenNodeNumbers(ctx context.Context, r Reader, margin time.Duration) ([]int, error) {
	now, err := clock(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read the database's clock: %w", err)
	}
	var taken []int
	err = r.NewSelect().Model((*nodeNumberRow)(nil)).Column("number").
		Where("n.expires > ?", now-margin.Milliseconds()).OrderExpr("n.number ASC").Scan(ctx, &taken)
	if err != nil {
		return nil, fmt.Errorf("read taken node numbers: %w", translate(err))
	}
	return taken, nil
}

// LeaseNodeNumber leases a number to holder for the duration lease by the database's clock, and the ids of the duration
// span from now on, which is the time of the holder's own clock, or from the end of the ids of earlier holders on if
// that is later. A number whose lease by somebody else has not ended, or ended less than margin ago, is not given: ok
// is false.
func LeaseNodeNumber(ctx context.Context, tx Tx, number int, holder string, now time.Time, span, lease, margin time.Duration) (
	leased NodeNumber, ok bool, err error,
) {
	clockNow, err := clock(ctx, tx)
	if err != nil {
		return NodeNumber{}, false, fmt.Errorf("lease node number %d: %w", number, err)
	}
	var rows []nodeNumberRow
	if err := tx.NewSelect().Model(&rows).Where("n.number = ?", number).Scan(ctx); err != nil {
		return NodeNumber{}, false, fmt.Errorf("lease node number %d: %w", number, translate(err))
	}
	floor := now.UnixMilli()
	if len(rows) > 0 {
		if rows[0].Holder != holder && rows[0].Expires > clockNow-margin.Milliseconds() {
			return NodeNumber{}, false, nil
		}
		floor = max(floor, rows[0].HighWater)
	}
	row := nodeNumberRow{
		Number: number, Holder: holder, Expires: clockNow + lease.Milliseconds(), HighWater: floor + span.Milliseconds(),
	}
	_, err = tx.NewInsert().Model(&row).On("CONFLICT (number) DO UPDATE").
		Set("holder = EXCLUDED.holder").Set("expires = EXCLUDED.expires").Set("high_water = EXCLUDED.high_water").
		Returning("NULL").Exec(ctx)
	if err != nil {
		return NodeNumber{}, false, fmt.Errorf("lease node number %d: %w", number, err)
	}
	return NodeNumber{
		Number: number, Holder: holder,
		Floor: time.UnixMilli(floor).UTC(), HighWater: time.UnixMilli(row.HighWater).UTC(),
	}, true, nil
}

// RenewNodeNumber extends the lease of the number and raises its high-water mark. ok is false when somebody else has
// the number by now.
func RenewNodeNumber(ctx context.Context, tx Tx, number int, holder string, highWater time.Time, lease time.Duration) (ok bool, err error) {
	now, err := clock(ctx, tx)
	if err != nil {
		return false, fmt.Errorf("renew node number %d: %w", number, err)
	}
	mark := highWater.UnixMilli()
	result, err := tx.NewUpdate().Model((*nodeNumberRow)(nil)).Set("expires = ?", now+lease.Milliseconds()).
		Set("high_water = CASE WHEN n.high_water > ? THEN n.high_water ELSE ? END", mark, mark).
		Where("n.number = ?", number).Where("n.holder = ?", holder).Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("renew node number %d: %w", number, err)
	}
	count, err := result.RowsAffected()
	return count > 0, err
}

// ReleaseNodeNumber ends the lease of the number, so that it is free at once. highWater is above every id that the
// holder made. A number that somebody else has by now is left alone.
func ReleaseNodeNumber(ctx context.Context, tx Tx, number int, holder string, highWater time.Time) error {
	_, err := tx.NewUpdate().Model((*nodeNumberRow)(nil)).Set("expires = 0").Set("holder = ''").
		Set("high_water = ?", highWater.UnixMilli()).
		Where("n.number = ?", number).Where("n.holder = ?", holder).Exec(ctx)
	if err != nil {
		return fmt.Errorf("release node number %d: %w", number, err)
	}
	return nil
}

// LeaderFence returns the fencing number that was given out last, 0 if there was none, and who got it; the holder is
// empty when it has resigned.
func LeaderFence(ctx context.Context, r Reader) (fence int64, holder string, err error) {
	var rows []leaderFenceRow
	if err := r.NewSelect().Model(&rows).Where("l.name = ?", leaderFence).Scan(ctx); err != nil {
		return 0, "", fmt.Errorf("read the leader's fence: %w", translate(err))
	}
	if len(rows) == 0 {
		return 0, "", nil
	}
	return rows[0].Value, rows[0].Holder, nil
}

// TakeLead gives the next fencing number to holder if the last one is still the expected one. Otherwise somebody else
// took the lead meanwhile, and ok is false.
func TakeLead(ctx context.Context, tx Tx, expected int64, holder string) (fence int64, ok bool, err error) {
	last, _, err := LeaderFence(ctx, tx)
	if err != nil || last != expected {
		return 0, false, err
	}
	row := leaderFenceRow{Name: leaderFence, Value: last + 1, Holder: holder}
	_, err = tx.NewInsert().Model(&row).On("CONFLICT (name) DO UPDATE").
		Set("value = EXCLUDED.value").Set("holder = EXCLUDED.holder").Returning("NULL").Exec(ctx)
	if err != nil {
		return 0, false, fmt.Errorf("take the lead: %w", err)
	}
	return row.Value, true, nil
}

// ReleaseLead notes that the leader with this fencing number has resigned. The number stays used.
func ReleaseLead(ctx context.Context, tx Tx, fence int64) error {
	_, err := tx.NewUpdate().Model((*leaderFenceRow)(nil)).Set("holder = ''").
		Where("l.name = ?", leaderFence).Where("l.value = ?", fence).Exec(ctx)
	if err != nil {
		return fmt.Errorf("release the lead: %w", err)
	}
	return nil
}

// CheckLead fails with ErrFenced unless fence is the newest fencing number. A transaction that called it commits only
// if that is still so.
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
