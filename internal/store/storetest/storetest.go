// SPDX-License-Identifier: Apache-2.0

// Package storetest contains the suite that every engine of package store must pass, and opens
// fresh databases for it and for the tests of packages that use the store. It is for tests only.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/app/internal/store"
)

// Main is for TestMain. It runs the tests, stops the PostgreSQL server if a test started one, and
// fails if goroutines are leaked.
func Main(m interface{ Run() int }) {
	code := m.Run()
	if err := errors.Join(dropDatabases(), stopServer()); err != nil {
		fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Run runs the suite. open returns a database with the newest schema, no rows and a timeout of at
// least some seconds; every call returns another one.
func Run(t *testing.T, open func(t *testing.T) *store.DB) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, db *store.DB)
	}{
		{"Ping", testPing},
		{"Commit", testCommit},
		{"Rollback", testRollback},
		{"FailedStatement", testFailedStatement},
		{"Panic", testPanic},
		{"Goexit", testGoexit},
		{"Isolation", testIsolation},
		{"SlowFunction", testSlowFunction},
		{"Cancellation", testCancellation},
		{"ReadTimeout", testReadTimeout},
		{"Nested", testNested},
		{"Guard", testGuard},
		{"StaleTx", testStaleTx},
		{"LostUpdate", testLostUpdate},
		{"UniqueRace", testUniqueRace},
		{"RequestKeys", testRequestKeys},
		{"Closed", testClosed},
		{"CloseWhileWriting", testCloseWhileWriting},
		{"TypedErrors", testTypedErrors},
		{"InvalidText", testInvalidText},
		{"Values", testValues},
		{"ManyKeys", testManyKeys},
		{"AdminInsertFind", testAdminInsertFind},
		{"AdminFilter", testAdminFilter},
		{"AdminPages", testAdminPages},
		{"AdminUpdate", testAdminUpdate},
		{"AdminDelete", testAdminDelete},
		{"AnyAdminWithRole", testAnyAdminWithRole},
		{"AdminTokens", testAdminTokens},
		{"RoleInsertFind", testRoleInsertFind},
		{"RoleFilter", testRoleFilter},
		{"RoleUpdate", testRoleUpdate},
		{"RoleDelete", testRoleDelete},
		{"Blocklists", testBlocklists},
		{"BlocklistOrder", testBlocklistOrder},
		{"Revision", testRevision},
		{"ClusterValue", testClusterValue},
		{"SettingRevisions", testSettingRevisions},
		{"PluginStorage", testPluginStorage},
		{"ClusterPlugins", testClusterPlugins},
		{"PluginGrants", testPluginGrants},
		{"PluginRollouts", testPluginRollouts},
		{"Events", testEvents},
		{"EventCost", testEventCost},
		{"EventClaims", testEventClaims},
		{"EventRetention", testEventRetention},
		{"LateEvents", testLateEvents},
		{"NodeNumber", testNodeNumber},
		{"NodeNumberMargin", testNodeNumberMargin},
		{"NodeNumberRace", testNodeNumberRace},
		{"LeaderFence", testLeaderFence},
		{"MessageInsertFind", testMessageInsertFind},
		{"MessageFilter", testMessageFilter},
		{"MessagesOfNode", testMessagesOfNode},
		{"MessageUpdate", testMessageUpdate},
		{"MessageSequence", testMessageSequence},
		{"MessagePlans", testMessagePlans},
		{"MessageOptimize", testMessageOptimize},
		{"Conversations", testConversations},
		{"ReadDateRace", testReadDateRace},
		{"ConversationPlans", testConversationPlans},
		{"UserSettings", testUserSettings},
		{"ConversationSettings", testConversationSettings},
		{"Users", testUsers},
		{"UserNames", testUserNames},
		{"UserChanges", testUserChanges},
		{"UserRoles", testUserRoles},
		{"UserVersions", testUserVersions},
		{"UserVersionRace", testUserVersionRace},
		{"Relationships", testRelationships},
		{"RelationshipChanges", testRelationshipChanges},
		{"RelationshipGroups", testRelationshipGroups},
		{"FriendRequests", testFriendRequests},
		{"UserPlans", testUserPlans},
		{"GroupTypes", testGroupTypes},
		{"Groups", testGroups},
		{"GroupMembers", testGroupMembers},
		{"GroupRoom", testGroupRoom},
		{"GroupVersions", testGroupVersions},
		{"GroupQuestions", testGroupQuestions},
		{"GroupBlockedUsers", testGroupBlockedUsers},
		{"GroupInvitations", testGroupInvitations},
		{"GroupJoinRequests", testGroupJoinRequests},
		{"GroupPlans", testGroupPlans},
		{"Meetings", testMeetings},
		{"PendingMeetings", testPendingMeetings},
		{"MeetingPlans", testMeetingPlans},
		{"Totals", testTotals},
		{"Fresh totals", testTotalsAreFresh},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// timeout is long because the race detector makes everything slow.
const timeout = 30 * time.Second

// Open opens the database of o and closes it when the test ends.
func Open(t testing.TB, o store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}

// SQLite opens a fresh SQLite database.
func SQLite(t testing.TB) *store.DB {
	t.Helper()
	return Open(t, store.Options{URL: MigratedSQLiteURL(t), Timeout: timeout, LockTimeout: timeout})
}

// MigratedSQLiteURL returns the URL of a SQLite database with the newest schema and no rows.
func MigratedSQLiteURL(t testing.TB) string {
	t.Helper()
	empty, err := sqliteTemplate()
	if err != nil {
		t.Fatal(err)
	}
	url := SQLiteURL(t)
	if err := os.WriteFile(strings.TrimPrefix(url, "sqlite:"), empty, 0o600); err != nil {
		t.Fatal(err)
	}
	return url
}

// sqliteTemplate is a migrated database that the others are copied from, which is faster than
// migrating each.
var sqliteTemplate = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "sqlite")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "app.db")
	db, err := store.Open(context.Background(), store.Options{URL: "sqlite:" + file})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// SQLiteURL returns the URL of a SQLite database that does not exist yet.
func SQLiteURL(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "app.db")
}
