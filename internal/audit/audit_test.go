// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/audit"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// childVariable makes the test binary a program that writes to the database it names.
const childVariable = "APP_AUDIT_TEST_CHILD"

func TestMain(m *testing.M) {
	if url := os.Getenv(childVariable); url != "" {
		writeUntilKilled(url)
	}
	storetest.Main(m)
}

var lastID atomic.Int64

func newTrail(db *store.DB, change ...func(*audit.Options)) *audit.Trail {
	o := audit.Options{Store: db, NextID: func() int64 { return lastID.Add(1) }, NodeID: "node1", MaxChangeBytes: 16 << 10, MaxRefusedPerMinute: 100}
	for _, f := range change {
		f(&o)
	}
	return audit.New(o)
}

func onBothEngines(t *testing.T, test func(*testing.T, *store.DB)) {
	t.Run("SQLite", func(t *testing.T) { test(t, storetest.SQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, storetest.PostgreSQL(t)) })
}

// createUser creates a user as an administrator would, and ends the entry as the interface would.
func createUser(ctx context.Context, trail *audit.Trail, db *store.DB, id int64, at time.Time, more ...store.WriteFunc) error {
	admin := int64(0)
	ctx, entry := trail.Begin(ctx, audit.Act{
		Date: at, AdminID: &admin, LoginName: "app", RequestID: strconv.FormatInt(id, 10), Operation: "createUser", Remote: netip.MustParseAddr("192.0.2.1"),
	})
	err := db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := store.InsertUsers(ctx, tx, store.User{ID: id, Name: "n"}); err != nil {
			return err
		}
		for _, f := range more {
			if err := f(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	result := audit.Result{Code: 1000, Status: 200}
	if err != nil {
		result = audit.Result{Code: 1200, Status: 500, Reason: err.Error()}
	}
	entry.End(ctx, result)
	return err
}

func mustCreate(t *testing.T, trail *audit.Trail, db *store.DB, from, to int64, at time.Time) {
	t.Helper()
	for id := from; id <= to; id++ {
		if err := createUser(t.Context(), trail, db, id, at); err != nil {
			t.Fatal(err)
		}
	}
}

func seal(t *testing.T, trail *audit.Trail, want int64) {
	t.Helper()
	if n, err := trail.Seal(t.Context()); err != nil || n != want {
		t.Fatalf("sealed %d rows, want %d: %v", n, want, err)
	}
}

func exec1(t *testing.T, db *store.DB, statement string, args ...any) {
	t.Helper()
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return storetest.Exec(ctx, tx, statement, args...) })
	if err != nil {
		t.Fatal(err)
	}
}

func rows(t *testing.T, trail *audit.Trail) []store.AuditRecord {
	t.Helper()
	found, err := trail.Find(t.Context(), store.AuditFilter{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestRollback checks that a row is there if and only if its change is.
func TestRollback(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		trail := newTrail(db)
		now := time.Now()
		mustCreate(t, trail, db, 1, 1, now)
		failure := errors.New("no")
		if err := createUser(t.Context(), trail, db, 2, now, func(context.Context, store.Tx) error { return failure }); !errors.Is(err, failure) {
			t.Fatal(err)
		}
		if err := createUser(t.Context(), trail, db, 1, now); !errors.Is(err, store.ErrDuplicateKey) {
			t.Fatal(err)
		}
		found := rows(t, trail)
		if len(found) != 1 || found[0].Outcome != audit.Done || found[0].TargetIDs[0] != "1" || !strings.Contains(*found[0].Changes, `"record":"user","action":"CREATE","key":{"id":1}`) {
			t.Errorf("rows %+v", found)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := trail.Run(ctx); err != nil { // It stores the rows of what failed.
			t.Fatal(err)
		}
		if found := rows(t, trail); len(found) != 3 || found[0].Outcome != audit.Failed || found[0].Changes != nil {
			t.Errorf("rows %+v", found)
		}
	})
}

// TestTampering changes the trail behind its back.
func TestTampering(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		trail := newTrail(db)
		mustCreate(t, trail, db, 1, 10, time.Now())
		report, err := audit.Verify(t.Context(), db, nil)
		if err != nil || report.Sealed != 0 || report.Unsealed != 10 {
			t.Fatalf("%+v, %v", report, err)
		}
		seal(t, trail, 10)
		seal(t, trail, 0)
		if report, err = audit.Verify(t.Context(), db, nil); err != nil || report.Sealed != 10 || report.Unsealed != 0 || report.Head.Sequence != 10 {
			t.Fatalf("%+v, %v", report, err)
		}
		kept, err := audit.ParseHead(report.Head.String())
		if err != nil {
			t.Fatal(err)
		}
		mustCreate(t, trail, db, 11, 12, time.Now())
		seal(t, trail, 2)
		if _, err := audit.Verify(t.Context(), db, &kept); err != nil {
			t.Fatal(err)
		}
		// Each is undone by its second half.
		for _, c := range []struct {
			name         string
			change, undo []string
			sequence     int64
		}{
			{
				"changed",
				[]string{"UPDATE audit SET login_name = 'eve' WHERE sequence = 4"},
				[]string{"UPDATE audit SET login_name = 'app' WHERE sequence = 4"},
				4,
			},
			{"another outcome", []string{"UPDATE audit SET outcome = 'REFUSED' WHERE sequence = 1"}, []string{"UPDATE audit SET outcome = 'DONE' WHERE sequence = 1"}, 1},
			{"changed values", []string{"UPDATE audit SET changes = '[]' || changes WHERE sequence = 12"}, []string{"UPDATE audit SET changes = substr(changes, 3) WHERE sequence = 12"}, 12},
			{"another date", []string{"UPDATE audit SET record_date = record_date + 1 WHERE sequence = 7"}, []string{"UPDATE audit SET record_date = record_date - 1 WHERE sequence = 7"}, 7},
			{
				"swapped",
				[]string{"UPDATE audit SET sequence = -1 WHERE sequence = 5", "UPDATE audit SET sequence = 5 WHERE sequence = 6", "UPDATE audit SET sequence = 6 WHERE sequence = -1"},
				[]string{"UPDATE audit SET sequence = -1 WHERE sequence = 5", "UPDATE audit SET sequence = 5 WHERE sequence = 6", "UPDATE audit SET sequence = 6 WHERE sequence = -1"},
				5,
			},
			{"taken out", []string{"UPDATE audit SET sequence = NULL WHERE sequence = 3"}, []string{"UPDATE audit SET sequence = 3 WHERE sequence IS NULL"}, 3},
			{"cut off", []string{"UPDATE audit SET sequence = NULL WHERE sequence = 12"}, []string{"UPDATE audit SET sequence = 12 WHERE sequence IS NULL"}, 12},
			{"the end forgotten", []string{"UPDATE audit_chain SET sequence = 11"}, []string{"UPDATE audit_chain SET sequence = 12"}, 13},
		} {
			for _, s := range c.change {
				exec1(t, db, s)
			}
			_, err := audit.Verify(t.Context(), db, nil)
			var broken *audit.BrokenError
			if !errors.As(err, &broken) || broken.Sequence != c.sequence {
				t.Errorf("%s: %v, want a break at %d", c.name, err, c.sequence)
			}
			for _, s := range c.undo {
				exec1(t, db, s)
			}
			if _, err := audit.Verify(t.Context(), db, &kept); err != nil {
				t.Fatalf("after %s: %v", c.name, err)
			}
		}
		exec1(t, db, "DELETE FROM audit WHERE sequence = 8")
		_, err = audit.Verify(t.Context(), db, nil)
		if broken, ok := errors.AsType[*audit.BrokenError](err); !ok || broken.Sequence != 8 {
			t.Errorf("removed: %v", err)
		}
		// Whoever seals the rest anew is found by what somebody kept.
		exec1(t, db, "UPDATE audit SET sequence = NULL, hash = NULL")
		exec1(t, db, "DELETE FROM audit_chain")
		seal(t, trail, 11)
		if _, err := audit.Verify(t.Context(), db, nil); err != nil {
			t.Fatal(err)
		}
		_, err = audit.Verify(t.Context(), db, &kept)
		if broken, ok := errors.AsType[*audit.BrokenError](err); !ok || broken.Sequence != 10 {
			t.Errorf("sealed anew: %v", err)
		}
	})
}

// TestRetention removes old rows, and the rest still is a chain.
func TestRetention(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		now := time.Now()
		trail := newTrail(db, func(o *audit.Options) { o.Retention = 24 * time.Hour })
		mustCreate(t, trail, db, 1, 5, now.Add(-48*time.Hour))
		if n, err := trail.Remove(t.Context()); err != nil || n != 0 {
			t.Errorf("%d rows that are not sealed were removed: %v", n, err)
		}
		seal(t, trail, 5)
		old, err := audit.Verify(t.Context(), db, nil)
		if err != nil {
			t.Fatal(err)
		}
		mustCreate(t, trail, db, 6, 8, now)
		seal(t, trail, 3)
		if n, err := trail.Remove(t.Context()); err != nil || n != 5 {
			t.Errorf("%d rows were removed: %v", n, err)
		}
		report, err := audit.Verify(t.Context(), db, nil)
		if err != nil || report.Sealed != 3 || report.Removed != 5 || report.Head.Sequence != 8 {
			t.Errorf("%+v, %v", report, err)
		}
		if _, err := audit.Verify(t.Context(), db, &old.Head); err != nil {
			t.Errorf("the head of the last removed row: %v", err)
		}
		if n, err := trail.Remove(t.Context()); err != nil || n != 0 {
			t.Errorf("%d rows were removed: %v", n, err)
		}
		exec1(t, db, "DELETE FROM audit WHERE sequence = 6")
		if _, err := audit.Verify(t.Context(), db, nil); err == nil {
			t.Error("a row after the removed ones is missing, and nobody noticed")
		}
	})
}

// TestTwoNodes writes and seals on two nodes at once.
func TestTwoNodes(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		const each = 60
		var group sync.WaitGroup
		stop := make(chan struct{})
		var sealers sync.WaitGroup
		for node := range 2 {
			trail := newTrail(db, func(o *audit.Options) { o.NodeID = fmt.Sprint(node) })
			for writer := range 3 {
				group.Go(func() {
					for i := range int64(each) {
						if err := createUser(t.Context(), trail, db, int64(node*1000+writer*100)+i+1, time.Now()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			sealers.Go(func() {
				for {
					if _, err := trail.Seal(t.Context()); err != nil {
						t.Error(err)
						return
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		group.Wait()
		close(stop)
		sealers.Wait()
		if _, err := newTrail(db).Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		report, err := audit.Verify(t.Context(), db, nil)
		if err != nil || report.Sealed != 6*each || report.Unsealed != 0 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

// TestFlood is refused a thousand times, and the table grows by a few rows.
func TestFlood(t *testing.T) {
	db := storetest.SQLite(t)
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	trail := newTrail(db, func(o *audit.Options) { o.Now = func() time.Time { return time.Unix(0, now.Load()) } })
	refuse := func(n int, admin *int64, ip string) {
		for range n {
			_, entry := trail.Begin(t.Context(), audit.Act{Date: time.Now(), AdminID: admin, Operation: "createUser", Remote: netip.MustParseAddr(ip)})
			entry.End(t.Context(), audit.Result{Code: 1300, Status: 401, Reason: "no"})
		}
	}
	refuse(1000, nil, "192.0.2.1")
	refuse(3, nil, "192.0.2.2")
	refuse(2000, new(int64(5)), "192.0.2.3")
	now.Add(int64(time.Minute))
	refuse(1, nil, "192.0.2.1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := trail.Run(ctx); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, r := range rows(t, trail) {
		if r.Operation == audit.OperationSummary {
			// 100 rows a minute: 10 for the first address, 3, and the rest for the administrator.
			if !strings.Contains(*r.Params, `"count":2903`) || !strings.Contains(*r.Params, `{"address":"192.0.2.1","count":990}`) {
				t.Errorf("summary %s", *r.Params)
			}
			counts["summary"]++
			continue
		}
		counts[r.IP.String()]++
	}
	if want := "map[192.0.2.1:11 192.0.2.2:3 192.0.2.3:87 summary:1]"; fmt.Sprint(counts) != want {
		t.Errorf("rows %v, want %s", counts, want)
	}
}

// TestQueueWaitsForStore checks that nobody who is refused waits for a store that does not answer.
func TestQueueWaitsForStore(t *testing.T) {
	db := storetest.SQLite(t)
	trail := newTrail(db)
	held, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- db.Write(t.Context(), func(context.Context, store.Tx) error {
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	_, entry := trail.Begin(t.Context(), audit.Act{Date: time.Now(), Operation: "createUser"})
	entry.End(t.Context(), audit.Result{Code: 1300, Status: 401}) // It would hang here.
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := trail.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(rows(t, trail)); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// TestSummaryByTime checks that the summary of a flood comes without another refusal.
func TestSummaryByTime(t *testing.T) {
	db := storetest.SQLite(t)
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	trail := newTrail(db, func(o *audit.Options) {
		o.MaxRefusedPerMinute = 1
		o.Now = func() time.Time { return time.Unix(0, now.Load()) }
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- trail.Run(ctx) }()
	for range 5 {
		_, entry := trail.Begin(t.Context(), audit.Act{Date: time.Now(), Operation: "createUser"})
		entry.End(t.Context(), audit.Result{Code: 1300, Status: 401})
	}
	now.Add(int64(2 * time.Minute))
	for deadline := time.Now().Add(time.Minute); len(rows(t, trail)) != 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("rows %+v", rows(t, trail))
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// writeUntilKilled creates users and prints the id of each once that is acknowledged.
func writeUntilKilled(url string) {
	db, err := store.Open(context.Background(), store.Options{URL: url})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	trail := newTrail(db)
	var group sync.WaitGroup
	for writer := range 8 {
		group.Go(func() {
			for id := int64(writer)<<32 + 1; ; id++ {
				if err := createUser(context.Background(), trail, db, id, time.Now()); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Println(id) //nolint:forbidigo // The parent reads it.
			}
		})
	}
	group.Go(func() {
		for {
			if _, err := trail.Seal(context.Background()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	})
	group.Wait()
}

// TestKill kills a process that writes: every change has its row, every row its change, and the chain is whole.
func TestKill(t *testing.T) {
	url := storetest.SQLiteURL(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+url)
	child.Stderr = os.Stderr
	output, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if acknowledged++; acknowledged == 300 {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = child.Wait()
	db := storetest.Open(t, store.Options{URL: url})
	var users, matched int
	err = db.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
		if err := storetest.First(ctx, r, "SELECT count(*) FROM user_account", &users); err != nil {
			return err
		}
		return storetest.First(ctx, r, "SELECT count(*) FROM user_account AS u JOIN audit AS a ON a.target_ids = ',' || u.id || ','", &matched)
	})
	trail := newTrail(db)
	if all := len(rows(t, trail)); err != nil || users < 300 || matched != users || all != users {
		t.Errorf("%d users, %d with a row, %d rows: %v", users, matched, all, err)
	}
	if _, err := trail.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if report, err := audit.Verify(t.Context(), db, nil); err != nil || report.Sealed != int64(users) {
		t.Errorf("%+v, %v", report, err)
	}
}
