// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// maxAttempts bounds how often a conflicting transaction is run.
	maxAttempts = 100
	// maxBackoff bounds the random pause between attempts.
	maxBackoff = 50 * time.Millisecond
)

var errTxAborted = errors.New("a statement failed and the function did not report it")

// postgresEngine is a pool of connections to a server.
type postgresEngine struct {
	db      *sql.DB
	options Options
	counters

	closing context.Context
	cancel  context.CancelFunc
	mu      sync.Mutex
	running sync.WaitGroup
}

func openPostgres(ctx context.Context, loc location, o Options) (*DB, error) {
	config, err := postgresConfig(o.URL, o)
	if err != nil {
		return nil, err
	}
	setup := config.Copy()
	if err := limitSessions(ctx, config, o); err != nil {
		return nil, err
	}
	if err := migratePostgres(ctx, setup, loc, o); err != nil {
		return nil, err
	}
	pool := openPool(*config, o)
	e := &postgresEngine{db: pool, options: o}
	e.closing, e.cancel = context.WithCancel(context.Background())
	db, err := newDB(ctx, PostgreSQL, o, pool, pool, e, &e.counters)
	if err == nil && o.ReplicaURL != "" {
		err = db.startReplica(o)
	}
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}

// postgresConfig reads the URL of a server.
func postgresConfig(url string, o Options) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// The original error contains the whole URL, so only its text is used, and failure redacts
		// that.
		return nil, fmt.Errorf("read the URL: %s", err.Error()) //nolint:errorlint // The chain would hold the password.
	}
	config.RuntimeParams["standard_conforming_strings"] = "on"
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "app"
	}
	d := newDialer(config)
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = o.Timeout
		if d.several {
			config.ConnectTimeout = min(o.Timeout, hostTimeout)
		}
	}
	config.DialFunc = d.dial
	return config, nil
}

// openPool returns a pool that opens connections on demand.
func openPool(config pgx.ConnConfig, o Options) *sql.DB {
	pool := stdlib.OpenDB(config)
	pool.SetMaxOpenConns(o.MaxConnections)
	pool.SetMaxIdleConns(o.MaxConnections)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool
}

func (e *postgresEngine) stats(s *Stats) { e.counters.stats(s) }

func (e *postgresEngine) close() error { return e.db.Close() }

func (e *postgresEngine) stop() {
	e.mu.Lock()
	e.cancel()
	e.mu.Unlock()
	e.running.Wait()
}

// write runs fn in a serialisable transaction and retries it, after a short random pause, after a
// conflict.
func (e *postgresEngine) write(ctx context.Context, fn WriteFunc, p *probe) error {
	e.mu.Lock()
	if e.closing.Err() != nil {
		e.mu.Unlock()
		return ErrClosed
	}
	e.running.Add(1)
	e.mu.Unlock()
	defer e.running.Done()
	outcome := &e.rolledBack
	defer func() { outcome.Add(1) }()
	deadline := time.Now().Add(e.options.Timeout + e.options.LockTimeout)
	for attempt := 1; ; attempt++ {
		err := e.attempt(ctx, fn, p)
		if err == nil {
			outcome = &e.committed
			return nil
		}
		if !isConflict(err) {
			return err
		}
		if attempt == maxAttempts || time.Now().After(deadline) {
			return fmt.Errorf("%w: the transaction lost against others %d times: %w", ErrTimeout, attempt, err)
		}
		e.retries.Add(1)
		if err := e.pause(ctx, attempt); err != nil {
			return err
		}
	}
}

func (e *postgresEngine) pause(ctx context.Context, attempt int) error {
	limit := min(maxBackoff, time.Millisecond<<min(attempt, 10))
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.closing.Done():
		return ErrClosed
	}
}

// attempt runs fn once. The deferred rollback also handles a panic.
func (e *postgresEngine) attempt(ctx context.Context, fn WriteFunc, p *probe) (err error) {
	conn, err := e.acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.options.Timeout)
	defer cancel()
	committed := false
	defer func() {
		if !committed {
			e.rollback(conn)
		}
	}()
	p.begin()
	t := &txState{ctx: bounded}
	s := &session{engine: PostgreSQL, conn: conn, tx: t, counters: &e.counters, probe: p, unbegun: true}
	err = fn(bounded, s)
	if first := t.finish(); first != nil && (err == nil || isConflict(first)) {
		err = first
	}
	if err == nil && bounded.Err() != nil {
		err = fmt.Errorf("%w: the transaction took longer than %v", ErrTimeout, e.options.Timeout)
	}
	if err == nil {
		err = e.commit(ctx, conn, s)
	}
	if err != nil {
		return err
	}
	committed = true
	e.batches.Add(1)
	return nil
}

// acquire waits for a free connection, at most as long as SQLite's queue would.
func (e *postgresEngine) acquire(ctx context.Context) (*sql.Conn, error) {
	e.counters.queue.Add(1)
	defer e.counters.queue.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout+e.options.LockTimeout)
	defer cancel()
	stop := context.AfterFunc(e.closing, cancel)
	defer stop()
	conn, err := e.db.Conn(ctx)
	if err != nil && e.closing.Err() != nil {
		return nil, ErrClosed
	}
	return conn, err
}

// commit has a time limit of its own, so that a function that used nearly all of its time does not
// leave the outcome unknown. PostgreSQL answers the commit of a failed transaction with a rollback
// and no error. The last statements and rows are sent with it. A transaction without statements is
// not sent at all.
func (e *postgresEngine) commit(ctx context.Context, conn *sql.Conn, s *session) error {
	list := s.ending
	for _, r := range s.last {
		list = append(list, queued{Rows(r.head, r.row, 1, "", r.args).fixedText(PostgreSQL), r.args})
	}
	e.statements.Add(uint64(len(list)))
	if s.unbegun {
		if len(list) == 0 {
			return nil
		}
		list = slices.Insert(list, 0, queued{text: beginSerializable})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.options.Timeout)
	defer cancel()
	for _, statement := range list {
		defer s.probe.statement(statement.text)()
	}
	sent := false
	err := conn.Raw(func(c any) error {
		server := c.(*stdlib.Conn).Conn()
		if server.IsClosed() { // PostgreSQL has rolled back.
			return driver.ErrBadConn
		}
		sent = true
		tag, err := commitWith(ctx, server, list)
		if err == nil && tag.String() != "COMMIT" {
			err = errTxAborted
		}
		return err
	})
	if err != nil && sent && mayBeCommitted(err) {
		return fmt.Errorf("%w: %w: %w", ErrUnavailable, ErrOutcomeUnknown, err)
	}
	return err
}

// commitWith runs the last statements and commits, in one round trip. If a statement fails, it does
// not commit.
func commitWith(ctx context.Context, server *pgx.Conn, list []queued) (tag pgconn.CommandTag, err error) {
	if len(list) == 0 {
		return server.Exec(ctx, "COMMIT")
	}
	var batch pgx.Batch
	for _, statement := range list {
		batch.Queue(statement.text, statement.values...)
	}
	batch.Queue("COMMIT")
	results := server.SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for range list {
		if _, err := results.Exec(); err != nil {
			return tag, err
		}
	}
	return results.Exec()
}

// rollback ends the transaction in any state. If that fails, it closes the connection, which has
// the same effect.
func (e *postgresEngine) rollback(conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), e.options.LockTimeout)
	defer cancel()
	_ = conn.Raw(func(c any) error {
		server := c.(*stdlib.Conn).Conn()
		if server.IsClosed() {
			return driver.ErrBadConn
		}
		if server.PgConn().TxStatus() == 'I' {
			return nil
		}
		if _, err := server.Exec(ctx, "ROLLBACK"); err != nil {
			return driver.ErrBadConn
		}
		return nil
	})
}
