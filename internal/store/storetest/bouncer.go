// SPDX-License-Identifier: Apache-2.0

//go:build unix

package storetest

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/app/docs"
	"example.org/app/internal/store/pgserver"
	"example.org/app/test/need"
)

// A Bouncer is a PgBouncer in front of a PostgreSQL server, configured as in docs/deployment.md.
type Bouncer struct {
	bouncer *pgserver.Bouncer
	runs    bool
}

// StartBouncer starts a PgBouncer for all databases of a URL's server. Its configuration is that of
// the documentation with other addresses and the given changes, which are pairs of an old and a new
// text.
func StartBouncer(t testing.TB, server string, changes ...string) *Bouncer {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	b := &Bouncer{}
	b.bouncer, err = pgserver.NewBouncer(func(folder string) (ini, users string) {
		changes := append([]string{
			"app = host=database-machine dbname=app", "* = host=" + to.Query().Get("host"),
			"listen_addr = *", "server_login_retry = 1\nlisten_addr =\nunix_socket_dir = " + folder,
			"/etc/pgbouncer/", folder + "/",
			`"app" "s3cret"`, `"` + to.User.Username() + `" "s3cret"`,
		}, changes...)
		ini, users = documented(t, "ini"), documented(t, "text")
		for i := 0; i < len(changes); i += 2 {
			if !strings.Contains(ini+users, changes[i]) {
				t.Fatalf("docs/deployment.md has no %q for PgBouncer", changes[i])
			}
			ini, users = strings.ReplaceAll(ini, changes[i], changes[i+1]), strings.ReplaceAll(users, changes[i], changes[i+1])
		}
		return ini, users
	})
	if errors.Is(err, pgserver.ErrNoBouncer) {
		need.Skip(t, "pgbouncer", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Stop(t)
		if t.Failed() {
			log, err := os.ReadFile(filepath.Join(b.bouncer.Folder(), "log"))
			t.Logf("PgBouncer says (%v):\n%s", err, log[max(0, len(log)-4000):])
		}
		if err := b.bouncer.Remove(); err != nil {
			t.Error(err)
		}
	})
	b.Start(t)
	return b
}

// Start starts PgBouncer after a Stop.
func (b *Bouncer) Start(t testing.TB) {
	t.Helper()
	if err := b.bouncer.Start(); err != nil {
		t.Fatal(err)
	}
	b.runs = true
}

// Stop kills PgBouncer. A second call does nothing.
func (b *Bouncer) Stop(t testing.TB) {
	t.Helper()
	if !b.runs {
		return
	}
	b.runs = false
	if err := b.bouncer.Stop(); err != nil {
		t.Error(err)
	}
}

// documented returns the code block of a kind from the documentation's section on PgBouncer.
func documented(t testing.TB, kind string) string {
	t.Helper()
	text, err := docs.Files.ReadFile("deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## PgBouncer\n")
	_, block, ok := strings.Cut(section, "```"+kind+"\n")
	block, _, ended := strings.Cut(block, "```")
	if !found || !ok || !ended {
		t.Fatalf("docs/deployment.md has no block %q under PgBouncer", kind)
	}
	return block
}

// URL returns the URL of a database through PgBouncer, which keeps no connection to it after the
// test.
//
// The next test may get the same database. If the end of this one interrupted a login, PgBouncer
// refuses connections to the database for a while, so URL waits until it accepts one.
func (b *Bouncer) URL(t testing.TB, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	t.Cleanup(func() {
		_ = administer("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'") // The server may be stopped.
	})
	u.User = url.UserPassword(u.User.Username(), "s3cret")
	u.RawQuery = url.Values{"host": {b.bouncer.Folder()}, "port": {pgserver.BouncerPort}}.Encode()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := reach(t.Context(), u.String())
		if err == nil {
			return u.String()
		}
		if time.Now().After(end) {
			t.Fatalf("PgBouncer does not accept connections to %s: %v", name, err)
		}
	}
}

// reach runs a statement in a database.
func reach(ctx context.Context, database string) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	return errors.Join(conn.Ping(ctx), conn.Close(ctx))
}
