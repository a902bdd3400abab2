// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// A Reader runs statements that read, by the functions of this package. It is valid until the Read
// or Write function that received it returns.
type Reader interface {
	session() *session
}

// A Tx runs statements in the transaction of a Write function, which sees its own writes. The first
// failed statement ends the transaction: later statements return the same error, and Write returns
// it even if the function does not. (PostgreSQL behaves like that, so SQLite must not be more
// lenient.) To insert rows that may exist, use ON CONFLICT.
type Tx interface {
	Reader
	writes()
}

// EngineOf returns the kind of database that a Reader reads.
func EngineOf(r Reader) Engine { return r.session().engine }

// conn is the connection that runs statements.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// session is the one implementation of Reader and Tx.
type session struct {
	engine   Engine
	counters *counters
	conn     conn
	// tx is the state of the transaction, or nil.
	tx *txState
	// probe measures every statement; it may be nil.
	probe *probe
	// journal records changes; it may be nil.
	journal Journal
	// observer is the journal of the observer; it may be nil.
	observer Journal
	// unbegun reports whether BEGIN is to be sent with the first statement.
	unbegun bool
	// ending are the statements to send with the commit, and last the rows to insert right before
	// it.
	ending []queued
	last   []lastRow
	// scans limits the concurrent scans; nil means no limit.
	scans chan struct{}
	// spare runs a statement that failed on a replica, if failed says so; nil without another
	// server.
	spare  *sql.DB
	failed func(error) bool
	// counts shares counts; nil does not share.
	counts *counts
	// explain makes the session record the first statement instead of running it.
	explain *explanation
}

// An explanation is the statement that Explain found.
type explanation struct {
	text   string
	values []any
}

var errExplained = errors.New("the statement was explained, not run")

func (s *session) session() *session { return s }
func (s *session) writes()           {}

func (s *session) exec(ctx context.Context, statement SQL) (int64, error) {
	if s.unbegun {
		return s.execAll(ctx, []SQL{statement})
	}
	text, values, err := statement.render(s.engine)
	if err = s.begin(err); err != nil {
		return 0, err
	}
	s.counters.statements.Add(1)
	defer s.probe.statement(text)()
	result, err := s.conn.ExecContext(s.bound(ctx), text, values...)
	if err != nil {
		return 0, s.note(err)
	}
	changed, err := result.RowsAffected()
	return changed, s.note(err)
}

func (s *session) execAll(ctx context.Context, list []SQL) (changed int64, err error) {
	if !s.pipelined() || len(list) == 0 || len(list) == 1 && !s.unbegun {
		for _, statement := range list {
			n, err := s.exec(ctx, statement)
			if err != nil {
				return 0, err
			}
			changed += n
		}
		return changed, nil
	}
	steps := make([]step, 0, len(list))
	for _, statement := range list {
		text, values, err := statement.render(s.engine)
		if err = s.begin(err); err != nil {
			return 0, err
		}
		steps = append(steps, step{queued: queued{text, values}})
	}
	return s.send(ctx, steps)
}

// execLast runs statements whose effect the transaction does not see.
func (s *session) execLast(ctx context.Context, list []SQL) error {
	if !s.pipelined() {
		_, err := s.execAll(ctx, list)
		return err
	}
	for _, statement := range list {
		text, values, err := statement.render(s.engine)
		if err = s.begin(err); err != nil {
			return err
		}
		s.ending = append(s.ending, queued{text, values})
	}
	return nil
}

// pipelined reports whether several statements can be sent at once.
func (s *session) pipelined() bool {
	_, own := s.conn.(*sql.Conn)
	return own && s.engine == PostgreSQL && s.explain == nil
}

// queued is a statement that is sent together with others.
type queued struct {
	text   string
	values []any
}

// A step is a queued statement. If scan is not nil, it gets the rows of the result.
type step struct {
	queued
	scan func(Row) error
}

// beginSerializable begins a transaction of PostgreSQL.
const beginSerializable = "BEGIN ISOLATION LEVEL SERIALIZABLE"

// send runs statements in one round trip, after BEGIN if the transaction has not begun, and returns
// how many rows the statements without a scan changed.
func (s *session) send(ctx context.Context, steps []step) (changed int64, err error) {
	if s.unbegun {
		s.unbegun = false
		steps = slices.Insert(steps, 0, step{queued: queued{text: beginSerializable}})
	} else {
		s.counters.statements.Add(1)
	}
	s.counters.statements.Add(uint64(len(steps) - 1))
	var batch pgx.Batch
	for _, one := range steps {
		batch.Queue(one.text, one.values...)
		// They are sent together, and each takes the total time.
		defer s.probe.statement(one.text)()
	}
	var unread error
	ctx = s.bound(ctx)
	err = s.conn.(*sql.Conn).Raw(func(c any) (err error) {
		results := c.(*stdlib.Conn).Conn().SendBatch(ctx, &batch)
		defer func() { err = errors.Join(err, results.Close()) }()
		for _, one := range steps {
			if one.scan == nil {
				tag, err := results.Exec()
				if err != nil {
					return err
				}
				changed += tag.RowsAffected()
				continue
			}
			rows, err := results.Query()
			if err != nil {
				return err
			}
			for unread == nil && rows.Next() {
				unread = one.scan(rows)
			}
			rows.Close()
			if err := rows.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, s.note(err)
	}
	return changed, Translate(unread)
}

// A lastRow is a row for InsertLast.
type lastRow struct {
	head, row string
	args      []any
}

func (s *session) insertLast(r lastRow) error {
	if err := s.begin(checkValues(r.args)); err != nil {
		return err
	}
	s.last = append(s.last, r)
	return nil
}

// queryBoth runs two statements, which are sent to PostgreSQL together.
func (s *session) queryBoth(ctx context.Context, first SQL, scanFirst func(Row) error, second SQL, scanSecond func(Row) error) error {
	if !s.pipelined() {
		if err := s.query(ctx, first, scanFirst); err != nil {
			return err
		}
		return s.query(ctx, second, scanSecond)
	}
	steps := []step{{scan: scanFirst}, {scan: scanSecond}}
	for i, statement := range []SQL{first, second} {
		text, values, err := statement.render(s.engine)
		if err = s.begin(err); err != nil {
			return err
		}
		steps[i].queued = queued{text, values}
	}
	_, err := s.send(ctx, steps)
	return err
}

func (s *session) query(ctx context.Context, statement SQL, scan func(Row) error) error {
	text, values, err := statement.render(s.engine)
	if s.explain != nil && err == nil {
		if s.explain.text == "" {
			*s.explain = explanation{text, values}
		}
		return errExplained
	}
	if err = s.begin(err); err != nil {
		return err
	}
	if s.unbegun {
		_, err := s.send(ctx, []step{{queued{text, values}, scan}})
		return err
	}
	return s.queryText(ctx, text, values, scan)
}

func (s *session) queryText(ctx context.Context, text string, values []any, scan func(Row) error) (err error) {
	s.counters.statements.Add(1)
	defer s.probe.statement(text)()
	rows, err := s.conn.QueryContext(s.bound(ctx), text, values...)
	if err != nil && s.spare != nil && ctx.Err() == nil && s.failed(err) {
		rows, err = s.spare.QueryContext(ctx, text, values...)
	}
	if err != nil {
		return s.note(err)
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = s.note(closed)
		}
	}()
	row := &sqlRow{Rows: rows}
	for rows.Next() {
		if err := scan(row); err != nil {
			return Translate(err)
		}
	}
	return s.note(rows.Err())
}

// begin returns why a statement must not run, or nil: its values are invalid, or the transaction
// has failed.
func (s *session) begin(err error) error {
	if s.tx == nil {
		return err
	}
	return s.tx.begin(err)
}

// note translates an error of a statement and ends the transaction.
func (s *session) note(err error) error {
	if err == nil {
		return nil
	}
	err = Translate(err)
	if s.tx != nil {
		s.tx.fail(err)
	}
	return err
}

// bound returns the context of a statement. One that never ends is replaced by that of the
// transaction.
func (s *session) bound(ctx context.Context) context.Context {
	if s.tx != nil && ctx.Done() == nil {
		return s.tx.ctx
	}
	return ctx
}

// txState is the state of a transaction during one function call.
type txState struct {
	// ctx bounds statements that the function runs with a context that never ends.
	ctx context.Context
	// lost reports whether the engine has aborted the transaction; nil if the engine itself refuses
	// statements from then on.
	lost func() bool

	mu  sync.Mutex
	err error
}

var (
	errTxOver = errors.New("the transaction is over: a Tx must not be used after its function returned")
	errTxLost = errors.New("the transaction was rolled back by the database")
)

// finish invalidates the Tx and returns the error of the first failed statement.
func (t *txState) finish() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.err
	t.err = errTxOver
	return err
}

func (t *txState) begin(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.err != nil:
	case t.lost != nil && t.lost():
		// Without transaction, a statement would be committed on its own.
		t.err = errTxLost
	default:
		t.err = err
	}
	return t.err
}

func (t *txState) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}

var _ Tx = (*session)(nil)
