// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // driver

	"example.org/app/internal/im/group"
	"example.org/app/internal/im/message"
	"example.org/app/internal/im/user"
	"example.org/app/internal/store"
)

const (
	// writers is the number of concurrent writers.
	writers = 64
	// people and circles are the numbers of existing users and groups.
	people, circles = 1000, 2000
	// bulk is the number of records in a transaction of a bulk insert.
	bulk = 1000
)

// A writeKind is a kind of record that is written one at a time: through the domain rules, and by
// plain statements that write the same rows.
type writeKind struct {
	name  string
	rules func(ctx context.Context, w *world, n int64) error
	raw   []rawStatement
}

type rawStatement struct {
	text string
	args func(n int64) []any
}

var hash = slices.Repeat([]byte{'x'}, 54)

func writeKinds() []writeKind {
	now := time.Now().UnixMilli()
	const first = 1_000_000_000 // of unused ids
	return []writeKind{
		{
			"users",
			func(ctx context.Context, w *world, _ int64) error {
				_, err := w.userRules.Create(ctx, user.Creation{Password: new("123"), Name: "Alice"})
				return err
			},
			[]rawStatement{
				{
					"INSERT INTO user_account (id, password, name, intro, profile_picture, profile_access_strategy, role_id, registration_date, deletion_date, " +
						"last_updated_date, is_active, user_defined_attributes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
					func(n int64) []any { return []any{first + n, hash, "Alice", "", nil, 0, 0, now, nil, now, true, nil} },
				},
				{
					"INSERT INTO user_version VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
					func(n int64) []any { return []any{first + n, now, now, now, now, now, now, now, now, now} },
				},
				{"INSERT INTO relationship_group VALUES ($1, $2, $3, $4)", func(n int64) []any { return []any{first + n, 0, "", now} }},
			},
		},
		{
			"members",
			func(ctx context.Context, w *world, n int64) error {
				_, err := w.groupRules.Members.Add(ctx, store.GroupMember{
					GroupUserKey: store.GroupUserKey{GroupID: 1 + n%circles, UserID: first + n}, Role: store.GroupRegularMember,
				}, nil)
				return err
			},
			[]rawStatement{
				{
					"INSERT INTO group_member VALUES ($1, $2, $3, $4, $5, $6)",
					func(n int64) []any { return []any{1 + n%circles, first + n, nil, 2, now, nil} },
				},
				{
					"UPDATE group_version SET members = $2, member_count = member_count + 1 WHERE group_id = $1",
					func(n int64) []any { return []any{1 + n%circles, now} },
				},
				{
					"INSERT INTO user_version (user_id, joined_groups) VALUES ($1, $2) ON CONFLICT (user_id) DO UPDATE SET joined_groups = excluded.joined_groups",
					func(n int64) []any { return []any{first + n, now} },
				},
			},
		},
		{
			"messages",
			func(ctx context.Context, w *world, n int64) error {
				_, err := w.messageRules.Send(ctx, message.Creation{SenderID: new(1 + n%people), TargetID: 1 + (n+1)%people, Text: new("How are you?")})
				return err
			},
			[]rawStatement{
				{
					"INSERT INTO message VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
					func(n int64) []any {
						return []any{first + n, nil, false, false, now, nil, nil, nil, "How are you?", 1 + n%people, nil, 1 + (n+1)%people, nil, nil, nil, nil, nil}
					},
				},
				{
					"INSERT INTO private_conversation VALUES ($1, $2, $3) ON CONFLICT (owner_id, target_id) DO UPDATE SET read_date = excluded.read_date",
					func(n int64) []any { return []any{1 + n%people, 1 + (n+1)%people, now} },
				},
			},
		},
	}
}

// writes measures durable writes, alternating between the domain rules and the plain statements.
func writes(ctx context.Context, url string, duration time.Duration, rounds int) (err error) {
	w, err := newWorld(ctx, url, 0, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.db.Close()) }()
	if err := populate(ctx, w); err != nil {
		return err
	}
	raw, err := openRaw(url, w.db.Engine())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.Close()) }()
	var rows [][]string
	for _, kind := range writeKinds() {
		next := new(atomic.Int64)
		statements, err := prepare(ctx, raw, w.db.Engine(), kind.raw)
		if err != nil {
			return err
		}
		variants := []struct {
			name string
			run  func() (float64, error)
		}{
			{"through the rules", func() (float64, error) {
				return concurrently(duration, func() (int, error) { return 1, kind.rules(ctx, w, next.Add(1)) })
			}},
			{"raw, one at a time, commits shared", func() (float64, error) { return statements.sharing(ctx, duration, next) }},
			{"raw, one at a time, a commit each", func() (float64, error) {
				return concurrently(duration, func() (int, error) { return statements.commit(ctx, next, 1) })
			}},
			{"raw bulk, 64 to a commit, one writer", func() (float64, error) {
				return inTurn(duration, func() (int, error) { return statements.commit(ctx, next, writers) })
			}},
			{"raw bulk, 1000 to a commit, one writer", func() (float64, error) {
				return inTurn(duration, func() (int, error) { return statements.commit(ctx, next, bulk) })
			}},
		}
		rates := make([][]float64, len(variants))
		for range rounds {
			for i, variant := range variants {
				rate, err := variant.run()
				if err != nil {
					return fmt.Errorf("%s, %s: %w", kind.name, variant.name, err)
				}
				rates[i] = append(rates[i], rate)
			}
		}
		for i := range rates {
			slices.Sort(rates[i])
		}
		own := rates[0][rounds/2]
		for i, variant := range variants {
			rate := rates[i][rounds/2]
			rows = append(rows, []string{kind.name, variant.name, fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.2f", own/rate)})
		}
	}
	table(fmt.Sprintf("Durable writes, %s, %d writers; goal: the rules reach 0.30 of raw writes one at a time that share commits", w.db.Engine(), writers),
		[]string{"record", "written", "records/s", "rules / this"}, rows)
	return nil
}

// populate creates the users and groups that members and messages need.
func populate(ctx context.Context, w *world) error {
	return w.db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		now := time.Now()
		var users []store.User
		var groups []store.Group
		counts := map[int64]int32{}
		for id := int64(1); id <= people; id++ {
			users = append(users, store.User{ID: id, IsActive: true, RegistrationDate: now, LastUpdatedDate: now})
		}
		for id := int64(1); id <= circles; id++ {
			groups = append(groups, store.Group{ID: id, CreatorID: 1, OwnerID: 1, TypeID: group.DefaultTypeID, IsActive: true, CreationDate: now, LastUpdatedDate: now})
			counts[id] = 0
		}
		// The group has far more members than usual.
		_, err := store.UpdateGroupTypes(ctx, tx, []int64{group.DefaultTypeID}, store.GroupTypeChange{GroupSizeLimit: new(int32(1_000_000))})
		return errors.Join(err, store.InsertUsers(ctx, tx, users...), store.InsertGroups(ctx, tx, groups...), store.InsertGroupVersions(ctx, tx, now, counts))
	})
}

// openRaw opens a database as the store does, without its own machinery.
func openRaw(url string, engine store.Engine) (*sql.DB, error) {
	if engine == store.PostgreSQL {
		db, err := sql.Open("pgx", url)
		if err == nil {
			db.SetMaxOpenConns(store.DefaultMaxConnections)
			db.SetMaxIdleConns(store.DefaultMaxConnections)
		}
		return db, err
	}
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(url, "sqlite:")+"?_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err == nil {
		// SQLite has one writer at a time; more connections would only wait for each other.
		db.SetMaxOpenConns(1)
	}
	return db, err
}

type rawWriter struct {
	db         *sql.DB
	statements []*sql.Stmt
	args       []func(n int64) []any
}

func prepare(ctx context.Context, db *sql.DB, engine store.Engine, list []rawStatement) (rawWriter, error) {
	w := rawWriter{db: db}
	for _, s := range list {
		text := s.text
		if engine == store.SQLite {
			text = strings.ReplaceAll(text, "$", "?")
		}
		statement, err := db.PrepareContext(ctx, text)
		if err != nil {
			return w, fmt.Errorf("%s: %w", text, err)
		}
		w.statements, w.args = append(w.statements, statement), append(w.args, s.args)
	}
	return w, nil
}

// commit writes records in one transaction.
func (w rawWriter) commit(ctx context.Context, next *atomic.Int64, records int) (int, error) {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // After a commit it does nothing.
	statements := make([]*sql.Stmt, len(w.statements))
	for i, statement := range w.statements {
		statements[i] = tx.StmtContext(ctx, statement)
	}
	for range records {
		n := next.Add(1)
		for i, statement := range statements {
			if _, err := statement.ExecContext(ctx, w.args[i](n)...); err != nil {
				return 0, err
			}
		}
	}
	return records, tx.Commit()
}

// sharing makes each writer pass one record after the other to a committer, which commits the
// waiting records together, and wait until it is durable: the minimum for writers that share
// commits.
func (w rawWriter) sharing(ctx context.Context, duration time.Duration, next *atomic.Int64) (float64, error) {
	requests := make(chan chan error, writers)
	var committer sync.WaitGroup
	committer.Go(func() {
		for first := range requests {
			waiting := []chan error{first}
			for more := true; more && len(waiting) < writers; {
				select {
				case request, open := <-requests:
					if more = open; open {
						waiting = append(waiting, request)
					}
				default:
					more = false
				}
			}
			_, err := w.commit(ctx, next, len(waiting))
			for _, request := range waiting {
				request <- err
			}
		}
	})
	rate, err := concurrently(duration, func() (int, error) {
		answer := make(chan error, 1)
		requests <- answer
		return 1, <-answer
	})
	close(requests)
	committer.Wait()
	return rate, err
}

// inTurn repeats a write for a duration and returns the number of records per second.
func inTurn(duration time.Duration, write func() (int, error)) (float64, error) {
	start, total := time.Now(), 0
	for time.Since(start) < duration {
		n, err := write()
		if err != nil {
			return 0, err
		}
		total += n
	}
	return float64(total) / time.Since(start).Seconds(), nil
}

// concurrently is like inTurn, with all writers at the same time.
func concurrently(duration time.Duration, write func() (int, error)) (float64, error) {
	var group sync.WaitGroup
	rates, errs := make([]float64, writers), make([]error, writers)
	for i := range writers {
		group.Go(func() { rates[i], errs[i] = inTurn(duration, write) })
	}
	group.Wait()
	sum := 0.0
	for _, rate := range rates {
		sum += rate
	}
	return sum, errors.Join(errs...)
}
