// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"path/filepath"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// BenchmarkStart starts and stops a server with both roles on an existing database.
func BenchmarkStart(b *testing.B) {
	database := "app.store.url=sqlite:" + filepath.Join(b.TempDir(), "app.db")
	start := func() { apptest.Start(b, role.All, database).Stop() }
	start()
	for b.Loop() {
		start()
	}
}
