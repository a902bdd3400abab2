// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

const (
	// firstSchema is the first schema version for which both engines have a fixture.
	firstSchema = 26
	// writeVariable makes TestFixtures write the missing fixtures of the newest schema.
	writeVariable = "APP_TEST_WRITE_FIXTURES"
)

// engines are the engines of the store, with the suffix of their fixtures and a part of the names
// of migrations for the other engine.
var engines = map[string]struct{ suffix, others string }{
	"SQLite":     {".db.gz", ".postgres."},
	"PostgreSQL": {".sql.gz", ".sqlite."},
}

// schemas returns the schema versions of an engine in order.
func schemas(t *testing.T, others string) (list []int64) {
	t.Helper()
	files, err := fs.Glob(os.DirFS("../../internal/store/sqldb/migrations"), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		number, _, _ := strings.Cut(file, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(file, others) {
			list = append(list, version)
		}
	}
	slices.Sort(list)
	return list
}

// fixture returns the path of a fixture.
func fixture(version int64, suffix string) string {
	return fmt.Sprintf("testdata/schema-%05d%s", version, suffix)
}

// fixtures returns the fixtures of an engine by version.
func fixtures(t *testing.T, suffix string) map[int64]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/schema-*" + suffix)
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	found := map[int64]string{}
	for _, path := range paths {
		version, err := strconv.ParseInt(regexp.MustCompile(`\d+`).FindString(filepath.Base(path)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		found[version] = path
	}
	return found
}

// TestFixtures requires a fixture of every schema that has a later migration: before you add a
// migration, write the fixture of the schema without it.
func TestFixtures(t *testing.T) {
	for name, e := range engines {
		t.Run(name, func(t *testing.T) {
			versions := schemas(t, e.others)
			newest := versions[len(versions)-1]
			if path := fixture(newest, e.suffix); os.Getenv(writeVariable) != "" {
				if _, err := os.Stat(path); err != nil {
					writeFixture(t, path, name)
				}
			}
			found := fixtures(t, e.suffix)
			for _, version := range versions {
				if version >= firstSchema && version < newest && found[version] == "" {
					t.Errorf("there is a migration to the schema %d and no fixture of the schema %d: run `%s=1 go test ./test/upgrade -run 'TestFixtures$'` on the "+
						"commit before that migration, and add the file that it writes", newest, version, writeVariable)
				}
			}
		})
	}
}

// writeFixture writes a database of this program with rows in every table.
func writeFixture(t *testing.T, path, engine string) {
	t.Helper()
	url := storetest.SQLiteURL(t)
	if engine == "PostgreSQL" {
		url = storetest.PostgreSQLURL(t)
	}
	useServer(t, url)
	addRows(t, url)
	for table, rows := range inspect(t, url).Rows {
		if rows == 0 {
			t.Fatalf("the table %q has no rows: let useServer or addRows make some", table)
		}
	}
	dump := func() (out []byte, err error) {
		if engine == "SQLite" {
			file := filepath.Join(t.TempDir(), "app.db")
			if _, err := store.Backup(t.Context(), store.Options{URL: url}, file); err != nil {
				return nil, err
			}
			return os.ReadFile(file)
		}
		out, err = exec.CommandContext(t.Context(), program(t, "pg_dump"), "--no-owner", url).Output()
		// Programs from before 2025 do not know these lines.
		return regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`).ReplaceAll(out, nil), err
	}
	content, err := dump()
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile(path, packed.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// inspect returns the schema of a database, with the rows of each table.
func inspect(t *testing.T, url string) store.Schema {
	t.Helper()
	s, err := store.Inspect(t.Context(), store.Options{URL: url}, true)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// script is a plugin that receives events and fails, so that its events are kept.
const script = `
class Archive extends AppExtension {
  getExtensionPoints() { return ['DomainEventConsumer']; }
  consumeDomainEvents() { throw new Error('not now'); }
}
export default class extends AppPlugin {
  getDescriptor() { return {id: 'fixture', version: '1', 'compatible-servers': ['SERVICE']}; }
  getExtensions() { return [Archive]; }
}`

// useServer uses a server as administrators, users and a plugin do: afterwards it has 20 users, 2
// groups and 30 messages.
func useServer(t *testing.T, url string) {
	t.Helper()
	s := apptest.Start(t, role.All, "app.store.url="+url,
		"app.service.fake.enabled=true", "app.service.fake.user-count=20", "app.service.fake.group-count=2", "app.service.fake.message-count=28",
		"app.service.message.sequence-id.use-sequence-id-for-group-conversation=true",
		"app.service.message.sequence-id.use-sequence-id-for-private-conversation=true")
	ask := func(method, path, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL(role.Service)+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("app", "app")
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, answer, err)
		}
	}
	const forLong = `"blockDurationMillis":3000000000000`
	ask("POST", "/admins/tokens", `{"name":"a token"}`)
	ask("POST", "/blocked-clients/ips", `{"ids":["192.0.2.9"],`+forLong+`}`)
	ask("POST", "/blocked-clients/users", `{"ids":[19],`+forLong+`}`)
	ask("PUT", "/cluster/settings", `{"gateway":{"adminApi":{"rateLimiting":{"capacity":777}}}}`)
	code, err := json.Marshal(map[string]any{"scripts": []any{map[string]string{"code": script}}})
	if err != nil {
		t.Fatal(err)
	}
	ask("POST", "/plugins/js?scope=CLUSTER", string(code))
	ask("PUT", "/plugins?ids=fixture", `{"status":"STARTED"}`)
	began := time.Now()
	for rows := map[string]int64{}; rows["event_outbox"] == 0 || rows["event_consumer"] == 0; rows = inspect(t, url).Rows {
		// The plugin receives events after its start.
		ask("PUT", "/users?ids=2", fmt.Sprintf(`{"name":"Name %d"}`, time.Now().UnixMilli()))
		time.Sleep(200 * time.Millisecond)
		if time.Since(began) > time.Minute {
			t.Fatal("the plugin gets no events")
		}
	}
	ann := chat.LogIn(t, s.ClientURLs()[0], 1, chat.WithPassword("123"))
	group := ann.Request(&wire.QueryJoinedGroupIdsRequest{}).GetData().GetLongsWithVersion().GetLongs()
	if len(group) == 0 {
		t.Fatal("the user 1 is in no group")
	}
	send := func(key string, request *wire.CreateMessageRequest) {
		t.Helper()
		answer, err := ann.Begin(key, request)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := answer(t.Context()); err != nil || response.GetCode() != 1000 {
			t.Fatalf("send %q: %v, %v", key, response, err)
		}
	}
	send("private", &wire.CreateMessageRequest{RecipientId: new(int64(2)), Text: new("with a key")})
	send("group", &wire.CreateMessageRequest{GroupId: &group[0], Text: new("with a key")})
	s.Stop()
}

// addRows adds rows to tables that a server fills only over time, or with plugins.
func addRows(t *testing.T, url string) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now().UTC().Truncate(time.Millisecond)
	const plugin = "fixture"
	err = db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		for _, write := range []func() error{
			func() error { return store.PutPluginValue(ctx, tx, plugin, "counter", []byte("17")) },
			func() error {
				return store.PutPluginGrant(ctx, tx, store.PluginGrant{PluginID: plugin, Permissions: []string{"USER_QUERY"}, Hosts: []string{"example.org"}, Revision: 1, AdminID: 1, ChangeDate: now}, false)
			},
			func() error {
				_, err := store.ClaimPluginSlot(ctx, tx, store.PluginSlot{PluginID: plugin, Extension: "clock", Schedule: "1s", Slot: now})
				return err
			},
			func() error {
				_, err := store.InsertPluginRollout(ctx, tx, store.PluginRollout{
					PluginID: plugin, Number: 1, Mode: "USERS", Percentage: 10, UserIDs: []int64{3}, Status: "PROMOTED", Reason: "an administrator promoted it",
					MaxErrorPercentage: 5, MinCalls: 100, MaxRefusalPercentage: -1, MaxDifferencePercentage: -1, AdminID: 1, StartDate: now, StepDate: now, EndDate: &now,
					Figures: &store.RolloutFigures{Nodes: 1},
				})
				return err
			},
			func() error {
				return store.PutUserSettings(ctx, tx, store.UserSettings{UserID: 1, Settings: map[string]any{"theme": "dark"}, LastUpdatedDate: now})
			},
			func() error {
				return store.PutConversationSettings(ctx, tx, store.ConversationSettings{
					ConversationKey: store.ConversationKey{OwnerID: 1, TargetID: 2}, Settings: map[string]any{"mute": true}, LastUpdatedDate: now,
				})
			},
			func() error {
				m := store.Meeting{ID: 1, CreatorID: 1, UserID: new(int64(2)), Name: new("A meeting"), CreationDate: now, StartDate: now}
				if err := store.InsertPendingMeeting(ctx, tx, m); err != nil {
					return err
				}
				_, err := store.ConfirmMeeting(ctx, tx, m.ID, new("access"))
				return err
			},
		} {
			if err := write(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
