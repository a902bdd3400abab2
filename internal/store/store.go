// SPDX-License-Identifier: Apache-2.0

// Package store keeps the data of the server in SQL: one schema and one set of functions over two
// engines, an embedded SQLite file or a PostgreSQL server. It contains the repositories, which are
// plain functions over plain structs; package sqldb opens the database and runs their statements.
//
// It contains no rules: permissions, valid values and consequences of a change are decided by the
// callers. Package storetest has the suite that both engines must pass.
package store

import (
	"context"

	"example.org/app/internal/store/sqldb"
)

// The database as callers see it. DB.Read and DB.Write pass a Reader or a Tx to their functions,
// for use with the functions of this package; nobody else can run statements with them.
type (
	DB                = sqldb.DB
	Engine            = sqldb.Engine
	Options           = sqldb.Options
	Pool              = sqldb.Pool
	Reader            = sqldb.Reader
	ReplicaState      = sqldb.ReplicaState
	Stats             = sqldb.Stats
	Tx                = sqldb.Tx
	WriteFunc         = sqldb.WriteFunc
	Writer            = sqldb.Writer
	DuplicateKeyError = sqldb.DuplicateKeyError
	NewerError        = sqldb.NewerError
)

// A Key is a value that rows can be looked for by.
type Key interface{ sqldb.Key }

// The engines.
const (
	SQLite     = sqldb.SQLite
	PostgreSQL = sqldb.PostgreSQL
)

// Defaults of the Options that are zero.
const (
	DefaultMaxConnections = sqldb.DefaultMaxConnections
	DefaultTimeout        = sqldb.DefaultTimeout
	DefaultLockTimeout    = sqldb.DefaultLockTimeout
)

// Errors; see package sqldb.
var (
	ErrDuplicateKey   = sqldb.ErrDuplicateKey
	ErrForeignKey     = sqldb.ErrForeignKey
	ErrInvalidValue   = sqldb.ErrInvalidValue
	ErrTimeout        = sqldb.ErrTimeout
	ErrNotFound       = sqldb.ErrNotFound
	ErrClosed         = sqldb.ErrClosed
	ErrUnavailable    = sqldb.ErrUnavailable
	ErrOutcomeUnknown = sqldb.ErrOutcomeUnknown
	ErrNested         = sqldb.ErrNested
)

// Open connects to the database and brings the schema to the newest version; see sqldb.Open.
func Open(ctx context.Context, o Options) (*DB, error) { return sqldb.Open(ctx, o) }

// Journaled reports whether the Write functions of a context keep a journal; see sqldb.Journaled.
func Journaled(ctx context.Context) bool { return sqldb.Journaled(ctx) }

// WithReplica returns a context whose reads a replica may serve; see sqldb.WithReplica.
func WithReplica(ctx context.Context) context.Context { return sqldb.WithReplica(ctx) }

// RevisionAdmin is the revision of the administrators and their roles.
const RevisionAdmin = "admin"

// BumpRevision increments the named counter in the transaction of a change; see sqldb.BumpRevision.
func BumpRevision(ctx context.Context, tx Tx, name string) error {
	return sqldb.BumpRevision(ctx, tx, name)
}
