// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/im/relationship"
	"example.org/app/internal/store"
)

const done = `{"code":1000,"reason":"ok","timestamp":"DATE"}`

func relationshipJSON(owner, related int, more string) string {
	return fmt.Sprintf(`{"key":{"ownerId":%d,"relatedUserId":%d},%s`, owner, related, more)
}

func TestRelationships(t *testing.T) {
	const (
		path = "/users/relationships"
		date = `"establishmentDate":"DATE"}`
	)
	// versions checks how often a list of user 1 has changed since the clock began.
	versions := func(relationships, members, groups int64) func(h *harness) {
		return func(h *harness) {
			h.t.Helper()
			got := [3]int64{h.version(store.VersionRelationships, 1), h.version(store.VersionRelationshipGroupMembers, 1), h.version(store.VersionRelationshipGroups, 1)}
			if got != [3]int64{relationships, members, groups} {
				h.t.Errorf("versions %v, want %v", got, [3]int64{relationships, members, groups})
			}
		}
	}
	onBothEngines(t, func(t *testing.T, h *harness) {
		one := relationshipJSON(1, 2, `"name":"Bob","blockDate":"DATE",`+date)
		two := relationshipJSON(1, 3, date)
		h.play([]scenario{
			{name: "none", as: "app", method: "GET", target: path, status: 204},
			{name: "create", as: "app", method: "POST", target: path, body: `{"ownerId":1,"relatedUserId":2,"name":"Bob","blockDate":"2024-01-01","establishmentDate":"2024-01-01"}`, status: 200, want: done, after: versions(0, 0, 0)},
			{name: "create with the least", as: "app", method: "POST", target: path, body: `{"ownerId":"1","relatedUserId":"3"}`, status: 200, want: done, after: versions(1, 1, 0)},
			{name: "the other direction", as: "app", method: "POST", target: path, body: `{"ownerId":2,"relatedUserId":1}`, status: 200, want: done, after: versions(1, 1, 0)},
			{name: "exists", as: "app", method: "POST", target: path, body: `{"ownerId":1,"relatedUserId":2}`, status: 409, want: `~"code":2501`, after: versions(1, 1, 0)},
			illegal("to oneself", "POST", path, `{"ownerId":1,"relatedUserId":1}`, "ownerId and relatedUserId: must differ"),
			illegal("owner 0", "POST", path, `{"ownerId":0,"relatedUserId":1}`, "ownerId: 0 cannot be"),
			illegal("related user 0", "POST", path, `{"ownerId":1,"relatedUserId":0}`, "relatedUserId: 0 cannot be"),
			illegal("no owner", "POST", path, `{"relatedUserId":1}`, "ownerId: is required"),
			illegal("no related user", "POST", path, `{"ownerId":1,"relatedUserId":null}`, "relatedUserId: is required"),
			illegal("blocked in the future", "POST", path, `{"ownerId":1,"relatedUserId":9,"blockDate":"2025-01-01"}`, "blockDate: 2025-01-01T00:00:00Z must not be in the future"),
			illegal("established in the future", "POST", path, `{"ownerId":1,"relatedUserId":9,"establishmentDate":"2025-01-01"}`, "establishmentDate: 2025"),
			illegal("NUL in the name", "POST", path, `{"ownerId":1,"relatedUserId":9,"name":"\u0000"}`, "U+0000"),
			illegal("unknown field", "POST", path, `{"ownerId":1,"relatedUserId":9,"groupIndexes":[0]}`, "there is no field"),

			{name: "all", as: "app", method: "GET", target: path, status: 200, want: ok("[" + one + "," + two + "," + relationshipJSON(2, 1, date) + "]")},
			{name: "by owner", as: "app", method: "GET", target: path + "?ownerIds=1", status: 200, want: ok("[" + one + "," + two + "]")},
			{name: "by related user", as: "app", method: "GET", target: path + "?relatedUserIds=3,4", status: 200, want: ok("[" + two + "]")},
			{name: "blocked", as: "app", method: "GET", target: path + "?isBlocked=true", status: 200, want: ok("[" + one + "]")},
			{name: "not blocked", as: "app", method: "GET", target: path + "?isBlocked=false&ownerIds=1", status: 200, want: ok("[" + two + "]")},
			{name: "by date, counted with it", as: "app", method: "GET", target: path + "/page?establishmentDateStart=2024-01-01&establishmentDateEnd=2024-01-02", status: 200, want: ok(`{"total":1,"records":[` + one + "]}")},
			{name: "what the web UI asks", as: "app", method: "GET", target: path + "/page?page=0&size=1&withGroupIndexes=true&blockDateStart=2030-01-01", status: 200, want: ok(`{"total":3,"records":[` + strings.TrimSuffix(one, "}") + `,"groupIndexes":[0]}]}`)},
			{name: "by group", as: "app", method: "GET", target: path + "?groupIndexes=0&ownerIds=1", status: 200, want: ok("[" + one + "," + two + "]")},
			{name: "a group without members restricts too", as: "app", method: "GET", target: path + "?groupIndexes=7&ownerIds=1", status: 204},
			illegal("reversed dates", "GET", path+"?establishmentDateStart=2&establishmentDateEnd=1", "", "establishmentDate: the end"),
			illegal("group index is too great", "GET", path+"?groupIndexes=2147483648", "", "32 bits"),

			{name: "update", as: "app", method: "PUT", target: path + "?keys[0].ownerId=1&keys[0].relatedUserId=3&keys[1].ownerId=9&keys[1].relatedUserId=9", body: `{"name":"Carol","blockDate":"2024-02-02"}`, status: 200, want: updated(1, 1), after: versions(2, 1, 0)},
			{name: "update to the same", as: "app", method: "PUT", target: path + "?keys%5B0%5D.ownerId=1&keys%5B0%5D.relatedUserId=3", body: `{"name":"Carol"}`, status: 200, want: updated(1, 0), after: versions(2, 1, 0)},
			{name: "a block cannot be lifted", as: "app", method: "PUT", target: path + "?keys[0].ownerId=1&keys[0].relatedUserId=3", body: `{"blockDate":null}`, status: 200, want: updated(0, 0)},
			{name: "updated", as: "app", method: "GET", target: path + "?relatedUserIds=3", status: 200, want: ok("[" + relationshipJSON(1, 3, `"name":"Carol","blockDate":"DATE",`+date) + "]")},
			illegal("update without keys", "PUT", path, `{"name":"x"}`, `parameter \"keys\": is required`),
			illegal("half a key", "PUT", path+"?keys[0].ownerId=1", `{"name":"x"}`, `field \"relatedUserId\" is required`),
			illegal("keys as numbers", "PUT", path+"?keys=1,2", `{"name":"x"}`, "must be given as keys[0].field"),
			illegal("unknown part of a key", "PUT", path+"?keys[0].ownerId=1&keys[0].userId=3", `{"name":"x"}`, `there is no field \"userId\"`),
			illegal("update to the future", "PUT", path+"?keys[0].ownerId=1&keys[0].relatedUserId=3", `{"blockDate":"2030-01-01"}`, "must not be in the future"),

			illegal("delete without keys", "DELETE", path, "", `parameter \"keys\": is required`),
			{name: "delete", as: "app", method: "DELETE", target: path + "?keys[0].ownerId=1&keys[0].relatedUserId=2&keys[1].ownerId=1&keys[1].relatedUserId=9", status: 200, want: deleted(1), after: versions(3, 2, 0)},
			{name: "one direction only", as: "app", method: "GET", target: path + "?ownerIds=2&withGroupIndexes=true", status: 200, want: ok("[" + strings.TrimSuffix(relationshipJSON(2, 1, date), "}") + `,"groupIndexes":[0]}]`)},
			{name: "delete again", as: "app", method: "DELETE", target: path + "?keys[0].ownerId=1&keys[0].relatedUserId=2", status: 200, want: deleted(0), after: versions(3, 2, 0)},
		})
	})
}

func TestRelationshipGroups(t *testing.T) {
	const path = "/users/relationships/groups"
	group := func(owner int, index any, name string) string {
		return fmt.Sprintf(`{"key":{"ownerId":%d,"groupIndex":%v},"name":%q,"creationDate":"DATE"}`, owner, index, name)
	}
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.must("app", "POST", "/users", `{"id":1}`)
		h.must("app", "POST", "/users/relationships", `{"ownerId":1,"relatedUserId":2}`)
		h.play([]scenario{
			{name: "create", as: "app", method: "POST", target: path, body: `{"ownerId":1,"index":5,"name":"family","creationDate":"2024-01-01"}`, status: 200, want: ok(group(1, 5, "family")), after: func(h *harness) {
				if got := h.version(store.VersionRelationshipGroups, 1); got != 1 {
					h.t.Errorf("version %d", got)
				}
			}},
			{name: "greatest index", as: "app", method: "POST", target: path, body: `{"ownerId":2,"index":2147483647,"name":""}`, status: 200, want: ok(group(2, 2147483647, ""))},
			{name: "taken", as: "app", method: "POST", target: path, body: `{"ownerId":1,"index":5,"name":"x"}`, status: 409, want: `~"code":1103`},
			{name: "default taken", as: "app", method: "POST", target: path, body: `{"ownerId":1,"index":0,"name":"x"}`, status: 409, want: `~"code":1103`},
			illegal("no name", "POST", path, `{"ownerId":1}`, "name: is required"),
			illegal("no owner", "POST", path, `{"name":"x"}`, "ownerId: is required"),
			illegal("owner 0", "POST", path, `{"ownerId":0,"name":"x"}`, "ownerId: 0 cannot be"),
			illegal("negative index", "POST", path, `{"ownerId":1,"index":-1,"name":"x"}`, "index: -1 must be at least 0"),
			illegal("index too great", "POST", path, `{"ownerId":1,"index":2147483648,"name":"x"}`, "32 bits"),
			illegal("groupIndex is no field here", "POST", path, `{"ownerId":1,"groupIndex":1,"name":"x"}`, "there is no field"),
			illegal("created in the future", "POST", path, `{"ownerId":1,"name":"x","creationDate":"2025-01-01"}`, "creationDate: 2025"),

			{name: "all", as: "app", method: "GET", target: path, status: 200, want: ok("[" + group(1, 0, "") + "," + group(1, 5, "family") + "," + group(2, 2147483647, "") + "]")},
			{name: "by owner and index", as: "app", method: "GET", target: path + "?ownerIds=1&indexes=5,6", status: 200, want: ok("[" + group(1, 5, "family") + "]")},
			{name: "by name", as: "app", method: "GET", target: path + "?names=family,friends", status: 200, want: ok("[" + group(1, 5, "family") + "]")},
			{name: "by date", as: "app", method: "GET", target: path + "/page?creationDateEnd=2024-01-02", status: 200, want: ok(`{"total":1,"records":[` + group(1, 5, "family") + "]}")},
			{name: "none", as: "app", method: "GET", target: path + "/page?names=x", status: 204},
			illegal("reversed dates", "GET", path+"?creationDateStart=2&creationDateEnd=1", "", "creationDate: the end"),

			{name: "update", as: "app", method: "PUT", target: path + "?keys[0].ownerId=1&keys[0].groupIndex=5&keys[1].ownerId=1&keys[1].groupIndex=0", body: `{"name":"kin"}`, status: 200, want: updated(2, 2)},
			{name: "update nothing", as: "app", method: "PUT", target: path + "?keys[0].ownerId=1&keys[0].groupIndex=5", body: `{}`, status: 200, want: updated(0, 0)},
			illegal("update without keys", "PUT", path, `{"name":"x"}`, `parameter \"keys\": is required`),
			illegal("index is no part of a key", "PUT", path+"?keys[0].ownerId=1&keys[0].index=5", `{"name":"x"}`, `there is no field \"index\"`),
			illegal("update to the future", "PUT", path+"?keys[0].ownerId=1&keys[0].groupIndex=5", `{"creationDate":"2025-01-01"}`, "must not be in the future"),

			{name: "delete without keys", as: "app", method: "DELETE", target: path, status: 400, want: `~"code":1301`},
			illegal("delete the default group", "DELETE", path+"?keys[0].ownerId=1&keys[0].groupIndex=0", "", "default group, which cannot be deleted"),
		})
		index := int32(5)
		if _, err := h.Relationships.Change(t.Context(), store.RelationshipKey{OwnerID: 1, RelatedUserID: 2}, moveTo(index)); err != nil {
			t.Fatal(err)
		}
		h.settings.AllowDeleteWithoutFilter = true
		h.play([]scenario{
			{name: "in the group alone", as: "app", method: "GET", target: "/users/relationships?groupIndexes=5&withGroupIndexes=true", status: 200, want: `~"groupIndexes":[5]`},
			{name: "delete all", as: "app", method: "DELETE", target: path, status: 200, want: deleted(2)},
			{name: "but the default ones", as: "app", method: "GET", target: path, status: 200, want: ok("[" + group(1, 0, "kin") + "]")},
			{name: "to which the members moved", as: "app", method: "GET", target: "/users/relationships?withGroupIndexes=true", status: 200, want: `~"groupIndexes":[0]`},
			{name: "random index", as: "app", method: "POST", target: path, body: `{"ownerId":1,"name":"x"}`, status: 200, want: `~"groupIndex":`},
			{name: "delete what there is not", as: "app", method: "DELETE", target: path + "?keys[0].ownerId=1&keys[0].groupIndex=77", status: 200, want: deleted(0)},
		})
	})
}

func TestFriendRequests(t *testing.T) {
	const path = "/users/relationships/friend-requests"
	request := func(id any, content, status, more string, requester, recipient int) string {
		return fmt.Sprintf(`{"id":%v,"content":%q,"status":%q,%s,"requesterId":%d,"recipientId":%d,"expirationDate":"DATE"}`, id, content, status, more, requester, recipient)
	}
	const created, answered = `"creationDate":"DATE"`, `"creationDate":"DATE","responseDate":"DATE"`
	onBothEngines(t, func(t *testing.T, h *harness) {
		pending := request(1, "hi", "PENDING", created, 1, 2)
		old := request(2, "", "EXPIRED", created, 2, 1)
		accepted := request(3, "hi", "ACCEPTED", `"reason":"ok",`+answered, 1, 3)
		stored := request(4, "hi", "EXPIRED", created, 3, 4)
		h.play([]scenario{
			{name: "none", as: "app", method: "GET", target: path, status: 204},
			{name: "create", as: "app", method: "POST", target: path, body: `{"id":1,"requesterId":1,"recipientId":2,"content":"hi","responseDate":"2024-01-01"}`, status: 200, want: ok(pending), after: func(h *harness) {
				if h.version(store.VersionSentFriendRequests, 1) != 0 || h.version(store.VersionReceivedFriendRequests, 2) != 0 || h.version(store.VersionReceivedFriendRequests, 1) != -1 {
					h.t.Error("versions are wrong")
				}
			}},
			{name: "create an old one", as: "app", method: "POST", target: path, body: `{"id":2,"requesterId":2,"recipientId":1,"content":"","creationDate":"2024-02-27T11:59:59.999Z"}`, status: 200, want: ok(old)},
			{name: "create an answered one", as: "app", method: "POST", target: path, body: `{"id":3,"requesterId":1,"recipientId":3,"content":"hi","status":"ACCEPTED","reason":"ok","creationDate":"2024-01-01"}`, status: 200, want: ok(accepted)},
			{name: "that leads to no relationship", as: "app", method: "GET", target: "/users/relationships", status: 204},
			{name: "create an expired one", as: "app", method: "POST", target: path, body: `{"id":4,"requesterId":3,"recipientId":4,"content":"hi","status":5}`, status: 200, want: ok(stored)},
			{name: "as the web UI does", as: "app", method: "POST", target: path, body: `{"id":"5","requesterId":5,"recipientId":6,"content":"😀","reason":"r","creationDate":"2024-03-28T08:00:00.000Z","responseDate":"2024-03-28T08:00:00.000Z"}`, status: 200, want: ok(request(5, "😀", "PENDING", `"reason":"r",`+created, 5, 6))},
			{name: "taken", as: "app", method: "POST", target: path, body: `{"id":1,"requesterId":1,"recipientId":2,"content":"hi"}`, status: 409, want: `~"code":1103`},
			illegal("to oneself", "POST", path, `{"requesterId":1,"recipientId":1,"content":"hi"}`, "requesterId and recipientId: must differ"),
			illegal("requester 0", "POST", path, `{"requesterId":0,"recipientId":1,"content":"hi"}`, "requesterId: 0 cannot be"),
			illegal("no recipient", "POST", path, `{"requesterId":1,"content":"hi"}`, "recipientId: is required"),
			illegal("no content", "POST", path, `{"requesterId":1,"recipientId":2}`, "content: is required"),
			illegal("long content", "POST", path, `{"requesterId":1,"recipientId":2,"content":"`+strings.Repeat("😀", 101)+`"}`, "content: must have at most 200 characters, but has 202"),
			illegal("long reason", "POST", path, `{"requesterId":1,"recipientId":2,"content":"","reason":"`+strings.Repeat("x", 201)+`"}`, "reason: must have at most 200"),
			illegal("unknown status", "POST", path, `{"requesterId":1,"recipientId":2,"content":"","status":"UNRECOGNIZED"}`, "must be one of PENDING"),
			illegal("created in the future", "POST", path, `{"requesterId":1,"recipientId":2,"content":"","creationDate":"2025-01-01"}`, "creationDate: 2025"),
			illegal("answered in the future", "POST", path, `{"requesterId":1,"recipientId":2,"content":"","status":"ACCEPTED","responseDate":"2025-01-01"}`, "responseDate: 2025"),

			{name: "by id", as: "app", method: "GET", target: path + "?ids=1,2", status: 200, want: ok("[" + pending + "," + old + "]")},
			{name: "by requester", as: "app", method: "GET", target: path + "?requesterIds=3", status: 200, want: ok("[" + stored + "]")},
			{name: "by recipient", as: "app", method: "GET", target: path + "?recipientIds=1,3", status: 200, want: ok("[" + old + "," + accepted + "]")},
			{name: "pending", as: "app", method: "GET", target: path + "/page?statuses=PENDING&size=1", status: 200, want: ok(`{"total":2,"records":[` + pending + "]}")},
			{name: "expired", as: "app", method: "GET", target: path + "/page?statuses=EXPIRED", status: 200, want: ok(`{"total":2,"records":[` + old + "," + stored + "]}")},
			{name: "expired and open range", as: "app", method: "GET", target: path + "?statuses=EXPIRED&creationDateStart=2024-03-01", status: 200, want: ok("[" + stored + "]")},
			{name: "old answers are found beside pending ones", as: "app", method: "GET", target: path + "?statuses=PENDING&statuses=ACCEPTED&requesterIds=1", status: 200, want: ok("[" + pending + "," + accepted + "]")},
			{name: "both", as: "app", method: "GET", target: path + "/page?statuses[]=PENDING&statuses[]=EXPIRED&size=1", status: 200, want: ok(`{"total":4,"records":[` + pending + "]}")},
			{name: "by creation", as: "app", method: "GET", target: path + "?creationDateEnd=2024-01-02", status: 200, want: ok("[" + accepted + "]")},
			{name: "by response", as: "app", method: "GET", target: path + "?responseDateStart=2024-03-28T12:00:00Z", status: 200, want: ok("[" + accepted + "]")},
			{name: "by expiration", as: "app", method: "GET", target: path + "?expirationDateStart=2024-01-31&expirationDateEnd=2024-01-31T00:00:00.001Z", status: 200, want: ok("[" + accepted + "]")},
			{name: "by expiration and creation", as: "app", method: "GET", target: path + "?expirationDateStart=2024-01-31&creationDateEnd=2024-03-01", status: 200, want: ok("[" + accepted + "," + old + "]")},
			illegal("no creation for the expiration", "GET", path+"?expirationDateEnd=2024-01-31&creationDateStart=2024-01-02", "", "no request can be in both ranges"),
			illegal("reversed creation", "GET", path+"?creationDateStart=2&creationDateEnd=1", "", "creationDate: the end"),
			illegal("reversed response", "GET", path+"?responseDateStart=2&responseDateEnd=1", "", "responseDate: the end"),
			illegal("reversed expiration", "GET", path+"?expirationDateStart=2&expirationDateEnd=1", "", "expirationDate: the end"),
			illegal("unknown status in a filter", "GET", path+"?statuses=pending", "", "must be one of PENDING"),
			illegal("empty status in a filter", "GET", path+"?statuses=&size=1", "", "must be one of PENDING"),

			{name: "update nothing", as: "app", method: "PUT", target: path + "?ids=1", body: `{}`, status: 200, want: updated(0, 0)},
			{name: "decline", as: "app", method: "PUT", target: path + "?ids=1,99", body: `{"status":"DECLINED","reason":"no","responseDate":"2024-03-28T01:00:00Z"}`, status: 200, want: updated(1, 1), after: func(h *harness) {
				if h.version(store.VersionSentFriendRequests, 1) != 2 || h.version(store.VersionReceivedFriendRequests, 2) != 1 {
					h.t.Error("versions are wrong")
				}
			}},
			{name: "declined then", as: "app", method: "GET", target: path + "?responseDateEnd=2024-03-28T01:00:00.001Z", status: 200, want: ok("[" + request(1, "hi", "DECLINED", `"reason":"no",`+answered, 1, 2) + "]")},
			{name: "response date alone", as: "app", method: "PUT", target: path + "?ids=1,2", body: `{"responseDate":"2024-03-28T02:00:00Z"}`, status: 200, want: updated(0, 0)},
			{name: "back to pending", as: "app", method: "PUT", target: path + "?ids=1", body: `{"status":"PENDING","responseDate":"2024-03-28T02:00:00Z"}`, status: 200, want: updated(1, 1)},
			{name: "pending without response date", as: "app", method: "GET", target: path + "?ids=1", status: 200, want: ok("[" + request(1, "hi", "PENDING", `"reason":"no",`+created, 1, 2) + "]")},
			{name: "everything else", as: "app", method: "PUT", target: path + "?ids=1", body: `{"requesterId":7,"recipientId":8,"content":"new","reason":"","creationDate":"2024-03-01"}`, status: 200, want: updated(1, 1), after: func(h *harness) {
				if h.version(store.VersionSentFriendRequests, 7) != 0 || h.version(store.VersionReceivedFriendRequests, 8) != 0 || h.version(store.VersionReceivedFriendRequests, 2) != 3 {
					h.t.Error("versions are wrong")
				}
			}},
			illegal("both the same", "PUT", path+"?ids=1", `{"requesterId":7,"recipientId":7}`, "must differ"),
			illegal("one becomes the other", "PUT", path+"?ids=1", `{"requesterId":8}`, "must differ"),
			illegal("recipient becomes 0", "PUT", path+"?ids=1", `{"recipientId":0}`, "recipientId: 0 cannot be"),
			illegal("update to a long reason", "PUT", path+"?ids=1", `{"reason":"`+strings.Repeat("x", 201)+`"}`, "reason: must have at most 200"),
			illegal("update to the future", "PUT", path+"?ids=1", `{"responseDate":"2025-01-01"}`, "responseDate: 2025"),
			illegal("update without ids", "PUT", path, `{"content":"x"}`, `parameter \"ids\": is required`),
			illegal("update the id", "PUT", path+"?ids=1", `{"id":2}`, "there is no field"),

			{name: "delete without ids", as: "app", method: "DELETE", target: path, status: 400, want: `~"code":1301`},
			{name: "delete", as: "app", method: "DELETE", target: path + "?ids=1,99", status: 200, want: deleted(1), after: func(h *harness) {
				if h.version(store.VersionSentFriendRequests, 7) != 1 {
					h.t.Error("version is wrong")
				}
				h.Rules.User.FriendRequest.FriendRequestExpireAfterSeconds = 0
			}},
			{name: "nothing expires", as: "app", method: "GET", target: path + "?ids=2&expirationDateEnd=1970-01-01", status: 200, want: ok("[" + strings.ReplaceAll(strings.ReplaceAll(old, `,"expirationDate":"DATE"`, ""), "EXPIRED", "PENDING") + "]")},
			{name: "stored as expired", as: "app", method: "GET", target: path + "/page?statuses=EXPIRED", status: 200, want: `~{"total":1,"records":[{"id":4,`},
		})
		h.settings.AllowDeleteWithoutFilter = true
		h.play([]scenario{
			{name: "delete all", as: "app", method: "DELETE", target: path, status: 200, want: deleted(4)},
			{name: "all gone", as: "app", method: "GET", target: path, status: 204},
		})
		if h.version(store.VersionReceivedFriendRequests, 6) != 1 {
			t.Error("the version of those who lost all requests is wrong")
		}
	})
}

// TestExpirationDate proves that it is the end of the lifetime of each request.
func TestExpirationDate(t *testing.T) {
	h := newSQLiteHarness(t)
	h.Rules.User.FriendRequest.FriendRequestExpireAfterSeconds = 3600
	r := h.must("app", "POST", "/users/relationships/friend-requests", `{"requesterId":1,"recipientId":2,"content":"","creationDate":"2024-03-28T11:00:00Z"}`)
	if !strings.Contains(r.body, `"status":"PENDING"`) || !strings.Contains(r.body, `"expirationDate":"2024-03-28T12:00:00.000+00:00"`) {
		t.Error(r.body)
	}
	h.Now = h.Now.Add(time.Millisecond)
	if r := h.must("app", "GET", "/users/relationships/friend-requests", ""); !strings.Contains(r.body, `"status":"EXPIRED"`) {
		t.Error(r.body)
	}
}

func TestRelationshipConcurrency(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		const callers = 16
		statuses := make([]int, callers)
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				statuses[i] = h.call("app", "POST", "/users/relationships", `{"ownerId":1,"relatedUserId":2}`).status
			})
		}
		group.Wait()
		slices.Sort(statuses)
		if statuses[0] != 200 || statuses[1] != 409 || statuses[callers-1] != 409 {
			t.Errorf("%d callers who create one relationship get %v", callers, statuses)
		}
	})
}

// moveTo is the change that moves a related user out of the default group.
func moveTo(index int32) relationship.OwnChange {
	return relationship.OwnChange{NewGroup: &index, OldGroup: new(store.DefaultRelationshipGroup)}
}
