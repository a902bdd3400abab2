// SPDX-License-Identifier: Apache-2.0

package store

import (
	"container/list"
	"context"
	"database/sql"
	"sync"
)

const (
	// maxStatements bounds how many statements stay compiled.
	maxStatements = 256
	// maxLiftedLength is the length from which a statement is run as it is: to compile a bulk statement takes little
	// beside what it does, and its text hardly comes again.
	maxLiftedLength = 4096
)

// statementCache keeps the statements of one connection compiled, those that were used last. To compile a small statement
// takes several times as long as to run it. A result must be closed before its statement is used again.
type statementCache struct {
	conn *sql.Conn

	mu     sync.Mutex
	byText map[string]*list.Element
	recent *list.List // of cachedStatement, the one used last first
}

type cachedStatement struct {
	text      string
	statement *sql.Stmt
}

func newStatementCache(conn *sql.Conn) *statementCache {
	return &statementCache{conn: conn, byText: map[string]*list.Element{}, recent: list.New()}
}

// get returns a statement that does what the query says, and its arguments. It is nil for a query that is better run as
// it is. Values that stand in a query without arguments become arguments.
func (c *statementCache) get(ctx context.Context, query string, args []any) (*sql.Stmt, []any, error) {
	if c == nil || len(query) > maxLiftedLength {
		return nil, nil, nil
	}
	text := query
	if len(args) == 0 {
		var ok bool
		if text, args, ok = liftLiterals(query); !ok {
			return nil, nil, nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.byText[text]; ok {
		c.recent.MoveToFront(found)
		return found.Value.(cachedStatement).statement, args, nil
	}
	statement, err := c.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	c.byText[text] = c.recent.PushFront(cachedStatement{text, statement})
	if c.recent.Len() > maxStatements {
		oldest := c.recent.Remove(c.recent.Back()).(cachedStatement)
		delete(c.byText, oldest.text)
		_ = oldest.statement.Close()
	}
	return statement, args, nil
}

// close gives back what is compiled.
func (c *statementCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for element := c.recent.Front(); element != nil; element = element.Next() {
		_ = element.Value.(cachedStatement).statement.Close()
	}
	clear(c.byText)
	c.recent.Init()
}
