// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"os"
	"testing"

	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childVariable); url != "" {
		writeUntilKilled(url)
	}
	storetest.Main(m)
}

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.DB { return storetest.SQLite(t) })
}

func TestPostgreSQL(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.DB { return storetest.PostgreSQL(t) })
}
