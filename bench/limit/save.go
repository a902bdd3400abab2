// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // SQLite driver

	"example.org/app/internal/store"
)

// postgresLanes is the number of concurrent commits on PostgreSQL, as in the server. SQLite has one
// writer.
const postgresLanes = 4

// lastID is the last assigned id.
var lastID atomic.Int64

// nextID returns an id like those of the server, whose tables are partitioned by it: it starts with
// the time.
func nextID(millis int64) int64 {
	const epoch, shift = 1_602_547_200_000, 22
	for {
		last := lastID.Load()
		id := max(last+1, (millis-epoch)<<shift)
		if lastID.CompareAndSwap(last, id) {
			return id
		}
	}
}

// openSavers creates the tables of the server and returns functions that store messages, each for
// one goroutine.
func openSavers(ctx context.Context, url string) (savers []func([]*message) error, closeAll func() error, err error) {
	db, err := store.Open(ctx, store.Options{URL: url})
	if err != nil {
		return nil, nil, err
	}
	if err := db.Close(); err != nil {
		return nil, nil, err
	}
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		save, closeFile, err := openFile(ctx, path)
		return []func([]*message) error{save}, closeFile, err
	}
	var conns []*pgx.Conn
	closeAll = func() (err error) {
		for _, conn := range conns {
			err = errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
		}
		return err
	}
	for range postgresLanes {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		conns = append(conns, conn)
		savers = append(savers, func(batch []*message) error { return saveToServer(context.WithoutCancel(ctx), conn, batch) })
	}
	return savers, closeAll, nil
}

// reader identifies a reader of a conversation.
type reader struct {
	owner, target int64
	isGroup       bool
}

// read returns the time until which the senders of messages have read.
func read(batch []*message) map[reader]int64 {
	dates := map[reader]int64{}
	for _, m := range batch {
		dates[reader{m.sender.user, m.target, m.toGroup}] = m.date
	}
	return dates
}

// saveToServer stores messages in one transaction of PostgreSQL and one round trip.
func saveToServer(ctx context.Context, conn *pgx.Conn, batch []*message) (err error) {
	var ids, dates, senders, targets []int64
	var groups []bool
	var texts []string
	for _, m := range batch {
		ids, dates, senders, targets = append(ids, m.id), append(dates, m.date), append(senders, m.sender.user), append(targets, m.target)
		groups, texts = append(groups, m.toGroup), append(texts, m.body.GetText())
	}
	var all pgx.Batch
	all.Queue("BEGIN")
	all.Queue("INSERT INTO message (id, is_group_message, is_system_message, delivery_date, text, sender_id, target_id) "+
		"SELECT id, is_group, false, date, text, sender, target FROM "+
		"unnest($1::BIGINT[], $2::BOOLEAN[], $3::BIGINT[], $4::TEXT[], $5::BIGINT[], $6::BIGINT[]) AS m (id, is_group, date, text, sender, target)",
		ids, groups, dates, texts, senders, targets)
	var owners, partners, groupIDs, members, private, common []int64
	for r, date := range read(batch) {
		if r.isGroup {
			groupIDs, members, common = append(groupIDs, r.target), append(members, r.owner), append(common, date)
		} else {
			owners, partners, private = append(owners, r.owner), append(partners, r.target), append(private, date)
		}
	}
	if len(owners) > 0 {
		all.Queue("INSERT INTO private_conversation (owner_id, target_id, read_date) SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[]) "+
			"ON CONFLICT (owner_id, target_id) DO UPDATE SET read_date = excluded.read_date", owners, partners, private)
	}
	if len(members) > 0 {
		all.Queue("INSERT INTO group_conversation (group_id, member_id, read_date) SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[]) "+
			"ON CONFLICT (group_id, member_id) DO UPDATE SET read_date = excluded.read_date", groupIDs, members, common)
	}
	all.Queue("COMMIT")
	return conn.SendBatch(ctx, &all).Close()
}

// A file is a SQLite file with its prepared statements, by the number of rows that they insert.
type file struct {
	conn     *sql.Conn
	prepared map[statement]*sql.Stmt
}

// statement is an INSERT of several rows.
type statement struct {
	head, row, tail string
	rows            int
}

// openFile opens a SQLite file with durable commits.
func openFile(ctx context.Context, path string) (save func([]*message) error, closeFile func() error, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	f := &file{conn: conn, prepared: map[statement]*sql.Stmt{}}
	lasting := context.WithoutCancel(ctx)
	return func(batch []*message) error { return f.save(lasting, batch) }, func() error { return errors.Join(conn.Close(), db.Close()) }, nil
}

func (f *file) save(ctx context.Context, batch []*message) error {
	if _, err := f.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	var rows, private, common [][]any
	for _, m := range batch {
		rows = append(rows, []any{m.id, m.toGroup, m.date, m.body.GetText(), m.sender.user, m.target})
	}
	for r, date := range read(batch) {
		if r.isGroup {
			common = append(common, []any{r.target, r.owner, date})
		} else {
			private = append(private, []any{r.owner, r.target, date})
		}
	}
	err := errors.Join(
		f.insert(ctx, statement{
			head: "INSERT INTO message (id, is_group_message, is_system_message, delivery_date, text, sender_id, target_id) VALUES ",
			row:  "(?, ?, FALSE, ?, ?, ?, ?)",
		}, rows),
		f.insert(ctx, statement{
			head: "INSERT INTO private_conversation (owner_id, target_id, read_date) VALUES ",
			row:  "(?, ?, ?)", tail: " ON CONFLICT (owner_id, target_id) DO UPDATE SET read_date = excluded.read_date",
		}, private),
		f.insert(ctx, statement{
			head: "INSERT INTO group_conversation (group_id, member_id, read_date) VALUES ",
			row:  "(?, ?, ?)", tail: " ON CONFLICT (group_id, member_id) DO UPDATE SET read_date = excluded.read_date",
		}, common),
	)
	if err != nil {
		return err
	}
	_, err = f.conn.ExecContext(ctx, "COMMIT")
	return err
}

// insert inserts rows with statements of 64, 8 or one row.
func (f *file) insert(ctx context.Context, s statement, rows [][]any) error {
	for len(rows) > 0 {
		switch {
		case len(rows) >= 64:
			s.rows = 64
		case len(rows) >= 8:
			s.rows = 8
		default:
			s.rows = 1
		}
		prepared := f.prepared[s]
		if prepared == nil {
			var err error
			prepared, err = f.conn.PrepareContext(ctx, s.head+strings.TrimSuffix(strings.Repeat(s.row+", ", s.rows), ", ")+s.tail)
			if err != nil {
				return fmt.Errorf("prepare an insert: %w", err)
			}
			f.prepared[s] = prepared
		}
		var values []any
		for _, row := range rows[:s.rows] {
			values = append(values, row...)
		}
		if _, err := prepared.ExecContext(ctx, values...); err != nil {
			return err
		}
		rows = rows[s.rows:]
	}
	return nil
}
