// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// execModeParameter is the URL parameter for how the driver runs statements.
const execModeParameter = "default_query_exec_mode"

// A sessionLimit is a PostgreSQL setting that limits statements and transactions of a connection.
type sessionLimit struct {
	name   string
	millis int64
}

// sessionLimits returns the limits of connections.
func sessionLimits(o Options) []sessionLimit {
	return []sessionLimit{
		{"statement_timeout", milliseconds(o.Timeout)},
		{"lock_timeout", milliseconds(o.LockTimeout)},
		{"idle_in_transaction_session_timeout", 2 * milliseconds(o.Timeout)},
	}
}

// limitSessions adds the limits to the configuration of the connections, as startup parameters. A
// pooler such as PgBouncer gives a client another server process for each transaction and refuses
// or drops such settings: its server processes must have the limits already, which is checked. Then
// statements are not prepared by name, because the next server process does not know the name.
func limitSessions(ctx context.Context, config *pgx.ConnConfig, o Options) error {
	setup := config.Copy()
	setup.DefaultQueryExecMode = pgx.QueryExecModeExec
	pooled, found, err := inspectSession(ctx, setup)
	if err != nil {
		return err
	}
	if !pooled {
		for _, limit := range sessionLimits(o) {
			config.RuntimeParams[limit.name] = strconv.FormatInt(limit.millis, 10)
		}
		return nil
	}
	if !namesExecMode(o.URL) {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	for _, limit := range sessionLimits(o) {
		if is := found[limit.name]; is <= 0 || is > limit.millis {
			return fmt.Errorf("a pooler such as PgBouncer is in between, whose sessions have %s=%d: set connect_query='%s' in its [databases], see docs/deployment.md#pgbouncer",
				limit.name, is, connectQuery(o))
		}
	}
	o.Logger.InfoContext(ctx, "a pooler stands before the database: statements are not prepared by name")
	return nil
}

// connectQuery sets the limits of a server process of a pooler.
func connectQuery(o Options) string {
	var list []string
	for _, limit := range sessionLimits(o) {
		list = append(list, fmt.Sprintf("SET %s = %d", limit.name, limit.millis))
	}
	return strings.Join(list, "; ")
}

// namesExecMode reports whether the URL defines how to run statements. Some poolers support
// prepared statements.
func namesExecMode(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && parsed.Query().Has(execModeParameter)
}

// inspectSession reports whether there is a pooler and which limits its sessions have. A pooler
// invents the process number for a client, which has no server process of its own.
func inspectSession(ctx context.Context, config *pgx.ConnConfig) (pooled bool, limits map[string]int64, err error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	// A pooler in statement mode refuses this.
	tx, err := conn.Begin(ctx)
	if err != nil {
		return false, nil, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	var process uint32
	if err := tx.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&process); err != nil {
		return false, nil, err
	}
	if process == conn.PgConn().PID() {
		return false, nil, nil
	}
	rows, err := tx.Query(ctx, "SELECT name, setting FROM pg_settings WHERE name LIKE '%\\_timeout' AND unit = 'ms'")
	if err != nil {
		return false, nil, err
	}
	limits = map[string]int64{}
	var name, text string
	_, err = pgx.ForEachRow(rows, []any{&name, &text}, func() (err error) {
		limits[name], err = strconv.ParseInt(text, 10, 64)
		return err
	})
	return true, limits, err
}

// unlimitedConnector opens connections whose transactions have no time-outs, whatever the limits of
// the session are.
type unlimitedConnector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c unlimitedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return unlimitedConn{conn.(*stdlib.Conn)}, nil
}

type unlimitedConn struct{ *stdlib.Conn }

// BeginTx implements driver.ConnBeginTx.
func (c unlimitedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, limit := range sessionLimits(Options{}) {
		list = append(list, "SET LOCAL "+limit.name+" = 0")
	}
	if _, err := c.Conn.Conn().Exec(ctx, strings.Join(list, "; ")); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}
