// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/app/internal/ids"
	"example.org/app/internal/store/sqldb"
)

// PostgreSQL keeps messages in partitions by id; see migration 27. The functions of this file are
// for PostgreSQL only.

const (
	// partitionPrefix is the prefix of the names of partitions; restPartition is the default
	// partition.
	partitionPrefix = sqldb.MessagePartitionPrefix
	restPartition   = partitionPrefix + "rest"
	// detachedPrefix is the prefix of the names of partitions to be dropped.
	detachedPrefix = "message_expired_"
	// partitionLockTimeout bounds how long others queue behind a change of the partitions that
	// waits for running queries.
	partitionLockTimeout = "SET LOCAL lock_timeout = 1000"
)

// A MessagePartition contains the messages with ids from From up to, but not including, To.
type MessagePartition struct {
	Name     string
	From, To int64
}

// FindMessagePartitions returns the partitions in order, without the default one.
func FindMessagePartitions(ctx context.Context, r Reader) ([]MessagePartition, error) {
	var list []MessagePartition
	err := sqldb.Query(ctx, r, sqldb.New("SELECT CAST(c.relname AS TEXT), pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits AS i "+
		"JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = CAST('message' AS regclass) AND c.relname <> ?", restPartition), func(row sqldb.Row) error {
		var p MessagePartition
		var bounds string
		if err := row.Scan(&p.Name, &bounds); err != nil {
			return err
		}
		var err error
		p.From, p.To, err = partitionBounds(bounds)
		list = append(list, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the partitions of messages: %w", err)
	}
	slices.SortFunc(list, func(a, b MessagePartition) int { return cmp.Compare(a.From, b.From) })
	return list, nil
}

// partitionBounds parses the bounds of a partition: FOR VALUES FROM (MINVALUE) TO
// ('807762552422400000').
func partitionBounds(text string) (from, to int64, err error) {
	first, second, ok := strings.Cut(strings.TrimPrefix(text, "FOR VALUES FROM "), " TO ")
	if !ok {
		return 0, 0, fmt.Errorf("the bounds of a partition are %q", text)
	}
	for _, bound := range []struct {
		text string
		to   *int64
	}{{first, &from}, {second, &to}} {
		switch value := strings.Trim(bound.text, "()'"); value {
		case "MINVALUE":
			*bound.to = math.MinInt64
		case "MAXVALUE":
			*bound.to = math.MaxInt64
		default:
			if *bound.to, err = strconv.ParseInt(value, 10, 64); err != nil {
				return 0, 0, fmt.Errorf("the bounds of a partition are %q: %w", text, err)
			}
		}
	}
	return from, to, nil
}

// CreateMessagePartition creates the partition for ids of a time span, and moves existing messages
// into it. It returns ErrTimeout if a query on all messages runs for too long.
func CreateMessagePartition(ctx context.Context, tx Tx, from, to time.Time) error {
	name, least, end := partitionPrefix+from.UTC().Format("2006010215"), ids.First(from), ids.First(to)
	statements := []sqldb.SQL{
		sqldb.New(partitionLockTimeout),
		// In the common locking order, and no weaker than the final locks.
		sqldb.New("LOCK TABLE ONLY message IN SHARE UPDATE EXCLUSIVE MODE"),
		sqldb.New("LOCK TABLE " + restPartition + " IN ACCESS EXCLUSIVE MODE"),
		sqldb.New("CREATE TABLE " + name + " (LIKE message)"),
		sqldb.New("WITH moved AS (DELETE FROM "+restPartition+" WHERE id >= ? AND id < ? RETURNING *) INSERT INTO "+name+" SELECT * FROM moved", least, end),
		sqldb.New(fmt.Sprintf("ALTER TABLE message ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)", name, least, end)),
	}
	for _, statement := range statements {
		if _, err := sqldb.Exec(ctx, tx, statement); err != nil {
			return fmt.Errorf("create partition %q of messages: %w", name, err)
		}
	}
	return nil
}

// HoldsMessages reports whether a partition contains messages delivered at or after a date; nil
// means any date.
func (p MessagePartition) HoldsMessages(ctx context.Context, r Reader, since *time.Time) (bool, error) {
	c := conditions{}
	if since != nil {
		c = where("t.delivery_date >= ?", since.UnixMilli())
	}
	found, err := sqldb.List[int64](ctx, r, sqldb.New("SELECT t.id FROM "+p.Name+" AS t? LIMIT 1", c.clause()))
	if err != nil {
		return false, fmt.Errorf("look into partition %q of messages: %w", p.Name, err)
	}
	return len(found) > 0, nil
}

// DetachMessagePartition detaches a partition from the table of messages, for DropDetachedMessages.
// It returns ErrTimeout if a query on all messages runs for too long.
func DetachMessagePartition(ctx context.Context, tx Tx, p MessagePartition) error {
	for _, statement := range []string{
		partitionLockTimeout,
		"ALTER TABLE message DETACH PARTITION " + p.Name,
		"ALTER TABLE " + p.Name + " RENAME TO " + detachedPrefix + strings.TrimPrefix(p.Name, partitionPrefix),
	} {
		if _, err := sqldb.Exec(ctx, tx, sqldb.New(statement)); err != nil {
			return fmt.Errorf("detach partition %q of messages: %w", p.Name, err)
		}
	}
	return nil
}

// DropDetachedMessages drops the detached partitions, except messages delivered at or after a date;
// nil means any date. These are moved back: they may have arrived after the decision. It returns
// the approximate number of deleted messages.
func DropDetachedMessages(ctx context.Context, tx Tx, since *time.Time) (dropped int64, err error) {
	type detached struct {
		name string
		rows int64
	}
	var list []detached
	err = sqldb.Query(ctx, tx, sqldb.New("SELECT CAST(c.relname AS TEXT), CAST(greatest(c.reltuples, 0) AS BIGINT) FROM pg_class AS c "+
		"WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND c.relkind = 'r' AND starts_with(CAST(c.relname AS TEXT), ?)", detachedPrefix), func(row sqldb.Row) error {
		var d detached
		err := row.Scan(&d.name, &d.rows)
		list = append(list, d)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("find detached partitions of messages: %w", err)
	}
	for _, d := range list {
		kept := conditions{}
		if since != nil {
			kept = where("t.delivery_date >= ?", since.UnixMilli())
		}
		for _, statement := range []sqldb.SQL{
			sqldb.New("INSERT INTO message SELECT t.* FROM "+d.name+" AS t?", kept.clause()), sqldb.New("DROP TABLE " + d.name),
		} {
			if _, err := sqldb.Exec(ctx, tx, statement); err != nil {
				return 0, fmt.Errorf("drop detached partition %q of messages: %w", d.name, err)
			}
		}
		dropped += d.rows
	}
	return dropped, nil
}
