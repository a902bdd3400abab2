// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/uptrace/bun"
)

// A Reader builds queries that read. It belongs to the function that Read or Write handed it to and is of no use after
// that function has returned.
type Reader interface {
	Engine() Engine
	NewSelect() *bun.SelectQuery
}

// A Tx builds queries inside the transaction of a Write function. It reads what the function itself wrote. The first
// statement that fails ends the transaction: later statements return the same error, and Write returns it even when
// the function does not. (PostgreSQL is like that, so SQLite must not be more lenient.) To insert what may exist, say
// so in the statement: ON CONFLICT. The rows of a query must be closed before the next statement.
type Tx interface {
	Reader
	NewInsert() *bun.InsertQuery
	NewUpdate() *bun.UpdateQuery
	NewDelete() *bun.DeleteQuery
	NewRaw(query string, args ...any) *bun.RawQuery
}

// queries is the one implementation of Reader and Tx.
type queries struct {
	bun    *bun.DB
	conn   bun.IConn
	engine Engine
}

func (q queries) Engine() Engine              { return q.engine }
func (q queries) NewSelect() *bun.SelectQuery { return q.bun.NewSelect().Conn(q.conn) }
func (q queries) NewInsert() *bun.InsertQuery { return q.bun.NewInsert().Conn(q.conn) }
func (q queries) NewUpdate() *bun.UpdateQuery { return q.bun.NewUpdate().Conn(q.conn) }
func (q queries) NewDelete() *bun.DeleteQuery { return q.bun.NewDelete().Conn(q.conn) }
func (q queries) NewRaw(query string, args ...any) *bun.RawQuery {
	return q.bun.NewRaw(query, args...).Conn(q.conn)
}

// readConn is what a Reader's queries run on: it checks and translates.
type readConn struct {
	db    *sql.DB
	probe *probe
}

func (c readConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := checkText(query); err != nil {
		return nil, err
	}
	defer c.probe.statement(query)()
	result, err := c.db.ExecContext(ctx, query, args...)
	return result, translate(err)
}

func (c readConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := checkText(query); err != nil {
		return nil, err
	}
	defer c.probe.statement(query)()
	rows, err := c.db.QueryContext(ctx, query, args...)
	return rows, translate(err)
}

func (c readConn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := checkText(query); err != nil {
		return c.db.QueryRowContext(failedContext{ctx, err}, query, args...)
	}
	defer c.probe.statement(query)()
	return c.db.QueryRowContext(ctx, query, args...)
}

// txConn is what a Tx's queries run on: one connection inside a transaction, for the time of one function call.
type txConn struct {
	conn *sql.Conn
	// ctx bounds statements that the function runs with a context that never ends.
	ctx context.Context
	// lost reports whether the engine has given up the transaction; nil where the engine itself refuses statements
	// from then on.
	lost func() bool
	// statements has statements that are compiled already; nil where the driver keeps them itself.
	statements *statementCache
	probe      *probe

	mu  sync.Mutex
	err error
}

var (
	errTxOver = errors.New("the transaction is over: a Tx must not be used after its function returned")
	errTxLost = errors.New("the transaction was rolled back by the database")
)

// finish makes the Tx useless and returns the error of the first statement that failed.
func (c *txConn) finish() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.err
	c.err = errTxOver
	return err
}

func (c *txConn) check(query string, args []any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if c.lost != nil && c.lost() {
		// A statement now would be a transaction of its own.
		c.err = errTxLost
		return c.err
	}
	c.err = checkText(query)
	for _, arg := range args {
		if text, ok := arg.(string); ok && c.err == nil {
			c.err = checkText(text)
		}
	}
	return c.err
}

func (c *txConn) note(err error) error {
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = translate(err)
	}
	return translate(err)
}

func (c *txConn) bound(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return c.ctx
	}
	return ctx
}

func (c *txConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := c.check(query, args); err != nil {
		return nil, err
	}
	defer c.probe.statement(query)()
	result, err := c.exec(c.bound(ctx), query, args)
	return result, c.note(err)
}

func (c *txConn) exec(ctx context.Context, query string, args []any) (sql.Result, error) {
	statement, lifted, err := c.statements.get(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if statement == nil {
		return c.conn.ExecContext(ctx, query, args...)
	}
	return statement.ExecContext(ctx, lifted...)
}

func (c *txConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := c.check(query, args); err != nil {
		return nil, err
	}
	defer c.probe.statement(query)()
	rows, err := c.query(c.bound(ctx), query, args)
	return rows, c.note(err)
}

func (c *txConn) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	statement, lifted, err := c.statements.get(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if statement == nil {
		return c.conn.QueryContext(ctx, query, args...)
	}
	return statement.QueryContext(ctx, lifted...)
}

func (c *txConn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := c.check(query, args); err != nil {
		return c.conn.QueryRowContext(failedContext{ctx, err}, query, args...)
	}
	defer c.probe.statement(query)()
	row := c.conn.QueryRowContext(c.bound(ctx), query, args...)
	_ = c.note(row.Err())
	return row
}

// failedContext is a context that has ended with err. A sql.Row cannot be made from an error in any other way.
type failedContext struct {
	context.Context
	err error
}

var endedChannel = func() chan struct{} {
	ended := make(chan struct{})
	close(ended)
	return ended
}()

func (failedContext) Done() <-chan struct{} { return endedChannel }
func (c failedContext) Err() error          { return c.err }

var (
	_ Tx        = queries{}
	_ bun.IConn = readConn{}
	_ bun.IConn = (*txConn)(nil)
)
