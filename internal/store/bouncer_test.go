// SPDX-License-Identifier: Apache-2.0

//go:build unix

package store_test

import (
	"strings"
	"testing"
	"time"

	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

// TestPgBouncer runs the suite through a PgBouncer with fewer server processes than the store has
// connections, so that each transaction may get another one.
func TestPgBouncer(t *testing.T) {
	need.Time(t)
	first := storetest.PostgreSQLURL(t)
	bouncer := storetest.StartBouncer(t, first, "default_pool_size = 40", "default_pool_size = 6")
	// The first one is empty: the store migrates it.
	options := store.Options{URL: bouncer.URL(t, first), Timeout: 30 * time.Second, LockTimeout: 30 * time.Second}
	storetest.Open(t, options)
	storetest.Run(t, func(t *testing.T) *store.DB {
		o := options
		o.URL = bouncer.URL(t, storetest.MigratedURL(t))
		return storetest.Open(t, o)
	})
}

// TestPgBouncerWithoutLimits checks that a PgBouncer is refused that would let statements and
// transactions run for ever.
func TestPgBouncerWithoutLimits(t *testing.T) {
	url := storetest.MigratedURL(t)
	for _, tt := range []struct{ name, old, new, want string }{
		{"no limits", "connect_query='SET statement_timeout = 10000; SET lock_timeout = 5000; SET idle_in_transaction_session_timeout = 20000'", "", "statement_timeout=0"},
		{"one is missing", "; SET idle_in_transaction_session_timeout = 20000", "", "idle_in_transaction_session_timeout=0"},
		{"one is too long", "SET lock_timeout = 5000", "SET lock_timeout = 5001", "lock_timeout=5001"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bouncer := storetest.StartBouncer(t, url, tt.old, tt.new)
			_, err := store.Open(t.Context(), store.Options{URL: bouncer.URL(t, url), Timeout: 10 * time.Second, LockTimeout: 5 * time.Second})
			if err == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), "connect_query='SET statement_timeout = 10000; SET lock_timeout = 5000; SET idle_in_transaction_session_timeout = 20000'") {
				t.Errorf("error is %v", err)
			}
		})
	}
	t.Run("each statement gets another connection", func(t *testing.T) {
		bouncer := storetest.StartBouncer(t, url, "pool_mode = transaction", "pool_mode = statement")
		_, err := store.Open(t.Context(), store.Options{URL: bouncer.URL(t, url)})
		if err == nil || !strings.Contains(err.Error(), "statement pooling") {
			t.Errorf("error is %v", err)
		}
	})
}
