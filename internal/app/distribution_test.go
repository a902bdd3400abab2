// SPDX-License-Identifier: Apache-2.0

//go:build unix

package app_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/internal/store/pgserver"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
	"example.org/app/test/need"
)

// keylessStatements are frequent statements without the distribution key of a table, with the
// reason. A statement matches if it contains the part.
var keylessStatements = []struct{ table, part, reason string }{
	{"group_member", "WHERE t.user_id = $1 ORDER BY t.group_id", "The groups of a user: members are split by group, because each message to a group " +
		"needs all of its members. Every server looks into its index of users."},
	{"message", "WHERE t.id = ", "Clients name a message that they edit, forward or query by its id alone. Every server looks into its index of ids."},
}

// TestStatementsHaveKeys simulates typical clients on PostgreSQL, and requires every frequent
// statement to contain the users or conversations it is about, so that a distributed database can
// run it where their rows are.
func TestStatementsHaveKeys(t *testing.T) {
	need.Time(t)
	statements := watchStatements(t)
	used := map[int]bool{}
	for name, set := range map[string][]string{
		"default settings": nil,
		"other settings": {
			"app.service.message.use-conversation-id=true", "app.service.message.allow-send-messages-to-stranger=false",
			"app.service.message.sequence-id.use-sequence-id-for-group-conversation=true",
			"app.service.message.sequence-id.use-sequence-id-for-private-conversation=true",
			"app.service.conversation.read-receipt.update-read-date-when-user-querying-message=true",
			"app.service.user.activate-user-when-added=true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, reset, often := statements(t)
			a := apptest.Start(t, role.All, append(slices.Clip(set), "app.store.url="+url)...)
			reset()
			chatAllDay(t, a)
			found := often()
			for _, table := range []string{
				"group_conversation", "group_member", "group_version", "im_group", "message", "message_key", "private_conversation", "relationship", "user_account",
			} {
				if !slices.ContainsFunc(found, func(statement string) bool { return strings.Contains(statement, " "+table+" ") }) {
					t.Errorf("no statement that runs often is about the table %s", table)
				}
			}
			for _, statement := range found {
				for _, fault := range storetest.WithoutKey(statement) {
					i := slices.IndexFunc(keylessStatements, func(known struct{ table, part, reason string }) bool {
						return strings.HasPrefix(fault, known.table+" lacks ") && strings.Contains(statement, known.part)
					})
					if i < 0 {
						t.Errorf("%s: %s", fault, statement)
					}
					used[i] = true
				}
			}
		})
	}
	for i, known := range keylessStatements {
		if !used[i] {
			t.Errorf("no statement with %q lacks the key of %s any more", known.part, known.table)
		}
	}
}

// rounds is how often clients do the same.
const rounds = 12

// watchStatements starts a server that counts statements. The result creates a database for a test,
// and returns its URL, a function that starts counting, and one that returns the statements that
// ran in every round.
func watchStatements(t *testing.T) func(t *testing.T) (url string, reset func(), often func() []string) {
	t.Helper()
	folder, err := pgserver.New("")
	if err != nil {
		t.Fatal(err)
	}
	server, err := folder.Start(true, pgserver.Private, pgserver.Setting{Name: "fsync", Value: "off"},
		pgserver.Setting{Name: "shared_preload_libraries", Value: "pg_stat_statements"}, pgserver.Setting{Name: "max_connections", Value: "200"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Log(err)
		}
	})
	conn, err := pgx.Connect(t.Context(), folder.URL().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	execute := func(statement string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	execute("CREATE EXTENSION pg_stat_statements")
	databases := 0
	return func(t *testing.T) (string, func(), func() []string) {
		t.Helper()
		databases++
		name := "app" + strconv.Itoa(databases)
		execute("CREATE DATABASE " + name)
		own := *folder.URL()
		own.Path = "/" + name
		return own.String(), func() { execute("SELECT pg_stat_statements_reset()") }, func() []string {
			t.Helper()
			rows, err := conn.Query(t.Context(), "SELECT query FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid "+
				"WHERE d.datname = $1 AND s.calls >= $2", name, rounds)
			if err != nil {
				t.Fatal(err)
			}
			found, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
	}
}

// sendWithKey sends a message with an idempotency key.
func sendWithKey(t *testing.T, c *chat.Tester, recipient int64, round int) {
	t.Helper()
	text := func(s string) *wire.Value { return &wire.Value{Kind: &wire.Value_StringValue{StringValue: s}} }
	key, err := proto.Marshal(&wire.AppRequest{CustomAttributes: []*wire.Value{{ListValue: []*wire.Value{text("idempotency-key"), text(strconv.Itoa(round))}}}})
	if err != nil {
		t.Fatal(err)
	}
	id := int64(1_000_000 + round)
	payload := chat.Payload(id, &wire.CreateMessageRequest{RecipientId: &recipient, Text: proto.String("once")})
	c.Must(c.SendPayload(append(payload, key...)))
	if n := c.Expect(func(n *wire.AppNotification) bool { return n.GetRequestId() == id }); n.GetCode() != int32(apierr.OK) {
		t.Fatalf("a message with a key: %v", n)
	}
}

// chatAllDay simulates two users who log in, write to each other and to a group, read, and query
// profiles.
func chatAllDay(t *testing.T, a *apptest.Server) {
	t.Helper()
	for _, id := range []string{"1", "2", "3"} {
		want(t, a, role.Service, http.MethodPost, "/users", `{"id":`+id+`,"password":"pass"}`, http.StatusOK)
	}
	password := chat.WithPassword("pass")
	for _, pair := range []string{`"ownerId":1,"relatedUserId":2`, `"ownerId":2,"relatedUserId":1`, `"ownerId":3,"relatedUserId":1`} {
		want(t, a, role.Service, http.MethodPost, "/users/relationships", `{`+pair+`}`, http.StatusOK)
	}
	ann, ben := chat.LogIn(t, a.ClientURLs()[0], 1, password), chat.LogIn(t, a.ClientURLs()[0], 2, password)
	group := ann.Request(&wire.CreateGroupRequest{Name: "club"}).GetData().GetLong()
	for _, member := range []string{"2", "3"} {
		want(t, a, role.Service, http.MethodPost, "/groups/members", `{"groupId":`+strconv.FormatInt(group, 10)+`,"userId":`+member+`,"role":"MEMBER"}`, http.StatusOK)
	}
	begin := time.Now().Add(-time.Hour).UnixMilli()
	for round := range rounds {
		guest := chat.LogIn(t, a.ClientURLs()[0], 3, password)
		sent := ann.Request(&wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("hi")}).GetData().GetLong()
		sendWithKey(t, ann, 3, round)
		ann.Request(&wire.CreateMessageRequest{RecipientId: proto.Int64(3), MessageId: &sent})
		ben.Request(&wire.CreateMessageRequest{RecipientId: proto.Int64(1), Text: proto.String("hello")})
		ben.Request(&wire.CreateMessageRequest{GroupId: &group, Text: proto.String("all")})
		guest.Relayed(wire.KindCreateMessage)
		ann.Request(&wire.UpdateMessageRequest{MessageId: sent, Text: proto.String("hi again")})

		ben.Response(&wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(false), FromIds: []int64{1}})
		ben.Response(&wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(false), DeliveryDateStart: &begin, Descending: proto.Bool(true)})
		ben.Response(&wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(false), FromIds: []int64{1, 3}, WithTotal: true})
		ann.Response(&wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(true), FromIds: []int64{group}, MaxCount: proto.Int32(10)})
		ann.Response(&wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(true), DeliveryDateStart: &begin})
		ann.Response(&wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(false), Ids: []int64{sent}, FromIds: []int64{2}})

		now := time.Now().UnixMilli()
		ben.Request(&wire.UpdateConversationRequest{UserId: proto.Int64(1), ReadDate: now})
		ben.Request(&wire.UpdateConversationRequest{GroupId: &group, ReadDate: now})
		ben.Response(&wire.QueryConversationsRequest{UserIds: []int64{1}})
		ben.Response(&wire.QueryConversationsRequest{GroupIds: []int64{group}})
		ben.Request(&wire.UpdateTypingStatusRequest{ToId: 1})
		ben.Request(&wire.UpdateTypingStatusRequest{IsGroupMessage: true, ToId: group})
		ann.Response(&wire.QueryConversationSettingsRequest{UserIds: []int64{2}})

		ann.Response(&wire.QueryUserProfilesRequest{UserIds: []int64{2, 3}})
		ann.Response(&wire.QueryUserOnlineStatusesRequest{UserIds: []int64{2, 3}})
		ann.Response(&wire.QueryRelatedUserIdsRequest{})
		ann.Response(&wire.QueryRelationshipsRequest{UserIds: []int64{2}})
		ann.Response(&wire.QueryRelationshipGroupsRequest{})
		ann.Response(&wire.QueryGroupsRequest{GroupIds: []int64{group}})
		ann.Response(&wire.QueryGroupMembersRequest{GroupId: group, WithStatus: proto.Bool(true)})
		ann.Response(&wire.QueryJoinedGroupIdsRequest{})
		ann.Response(&wire.QueryUserSettingsRequest{})
		guest.Close()
	}
}
