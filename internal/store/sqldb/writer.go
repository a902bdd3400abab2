// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
)

const (
	// maxBatch is the maximum number of functions per transaction.
	maxBatch = 512
	// maxBatchTime is how long a transaction continues to start functions, so that the first one
	// does not wait for the commit too long.
	maxBatchTime = 10 * time.Millisecond
	// queueSize is how many jobs can wait before callers block on the queue itself.
	queueSize = 1024
)

// A writer owns the only writing connection of a SQLite database. A commit costs a flush to disk,
// so waiting functions share one: the owner begins a transaction, runs each function in turn,
// inside a savepoint unless it is the first, and commits once no more wait. During the commit the
// next functions queue up; a single writer is never delayed.
//
// A function runs in the goroutine of its caller, to which the owner passes the turn. So a panic or
// runtime.Goexit affects the caller with its own stack, and the owner only learns that the turn
// failed.
type writer struct {
	db      *sql.DB
	options Options
	queue   chan *job
	// closing is done once Close was called; ended is closed when the owner has returned.
	closing context.Context
	cancel  context.CancelFunc
	ended   chan struct{}
	counters

	// Only the owner goroutine uses the rest, except for the two flags, which the hooks of the
	// connection use.
	conn *sql.Conn
	late []*job
	// last are the rows that the functions of the transaction insert before the commit.
	last []lastRow
	// values is a buffer for the values of a statement.
	values []driver.NamedValue
	// lost is set by the rollback hook: the transaction was rolled back, by the engine or on
	// demand.
	lost atomic.Bool
	// committing makes the commit hook allow a commit. Otherwise a statement that runs after the
	// transaction was lost would be committed on its own.
	committing atomic.Bool
}

// States of a job. The goroutine that changes it from waiting owns the outcome.
const (
	jobWaiting int32 = iota
	jobStarted
	jobGone
)

// A job is one call of Write.
type job struct {
	ctx    context.Context
	fn     WriteFunc
	probe  *probe
	state  atomic.Int32
	queued time.Time
	// turn passes the transaction to the caller, which answers on ran; result ends the call. The
	// caller always receives from turn once the job is started.
	turn   chan *session
	ran    chan outcome
	result chan error
	err    error
}

// An outcome is the result of a turn. A function that was aborted by a panic or runtime.Goexit has
// none.
type outcome struct {
	err     error
	aborted bool
}

func newWriter(db *sql.DB, o Options) *writer {
	w := &writer{
		db: db, options: o,
		queue: make(chan *job, queueSize),
		ended: make(chan struct{}),
	}
	w.closing, w.cancel = context.WithCancel(context.Background())
	return w
}

// write queues fn, takes its turns and waits for the outcome.
func (w *writer) write(ctx context.Context, fn WriteFunc, p *probe) error {
	j := &job{
		ctx: ctx, fn: fn, probe: p, queued: time.Now(),
		turn: make(chan *session), ran: make(chan outcome), result: make(chan error, 1),
	}
	if w.closing.Err() != nil {
		return ErrClosed
	}
	// The wait is bounded even without a deadline of the caller: by one slow function and one
	// locked database.
	limit := w.options.Timeout + w.options.LockTimeout
	timer := time.NewTimer(limit)
	defer timer.Stop()
	w.counters.queue.Add(1)
	queue, done, closing, late := w.queue, ctx.Done(), w.closing.Done(), timer.C
	for {
		var failure error
		select {
		case queue <- j:
			queue = nil
			continue
		case s := <-j.turn:
			w.take(j, s)
			continue
		case err := <-j.result:
			return err
		case <-done:
			failure = ctx.Err()
		case <-closing:
			failure = ErrClosed
		case <-late:
			failure = fmt.Errorf("%w: the write did not start within %v", ErrTimeout, limit)
		}
		if j.state.CompareAndSwap(jobWaiting, jobGone) {
			w.counters.queue.Add(-1)
			w.rolledBack.Add(1)
			return failure
		}
		done, closing, late = nil, nil, nil
	}
}

// take runs the function of a job in the goroutine of its caller. If the function does not return,
// the deferred call reports that and waits until its changes are rolled back before the panic
// continues.
func (w *writer) take(j *job, s *session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(j.ctx), w.options.Timeout)
	defer cancel()
	s.tx.ctx = ctx
	returned := false
	defer func() {
		if !returned {
			j.ran <- outcome{aborted: true}
			<-j.result
		}
	}()
	err := j.fn(ctx, s)
	if err == nil && ctx.Err() != nil {
		// Otherwise a function that ignores its context could block all others indefinitely and
		// still be committed.
		err = fmt.Errorf("%w: the transaction took longer than %v", ErrTimeout, w.options.Timeout)
	}
	returned = true
	j.ran <- outcome{err: err}
}

func (w *writer) stop() {
	w.cancel()
	<-w.ended
}

// run is the owner goroutine.
func (w *writer) run() {
	defer close(w.ended)
	defer w.disconnect()
	for {
		select {
		case <-w.closing.Done():
			// The callers of queued jobs see closing themselves.
			return
		case j := <-w.queue:
			w.late = append(w.late, j)
			for len(w.late) > 0 && w.closing.Err() == nil {
				w.batch()
			}
		}
	}
}

// next returns a waiting job, or nil.
func (w *writer) next() *job {
	if len(w.late) > 0 {
		j := w.late[0]
		w.late = w.late[1:]
		return j
	}
	select {
	case j := <-w.queue:
		return j
	default:
		return nil
	}
}

// batch runs waiting jobs in one transaction, and in further ones as long as a job causes others to
// be rolled back.
func (w *writer) batch() {
	start := time.Now()
	if err := w.begin(); err != nil {
		w.refuse(start, err)
		return
	}
	var members []*job
	for len(members) < maxBatch && (len(members) == 0 || time.Since(start) < maxBatchTime) && w.closing.Err() == nil {
		j := w.next()
		if j == nil {
			break
		}
		if !j.state.CompareAndSwap(jobWaiting, jobStarted) {
			continue
		}
		w.counters.queue.Add(-1)
		keep, err := w.turn(j, len(members) == 0)
		if err != nil {
			w.rollback()
			w.again(members, false)
			return
		}
		if keep {
			members = append(members, j)
		}
	}
	if err := w.commit(members); err != nil {
		w.options.Logger.Warn("could not commit a batch of writes", "functions", len(members), "error", err)
		if len(members) == 1 {
			w.finish(members[0], err)
			return
		}
		w.again(members, true)
	}
}

// again retries jobs whose transaction was lost because of others. With alone, each gets its own
// transaction, so that a failing commit identifies the cause.
func (w *writer) again(members []*job, alone bool) {
	for len(members) > 0 {
		w.retries.Add(uint64(len(members)))
		if err := w.begin(); err != nil {
			for _, j := range members {
				w.finish(j, err)
			}
			return
		}
		group := members
		if alone {
			group = members[:1]
		}
		rest := members[len(group):]
		var kept []*job
		broken := false
		for i, j := range group {
			keep, err := w.turn(j, len(kept) == 0)
			if err != nil {
				w.rollback()
				rest = append(append(kept, group[i+1:]...), rest...)
				broken = true
				break
			}
			if keep {
				kept = append(kept, j)
			}
		}
		if !broken {
			if err := w.commit(kept); err != nil {
				if len(kept) == 1 {
					w.finish(kept[0], err)
				} else {
					rest, alone = append(kept, rest...), true
				}
			}
		}
		members = rest
	}
}

// turn runs one job, the first of a transaction directly and the others inside a savepoint. keep is
// true if the outcome depends on the commit: this includes a failed job, because it may have seen
// uncommitted changes of others. lost is an error if the transaction is lost; the job that caused
// it has its result then.
func (w *writer) turn(j *job, first bool) (keep bool, lost error) {
	if !first {
		if err := w.exec("SAVEPOINT w"); err != nil {
			w.finish(j, err)
			return false, err
		}
	}
	t := &txState{lost: w.lost.Load}
	j.probe.begin()
	s := &session{engine: SQLite, conn: w.conn, tx: t, counters: &w.counters, probe: j.probe}
	j.turn <- s
	out := <-j.ran
	if err := t.finish(); err != nil && out.err == nil {
		out.err = err
	}
	if w.lost.Load() {
		if out.err == nil {
			out.err = errTxLost
		}
		w.finish(j, out.err)
		return false, out.err
	}
	failed := out.err != nil || out.aborted
	if first && failed {
		// No changes of others must stay, and it saw none.
		w.rollback()
		err := w.begin()
		w.lost.Store(err != nil)
		w.finish(j, out.err)
		return false, err
	}
	var err error
	switch {
	case failed:
		if err = w.exec("ROLLBACK TO w"); err == nil {
			err = w.exec("RELEASE w")
		}
	case !first:
		err = w.exec("RELEASE w")
	}
	switch {
	case err != nil:
		w.finish(j, errors.Join(out.err, err))
		return false, err
	case out.aborted:
		w.finish(j, nil)
		return false, nil
	}
	if j.err = out.err; j.err == nil {
		w.last = append(w.last, s.last...)
	}
	return true, nil
}

// finish ends a job that is not committed.
func (w *writer) finish(j *job, err error) {
	w.rolledBack.Add(1)
	j.result <- err
}

// refuse fails the jobs that have waited since before the failed attempt to begin a transaction.
func (w *writer) refuse(since time.Time, err error) {
	var young []*job
	for j := w.next(); j != nil; j = w.next() {
		switch {
		case j.queued.After(since):
			young = append(young, j)
		case j.state.CompareAndSwap(jobWaiting, jobStarted):
			w.counters.queue.Add(-1)
			w.finish(j, err)
		}
	}
	w.late = young
}

// begin starts a transaction that holds the write lock from the beginning, so that it cannot
// conflict with another process later.
func (w *writer) begin() error {
	if w.conn == nil {
		if err := w.connect(w.closing); err != nil {
			return err
		}
	}
	w.lost.Store(false)
	w.last = nil
	_, err := w.conn.ExecContext(w.closing, "BEGIN IMMEDIATE")
	if err == nil {
		return nil
	}
	if w.closing.Err() != nil {
		return ErrClosed
	}
	if errors.Is(Translate(err), ErrTimeout) {
		return fmt.Errorf("%w: the database is locked by another process for longer than %v: %w", ErrTimeout, w.options.LockTimeout, err)
	}
	w.disconnect()
	return err
}

// commit commits and ends the members' calls. After an error none was ended.
func (w *writer) commit(members []*job) error {
	good := 0
	for _, j := range members {
		if j.err == nil {
			good++
		}
	}
	if good == 0 {
		w.rollback()
	} else {
		err := w.insertLast()
		if err == nil {
			w.committing.Store(true)
			err = w.exec("COMMIT")
			w.committing.Store(false)
		}
		if err != nil {
			w.rollback()
			return err
		}
		w.batches.Add(1)
		w.committed.Add(uint64(good))
	}
	for _, j := range members {
		if j.err != nil {
			w.rolledBack.Add(1)
		}
		j.result <- j.err
	}
	return nil
}

// insertLast inserts the rows for the end, several per statement. They are passed directly to the
// driver: their values have its types.
func (w *writer) insertLast() error {
	if len(w.last) == 0 {
		return nil
	}
	return w.conn.Raw(func(c any) error {
		conn := c.(*preparingConn)
		for rows := w.last; len(rows) > 0; {
			same := 1
			for same < len(rows) && rows[same].head == rows[0].head && rows[same].row == rows[0].row {
				same++
			}
			n := RowsPerStatement(same)
			w.values = w.values[:0]
			for _, r := range rows[:n] {
				for _, value := range r.args {
					w.values = append(w.values, driver.NamedValue{Ordinal: len(w.values) + 1, Value: value})
				}
			}
			if _, err := conn.ExecContext(context.Background(), Rows(rows[0].head, rows[0].row, n, "", nil).text, w.values); err != nil {
				return err
			}
			w.statements.Add(1)
			rows = rows[n:]
		}
		return nil
	})
}

// rollback ends the transaction unless the engine has. If that fails, it closes the connection.
func (w *writer) rollback() {
	if w.conn == nil {
		return
	}
	if err := w.exec("ROLLBACK"); err != nil && !w.lost.Load() {
		w.options.Logger.Warn("could not roll back, reconnecting", "error", err)
		w.disconnect()
	}
}

func (w *writer) exec(statement string) error {
	_, err := w.conn.ExecContext(context.Background(), statement)
	return err
}

// connect opens the connection and installs the hooks that monitor the transaction.
func (w *writer) connect(ctx context.Context) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	w.conn = conn
	err = conn.Raw(func(c any) error {
		hooks, ok := c.(*preparingConn).sqliteConn.(sqlite.HookRegisterer)
		if !ok {
			return errors.New("the SQLite driver offers no hooks")
		}
		hooks.RegisterRollbackHook(func() { w.lost.Store(true) })
		hooks.RegisterCommitHook(func() int32 {
			if w.committing.Load() {
				return 0
			}
			return 1
		})
		return nil
	})
	if err != nil {
		w.disconnect()
	}
	return err
}

func (w *writer) disconnect() {
	if w.conn == nil {
		return
	}
	// The error makes the pool close the connection.
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = w.conn.Close()
	w.conn = nil
}

func (w *writer) stats(s *Stats) { w.counters.stats(s) }
