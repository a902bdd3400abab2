// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sqldb_test

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/store/sqldb"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

// log is written by a database and read by a test.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// awaitReplica waits until the replica is used, or unused for a reason.
func awaitReplica(t *testing.T, db *sqldb.DB, fault string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		state, ok := db.Replica()
		if ok && (fault == "") == (state.Fault == "") && strings.Contains(state.Fault, fault) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the state of the replica is %+v, want %q", state, fault)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// look reads the revision "a" and whether the answering server is a replica.
func look(t *testing.T, ctx context.Context, db *sqldb.DB) (revision int64, onReplica bool) { //nolint:revive // The context may be one that a replica serves.
	t.Helper()
	err := db.Read(ctx, func(ctx context.Context, r sqldb.Reader) error {
		return sqldb.First(ctx, r, sqldb.New("SELECT (SELECT value FROM revision WHERE name = ?), pg_is_in_recovery()", "a"), &revision, &onReplica)
	})
	if err != nil {
		t.Fatal(err)
	}
	return revision, onReplica
}

func raise(ctx context.Context, tx sqldb.Tx) error { return sqldb.BumpRevision(ctx, tx, "a") }

// TestReplica reads from a replica that is up to date, behind, down and promoted.
func TestReplica(t *testing.T) {
	need.Time(t)
	primary := storetest.StartServer(t)
	follower := primary.StartReplica(t)
	out := &log{}
	const patience = 3 * time.Second
	db := storetest.Open(t, sqldb.Options{
		URL: primary.URL(), ReplicaURL: follower.URL(), MaxReplicaLag: patience, Timeout: time.Minute,
		Logger: slog.New(slog.NewTextHandler(out, nil)),
	})
	awaitReplica(t, db, "")
	written := int64(0)
	write := func() {
		t.Helper()
		if err := db.Write(t.Context(), raise); err != nil {
			t.Fatal(err)
		}
		written++
	}
	wantOn := func(want bool) {
		t.Helper()
		write()
		if revision, onReplica := look(t, sqldb.WithReplica(t.Context()), db); revision != written || onReplica != want {
			t.Fatalf("the revision is %d, on the replica: %v; want %d, %v", revision, onReplica, written, want)
		}
	}
	for range 200 { // What was written is there, whoever wrote it.
		wantOn(true)
	}
	if _, onReplica := look(t, t.Context(), db); onReplica {
		t.Error("a read without the mark of the replica was served by it")
	}
	ctx := sqldb.WithReplica(t.Context())
	if _, onReplica := look(t, ctx, db); !onReplica {
		t.Error("a read with the mark was not served by the replica")
	}
	if err := db.Write(ctx, raise); err != nil {
		t.Fatal(err)
	}
	written++
	if revision, onReplica := look(t, ctx, db); onReplica || revision != written {
		t.Error("a read after a write of the same context was served by the replica")
	}

	following := rawDB(t, "pgx", follower.URL())
	run := func(statement string) {
		t.Helper()
		if _, err := following.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	patient := storetest.Open(t, sqldb.Options{URL: primary.URL(), ReplicaURL: follower.URL(), MaxReplicaLag: 2 * time.Minute, Timeout: 5 * time.Minute})
	awaitReplica(t, patient, "")
	run("SELECT pg_wal_replay_pause()")
	write()
	writeBesideRead(t, patient, following)
	written++
	wantOn(false) // after it has waited for the replica
	write()
	awaitReplica(t, db, "behind")
	wantOn(false)
	if lines := out.count("is not used"); lines != 1 {
		t.Errorf("the log has %d lines that the replica is not used, want one", lines)
	}
	run("SELECT pg_wal_replay_resume()")
	awaitReplica(t, db, "")
	wantOn(true)

	// It fails during a request.
	ctx = sqldb.WithReplica(t.Context())
	look(t, ctx, db)
	follower.Stop(t)
	if revision, onReplica := look(t, ctx, db); onReplica || revision != written {
		t.Errorf("without the replica, the revision is %d, on the replica: %v; want %d", revision, onReplica, written)
	}
	ended, err := false, error(nil)
	err = db.Read(ctx, func(ctx context.Context, r sqldb.Reader) error {
		ended, err = sqldb.Within(ctx, r, time.Minute, func(ctx context.Context, r sqldb.Reader) error {
			return sqldb.First(ctx, r, sqldb.New("SELECT 1"), new(int))
		})
		return err
	})
	if !ended || err != nil {
		t.Errorf("without the replica, a bounded scan ended: %v, %v", ended, err)
	}
	awaitReplica(t, db, "does not answer")
	wantOn(false)
	follower.Start(t)
	awaitReplica(t, db, "")
	wantOn(true)

	run("SELECT pg_promote()")
	awaitReplica(t, db, "primary itself")
	wantOn(false)
}

// writeBesideRead writes in a context with a read that waits for a lagging replica: the write does
// not wait.
func writeBesideRead(t *testing.T, db *sqldb.DB, following *sql.DB) {
	t.Helper()
	var begin time.Time
	if err := following.QueryRowContext(t.Context(), "SELECT clock_timestamp()").Scan(&begin); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(sqldb.WithReplica(t.Context()))
	read := make(chan error, 1)
	go func() {
		read <- db.Read(ctx, func(ctx context.Context, r sqldb.Reader) error {
			return sqldb.First(ctx, r, sqldb.New("SELECT 1"), new(int))
		})
	}()
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		err := following.QueryRowContext(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query_start > $1"+
			" AND query LIKE '%pg_last_wal_replay_lsn%' AND query NOT LIKE '%system_identifier%')", begin).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Write(ctx, raise); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-read:
		t.Errorf("the read ended with %v before the write: one waited for the other", err)
	default:
		cancel()
		<-read
	}
	cancel()
}

// TestForeignReplica configures a replica of another database.
func TestForeignReplica(t *testing.T) {
	need.Time(t)
	primary, other := storetest.StartServer(t), storetest.StartForeignServer(t)
	follower := other.StartReplica(t)
	db := storetest.Open(t, sqldb.Options{URL: primary.URL(), ReplicaURL: follower.URL()})
	awaitReplica(t, db, "not a replica of this database")
	if err := db.Write(t.Context(), raise); err != nil {
		t.Fatal(err)
	}
	if revision, onReplica := look(t, sqldb.WithReplica(t.Context()), db); revision != 1 || onReplica {
		t.Errorf("the revision is %d, on the replica: %v", revision, onReplica)
	}
}

func TestReplicaRefusesURLs(t *testing.T) {
	for _, o := range []sqldb.Options{
		{URL: storetest.SQLiteURL(t), ReplicaURL: "postgres://u:secret@h/d"},
		{URL: storetest.MigratedURL(t), ReplicaURL: "sqlite:x.db"},
		{URL: storetest.MigratedURL(t), ReplicaURL: "postgres://u:secret@h/d?sslmode=odd"},
		{URL: storetest.MigratedURL(t), ReplicaURL: "mysql://u:secret@h/d"},
	} {
		_, err := sqldb.Open(t.Context(), o)
		wantOneLine(t, err)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the password is in %q", err)
		}
	}
}
