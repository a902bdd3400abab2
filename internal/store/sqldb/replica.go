// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/app/internal/sleep"
)

// DefaultMaxReplicaLag is the default of Options.MaxReplicaLag.
const DefaultMaxReplicaLag = time.Second

const (
	// replicaInterval is the interval of checks of a replica.
	replicaInterval = time.Second
	// maxReplicaPause bounds the pause between checks whether a replica has caught up.
	maxReplicaPause = 20 * time.Millisecond
	// maxPositions is how many positions of the primary are kept, one per check.
	maxPositions = 600
)

// A replica is a PostgreSQL server that follows the primary by streaming replication. It serves the
// reads of contexts from WithReplica. Such a read sees everything that was committed on the primary
// before: it waits until the replica has caught up. If the replica is down, not following or too
// far behind, the primary serves the read.
type replica struct {
	primary   *sql.DB
	config    *pgx.ConnConfig
	options   Options
	reader    *session
	reads     atomic.Uint64
	fallbacks atomic.Uint64

	stop context.CancelFunc
	done chan struct{}

	mu sync.Mutex
	// pool is nil until the replica has answered once.
	pool *sql.DB
	// reason is why the replica is not used, or nil.
	reason error
	lag    time.Duration
	// positions are past positions of the primary, the oldest first.
	positions []position
}

// A position is the end of the primary's log at a time.
type position struct {
	at  time.Time
	lsn int64
}

// ReplicaState is the state of a replica.
type ReplicaState struct {
	// Fault is why reads go to the primary, or "". It contains no address; the log does.
	Fault string
	// Lag is how far the replica is behind; less than a second is reported as 0.
	Lag time.Duration
	// Reads counts the requests that the replica served, Fallbacks those that the primary served
	// instead.
	Reads, Fallbacks uint64
}

// A replicaFault is why a replica is not used, in a sentence without secrets.
type replicaFault string

func (f replicaFault) Error() string { return string(f) }

const errReplicaUnknown replicaFault = "it has not answered yet"

// startReplica starts monitoring the configured replica, without waiting for it.
func (db *DB) startReplica(o Options) error {
	config, err := postgresConfig(o.ReplicaURL, o)
	if err != nil {
		return err
	}
	o.URL = o.ReplicaURL
	r := &replica{primary: db.read, config: config, options: o, reason: errReplicaUnknown, done: make(chan struct{})}
	own := *db.reader
	own.scans = make(chan struct{}, maxScans(PostgreSQL, o))
	own.spare, own.failed = db.read, r.failed
	own.counts = &counts{
		read: func(ctx context.Context, fn func(context.Context, Reader) error) error {
			return db.Read(WithReplica(ctx), fn)
		},
		running: map[string]*counting{},
	}
	r.reader = &own
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	db.replica = r
	go r.run(ctx)
	return nil
}

// close stops the monitoring. All reads must have ended.
func (r *replica) close() error {
	r.stop()
	<-r.done
	if r.pool == nil {
		return nil
	}
	return r.pool.Close()
}

func (r *replica) run(ctx context.Context) {
	defer close(r.done)
	for {
		r.look(ctx)
		if sleep.For(ctx, replicaInterval) != nil {
			return
		}
	}
}

// look checks whether the replica can be used.
func (r *replica) look(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, max(r.options.MaxReplicaLag, replicaInterval))
	defer cancel()
	lag, err := r.measure(bounded)
	if ctx.Err() != nil {
		return
	}
	if err == nil && lag > r.options.MaxReplicaLag {
		err = replicaFault(fmt.Sprintf("it is %v behind", lag.Round(time.Millisecond)))
	}
	r.set(lag, err)
}

// set records the state of the replica, and logs changes.
func (r *replica) set(lag time.Duration, reason error) {
	r.mu.Lock()
	before := r.reason
	r.lag, r.reason = lag, reason
	r.mu.Unlock()
	switch {
	case reason != nil && (before == nil || before == error(errReplicaUnknown)): //nolint:errorlint // It is that very value.
		r.options.Logger.Warn("the replica of the database is not used: the primary serves its queries", "error", reason)
	case reason == nil && before != nil:
		r.options.Logger.Info("the replica of the database is used")
	}
}

// failed handles an error of a statement on the replica. It reports whether to run the statement on
// the primary.
func (r *replica) failed(err error) bool {
	if errors.Is(Translate(err), ErrUnavailable) {
		r.mu.Lock()
		lag := r.lag
		r.mu.Unlock()
		r.set(lag, err)
		return true
	}
	return isConflict(err) // The replica had to remove rows that the statement might have read.
}

const (
	primaryPosition = "SELECT CAST(pg_current_wal_flush_lsn() - '0/0' AS bigint), (SELECT system_identifier FROM pg_control_system())"
	replicaPosition = "SELECT CAST(coalesce(pg_last_wal_replay_lsn() - '0/0', 0) AS bigint), (SELECT system_identifier FROM pg_control_system()), " +
		"pg_is_in_recovery(), EXISTS (SELECT FROM pg_stat_wal_receiver WHERE pid IS NOT NULL)"
)

// measure returns how far the replica is behind.
func (r *replica) measure(ctx context.Context) (lag time.Duration, err error) {
	pool, err := r.connect(ctx)
	if err != nil {
		return 0, err
	}
	now := position{at: time.Now()}
	var system, other, replayed int64
	if err := r.primary.QueryRowContext(ctx, primaryPosition).Scan(&now.lsn, &system); err != nil {
		return 0, fmt.Errorf("ask the primary for its position: %w", err)
	}
	var follows, receives bool
	if err := pool.QueryRowContext(ctx, replicaPosition).Scan(&replayed, &other, &follows, &receives); err != nil {
		return 0, err
	}
	switch {
	case system != other:
		return 0, replicaFault("it is not a replica of this database")
	case !follows:
		return 0, replicaFault("it is a primary itself")
	case !receives:
		return 0, replicaFault("it is not connected to a primary")
	}
	return r.behind(now, replayed), nil
}

// behind records a position of the primary and returns the age of the oldest one that the replica
// has not reached.
func (r *replica) behind(now position, replayed int64) time.Duration {
	if len(r.positions) < maxPositions {
		r.positions = append(r.positions, now)
	}
	for len(r.positions) > 0 && r.positions[0].lsn <= replayed {
		r.positions = r.positions[1:]
	}
	if len(r.positions) == 0 {
		return 0
	}
	return now.at.Sub(r.positions[0].at)
}

// connect returns the pool of connections.
func (r *replica) connect(ctx context.Context) (*sql.DB, error) {
	if r.pool != nil { // Only this goroutine changes it.
		return r.pool, nil
	}
	config := r.config.Copy()
	if err := limitSessions(ctx, config, r.options); err != nil {
		return nil, err
	}
	pool := openPool(*config, r.options)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pool = pool
	r.reader.conn = pool
	return pool, nil
}

func (r *replica) state() ReplicaState {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := ReplicaState{Lag: r.lag, Reads: r.reads.Load(), Fallbacks: r.fallbacks.Load()}
	if fault, ok := errors.AsType[replicaFault](r.reason); ok {
		state.Fault = fault.Error()
	} else if r.reason != nil {
		state.Fault = "it does not answer as it should"
	}
	return state
}

// usable returns the pool; ok is false if the replica must not be used.
func (r *replica) usable() (*sql.DB, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pool, r.reason == nil
}

// await waits until the replica has everything committed on the primary now. It returns nil if the
// primary must serve the read.
func (r *replica) await(ctx context.Context) *session {
	pool, ok := r.usable()
	if !ok || !r.catchUp(ctx, pool) {
		r.fallbacks.Add(1)
		return nil
	}
	r.reads.Add(1)
	return r.reader
}

func (r *replica) catchUp(ctx context.Context, pool *sql.DB) bool {
	ctx, cancel := context.WithTimeout(ctx, r.options.MaxReplicaLag)
	defer cancel()
	var target int64
	if err := r.primary.QueryRowContext(ctx, "SELECT CAST(pg_current_wal_flush_lsn() - '0/0' AS bigint)").Scan(&target); err != nil {
		return false
	}
	for pause := time.Millisecond; ; pause = min(2*pause, maxReplicaPause) {
		var replayed int64
		err := pool.QueryRowContext(ctx, "SELECT CAST(coalesce(pg_last_wal_replay_lsn() - '0/0', 0) AS bigint)").Scan(&replayed)
		if err == nil && replayed >= target {
			return true
		}
		switch {
		case sleep.For(ctx, pause) != nil || ctx.Err() != nil:
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				r.set(r.options.MaxReplicaLag, replicaFault(fmt.Sprintf("it did not catch up within %v", r.options.MaxReplicaLag)))
			}
			return false
		case err != nil:
			r.failed(err)
			return false
		}
	}
}

// A replicaRead is the result of waiting for the replica for a context.
type replicaRead struct {
	await   sync.Once
	session *session    // the replica's if it has caught up; set by await
	wrote   atomic.Bool // true if the primary may have data that the replica lacks
}

type replicaKey struct{}

// WithReplica returns a context whose reads the replica may serve. They see what was committed
// before the first of them. After a write in the context, later reads use the primary.
func WithReplica(ctx context.Context) context.Context {
	return context.WithValue(ctx, replicaKey{}, &replicaRead{})
}

// readerFor returns the session for the reads of a context.
func (db *DB) readerFor(ctx context.Context) *session {
	read, ok := ctx.Value(replicaKey{}).(*replicaRead)
	if !ok || db.replica == nil || read.wrote.Load() {
		return db.reader
	}
	read.await.Do(func() { read.session = db.replica.await(ctx) })
	if read.session == nil || read.wrote.Load() {
		return db.reader
	}
	return read.session
}

// wrote makes later reads of a context use the primary.
func wrote(ctx context.Context) {
	if read, ok := ctx.Value(replicaKey{}).(*replicaRead); ok {
		read.wrote.Store(true)
	}
}

// Replica returns the state of the replica; the boolean is false if there is none.
func (db *DB) Replica() (ReplicaState, bool) {
	if db.replica == nil {
		return ReplicaState{}, false
	}
	return db.replica.state(), true
}
