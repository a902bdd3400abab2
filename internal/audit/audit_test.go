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
	"example.org/app/internal/ids"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// childVariable makes the test binary write to the database that it names.
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

func seal(t *testing.T, trail *audit.Trail, want int) {
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

// TestRollback checks that a row exists if and only if its change does.
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

// TestRowThatCannotBeStored checks that a failing row rolls its change back, and no other in the
// same commit.
func TestRowThatCannotBeStored(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		trail := newTrail(db)
		mustCreate(t, trail, db, 1, 1, time.Now())
		taken := rows(t, trail)[0].ID
		bad := newTrail(db, func(o *audit.Options) { o.NextID = func() int64 { return taken } })
		held, release := make(chan struct{}), make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() {
			var once sync.Once
			err := db.Write(t.Context(), func(context.Context, store.Tx) error {
				once.Do(func() { close(held) })
				<-release
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-held
		errs := make([]error, 8)
		for i := range errs {
			group.Go(func() {
				of := trail
				if i == 3 {
					of = bad
				}
				errs[i] = createUser(t.Context(), of, db, int64(10+i), time.Now())
			})
		}
		close(release)
		group.Wait()
		for i, err := range errs {
			if (err != nil) != (i == 3) || i == 3 && !errors.Is(err, store.ErrDuplicateKey) {
				t.Errorf("write %d: %v", i, err)
			}
		}
		var users int
		err := db.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
			return storetest.First(ctx, r, "SELECT count(*) FROM user_account", &users)
		})
		if n := len(rows(t, trail)); err != nil || users != 8 || n != 8 {
			t.Errorf("%d users and %d rows: %v", users, n, err)
		}
		seal(t, trail, 8)
		if report, err := audit.Verify(t.Context(), db, nil); err != nil || report.Sealed != 8 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

// TestTampering changes the trail directly in the database.
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
		if report, err = audit.Verify(t.Context(), db, nil); err != nil || report.Sealed != 10 || report.Unsealed != 0 || report.Head.Sequence != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		kept, err := audit.ParseHead(report.Head.String())
		if err != nil {
			t.Fatal(err)
		}
		mustCreate(t, trail, db, 11, 12, time.Now())
		seal(t, trail, 2)
		mustCreate(t, trail, db, 13, 13, time.Now())
		seal(t, trail, 1)
		if _, err := audit.Verify(t.Context(), db, &kept); err != nil {
			t.Fatal(err)
		}
		id := map[string]int64{} // of the row of each user
		for _, r := range rows(t, trail) {
			id[r.TargetIDs[0]] = r.ID
		}
		// Each is reverted by its second half.
		for _, c := range []struct {
			name         string
			change, undo string
			sequence     int64
			row          string
		}{
			{"login name", "UPDATE audit SET login_name = 'eve' WHERE target_ids = ',4,'", "UPDATE audit SET login_name = 'app' WHERE target_ids = ',4,'", 1, "4"},
			{"outcome", "UPDATE audit SET outcome = 'REFUSED' WHERE target_ids = ',1,'", "UPDATE audit SET outcome = 'DONE' WHERE target_ids = ',1,'", 1, "1"},
			{"administrator", "UPDATE audit SET admin_id = NULL WHERE target_ids = ',2,'", "UPDATE audit SET admin_id = 0 WHERE target_ids = ',2,'", 1, "2"},
			{"details", "UPDATE audit SET details = ' ' || details WHERE target_ids = ',12,'", "UPDATE audit SET details = substr(details, 2) WHERE target_ids = ',12,'", 2, "12"},
			{"unreadable details", "UPDATE audit SET details = 'x' || details WHERE target_ids = ',12,'", "UPDATE audit SET details = substr(details, 2) WHERE target_ids = ',12,'", 2, "12"},
			{"date", "UPDATE audit SET record_date = record_date + 1 WHERE target_ids = ',7,'", "UPDATE audit SET record_date = record_date - 1 WHERE target_ids = ',7,'", 1, "7"},
			{"id", "UPDATE audit SET id = -id WHERE target_ids = ',5,'", "UPDATE audit SET id = -id WHERE target_ids = ',5,'", 1, "5"},
			{"end of the chain", "UPDATE audit_chain SET sequence = 2", "UPDATE audit_chain SET sequence = 3", 4, ""},
			{"number of a seal", "UPDATE audit_seal SET sequence = 4 WHERE sequence = 3", "UPDATE audit_seal SET sequence = 3 WHERE sequence = 4", 3, ""},
			{"date of a seal", "UPDATE audit_seal SET last_date = last_date - 1 WHERE sequence = 2", "UPDATE audit_seal SET last_date = last_date + 1 WHERE sequence = 2", 2, ""},
		} {
			exec1(t, db, c.change)
			_, err := audit.Verify(t.Context(), db, nil)
			broken, ok := errors.AsType[*audit.BrokenError](err)
			if !ok || broken.Sequence != c.sequence || broken.ID != id[c.row] {
				t.Errorf("%s: %v, want a break at seal %d, row %d", c.name, err, c.sequence, id[c.row])
			}
			rows(t, trail) // They can be read all the same.
			exec1(t, db, c.undo)
			if _, err := audit.Verify(t.Context(), db, &kept); err != nil {
				t.Fatalf("after %s: %v", c.name, err)
			}
		}
		exec1(t, db, "DELETE FROM audit WHERE target_ids = ',8,'")
		_, err = audit.Verify(t.Context(), db, nil)
		if broken, ok := errors.AsType[*audit.BrokenError](err); !ok || broken.Sequence != 1 || broken.ID != id["8"] {
			t.Errorf("removed: %v", err)
		}
		// Resealing is revealed by a head kept elsewhere.
		exec1(t, db, "DELETE FROM audit_seal")
		exec1(t, db, "DELETE FROM audit_chain")
		if n, err := trail.SealMissed(t.Context(), db); err != nil || n != 12 {
			t.Fatalf("sealed %d rows: %v", n, err)
		}
		if _, err := audit.Verify(t.Context(), db, nil); err != nil {
			t.Fatal(err)
		}
		_, err = audit.Verify(t.Context(), db, &kept)
		if broken, ok := errors.AsType[*audit.BrokenError](err); !ok || broken.Sequence != 1 {
			t.Errorf("sealed anew: %v", err)
		}
	})
}

// TestChangedBeforeTheSeal changes a row that is committed and not sealed yet.
func TestChangedBeforeTheSeal(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		trail := newTrail(db)
		mustCreate(t, trail, db, 1, 3, time.Now())
		exec1(t, db, "UPDATE audit SET operation = 'nothing' WHERE target_ids = ',2,'")
		seal(t, trail, 3)
		_, err := audit.Verify(t.Context(), db, nil)
		if broken, ok := errors.AsType[*audit.BrokenError](err); !ok || broken.Sequence != 1 || broken.ID == 0 {
			t.Errorf("%v", err)
		}
	})
}

// TestMissedRows seals rows of processes that ended before sealing them, and none twice.
func TestMissedRows(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		lost, alive, leader := newTrail(db), newTrail(db), newTrail(db)
		mustCreate(t, lost, db, 1, 3, time.Now())
		mustCreate(t, alive, db, 4, 6, time.Now())
		seal(t, alive, 3)
		mustCreate(t, alive, db, 7, 8, time.Now()) // They are sealed by the leader and must not be again.
		if n, err := leader.SealMissed(t.Context(), db); err != nil || n != 5 {
			t.Errorf("sealed %d rows: %v", n, err)
		}
		if n, err := leader.SealMissed(t.Context(), db); err != nil || n != 0 {
			t.Errorf("sealed %d rows again: %v", n, err)
		}
		mustCreate(t, alive, db, 9, 9, time.Now())
		seal(t, alive, 1)
		report, err := audit.Verify(t.Context(), db, nil)
		if err != nil || report.Sealed != 9 || report.Unsealed != 0 || report.Head.Sequence != 3 {
			t.Errorf("%+v, %v", report, err)
		}
		// A node whose clock is late has ids in the range already searched.
		late := newTrail(db, func(o *audit.Options) { o.NextID = func() int64 { return 1 - lastID.Add(1) } })
		mustCreate(t, late, db, 10, 10, time.Now())
		if n, err := leader.SealMissed(t.Context(), db); err != nil || n != 0 {
			t.Errorf("sealed %d rows: %v", n, err)
		}
		seal(t, late, 1)
		if report, err := audit.Verify(t.Context(), db, nil); err != nil || report.Sealed != 10 || report.Unsealed != 0 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

// TestYoungRowsAreNotMissed checks that recent rows are left to their processes.
func TestYoungRowsAreNotMissed(t *testing.T) {
	db := storetest.SQLite(t)
	generator, err := ids.New(1)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	trail := newTrail(db, func(o *audit.Options) { o.NextID, o.Now = generator.Next, func() time.Time { return now } })
	mustCreate(t, trail, db, 1, 2, now)
	if n, err := trail.SealMissed(t.Context(), db); err != nil || n != 0 {
		t.Errorf("sealed %d rows: %v", n, err)
	}
	now = now.Add(time.Hour)
	if n, err := trail.SealMissed(t.Context(), db); err != nil || n != 2 {
		t.Errorf("sealed %d rows: %v", n, err)
	}
}

// TestRetention removes old rows, and the rest still is a chain.
func TestRetention(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		now := time.Now()
		trail := newTrail(db, func(o *audit.Options) { o.Retention = 24 * time.Hour })
		mustCreate(t, trail, db, 1, 5, now.Add(-48*time.Hour))
		if n, err := trail.Remove(t.Context(), db); err != nil || n != 0 {
			t.Errorf("%d rows that are not sealed were removed: %v", n, err)
		}
		seal(t, trail, 5)
		old, err := audit.Verify(t.Context(), db, nil)
		if err != nil {
			t.Fatal(err)
		}
		// A seal stays until all of its rows are old.
		mustCreate(t, trail, db, 6, 6, now.Add(-48*time.Hour))
		mustCreate(t, trail, db, 7, 8, now)
		seal(t, trail, 3)
		if n, err := trail.Remove(t.Context(), db); err != nil || n != 5 {
			t.Errorf("%d rows were removed: %v", n, err)
		}
		report, err := audit.Verify(t.Context(), db, nil)
		if err != nil || report.Sealed != 3 || report.Removed != 1 || report.Head.Sequence != 2 {
			t.Errorf("%+v, %v", report, err)
		}
		if _, err := audit.Verify(t.Context(), db, &old.Head); err != nil {
			t.Errorf("the head of the last removed seal: %v", err)
		}
		if n, err := trail.Remove(t.Context(), db); err != nil || n != 0 {
			t.Errorf("%d rows were removed: %v", n, err)
		}
		exec1(t, db, "DELETE FROM audit WHERE target_ids = ',6,'")
		if _, err := audit.Verify(t.Context(), db, nil); err == nil {
			t.Error("a row after the removed ones is missing, and nobody noticed")
		}
	})
}

// TestTwoNodes writes and seals on two nodes concurrently.
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
				for last := false; ; {
					if _, err := trail.Seal(t.Context()); err != nil {
						t.Error(err)
						return
					}
					if last {
						return
					}
					select {
					case <-stop:
						last = true
					default:
					}
				}
			})
		}
		group.Wait()
		close(stop)
		sealers.Wait()
		report, err := audit.Verify(t.Context(), db, nil)
		if err != nil || report.Sealed != 6*each || report.Unsealed != 0 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

// TestFlood refuses a thousand writes, which add only a few rows.
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

// TestQueueWaitsForStore checks that refused callers do not wait for an unresponsive store.
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

// TestSummaryByTime checks that the summary of a flood is written without another refusal.
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

// writeUntilKilled creates users and prints the id of each after its commit.
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

// TestKill kills a writing process: every change has its row, every row its change, and the chain
// is intact.
func TestKill(t *testing.T) {
	url := storetest.MigratedSQLiteURL(t)
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
	if _, err := trail.SealMissed(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if report, err := audit.Verify(t.Context(), db, nil); err != nil || report.Sealed != int64(users) {
		t.Errorf("%+v, %v", report, err)
	}
}
