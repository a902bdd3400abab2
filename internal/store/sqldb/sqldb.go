// SPDX-License-Identifier: Apache-2.0

// Package sqldb opens the database of the server, an embedded SQLite file or a PostgreSQL server:
// it migrates the schema, runs transactions and parameterised statements, which the drivers prepare
// once, and translates the drivers' errors. It is the only package that knows the drivers. It does
// not know the meaning of the tables; package store does, and only that imports this package.
package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/recording/event"
	"example.org/app/internal/telemetry"
)

// An Engine is a kind of database.
type Engine string

// The engines.
const (
	SQLite     Engine = "sqlite"
	PostgreSQL Engine = "postgresql"
)

// Defaults of the Options that are zero.
const (
	DefaultMaxConnections = 16
	DefaultTimeout        = 10 * time.Second
	DefaultLockTimeout    = 5 * time.Second
)

// Options select the database and its time-outs.
type Options struct {
	// URL is sqlite:path/to/app.db, postgres://user:password@host:port/database or the same with
	// postgresql. In-memory databases are an error: they would lose committed data.
	URL string
	// MaxConnections is the size of the PostgreSQL pool.
	MaxConnections int
	// ReplicaURL is the URL of a PostgreSQL replica of the server at URL, for the reads of contexts
	// from WithReplica; "" means none. Open does not wait for it.
	ReplicaURL string
	// MaxReplicaLag bounds how long a read waits for the replica before the primary serves it, and
	// the lag of the replica.
	MaxReplicaLag time.Duration
	// Timeout bounds one Read, and one run of a Write function with its commit.
	Timeout time.Duration
	// LockTimeout bounds waiting for a database locked by another process and for the migration of
	// another process.
	LockTimeout time.Duration
	// Exclusive names a role that only one process at a time may have on an SQLite file. PostgreSQL
	// ignores it.
	Exclusive string
	// Logger gets what an operator should know; nil is silence.
	Logger *slog.Logger
}

// A WriteFunc is the body of a transaction. It may run more than once, because a conflicting
// transaction is retried; so it must assign its results rather than accumulate them and have no
// effect outside the transaction. Its context does not end with the caller's, but after
// Options.Timeout; a function that ignores it and waits for something else blocks every writer of a
// SQLite database. An error rolls back what the function did, and only that.
type WriteFunc func(ctx context.Context, tx Tx) error

// engine is the difference between SQLite and PostgreSQL.
type engine interface {
	// write runs fn in a transaction as described on DB.Write. The probe may be nil.
	write(ctx context.Context, fn WriteFunc, p *probe) error
	// stop refuses new writes, fails the queued ones with ErrClosed and waits for the running ones.
	stop()
	// stats sets the fields of Stats that are specific to the engine.
	stats(*Stats)
	// close closes the connections. It is called once, after stop and after the last read.
	close() error
}

// A DB is an open database. It is safe for concurrent use.
type DB struct {
	kind     Engine
	options  Options
	engine   engine
	read     *sql.DB
	reader   *session
	revision *sql.DB
	// replica may be nil.
	replica *replica

	// observer opens the observer's journal of each transaction; see Observe.
	observer atomic.Pointer[func() Journal]

	mu     sync.Mutex
	closed bool
	reads  sync.WaitGroup
}

// Open connects to the database, creates the SQLite file and its folder if necessary, and migrates
// the schema to the newest version. Several processes may do so concurrently. If the schema is
// newer than this program, it returns a *NewerError. Every error is one line, names the database
// and contains no password.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.MaxConnections <= 0 {
		o.MaxConnections = DefaultMaxConnections
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	o.LockTimeout = cmp.Or(max(o.LockTimeout, 0), DefaultLockTimeout)
	o.MaxReplicaLag = cmp.Or(max(o.MaxReplicaLag, 0), DefaultMaxReplicaLag)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	loc, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	open := openSQLite
	if loc.engine == PostgreSQL {
		open = openPostgres
	}
	if o.ReplicaURL != "" {
		second, err := parseURL(o.ReplicaURL)
		if err == nil && (loc.engine != PostgreSQL || second.engine != PostgreSQL) {
			err = errors.New("only PostgreSQL has replicas, of PostgreSQL")
		}
		if err != nil {
			return nil, fmt.Errorf("replica: %w", err)
		}
		loc.secret = append(loc.secret, second.secret...)
	}
	db, err := open(ctx, loc, o)
	if err != nil {
		return nil, loc.failure(Translate(err))
	}
	o.Logger.InfoContext(ctx, "opened the database", "engine", string(db.kind), "database", loc.name)
	return db, nil
}

// newDB creates a DB from an engine, the pool for reads and the one for Revision. It fails if the
// database does not answer.
func newDB(ctx context.Context, kind Engine, o Options, read, revisions *sql.DB, e engine, c *counters) (*DB, error) {
	if err := revisions.PingContext(ctx); err != nil {
		return nil, err
	}
	db := &DB{
		kind:     kind,
		options:  o,
		engine:   e,
		read:     read,
		reader:   &session{engine: kind, conn: read, counters: c, scans: make(chan struct{}, maxScans(kind, o))},
		revision: revisions,
	}
	db.reader.counts = &counts{read: db.Read, running: map[string]*counting{}}
	return db, nil
}

// Close fails queued writes with ErrClosed, waits for running reads and writes and closes the
// connections. Later calls of any method return ErrClosed; a second Close does nothing.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil
	}
	db.closed = true
	db.mu.Unlock()
	db.engine.stop()
	db.reads.Wait()
	var err error
	if db.replica != nil {
		err = db.replica.close()
	}
	return Translate(errors.Join(err, db.engine.close()))
}

// Engine returns the kind of the database.
func (db *DB) Engine() Engine { return db.kind }

// Ping checks that the database answers.
func (db *DB) Ping(ctx context.Context) error {
	return db.Read(ctx, func(ctx context.Context, r Reader) error {
		var one int
		return First(ctx, r, New("SELECT 1"), &one)
	})
}

// Read runs fn with a Reader. Each query sees everything committed before it began, or before the
// first Read of its context if a replica serves it (see WithReplica); two queries may see different
// states. The context of fn ends with ctx and at the latest after Options.Timeout.
func (db *DB) Read(ctx context.Context, fn func(ctx context.Context, r Reader) error) error {
	if err := db.enter(); err != nil {
		return err
	}
	defer db.reads.Done()
	ctx, span := telemetry.Child(ctx, "sql read", telemetry.Client)
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, db.options.Timeout)
	defer cancel()
	reader := db.readerFor(ctx)
	if !event.On(event.KindSQLTransaction) {
		return Translate(fn(ctx, reader))
	}
	watched := *reader
	watched.probe = &probe{start: time.Now()}
	err := Translate(fn(ctx, &watched))
	watched.probe.record(db.kind, false, err)
	return err
}

// enter registers a read, so that Close waits for it.
func (db *DB) enter() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return ErrClosed
	}
	db.reads.Add(1)
	return nil
}

// Write runs fn in a serialisable transaction. When Write returns nil, the transaction is committed
// and on disk. If ctx ends before fn has started, Write returns the error of ctx and fn does not
// run; from then on Write waits for the outcome, so that it is known. If the deadline of ctx has
// passed when fn returns, the transaction is rolled back. A panic in fn rolls back and continues in
// the caller's goroutine.
func (db *DB) Write(ctx context.Context, fn WriteFunc) error {
	if ctx.Value(writeKey{}) == db {
		return ErrNested
	}
	if err := ctx.Err(); err != nil {
		return Translate(err)
	}
	wrote(ctx)
	fn, committed := journaling(ctx, fn)
	fn, observed := db.observing(fn)
	fn = inTime(ctx, fn)
	ctx, span := telemetry.Child(ctx, "sql write", telemetry.Client)
	defer span.End()
	ctx = context.WithValue(ctx, writeKey{}, db)
	if !event.On(event.KindSQLTransaction) {
		return observed(committed(Translate(db.engine.write(ctx, fn, nil))))
	}
	p := &probe{start: time.Now()}
	err := observed(committed(Translate(db.engine.write(ctx, fn, p))))
	p.record(db.kind, true, err)
	return err
}

// inTime rolls back a function that ends after its caller's deadline, because the caller may have
// reported a failure. It checks the clock, because in a process that was paused the timer of a
// context may fire later.
func inTime(ctx context.Context, fn WriteFunc) WriteFunc {
	deadline, ok := ctx.Deadline()
	if !ok {
		return fn
	}
	return func(ctx context.Context, tx Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		if !time.Now().Before(deadline) {
			return context.DeadlineExceeded
		}
		return nil
	}
}

// A Writer runs functions in transactions as DB.Write does.
type Writer interface {
	Write(ctx context.Context, fn WriteFunc) error
}

// Behind returns a Writer that runs guard before each function, in the same transaction: if guard
// fails, nothing is written. It is for work that another node may have taken over.
func (db *DB) Behind(guard WriteFunc) Writer { return guarded{db, guard} }

// guarded is the database with a guard.
type guarded struct {
	db    *DB
	guard WriteFunc
}

// Write implements Writer.
func (g guarded) Write(ctx context.Context, fn WriteFunc) error {
	return g.db.Write(ctx, func(ctx context.Context, tx Tx) error {
		if err := g.guard(ctx, tx); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// writeKey marks the contexts of running Write functions.
type writeKey struct{}

// A Pool contains the figures of a connection pool.
type Pool struct {
	Max, Open, InUse, Idle int
	// Waited counts how often a caller had to wait for a connection.
	Waited int64
}

// Stats are counters since Open and some current values.
type Stats struct {
	// Committed and RolledBack count the Write functions by outcome.
	Committed, RolledBack uint64
	// Batches counts the commits. Committed divided by Batches is the number of functions per
	// commit.
	Batches uint64
	// Retries counts the retries of functions.
	Retries uint64
	// Statements counts the statements of Read and Write functions, without those that begin and
	// end transactions.
	Statements uint64
	// Queue is the number of Write calls whose function has not started.
	Queue int
	// Readers is the pool for reads. On PostgreSQL writes use it, too.
	Readers Pool
}

// counters are the parts of Stats that the engines count.
type counters struct {
	committed, rolledBack, batches, retries, statements atomic.Uint64
	queue                                               atomic.Int64
}

func (c *counters) stats(s *Stats) {
	s.Committed = c.committed.Load()
	s.RolledBack = c.rolledBack.Load()
	s.Batches = c.batches.Load()
	s.Retries = c.retries.Load()
	s.Statements = c.statements.Load()
	s.Queue = int(c.queue.Load())
}

// Stats returns the current counters.
func (db *DB) Stats() Stats {
	pool := db.read.Stats()
	s := Stats{Readers: Pool{
		Max: pool.MaxOpenConnections, Open: pool.OpenConnections, InUse: pool.InUse, Idle: pool.Idle, Waited: pool.WaitCount,
	}}
	db.engine.stats(&s)
	return s
}
