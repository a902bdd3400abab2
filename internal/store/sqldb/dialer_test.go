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
	"example.org/app/test/need"
)

// TestSilentHost uses a first host that accepts connections and does not answer, like a paused
// server: the next host serves, and the first one is skipped for a while.
func TestSilentHost(t *testing.T) {
	need.Time(t)
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

// TestSilentHosts checks that an unresponsive host is skipped only while another one answers: if
// all are silent, the next attempt finds the first that answers again.
func TestSilentHosts(t *testing.T) {
	var hosts [2]net.Listener
	var group sync.WaitGroup
	answering := new(atomic.Pointer[net.Listener])
	for i := range hosts {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		hosts[i] = listener
		group.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				if now := answering.Load(); now != nil && *now == listener {
					_, _ = conn.Write([]byte("N"))
				}
				t.Cleanup(func() { _ = conn.Close() })
			}
		})
	}
	t.Cleanup(func() { _, _ = hosts[0].Close(), hosts[1].Close(); group.Wait() })
	a, b := hosts[0].Addr().String(), hosts[1].Addr().String()
	dial, err := sqldb.Dialer("postgres://app@" + a + "," + b + "/app")
	if err != nil {
		t.Fatal(err)
	}
	// try dials a host, waits for its answer if one is expected, and returns whether it was
	// skipped.
	try := func(address string, answers bool) (leftOut bool) {
		t.Helper()
		conn, err := dial(t.Context(), "tcp", address)
		if err != nil {
			return true
		}
		if answers {
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		return false
	}
	for round := range 3 {
		if try(a, false) || try(b, false) {
			t.Fatalf("attempt %d: a host was left out although no other one answers", round)
		}
	}
	answering.Store(&hosts[1])
	if try(a, false) || try(b, true) {
		t.Error("a host was left out before another one has answered")
	}
	if !try(a, false) {
		t.Error("a host that did not answer was tried although another one answers")
	}
	if try(b, true) {
		t.Error("the host that answers was left out")
	}
	// The one that answered refuses connections now.
	if err := hosts[1].Close(); err != nil {
		t.Fatal(err)
	}
	if !try(b, false) {
		t.Error("a closed port accepted a connection")
	}
	if try(a, false) {
		t.Error("a host was left out although the other one refuses connections")
	}
}
