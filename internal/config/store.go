// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path/filepath"
	"strings"

	"example.org/app/internal/config/property"
)

// Store says where the data is and how patient the server is with it.
type Store struct {
	URL                 property.Secret `default:"sqlite:data/app.db" hidden:"true" required:"true" doc:"The database: sqlite:<file> for the embedded engine, or postgres://user:password@host/database."`
	MaxConnections      int32           `default:"10" min:"1" doc:"The maximum number of connections to PostgreSQL. The default for a process that is only a gateway is 2. The embedded engine ignores it."`
	ReplicaURL          property.Secret `hidden:"true" doc:"A PostgreSQL server that follows that of url, for queries and statistics of administrators; empty means none."`
	MaxReplicaLagMillis int32           `default:"1000" min:"1" doc:"The maximum time for which a query waits for the replica to catch up, and the maximum replication lag; beyond it the primary serves the queries."`
	TimeoutMillis       int32           `default:"10000" min:"1" doc:"The time limit of a statement or transaction."`
	LockTimeoutMillis   int32           `default:"5000" min:"1" doc:"The time for which a start waits for a database that another process has locked or is migrating."`
}

// sqliteScheme is the prefix of the URLs of the embedded engine.
const sqliteScheme = "sqlite:"

// ResolvePaths makes the file of the embedded engine absolute, so that the
// database does not depend on the directory in which the server was started.
func (s *Store) ResolvePaths(home string) {
	file, ok := strings.CutPrefix(s.URL.Reveal(), sqliteScheme)
	if !ok {
		return
	}
	file, query, hasQuery := strings.Cut(file, "?")
	if file == "" || strings.HasPrefix(file, ":") || strings.HasPrefix(file, "file:") || strings.HasPrefix(file, "//") {
		return
	}
	file = filepath.ToSlash(property.ResolvePath(home, file))
	if hasQuery {
		file += "?" + query
	}
	s.URL = property.Secret(sqliteScheme + file)
}

var _ property.PathResolver = (*Store)(nil)
