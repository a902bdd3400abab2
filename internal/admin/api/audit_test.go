// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/audit"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

// openTrail runs the audit trail until the test ends.
func (h *harness) openTrail() admin.Trail {
	h.t.Helper()
	h.trail = audit.New(audit.Options{Store: h.DB, NextID: h.IDs.Next, NodeID: "node1", MaxChangeBytes: 16 << 10, MaxRefusedPerMinute: 100000})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.trail.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Error(err)
		}
	})
	return api.NewTrail(h.trail)
}

// trailOf returns the rows of a request, the oldest first, when there are so many.
func (h *harness) trailOf(t *testing.T, r reply, n int) []store.AuditRecord {
	t.Helper()
	id := r.header.Get("X-Request-Id")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		found, err := h.trail.Find(t.Context(), store.AuditFilter{RequestIDs: []string{id}}, store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) >= n {
			slices.Reverse(found)
			return found
		}
		if time.Now().After(deadline) {
			t.Fatalf("request %s has %d rows in the audit trail, want %d", id, len(found), n)
		}
	}
}

// trailChanges are the changes of a row.
func trailChanges(t *testing.T, r store.AuditRecord) (changes []store.Change) {
	t.Helper()
	if r.Changes == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(*r.Changes), &changes); err != nil {
		t.Fatal(err)
	}
	return changes
}

// A write is a request of the test of all writes.
type write struct {
	operation, target, body string
	// record is what changes; "" if the row does not tell.
	record string
	// keep is the name under which the id of the result is kept; {name} stands for it in later
	// requests.
	keep string
	// targets are among the ids of the row.
	targets string
	onGate  bool
	bearer  bool
	refused bool // it cannot be done here
}

func writes() []write {
	const (
		member       = "keys[0].groupId={group}&keys[0].userId=2"
		relationship = "keys[0].ownerId=1&keys[0].relatedUserId=2"
	)
	return []write{
		{operation: "createAdminRole", target: "/admins/roles", body: `{"id":5,"name":"R","permissions":["LOG_QUERY"],"rank":1}`, record: "adminRole", targets: "5"},
		{operation: "updateAdminRoles", target: "/admins/roles?ids=5", body: `{"name":"S","permissions":["LOG_QUERY","SHUTDOWN"]}`, record: "adminRole", targets: "5"},
		{operation: "createAdmin", target: "/admins", body: `{"loginName":"eve","password":"hidden-secret-1","roleIds":[5]}`, record: "admin", keep: "admin", targets: "{admin}"},
		{operation: "updateAdmins", target: "/admins?ids={admin}", body: `{"displayName":"Eve","password":"hidden-secret-2"}`, record: "admin", targets: "{admin}"},
		{operation: "deleteAdmins", target: "/admins?ids={admin}", record: "admin", targets: "{admin}"},
		{operation: "deleteAdminRoles", target: "/admins/roles?ids=5", record: "adminRole", targets: "5"},
		{operation: "createAdminToken", target: "/admins/tokens", body: `{"name":"t"}`, record: "adminToken", keep: "token", targets: "{token}"},
		{operation: "deleteAdminTokens", target: "/admins/tokens?ids={token}", record: "adminToken", targets: "{token}"},
		{operation: "createAdminSession", target: "/admins/sessions", record: "adminToken", keep: "session", targets: "{session}"},
		{operation: "deleteAdminSession", target: "/admins/sessions?current=true", record: "adminToken", bearer: true},
		{operation: "createBlockedIps", target: "/blocked-clients/ips", body: `{"ids":["192.0.2.9"],"blockDurationMillis":60000}`, record: "blockedIp", targets: "192.0.2.9"},
		{operation: "deleteBlockedIps", target: "/blocked-clients/ips?ids=192.0.2.9", record: "blockedIp", targets: "192.0.2.9"},
		{operation: "createBlockedUsers", target: "/blocked-clients/users", body: `{"ids":[77],"blockDurationMillis":60000}`, record: "blockedUser", targets: "77"},
		{operation: "deleteBlockedUsers", target: "/blocked-clients/users?ids=77", record: "blockedUser", targets: "77"},
		{operation: "createMember", target: "/cluster/members", body: `{"nodeId":"there","nodeType":"GATEWAY","version":"1.0.0"}`, targets: "there"},
		{operation: "updateMember", target: "/cluster/members?id=there", body: `{"name":"There"}`, record: "member", targets: "there"},
		{operation: "deleteMembers", target: "/cluster/members?ids=there", targets: "there"},
		{operation: "createLeader", target: "/cluster/members/leader"},
		{operation: "updateSettings", target: "/cluster/settings", body: `{"service":{"adminApi":{"rateLimiting":{"capacity":77}}}}`, record: "setting", targets: "1"},
		{operation: "createUserRole", target: "/users/roles", body: `{"id":6,"name":"R","creatableGroupTypeIds":[0],"ownedGroupLimit":1,"ownedGroupLimitForEachGroupType":1,"groupTypeIdToLimit":{}}`, record: "userRole", targets: "6"},
		{operation: "updateUserRoles", target: "/users/roles?ids=6", body: `{"name":"S"}`, record: "userRole", targets: "6"},
		{operation: "deleteUserRoles", target: "/users/roles?ids=6", record: "userRole", targets: "6"},
		{operation: "createUser", target: "/users", body: `{"id":1,"name":"Ann","password":"hidden-secret-3"}`, record: "user", targets: "1"},
		{operation: "createUser", target: "/users", body: `{"id":2,"name":"Bob"}`, record: "user", targets: "2"},
		{operation: "createUser", target: "/users", body: `{"id":3,"name":"Cid"}`, record: "user", targets: "3"},
		{operation: "updateUsers", target: "/users?ids=1", body: `{"name":"Anne","password":"hidden-secret-4"}`, record: "user", targets: "1"},
		{operation: "updateUserStatuses", target: "/users/online-infos/statuses?ids=1", body: `{"onlineStatus":"OFFLINE"}`, targets: "1"},
		{operation: "createUserRelationship", target: "/users/relationships", body: `{"ownerId":1,"relatedUserId":2,"name":"B"}`, record: "relationship", targets: "1 2"},
		{operation: "updateUserRelationships", target: "/users/relationships?" + relationship, body: `{"name":"Bobby"}`, record: "relationship", targets: "1 2"},
		{operation: "deleteUserRelationships", target: "/users/relationships?" + relationship, record: "relationship", targets: "1 2"},
		{operation: "createUserRelationshipGroup", target: "/users/relationships/groups", body: `{"ownerId":1,"index":5,"name":"family"}`, record: "relationshipGroup", targets: "1 5"},
		{operation: "updateUserRelationshipGroups", target: "/users/relationships/groups?keys[0].ownerId=1&keys[0].groupIndex=5", body: `{"name":"kin"}`, record: "relationshipGroup", targets: "1 5"},
		{operation: "deleteUserRelationshipGroups", target: "/users/relationships/groups?keys[0].ownerId=1&keys[0].groupIndex=5", record: "relationshipGroup", targets: "1 5"},
		{operation: "createFriendRequest", target: "/users/relationships/friend-requests", body: `{"id":11,"requesterId":1,"recipientId":2,"content":"hi"}`, record: "friendRequest", targets: "11"},
		{operation: "updateFriendRequests", target: "/users/relationships/friend-requests?ids=11", body: `{"content":"hello"}`, record: "friendRequest", targets: "11"},
		{operation: "deleteFriendRequests", target: "/users/relationships/friend-requests?ids=11", record: "friendRequest", targets: "11"},
		{operation: "createGroupType", target: "/groups/types", body: `{"name":"T","groupSizeLimit":5,"invitationStrategy":"OWNER","joinStrategy":"MEMBERSHIP_REQUEST","groupInfoUpdateStrategy":"OWNER","memberInfoUpdateStrategy":"OWNER","guestSpeakable":true,"selfInfoUpdatable":true,"enableReadReceipt":true,"messageEditable":true}`, record: "groupType", keep: "type", targets: "{type}"},
		{operation: "updateGroupTypes", target: "/groups/types?ids={type}", body: `{"name":"U"}`, record: "groupType", targets: "{type}"},
		{operation: "deleteGroupTypes", target: "/groups/types?ids={type}", record: "groupType", targets: "{type}"},
		{operation: "createGroup", target: "/groups", body: `{"creatorId":1,"ownerId":1,"name":"G","isActive":true}`, record: "group", keep: "group", targets: "{group}"},
		{operation: "updateGroups", target: "/groups?ids={group}", body: `{"name":"H"}`, record: "group", targets: "{group}"},
		{operation: "createGroupMember", target: "/groups/members", body: `{"groupId":{group},"userId":2,"role":"MEMBER"}`, record: "groupMember", targets: "{group} 2"},
		{operation: "updateGroupMembers", target: "/groups/members?" + member, body: `{"name":"Bobby"}`, record: "groupMember", targets: "{group} 2"},
		{operation: "deleteGroupMembers", target: "/groups/members?" + member, record: "groupMember", targets: "{group} 2"},
		{operation: "createGroupBlockedUser", target: "/groups/blocked-users", body: `{"groupId":{group},"userId":2,"requesterId":1}`, record: "groupBlockedUser", targets: "{group} 2"},
		{operation: "updateGroupBlockedUsers", target: "/groups/blocked-users?" + member, body: `{"requesterId":3}`, record: "groupBlockedUser", targets: "{group} 2"},
		{operation: "deleteGroupBlockedUsers", target: "/groups/blocked-users?" + member, record: "groupBlockedUser", targets: "{group} 2"},
		{operation: "createGroupInvitation", target: "/groups/invitations", body: `{"id":21,"groupId":{group},"inviterId":1,"inviteeId":3,"content":"come"}`, record: "groupInvitation", targets: "21"},
		{operation: "updateGroupInvitations", target: "/groups/invitations?ids=21", body: `{"content":"do come"}`, record: "groupInvitation", targets: "21"},
		{operation: "deleteGroupInvitations", target: "/groups/invitations?ids=21", record: "groupInvitation", targets: "21"},
		{operation: "createGroupJoinRequest", target: "/groups/join-requests", body: `{"id":31,"groupId":{group},"requesterId":3,"responderId":1,"content":"let me in"}`, record: "groupJoinRequest", targets: "31"},
		{operation: "updateGroupJoinRequests", target: "/groups/join-requests?ids=31", body: `{"content":"please"}`, record: "groupJoinRequest", targets: "31"},
		{operation: "deleteGroupJoinRequests", target: "/groups/join-requests?ids=31", record: "groupJoinRequest", targets: "31"},
		{operation: "createGroupQuestion", target: "/groups/questions", body: `{"groupId":{group},"question":"Q","answers":["a"],"score":1}`, record: "groupQuestion", keep: "question", targets: "{question}"},
		{operation: "updateGroupQuestions", target: "/groups/questions?ids={question}", body: `{"score":2}`, record: "groupQuestion", targets: "{question}"},
		{operation: "deleteGroupQuestions", target: "/groups/questions?ids={question}", record: "groupQuestion", targets: "{question}"},
		{operation: "updateConversations", target: "/conversations?privateConversationKeys[0].ownerId=1&privateConversationKeys[0].targetId=2", body: `{"readDate":"2024-01-01"}`, record: "privateConversation", targets: "1 2"},
		{operation: "deleteConversations", target: "/conversations?privateConversationKeys[0].ownerId=1&privateConversationKeys[0].targetId=2", record: "privateConversation", targets: "1 2"},
		{operation: "createMessage", target: "/messages", body: `{"id":41,"isGroupMessage":false,"isSystemMessage":false,"senderId":1,"targetId":2,"text":"hello"}`, record: "message", targets: "41"},
		{operation: "updateMessages", target: "/messages?ids=41", body: `{"text":"bye"}`, record: "message", targets: "41"},
		{operation: "deleteMessages", target: "/messages?ids=41", record: "message", targets: "41"},
		{operation: "deleteGroups", target: "/groups?ids={group}", record: "group", targets: "{group}"},
		{operation: "deleteUsers", target: "/users?ids=3&deleteLogically=false", record: "user", targets: "3"},
		{operation: "createFlightRecording", target: "/flight-recordings", body: `{"delaySeconds":3600}`},
		{operation: "updateFlightRecordings", target: "/flight-recordings?ids=1", body: `{"state":"CLOSED"}`, targets: "1"},
		{operation: "deleteFlightRecordings", target: "/flight-recordings?ids=1", targets: "1"},
		{operation: "createJsPlugins", target: "/plugins/js", body: `{"scripts":[{"fileName":"planted.js","code":"planted-plugin hidden-secret-5"}]}`, record: "plugin", targets: "planted-plugin"},
		{operation: "updatePluginDebugging", target: "/plugins/debugging?id=planted-plugin", body: `{"enabled":true}`, record: "plugin", targets: "planted-plugin"},
		{operation: "updatePlugins", target: "/plugins?ids=planted-plugin", body: `{"status":"STOPPED"}`, record: "plugin", targets: "planted-plugin"},
		{operation: "deletePlugins", target: "/plugins?ids=planted-plugin", record: "plugin", targets: "planted-plugin"},
		{operation: "createJsPlugins", target: "/plugins/js?scope=CLUSTER", body: `{"scripts":[{"fileName":"shared.js","code":"shared-plugin hidden-secret-5"}]}`, record: "pluginVersion", targets: "shared-plugin"},
		{operation: "createJsPlugins", target: "/plugins/js?scope=CLUSTER&replace=true", body: `{"scripts":[{"code":"shared-plugin hidden-secret-6"}]}`, record: "pluginVersion", targets: "shared-plugin"},
		{operation: "updatePluginGrants", target: "/plugins/grants?id=shared-plugin", body: `{"permissions":["USER_QUERY"]}`, record: "pluginGrant", targets: "shared-plugin"},
		{operation: "createPluginRollout", target: "/plugins/rollouts", body: `{"pluginId":"shared-plugin","number":1,"nodeIds":["node2"]}`, record: "pluginRollout", targets: "1"},
		{operation: "updatePluginRollout", target: "/plugins/rollouts?id=1", body: `{"action":"ABORT"}`, record: "pluginRollout", targets: "1"},
		{operation: "updatePluginVersion", target: "/plugins/versions?id=shared-plugin", body: `{"number":1}`, record: "plugin", targets: "shared-plugin"},
		{operation: "updatePlugins", target: "/plugins?ids=shared-plugin", body: `{"status":"STARTED"}`, record: "plugin", targets: "shared-plugin"},
		{operation: "deletePluginVersions", target: "/plugins/versions?id=shared-plugin&numbers=2", record: "pluginVersion", targets: "shared-plugin"},
		{operation: "deletePlugins", target: "/plugins?ids=shared-plugin", record: "plugin", targets: "shared-plugin"},
		{operation: "createJavaPlugins", target: "/plugins/java", refused: true},
		{operation: "shutdown", target: "/shutdown"},
		{operation: "deleteSessions", target: "/sessions?ids=1", targets: "1", onGate: true},
	}
}

// TestAuditOfEveryWrite sends every operation that writes, once by somebody who may and once by
// somebody who may not, and looks for the rows of both.
func TestAuditOfEveryWrite(t *testing.T) {
	need.Time(t)
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.role(1, 1, "LOG_QUERY")
		stranger := h.account("stranger", 1)
		session := h.session("app")
		kept := map[string]string{}
		fill := func(text string) string {
			return regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllStringFunc(text, func(name string) string {
				if id := kept[strings.Trim(name, "{}")]; id != "" {
					return id
				}
				return name
			})
		}
		tried := map[string]bool{}
		for _, w := range writes() {
			tried[w.operation] = true
			t.Run(w.operation, func(t *testing.T) {
				a := h.service
				if w.onGate {
					a = h.gateway
				}
				op := operationOf(t, a, w.operation)
				target := fill(w.target)
				r := h.callAPI(a, "stranger", op.Method, target, fill(w.body))
				if op.Access == admin.Privileged {
					row := h.trailOf(t, r, 1)[0]
					if row.Outcome != audit.Refused || row.Operation != w.operation || *row.AdminID != stranger || row.LoginName != "stranger" ||
						row.Status != 401 || row.Code != 1300 || !strings.Contains(row.Reason, string(op.Permission)) || row.Changes != nil {
						t.Errorf("the row of the refused request is %+v", row)
					}
				}
				if w.bearer {
					r = h.bearer(session.Token, op.Method, target, fill(w.body))
				} else {
					r = h.callAPI(a, "app", op.Method, target, fill(w.body))
				}
				rows := h.trailOf(t, r, 1)
				if w.refused {
					if rows[0].Outcome != audit.Refused || rows[0].Status != int32(r.status) {
						t.Errorf("status %d, row %+v", r.status, rows[0])
					}
					return
				}
				if r.status >= 300 {
					t.Fatalf("%s %s: %d %s", op.Method, target, r.status, r.body)
				}
				if w.keep != "" {
					var e struct{ Data struct{ ID json.Number } }
					if err := json.Unmarshal([]byte(r.body), &e); err != nil {
						t.Fatal(err)
					}
					kept[w.keep] = e.Data.ID.String()
				}
				records := []string{}
				for _, row := range rows {
					if row.Outcome != audit.Done || row.Operation != w.operation || row.AdminID == nil || *row.AdminID != 0 || row.LoginName != "app" ||
						row.Status != 200 || row.Code != 1000 || row.IP != netip.MustParseAddr("192.0.2.1") || row.NodeID != "node1" || (row.TokenID != nil) != w.bearer {
						t.Errorf("the row is %+v", row)
					}
					for _, c := range trailChanges(t, row) {
						records = append(records, c.Record)
					}
				}
				if w.record == "" && len(records) > 0 || w.record != "" && !slices.Contains(records, w.record) {
					t.Errorf("records %v changed, want %q", records, w.record)
				}
				for _, id := range strings.Fields(fill(w.targets)) {
					if !slices.ContainsFunc(rows, func(r store.AuditRecord) bool { return slices.Contains(r.TargetIDs, id) }) {
						t.Errorf("targets %v, want %s", rows[0].TargetIDs, id)
					}
				}
			})
		}
		for _, a := range []*admin.API{h.service, h.gateway} {
			for _, op := range a.Operations() {
				if op.Method != http.MethodGet && op.Method != http.MethodHead && !tried[op.ID] {
					t.Errorf("%s %s is not tried", op.Method, op.Path)
				}
			}
		}
		h.wantNoSecrets(t, session.Token)
	})
}

func operationOf(t *testing.T, a *admin.API, id string) *admin.Operation {
	t.Helper()
	for _, op := range a.Operations() {
		if op.ID == id {
			return op
		}
	}
	t.Fatalf("there is no operation %q", id)
	return nil
}

// wantNoSecrets searches the whole table for what was planted.
func (h *harness) wantNoSecrets(t *testing.T, more ...string) {
	t.Helper()
	err := h.DB.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
		rows, err := storetest.Rows(ctx, r, "SELECT * FROM audit")
		for _, row := range rows {
			text := ""
			for _, v := range row {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				text += fmt.Sprintf("%v\n", v)
			}
			for _, secret := range append(more, "hidden-secret", "$2a$", "$2b$", "app_session_", "app_token_") {
				if strings.Contains(text, secret) {
					t.Errorf("a row holds %q: %s", secret, text)
				}
			}
		}
		if len(rows) == 0 {
			t.Error("there are no rows")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAuditChanges compares values before and after.
func TestAuditChanges(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		changes := func(method, target, body string) string {
			t.Helper()
			var list []store.Change
			for _, row := range h.trailOf(t, h.must("app", method, target, body), 1) {
				list = append(list, trailChanges(t, row)...)
			}
			text, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			return plain(regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`).ReplaceAllString(string(text), "DATE"))
		}
		want := func(got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("changes\n%s\nwant\n%s", got, want)
			}
		}
		want(changes("POST", "/users", `{"id":1,"name":"Ann","password":"hidden-secret"}`),
			`[{"record":"user","action":"CREATE","key":{"id":1},"after":{"intro":"","isActive":true,"lastUpdatedDate":"DATE","name":"Ann","password":"***","profileAccessStrategy":"ALL","registrationDate":"DATE","roleId":0}}]`)
		want(changes("PUT", "/users?ids=1", `{"name":"Anne","profileAccessStrategy":"FRIENDS","intro":"","password":"hidden-secret-2"}`),
			`[{"record":"user","action":"UPDATE","key":{"id":1},"before":{"name":"Ann","password":"***","profileAccessStrategy":"ALL"},"after":{"name":"Anne","password":"***","profileAccessStrategy":"FRIENDS"}}]`)
		want(changes("PUT", "/users?ids=1", `{"name":"Anne"}`), "null")
		h.must("app", "POST", "/admins/roles", `{"id":5,"name":"R","permissions":["LOG_QUERY"],"rank":1}`)
		want(changes("PUT", "/admins/roles?ids=5", `{"name":"S","permissions":["SHUTDOWN","LOG_QUERY"]}`),
			`[{"record":"adminRole","action":"UPDATE","key":{"id":5},"before":{"name":"R","permissions":["LOG_QUERY"]},"after":{"name":"S","permissions":["LOG_QUERY","SHUTDOWN"]}}]`)
		want(changes("POST", "/admins", `{"loginName":"eve","password":"hidden-secret","roleIds":[5]}`),
			`[{"record":"admin","action":"CREATE","key":{"id":ID},"after":{"displayName":"eve","loginName":"eve","password":"***","registrationDate":"DATE","roleIds":[5]}}]`)
		want(changes("DELETE", "/admins/roles?ids=5", ""),
			`[{"record":"adminRole","action":"DELETE","key":{"id":5},"before":{"creationDate":"DATE","name":"S","permissions":["LOG_QUERY","SHUTDOWN"],"rank":1}}]`)
		want(changes("PUT", "/cluster/settings", `{"service":{"adminApi":{"rateLimiting":{"capacity":77}}}}`),
			`[{"record":"setting","action":"UPDATE","key":{"revision":1},"before":{"service.adminApi.rateLimiting.capacity":50},"after":{"service.adminApi.rateLimiting.capacity":77}}]`)
		id := h.newGroup(`{"creatorId":1,"ownerId":1,"name":"G","isActive":true}`)
		want(changes("PUT", fmt.Sprintf("/groups?ids=%d", id), `{"name":"H","muteEndDate":"2030-01-01T00:00:00Z"}`),
			`[{"record":"group","action":"UPDATE","key":{"id":ID},"before":{"muteEndDate":null,"name":"G"},"after":{"muteEndDate":"DATE","name":"H"}}]`)
		if got := changes("DELETE", fmt.Sprintf("/groups?ids=%d&deleteLogically=false", id), ""); !strings.Contains(got, `"record":"group","action":"DELETE"`) || !strings.Contains(got, `"name":"H"`) {
			t.Errorf("changes %s", got)
		}
		h.must("app", "POST", "/users", `{"id":2,"name":"Bob"}`)
		h.must("app", "POST", "/messages", `{"id":41,"isGroupMessage":false,"isSystemMessage":false,"senderId":1,"targetId":2,"text":"hello","records":["AAEC"]}`)
		want(changes("PUT", "/messages?ids=41", `{"text":"bye"}`),
			`[{"record":"message","action":"UPDATE","key":{"id":41},"before":{"text":"hello"},"after":{"text":"bye"}}]`)
		h.wantNoSecrets(t)
	})
}

// TestAuditBounds sends much, and what the trail shows of it is little.
func TestAuditBounds(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	list := make([]string, 300)
	for i := range list {
		list[i] = strconv.Itoa(i + 1000)
		h.must("app", "POST", "/users", `{"id":`+list[i]+`,"name":"`+strings.Repeat("n", 20)+`"}`)
	}
	r := h.must("app", "PUT", "/users?ids="+strings.Join(list, ","), `{"intro":"`+strings.Repeat("x", 90)+`"}`)
	row := h.trailOf(t, r, 1)[0]
	shown := len(trailChanges(t, row))
	if len(*row.Changes) > 16<<10 || shown == 0 || shown > 100 || row.OmittedChanges != int64(300-shown) || len(row.TargetIDs) != 100 {
		t.Errorf("%d bytes, %d changes, %d omitted, %d targets", len(*row.Changes), shown, row.OmittedChanges, len(row.TargetIDs))
	}
	r = h.call("", "PUT", "/users?ids=1", `{"intro":"x"}`)
	if row := h.trailOf(t, r, 1)[0]; row.AdminID != nil || row.LoginName != "" || row.Status != 401 {
		t.Errorf("row %+v", row)
	}
	r = h.call("app:wrong", "PUT", "/users?ids=1", `{"intro":"x"}`)
	if row := h.trailOf(t, r, 1)[0]; row.AdminID != nil || row.LoginName != "app" || row.Status != 401 {
		t.Errorf("row %+v", row)
	}
	r = h.call("app", "PUT", "/users?ids=1", `{"intro":"`+strings.Repeat("y", 100000)+`","password":"hidden-secret"}`)
	row = h.trailOf(t, r, 1)[0]
	if row.Params == nil || len(*row.Params) > 16<<10 || row.Status != int32(r.status) {
		t.Errorf("status %d, row %+v", r.status, row)
	}
	h.wantNoSecrets(t)
}

// TestAuditQueries reads the trail in all forms.
func TestAuditQueries(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.role(1, 1, "USER_CREATE", "USER_UPDATE")
		editor := h.account("editor", 1)
		h.role(2, 1, "AUDIT_QUERY")
		h.account("auditor", 2)
		start := time.Now()
		h.must("editor", "POST", "/users", `{"id":7,"name":"=cmd()"}`)
		h.must("editor", "PUT", "/users?ids=7", `{"name":"B"}`)
		h.trailOf(t, h.call("editor", "DELETE", "/users?ids=7", ""), 1)
		total := func(query string) int {
			t.Helper()
			r := h.must("auditor", "GET", "/audit/page?size=1&"+query, "")
			var e struct{ Data struct{ Total int } }
			if r.status == 200 {
				if err := json.Unmarshal([]byte(r.body), &e); err != nil {
					t.Fatal(err)
				}
			}
			return e.Data.Total
		}
		for query, want := range map[string]int{
			fmt.Sprintf("adminIds=%d", editor): 3, "loginNames=editor": 3, "loginNames=nobody": 0, "operations=updateUsers": 1,
			"operations=updateUsers,createUser": 2, "outcomes=REFUSED": 1, "targetId=7": 3, "targetId=%25": 0, "pluginIds=x": 0,
			"loginNames=editor&dateStart=2020-01-01": 3, "dateEnd=2020-01-01": 0, "requestIds=x": 0, "tokenIds=5": 0,
			"loginNames=editor&dateStart=" + start.Add(time.Hour).UTC().Format(time.RFC3339): 0,
		} {
			if got := total(query); got != want {
				t.Errorf("%s: %d records, want %d", query, got, want)
			}
		}
		r := h.must("auditor", "GET", "/audit?loginNames=editor&size=10", "")
		if !strings.Contains(plain(r.body), `"outcome":"DONE","adminId":ID,"loginName":"editor","ip":"192.0.2.1","nodeId":"node1"`) ||
			!strings.Contains(r.body, `"before":{"name":"=cmd()"},"after":{"name":"B"}`) || strings.Index(r.body, "deleteUsers") > strings.Index(r.body, "createUser") {
			t.Errorf("body %s", r.body)
		}
		r = h.must("auditor", "GET", "/audit/csv?loginNames=editor&size=10", "")
		if lines := strings.Split(strings.TrimSpace(r.body), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[0], "id,date,outcome") ||
			!strings.Contains(lines[2], `,updateUsers,`) || r.header.Get("Content-Type") != "text/csv; charset=UTF-8" {
			t.Errorf("csv %s", r.body)
		}
		for _, target := range []string{"/audit", "/audit/page", "/audit/csv"} {
			if r := h.call("editor", "GET", target, ""); r.status != 401 || !strings.Contains(r.body, "AUDIT_QUERY") {
				t.Errorf("%s without the permission: %d %s", target, r.status, r.body)
			}
			if r := h.call("auditor", "GET", target+"?outcomes=MAYBE", ""); r.status != 400 {
				t.Errorf("%s with a bad filter: %d %s", target, r.status, r.body)
			}
		}
	})
}
