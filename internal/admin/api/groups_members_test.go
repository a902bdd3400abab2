// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestGroupMembers(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		a := h.newGroup(`{"creatorId":1}`)
		post := func(user, more string) string { return fmt.Sprintf(`{"groupId":%d,"userId":%s%s}`, a, user, more) }
		keys := func(users ...int) string {
			text := "/groups/members?"
			for i, u := range users {
				text += fmt.Sprintf("keys[%d].groupId=%d&keys%%5B%d%%5D.userId=%d&", i, a, i, u)
			}
			return text[:len(text)-1]
		}
		h.play([]scenario{
			{name: "none", as: "app", method: "GET", target: "/groups/members?userIds=99", status: 200, want: ok("[]")},
			{name: "no page", as: "app", method: "GET", target: "/groups/members/page?userIds=99", status: 204},
			{
				name: "add", as: "app", method: "POST", target: "/groups/members", status: 200,
				body: post("2", `,"role":"MANAGER","name":"N","joinDate":"2024-01-01","muteEndDate":"2030-01-01"`),
				want: ok(`{"key":{"groupId":ID,"userId":2},"name":"N","role":"MANAGER","joinDate":"DATE","muteEndDate":"DATE"}`),
			},
			{name: "add by number", as: "app", method: "POST", target: "/groups/members", body: post("3", `,"role":2`), status: 200, want: `~"role":"MEMBER"`},
			{name: "add again", as: "app", method: "POST", target: "/groups/members", body: post("3", `,"role":"GUEST"`), status: 409, want: `~"code":1103`},
			{name: "add an owner", as: "app", method: "POST", target: "/groups/members", body: post("4", `,"role":"OWNER"`), status: 400, want: `~must be one of MANAGER, MEMBER, GUEST, ANONYMOUS_GUEST`},
			{name: "add an owner by position", as: "app", method: "POST", target: "/groups/members", body: post("4", `,"role":0`), status: 400, want: `~must be one of MANAGER, MEMBER, GUEST, ANONYMOUS_GUEST`},
			{name: "add by a position that is none", as: "app", method: "POST", target: "/groups/members", body: post("4", `,"role":5`), status: 400, want: `~the position 5 must be from 0 to 4`},
			{name: "add to nothing", as: "app", method: "POST", target: "/groups/members", body: `{"groupId":5,"userId":1,"role":"GUEST"}`, status: 400, want: `~there is no group 5`, after: h.wantMembers(a, "1:OWNER 2:MANAGER 3:MEMBER")},
			{name: "by role", as: "app", method: "GET", target: "/groups/members/page?roles=OWNER,MANAGER", status: 200, want: `~"total":2`},
			{name: "by join date", as: "app", method: "GET", target: "/groups/members/page?joinDateEnd=2024-01-02", status: 200, want: `~"total":1`},
			{name: "by mute", as: "app", method: "GET", target: "/groups/members/page?muteEndDateStart=2025-01-01", status: 200, want: `~"total":1`},
			{name: "page", as: "app", method: "GET", target: "/groups/members/page?size=2&page=1", status: 200, want: `~{"total":3,"records":[{"key":{"groupId":ID,"userId":3}`},
			{name: "change", as: "app", method: "PUT", target: keys(2, 3, 99), body: `{"role":"GUEST","name":"x"}`, status: 200, want: updated(2, 2), after: h.wantMembers(a, "1:OWNER 2:GUEST 3:GUEST")},
			{name: "change to owner", as: "app", method: "PUT", target: keys(2), body: `{"role":"OWNER"}`, status: 400, want: `~one owner`},
			{name: "change the owner", as: "app", method: "PUT", target: keys(1), body: `{"role":"GUEST"}`, status: 400, want: `~one owner`},
			{name: "change nothing", as: "app", method: "PUT", target: keys(2), body: `{}`, status: 200, want: updated(0, 0)},
			{name: "delete the owner", as: "app", method: "DELETE", target: keys(2, 1), status: 400, want: `~"code":3204`, after: h.wantMembers(a, "1:OWNER 2:GUEST 3:GUEST")},
			{name: "delete", as: "app", method: "DELETE", target: keys(2, 2, 99), status: 200, want: deleted(1), after: h.wantMembers(a, "1:OWNER 3:GUEST")},
			{name: "delete all", as: "app", method: "DELETE", target: "/groups/members", status: 400, want: `~"code":1301`},
			{name: "shrink", as: "app", method: "PUT", target: "/groups/types?ids=0", body: `{"groupSizeLimit":2}`, status: 200, want: updated(1, 1)},
			{name: "add too many", as: "app", method: "POST", target: "/groups/members", body: post("5", `,"role":"GUEST"`), status: 403, want: `~"code":3403`},
		})
		h.settings.AllowDeleteWithoutFilter = true
		h.wantBody("delete all on purpose", "DELETE", "/groups/members", "", 200, `"deletedCount":1`)
		h.wantMembers(a, "1:OWNER")(h)

		// Many at once: one seat, one winner.
		var wg sync.WaitGroup
		var mu sync.Mutex
		counts := map[int]int{}
		for i := range 12 {
			wg.Go(func() {
				r := h.call("app", "POST", "/groups/members", post(fmt.Sprint(100+i), `,"role":"MEMBER"`))
				mu.Lock()
				defer mu.Unlock()
				counts[r.status]++
			})
		}
		wg.Wait()
		if counts[200] != 1 || counts[403] != 11 {
			t.Errorf("many joined at once: %v", counts)
		}
	})
}

func TestGroupQuestionsAndBlockedUsers(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.play([]scenario{
			{
				name: "question", as: "app", method: "POST", target: "/groups/questions", status: 200,
				body: `{"groupId":5,"question":"Q 😀","answers":["b","a","b"],"score":0}`, want: ok(`{"id":ID,"groupId":5,"question":"Q 😀","answers":["b","a"],"score":0}`),
			},
			{name: "single answer", as: "app", method: "POST", target: "/groups/questions", body: `{"groupId":6,"question":1,"answers":"x","score":"3"}`, status: 200, want: `~"question":"1","answers":["x"],"score":3`},
			{name: "questions", as: "app", method: "GET", target: "/groups/questions?groupIds=5", status: 200, want: `~"answers":["b","a"]`},
			{name: "no questions", as: "app", method: "GET", target: "/groups/questions?ids=5", status: 204},
			{name: "question page", as: "app", method: "GET", target: "/groups/questions/page?size=1", status: 200, want: `~"total":2`},
			{name: "change nothing", as: "app", method: "PUT", target: "/groups/questions?ids=5", body: `{}`, status: 200, want: updated(0, 0)},
			{name: "no answers", as: "app", method: "PUT", target: "/groups/questions?ids=5", body: `{"answers":[]}`, status: 400, want: "~answers"},
			{name: "delete unknown", as: "app", method: "DELETE", target: "/groups/questions?ids=5", status: 200, want: deleted(0)},
			{name: "delete all questions", as: "app", method: "DELETE", target: "/groups/questions", status: 400, want: `~"code":1301`},

			{
				name: "block", as: "app", method: "POST", target: "/groups/blocked-users", body: `{"groupId":5,"userId":6,"requesterId":7}`, status: 200,
				want: ok(`{"key":{"groupId":5,"userId":6},"blockDate":"DATE","requesterId":7}`),
			},
			{name: "block again", as: "app", method: "POST", target: "/groups/blocked-users", body: `{"groupId":5,"userId":6,"requesterId":8}`, status: 409, want: `~"code":1103`},
			{name: "blocked", as: "app", method: "GET", target: "/groups/blocked-users?groupIds=5&userIds=6&requesterIds=7&blockDateStart=2024-03-28", status: 200, want: `~"requesterId":7`},
			{name: "not blocked", as: "app", method: "GET", target: "/groups/blocked-users?requesterIds=8", status: 204},
			{name: "blocked page", as: "app", method: "GET", target: "/groups/blocked-users/page", status: 200, want: `~"total":1`},
			{name: "change a block", as: "app", method: "PUT", target: "/groups/blocked-users?keys[0].groupId=5&keys[0].userId=6&keys[1].groupId=1&keys[1].userId=1", body: `{"requesterId":8,"blockDate":"2024-01-01"}`, status: 200, want: updated(1, 1)},
			{name: "unblock nobody", as: "app", method: "DELETE", target: "/groups/blocked-users", status: 400, want: `~\"keys\": is required`},
			{name: "unblock", as: "app", method: "DELETE", target: "/groups/blocked-users?keys[0].groupId=5&keys[0].userId=6", status: 200, want: deleted(1)},
			{name: "unblocked", as: "app", method: "GET", target: "/groups/blocked-users/page", status: 204},
		})
		h.settings.AllowDeleteWithoutFilter = true
		h.wantBody("delete all questions on purpose", "DELETE", "/groups/questions", "", 200, `"deletedCount":2`)
	})
}

func TestGroupRequests(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		const expires = `"expirationDate":"2024-04-27T12:00:00.000+00:00"`
		h.wantBody("invite", "POST", "/groups/invitations", `{"id":1,"groupId":5,"inviterId":6,"inviteeId":7,"content":"c"}`, 200,
			`"data":{"id":1,"groupId":5,"inviterId":6,"inviteeId":7,"content":"c","status":"PENDING","creationDate":"`+noonText+`",`+expires+`}}`)
		h.wantBody("invite again", "POST", "/groups/invitations", `{"id":1,"groupId":5,"inviterId":6,"inviteeId":7}`, 409, `"code":1103`)
		h.wantBody("invite all", "POST", "/groups/invitations", `{"id":"2","groupId":5,"inviterId":6,"inviteeId":8,"status":"CANCELED","creationDate":"2024-01-01","responseDate":"2024-01-02"}`, 200,
			`"data":{"id":2,"groupId":5,"inviterId":6,"inviteeId":8,"content":"","status":"CANCELED","creationDate":"2024-01-01T00:00:00.000+00:00","responseDate":"2024-01-02T00:00:00.000+00:00",`)
		h.wantBody("invite long ago", "POST", "/groups/invitations", `{"id":3,"groupId":6,"inviterId":6,"inviteeId":8,"creationDate":"2024-01-01"}`, 200, `"status":"EXPIRED"`)
		h.wantBody("ask", "POST", "/groups/join-requests", `{"id":1,"groupId":5,"requesterId":6,"responderId":7,"responseDate":"2024-01-01","responseReason":"r"}`, 200,
			`"data":{"id":1,"content":"","status":"PENDING","creationDate":"`+noonText+`","reason":"r","groupId":5,"requesterId":6,"responderId":7,`+expires+`}}`)
		h.wantBody("ask and answer", "POST", "/groups/join-requests", `{"id":2,"groupId":5,"requesterId":6,"responderId":7,"status":"ACCEPTED"}`, 200, `"responseDate":"`+noonText+`"`)
		h.wantBody("ask long ago", "POST", "/groups/join-requests", `{"id":3,"groupId":6,"requesterId":6,"responderId":8,"creationDate":"2024-01-01"}`, 200, `"status":"EXPIRED"`)
		for _, s := range []struct {
			query               string
			invitations, others int
		}{
			{"", 3, 3},
			{"ids=1,3", 2, 2},
			{"groupIds=6", 1, 1},
			{"inviterIds=6&inviteeIds=8&requesterIds=6&responderIds=8", 2, 1},
			{"statuses=PENDING", 1, 1},
			{"statuses=EXPIRED", 1, 1},
			{"statuses=PENDING,EXPIRED", 2, 2},
			{"statuses=CANCELED", 1, 0},
			{"statuses=EXPIRED&creationDateStart=2024-01-01", 1, 1},
			{"creationDateEnd=2024-01-02", 2, 1},
			{"responseDateStart=2024-01-01", 1, 1},
			{"expirationDateStart=2024-04-27T12:00:00Z", 1, 2},
			{"expirationDateEnd=2024-02-01", 2, 1},
		} {
			for path, want := range map[string]int{"/groups/invitations": s.invitations, "/groups/join-requests": s.others} {
				status, part := 200, fmt.Sprintf(`"total":%d,`, want)
				if want == 0 {
					status, part = 204, ""
				}
				h.wantBody(s.query, "GET", path+"/page?"+s.query, "", status, part)
				if r := h.call("app", "GET", path+"?"+s.query, ""); r.status != status {
					t.Errorf("%s %s: %d", path, s.query, r.status)
				}
			}
		}
		for _, path := range []string{"/groups/invitations", "/groups/join-requests"} {
			h.wantBody("move", "PUT", path+"?ids=1,99", `{"groupId":9}`, 200, `{"matchedCount":1,"modifiedCount":1}`)
			h.wantBody("moved", "GET", path+"?groupIds=9", "", 200, `"id":1`)
			h.wantBody("a date without status", "PUT", path+"?ids=1", `{"responseDate":"2024-01-01"}`, 200, `{"matchedCount":0,"modifiedCount":0}`)
			h.wantBody("answer", "PUT", path+"?ids=1", `{"status":"DECLINED"}`, 200, `"modifiedCount":1`)
			h.wantBody("answered", "GET", path+"?ids=1", "", 200, `"responseDate":"`+noonText+`"`)
			h.wantBody("take back", "PUT", path+"?ids=1", `{"status":"PENDING","responseDate":"2024-01-01"}`, 200, `"modifiedCount":1`)
			h.wantBody("taken back", "GET", path+"?ids=1&responseDateStart=2020-01-01", "", 204, "")
			h.wantBody("reason", "PUT", path+"?ids=1", `{"responseReason":"r"}`, 400, "responseReason")
			h.wantBody("change the id", "PUT", path+"?ids=1", `{"id":7}`, 400, `there is no field`)
			h.wantBody("delete", "DELETE", path+"?ids=1,99", "", 200, `"deletedCount":1`)
			h.wantBody("delete all", "DELETE", path, "", 400, `"code":1301`)
		}
		// Without a lifetime nothing expires.
		h.Rules.Group.Invitation.ExpireAfterSeconds = 0
		if r := h.call("app", "GET", "/groups/invitations?ids=3&expirationDateStart=2999-01-01", ""); r.status != 200 || plain(r.body) !=
			ok(`[{"id":3,"groupId":6,"inviterId":6,"inviteeId":8,"content":"","status":"PENDING","creationDate":"DATE"}]`) {
			t.Errorf("%d %s", r.status, r.body)
		}
		h.Rules.Group.Invitation.ExpireAfterSeconds = 2592000
		h.Now = h.Now.Add(24 * time.Hour)
		h.settings.AllowDeleteWithoutFilter = true
		h.wantBody("delete all on purpose", "DELETE", "/groups/invitations", "", 200, `"deletedCount":2`)
		h.wantBody("delete all on purpose", "DELETE", "/groups/join-requests", "", 200, `"deletedCount":2`)
	})
}
