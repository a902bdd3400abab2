// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sqldb_test

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/store/sqldb"
	"example.org/app/internal/store/storetest"
)

// TestSilentHost names a host first that accepts connections and does not answer, as a server that is paused does: the next
// host serves, and the first one is left out for a while.
func TestSilentHost(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepted atomic.Int32
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			t.Cleanup(func() { _ = conn.Close() })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); group.Wait() })
	u, err := url.Parse(storetest.MigratedURL(t))
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	query := url.Values{"host": {"127.0.0.1," + u.Query().Get("host")}, "port": {port + ",5432"}, "sslmode": {"disable"}, "target_session_attrs": {"read-write"}}
	u.RawQuery = query.Encode()
	began := time.Now()
	db := storetest.Open(t, sqldb.Options{URL: u.String(), MaxConnections: 8, Timeout: time.Minute})
	for range 4 {
		var writers sync.WaitGroup
		for range 8 {
			writers.Go(func() {
				if err := db.Write(t.Context(), raise); err != nil {
					t.Error(err)
				}
			})
		}
		writers.Wait()
	}
	took := time.Since(began)
	if value, err := db.Revision(t.Context(), "a"); err != nil || value != 32 {
		t.Errorf("the revision is %d: %v", value, err)
	}
	// One attempt, and eight at once each time that the pause is over.
	if limit := 1 + 8*int32(took/(10*time.Second)); accepted.Load() == 0 || accepted.Load() > limit {
		t.Errorf("the host that does not answer was tried %d times within %v, want %d at most", accepted.Load(), took, limit)
	}
	t.Logf("opening and writing took %v", took.Round(time.Millisecond))
}
