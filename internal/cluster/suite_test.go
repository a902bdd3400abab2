// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"os"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		runChild()
	}
	storetest.Main(cleaning{m})
}

func TestEmbedded(t *testing.T) {
	clustertest.Run(t, clustertest.Embedded, sqlite)
}

func TestExternal(t *testing.T) {
	need.Time(t)
	clustertest.Run(t, clustertest.External, sqlite)
}

func sqlite(t testing.TB) *store.DB { return storetest.SQLite(t) }

// cleaning removes the server program after the tests.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	code := c.M.Run()
	if err := clustertest.Cleanup(); err != nil {
		fmt.Fprintln(os.Stderr, "remove the NATS server program:", err)
		code = max(code, 1)
	}
	return code
}
