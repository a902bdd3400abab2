// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"container/list"
	"context"
	"database/sql/driver"
)

const (
	// maxPrepared is the maximum number of prepared statements per connection.
	maxPrepared = 256
	// maxPreparedLength bounds the length of their texts.
	maxPreparedLength = 16 << 10
)

// preparingConnector opens connections that cache prepared statements, as the PostgreSQL driver
// does itself. Preparing a small statement takes several times as long as running it.
type preparingConnector struct{ driver.Connector }

// sqliteConn are the methods of the driver's connections.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

func (c preparingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &preparingConn{sqliteConn: conn.(sqliteConn), byText: map[string]*list.Element{}, recent: list.New()}, nil
}

// preparingConn is a connection with a cache of prepared statements. Like every connection it is
// used by one goroutine at a time. The rows of a statement must be closed before the same statement
// runs again.
type preparingConn struct {
	sqliteConn
	byText map[string]*list.Element
	recent *list.List // of prepared, the most recently used first
}

type prepared struct {
	text      string
	statement sqliteStatement
}

type sqliteStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// prepare returns a prepared statement, or nil if its text is too long for the cache.
func (c *preparingConn) prepare(ctx context.Context, text string) (sqliteStatement, error) {
	if found, ok := c.byText[text]; ok {
		c.recent.MoveToFront(found)
		return found.Value.(prepared).statement, nil
	}
	if len(text) > maxPreparedLength {
		return nil, nil
	}
	made, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	statement := made.(sqliteStatement)
	c.byText[text] = c.recent.PushFront(prepared{text, statement})
	if c.recent.Len() > maxPrepared {
		oldest := c.recent.Remove(c.recent.Back()).(prepared)
		delete(c.byText, oldest.text)
		_ = oldest.statement.Close()
	}
	return statement, nil
}

func (c *preparingConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	statement, err := c.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if statement == nil {
		return c.sqliteConn.ExecContext(ctx, text, args)
	}
	return statement.ExecContext(ctx, args)
}

func (c *preparingConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	statement, err := c.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if statement == nil {
		return c.sqliteConn.QueryContext(ctx, text, args)
	}
	return statement.QueryContext(ctx, args)
}

func (c *preparingConn) Close() error {
	for element := c.recent.Front(); element != nil; element = element.Next() {
		_ = element.Value.(prepared).statement.Close()
	}
	clear(c.byText)
	c.recent.Init()
	return c.sqliteConn.Close()
}
