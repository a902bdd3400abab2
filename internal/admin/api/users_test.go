// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/admin/api"
	"example.org/app/internal/config"
	"example.org/app/internal/im/imtest"
	"example.org/app/internal/im/user"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
)

// userHarness is the part of the harness that is about users.
type userHarness struct {
	limits api.StatisticsLimits

	mu                  sync.Mutex
	disconnected        [][]int64
	erased              [][]int64
	registered, deleted int64
	senders             int64
}

// noteUsers lets the harness note what becomes of users.
func (h *harness) noteUsers(o *user.Options) {
	h.limits = api.StatisticsLimits{Hours: 24, Days: 31, Months: 12}
	o.OnDelete = append(o.OnDelete, func(_ context.Context, _ store.Tx, ids []int64) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.erased = append(h.erased, ids)
		return nil
	})
	o.Disconnect = func(ids []int64) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.disconnected = append(h.disconnected, ids)
	}
	o.Registered = func(n int64) { h.count(&h.registered, n) }
	o.Deleted = func(n int64) { h.count(&h.deleted, n) }
}

func (h *harness) count(counter *int64, n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*counter += n
}

// CountSenders makes the harness a source of message statistics: it knows as
// many senders as there are seconds in the range, or a fixed number.
func (h *harness) CountSenders(_ context.Context, r store.DateRange) (int64, error) {
	if r.Start == nil || r.End == nil {
		return h.senders, nil
	}
	return int64(r.End.Sub(*r.Start) / time.Second), nil
}

// wantCalls checks what the users' directory has told the sessions and the
// other nouns since the last time.
func (h *harness) wantCalls(disconnected, erased string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if got := fmt.Sprint(h.disconnected); got != disconnected {
		h.t.Errorf("disconnected %s, want %s", got, disconnected)
	}
	if got := fmt.Sprint(h.erased); got != erased {
		h.t.Errorf("other nouns were told of %s, want %s", got, erased)
	}
	h.disconnected, h.erased = nil, nil
}

// version returns when a list of a user changed last, in milliseconds after the
// start of the clock, and -1 if nothing is known.
func (h *harness) version(kind store.UserVersion, id int64) int64 {
	h.t.Helper()
	offset := int64(-1)
	err := h.DB.Read(h.t.Context(), func(ctx context.Context, r store.Reader) error {
		date, err := store.FindUserVersion(ctx, r, kind, id)
		if err == nil && date != nil {
			offset = date.Sub(imtest.Noon).Milliseconds()
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return offset
}

// userJSON is a user without profile picture as the interface returns it.
func userJSON(id, name, intro, strategy string, role int, active bool) string {
	return fmt.Sprintf(`{"id":%s,"name":%q,"intro":%q,"profileAccessStrategy":%q,"roleId":%d,"registrationDate":"DATE","lastUpdatedDate":"DATE","isActive":%v}`,
		id, name, intro, strategy, role, active)
}

// illegal is a scenario of an argument that is refused.
func illegal(name, method, target, body, reason string) scenario {
	return scenario{name: name, as: "app", method: method, target: target, body: body, status: 400, want: "~" + reason}
}

func TestUsers(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		alice := userJSON("1", "Alice", "Hi", "FRIENDS", 7, true)
		long := strings.Repeat("x", 101)
		h.play([]scenario{
			{name: "nobody", as: "app", method: "GET", target: "/users", status: 204},
			{name: "empty page", as: "app", method: "GET", target: "/users/page", status: 204},

			// POST.
			{
				name: "create", as: "app", method: "POST", target: "/users", status: 200, want: ok(alice),
				body: `{"id":1,"password":"secret","name":"Alice","intro":"Hi","profileAccessStrategy":"FRIENDS","roleId":7,"registrationDate":"2024-01-01T00:00:00.000Z"}`,
				after: func(h *harness) {
					h.wantCalls("[]", "[]")
					if h.registered != 1 {
						h.t.Errorf("%d registrations were counted", h.registered)
					}
					for _, kind := range store.UserVersions {
						if got := h.version(kind, 1); got != 0 {
							h.t.Errorf("version %s is %d", kind, got)
						}
					}
				},
			},
			{name: "has the default group", as: "app", method: "GET", target: "/users/relationships/groups?ownerIds=1", status: 200, want: ok(`[{"key":{"ownerId":1,"groupIndex":0},"name":"","creationDate":"DATE"}]`)},
			{name: "create with nothing", as: "app", method: "POST", target: "/users", body: `{}`, status: 200, want: ok(userJSON("ID", "", "", "ALL", 0, true))},
			{name: "create with a string id and a position", as: "app", method: "POST", target: "/users", body: `{"id":"2","profileAccessStrategy":1,"isActive":"false","profilePicture":""}`, status: 200, want: "~" + `"profilePicture":"","profileAccessStrategy":"ALL_EXCEPT_BLOCKED_USERS"`},
			{name: "greatest id", as: "app", method: "POST", target: "/users", body: `{"id":9223372036854775807,"name":"max"}`, status: 200, want: ok(userJSON("ID", "max", "", "ALL", 0, true))},
			{name: "least id", as: "app", method: "POST", target: "/users", body: `{"id":-9223372036854775808,"name":"min"}`, status: 200, want: ok(userJSON("-ID", "min", "", "ALL", 0, true))},
			{name: "emoji at the limit", as: "app", method: "POST", target: "/users", body: `{"id":3,"name":"` + strings.Repeat("😀", 10) + `"}`, status: 200, want: ok(userJSON("3", strings.Repeat("😀", 10), "", "ALL", 0, true))},
			{name: "id taken", as: "app", method: "POST", target: "/users", body: `{"id":1}`, status: 409, want: `~"code":1103`},
			illegal("id 0", "POST", "/users", `{"id":0}`, "id: 0 cannot be the id of a user"),
			illegal("id too great", "POST", "/users", `{"id":9223372036854775808}`, "must be an integer of 64 bits"),
			illegal("id is no number", "POST", "/users", `{"id":"one"}`, "must be an integer of 64 bits"),
			illegal("id is an object", "POST", "/users", `{"id":{}}`, "id: must be an integer"),
			illegal("emoji beyond the limit", "POST", "/users", `{"name":"`+strings.Repeat("😀", 10)+`!"}`, "name: must have at most 20 characters, but has 21"),
			illegal("long intro", "POST", "/users", `{"intro":"`+long+`"}`, "intro: must have at most 100"),
			illegal("long picture", "POST", "/users", `{"profilePicture":"`+long+`"}`, "profilePicture: must have at most 100"),
			illegal("long password", "POST", "/users", `{"password":"`+strings.Repeat("x", 17)+`"}`, "password: must have at most 16"),
			illegal("NUL", "POST", "/users", `{"name":"a\u0000b"}`, "U+0000"),
			illegal("not UTF-8", "POST", "/users", "{\"name\":\"a\xffb\"}", "not valid JSON"),
			illegal("lone surrogate", "POST", "/users", `{"name":"\ud800"}`, "not valid JSON"),
			illegal("unknown strategy", "POST", "/users", `{"profileAccessStrategy":"UNRECOGNIZED"}`, "must be one of ALL"),
			illegal("position of a strategy", "POST", "/users", `{"profileAccessStrategy":3}`, "position 3"),
			illegal("registered in the future", "POST", "/users", `{"registrationDate":"2024-03-28T12:00:00.001Z"}`, "registrationDate: 2024-03-28T12:00:00Z must not be in the future"),
			illegal("no date", "POST", "/users", `{"registrationDate":"soon"}`, "must be a date"),
			illegal("no bool", "POST", "/users", `{"isActive":"yes"}`, "isActive: must be true or false"),
			illegal("unknown field", "POST", "/users", `{"deletionDate":0}`, `there is no field \"deletionDate\"`),
			illegal("no object", "POST", "/users", `[]`, "must be a JSON object"),
			illegal("no body", "POST", "/users", ``, "the body is empty"),
			{name: "nulls are absent", as: "app", method: "POST", target: "/users", body: `{"id":4,"password":null,"name":null,"isActive":null,"registrationDate":null}`, status: 200, want: ok(userJSON("4", "", "", "ALL", 0, true))},

			// GET.
			{name: "by id", as: "app", method: "GET", target: "/users?ids=1,99", status: 200, want: ok("[" + alice + "]")},
			{name: "by registration", as: "app", method: "GET", target: "/users?registrationDateStart=2024-01-01&registrationDateEnd=2024-01-02", status: 200, want: ok("[" + alice + "]")},
			{name: "the end is exclusive", as: "app", method: "GET", target: "/users?registrationDateEnd=2024-01-01", status: 204},
			{name: "by name", as: "app", method: "GET", target: "/users?name=ALI", status: 200, want: ok("[" + alice + "]")},
			{name: "by another name", as: "app", method: "GET", target: "/users/page?name=lice", status: 204},
			{name: "an empty name is any", as: "app", method: "GET", target: "/users/page?name=", status: 200, want: `~"total":7,`},
			illegal("a name that cannot be", "GET", "/users?name=a%00", "", "U+0000"),
			{name: "by activity", as: "app", method: "GET", target: "/users/page?isActive=false", status: 200, want: `~"total":1,"records":[{"id":2,`},
			{name: "nobody is deleted", as: "app", method: "GET", target: "/users?deletionDateStart=1970-01-01", status: 204},
			{name: "page", as: "app", method: "GET", target: "/users/page?size=2&page=1", status: 200, want: `~"total":7,"records":[{"id":2,`},
			{name: "page beyond the end", as: "app", method: "GET", target: "/users/page?size=2&page=1000000000", status: 200, want: ok(`{"total":7,"records":[]}`)},
			illegal("reversed registration", "GET", "/users?registrationDateStart=2024-01-02&registrationDateEnd=2024-01-01", "", "registrationDate: the end"),
			illegal("reversed deletion", "GET", "/users/page?deletionDateStart=2&deletionDateEnd=1", "", "deletionDate: the end"),
			illegal("ids are no numbers", "GET", "/users?ids=1,x", "", `parameter \"ids\"`),
			illegal("activity is no bool", "GET", "/users?isActive=1", "", `parameter \"isActive\"`),
			illegal("two activities", "GET", "/users?isActive=true&isActive=false", "", "takes one value"),
			illegal("date is none", "GET", "/users?registrationDateStart=x", "", `parameter \"registrationDateStart\"`),
			illegal("year out of range", "GET", "/users?registrationDateStart=9223372036854775807", "", "year"),
			illegal("negative page", "GET", "/users/page?page=-1", "", "must be at least 0"),

			// PUT.
			{name: "change nothing", as: "app", method: "PUT", target: "/users?ids=1", body: `{}`, status: 200, want: updated(0, 0)},
			{name: "empty texts are nothing", as: "app", method: "PUT", target: "/users?ids=1", body: `{"name":"","intro":"","password":"","profilePicture":""}`, status: 200, want: updated(0, 0)},
			{name: "change", as: "app", method: "PUT", target: "/users?ids=1,2,99", body: `{"name":"New","intro":"","profileAccessStrategy":"ALL","roleId":-1,"profilePicture":"p"}`, status: 200, want: updated(2, 2)},
			{name: "changed", as: "app", method: "GET", target: "/users?ids=1", status: 200, want: `~"name":"New","intro":"","profilePicture":"p","profileAccessStrategy":"ALL","roleId":-1,`},
			{name: "change to the same", as: "app", method: "PUT", target: "/users?ids=1,2", body: `{"name":"New"}`, status: 200, want: updated(2, 0)},
			{name: "change the password", as: "app", method: "PUT", target: "/users?ids=1", body: `{"password":"other"}`, status: 200, want: updated(1, 1), after: func(h *harness) { h.wantPassword(1, "other") }},
			{name: "take the password away", as: "app", method: "PUT", target: "/users?ids=1", body: `{"password":"","name":"None"}`, status: 200, want: updated(1, 1), after: func(h *harness) {
				h.wantCalls("[]", "[]")
				h.wantPassword(1, "")
			}},
			{name: "deactivate", as: "app", method: "PUT", target: "/users?ids=1,3", body: `{"isActive":false}`, status: 200, want: updated(2, 2), after: func(h *harness) { h.wantCalls("[[1 3]]", "[]") }},
			{name: "deactivate again", as: "app", method: "PUT", target: "/users?ids=1,3", body: `{"isActive":false}`, status: 200, want: updated(2, 0), after: func(h *harness) { h.wantCalls("[]", "[]") }},
			{name: "activate", as: "app", method: "PUT", target: "/users?ids=1,3", body: `{"isActive":true}`, status: 200, want: updated(2, 2), after: func(h *harness) { h.wantCalls("[]", "[]") }},
			illegal("update nobody", "PUT", "/users", `{"name":"x"}`, `parameter \"ids\": is required`),
			illegal("update the id", "PUT", "/users?ids=1", `{"id":5}`, `there is no field \"id\"`),
			illegal("update to a long name", "PUT", "/users?ids=1", `{"name":"`+strings.Repeat("x", 21)+`"}`, "name: must have at most 20"),
			illegal("update to the future", "PUT", "/users?ids=1", `{"registrationDate":9999999999999}`, "must not be in the future"),

			// DELETE.
			illegal("delete nobody", "DELETE", "/users?deleteLogically=true", "", `parameter \"ids\": is required`),
			{name: "delete logically by default", as: "app", method: "DELETE", target: "/users?ids=1,3,99", status: 200, want: deleted(2), after: func(h *harness) {
				h.wantCalls("[[1 3 99]]", "[]")
				h.Now = h.Now.Add(time.Hour)
			}},
			{name: "deleted ones can be found", as: "app", method: "GET", target: "/users?deletionDateStart=2024-03-28T12:00:00Z&deletionDateEnd=2024-03-28T12:00:01Z&size=1", status: 200, want: `~"deletionDate":"DATE","lastUpdatedDate":"DATE","isActive":true`},
			{name: "delete again", as: "app", method: "DELETE", target: "/users?ids=1", status: 200, want: deleted(1)},
			{name: "with a new date", as: "app", method: "GET", target: "/users?deletionDateStart=2024-03-28T13:00:00Z", status: 200, want: `~[{"id":1,`},
			{name: "the same moment changes nothing", as: "app", method: "DELETE", target: "/users?ids=1", status: 200, want: deleted(0), after: func(h *harness) { h.wantCalls("[[1] [1]]", "[]") }},
			{name: "delete physically", as: "app", method: "DELETE", target: "/users?ids=1,3,99&deleteLogically=false", status: 200, want: deleted(2), after: func(h *harness) {
				h.wantCalls("[[1 3 99]]", "[[1 3 99]]")
				if h.registered != 7 || h.deleted != 5 {
					h.t.Errorf("%d registrations and %d deletions were counted", h.registered, h.deleted)
				}
				if got := h.version(store.VersionRelationships, 1); got != -1 {
					h.t.Errorf("a version outlived its user: %d", got)
				}
			}},
			{name: "gone", as: "app", method: "GET", target: "/users?ids=1,3", status: 204},
			{name: "with its groups", as: "app", method: "GET", target: "/users/relationships/groups?ownerIds=1,3", status: 204},
		})
		if strings.Contains(h.call("app", "GET", "/users?size=100", "").body, "assword") {
			t.Error("a password is shown")
		}
	})
}

// wantPassword checks the stored password of a user; "" is none.
func (h *harness) wantPassword(id int64, want string) {
	h.t.Helper()
	err := h.DB.Read(h.t.Context(), func(ctx context.Context, r store.Reader) error {
		found, err := store.FindUsers(ctx, r, store.UserFilter{IDs: []int64{id}}, store.Page{})
		if err != nil || len(found) != 1 {
			return fmt.Errorf("find the user: %v, %w", found, err)
		}
		if want == "" && len(found[0].Password) == 0 {
			return nil
		}
		return password.Verify(found[0].Password, want)
	})
	if err != nil {
		h.t.Errorf("password of user %d: %v", id, err)
	}
}

func TestUserSettings(t *testing.T) {
	h := newSQLiteHarness(t)
	h.Rules.User.ActivateUserWhenAdded, h.Rules.User.DeleteUserLogically = false, false
	h.Rules.User.Info = config.UserInfo{MinPasswordLength: 3, MaxNameLength: 0, MaxPasswordLength: 5, MaxIntroLength: 1, MaxProfilePictureLength: 1}
	long := strings.Repeat("n", 1000)
	h.play([]scenario{
		illegal("password needed", "POST", "/users", `{"id":1}`, "password: is required"),
		illegal("short password", "POST", "/users", `{"id":1,"password":"12"}`, "password: must have at least 3 characters"),
		illegal("empty password", "POST", "/users", `{"id":1,"password":""}`, "password: must have at least 3 characters"),
		{name: "no limit of names", as: "app", method: "POST", target: "/users", body: `{"id":1,"password":"12345","name":"` + long + `"}`, status: 200, want: ok(userJSON("1", long, "", "ALL", 0, false))},
		illegal("update to a short password", "PUT", "/users?ids=1", `{"password":"12"}`, "password: must have at least 3 characters"),
		{name: "delete physically by default", as: "app", method: "DELETE", target: "/users?ids=1", status: 200, want: deleted(1)},
		{name: "gone", as: "app", method: "GET", target: "/users", status: 204},
	})
	h.Rules.User.Info.MinPasswordLength = 0
	h.play([]scenario{
		illegal("password needed by a minimum of 0", "POST", "/users", `{}`, "password: is required"),
		{name: "but it may be empty", as: "app", method: "POST", target: "/users", body: `{"id":2,"password":""}`, status: 200, want: ok(userJSON("2", "", "", "ALL", 0, false)), after: func(h *harness) { h.wantPassword(2, "") }},
	})
}

// TestUserAttributes shows what only clients can store.
func TestUserAttributes(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.must("app", "POST", "/users", `{"id":1}`)
		err := h.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			attributes := map[string]any{"n": json.Number("9007199254740993"), "list": []any{"<&>", nil, true}}
			_, err := store.UpdateUsers(ctx, tx, []int64{1}, store.UserChange{UserDefinedAttributes: &attributes}, h.Now)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if r := h.must("app", "GET", "/users", ""); !strings.Contains(r.body, `"userDefinedAttributes":{"list":["<&>",null,true],"n":9007199254740993}`) {
			t.Error(r.body)
		}
	})
}

func TestUserDeletionCascade(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		for id := 1; id <= 3; id++ {
			h.must("app", "POST", "/users", fmt.Sprintf(`{"id":%d}`, id))
		}
		for _, pair := range []string{"1,2", "2,1", "2,3", "3,1"} {
			owner, related, _ := strings.Cut(pair, ",")
			h.must("app", "POST", "/users/relationships", `{"ownerId":`+owner+`,"relatedUserId":`+related+`}`)
		}
		h.must("app", "POST", "/users/relationships/groups", `{"ownerId":1,"index":5,"name":"x"}`)
		h.must("app", "POST", "/users/relationships/friend-requests", `{"id":8,"requesterId":1,"recipientId":2,"content":"x"}`)
		before := []int64{h.version(store.VersionRelationships, 2), h.version(store.VersionRelationships, 3), h.version(store.VersionRelationshipGroupMembers, 3)}
		if r := h.must("app", "DELETE", "/users?ids=1&deleteLogically=true", ""); plain(r.body) != deleted(1) {
			t.Error(r.body)
		}
		if r := h.must("app", "GET", "/users/relationships/page", ""); !strings.Contains(r.body, `"total":4`) {
			t.Errorf("a logical deletion took relationships away: %s", r.body)
		}
		h.must("app", "DELETE", "/users?ids=1&deleteLogically=false", "")
		left := plain(h.must("app", "GET", "/users/relationships?withGroupIndexes=true", "").body)
		if left != ok(`[{"key":{"ownerId":2,"relatedUserId":3},"establishmentDate":"DATE","groupIndexes":[0]}]`) {
			t.Errorf("left are %s", left)
		}
		if r := h.must("app", "GET", "/users/relationships/groups/page", ""); !strings.Contains(r.body, `"total":2`) {
			t.Errorf("groups: %s", r.body)
		}
		if r := h.must("app", "GET", "/users/relationships/friend-requests/page", ""); !strings.Contains(r.body, `"total":1`) {
			t.Errorf("friend requests: %s", r.body)
		}
		after := []int64{h.version(store.VersionRelationships, 2), h.version(store.VersionRelationships, 3), h.version(store.VersionRelationshipGroupMembers, 3)}
		if slices.ContainsFunc([]int{0, 1, 2}, func(i int) bool { return after[i] <= before[i] }) {
			t.Errorf("the versions of those who lost somebody are %v, were %v", after, before)
		}
	})
}

func TestUserCounts(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.senders = 42
		for id, date := range []string{"2024-01-31T00:00:00Z", "2024-02-10T10:30:00Z", "2024-02-10T11:00:00Z", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"} {
			h.must("app", "POST", "/users", fmt.Sprintf(`{"id":%d,"registrationDate":%q}`, id+1, date))
		}
		h.must("app", "DELETE", "/users?ids=1,2", "")
		record := func(date string, total int) string {
			return fmt.Sprintf(`{"date":"%s.000+00:00","total":%d}`, date, total)
		}
		for _, test := range []struct {
			name, query string
			status      int
			want        string
		}{
			{"all", "", 200, `"data":{"registeredUsers":5}}`},
			{"registered since", "registeredStartDate=2024-02-10T11:00:00Z", 200, `"data":{"registeredUsers":3}}`},
			{"registered until", "registeredEndDate=2024-02-10T11:00:00Z", 200, `"data":{"registeredUsers":2}}`},
			{"deleted", "deletedStartDate=2024-03-28&deletedEndDate=2024-03-29", 200, `"data":{"deletedUsers":2}}`},
			{"senders", "sentMessageEndDate=2024-03-28", 200, `"data":{"usersWhoSentMessages":42}}`},
			{"several", "deletedStartDate=2024-03-29&registeredStartDate=2024-01-31&sentMessageEndDate=2024-03-28", 200, `"data":{"registeredUsers":5,"deletedUsers":0,"usersWhoSentMessages":42}}`},
			{"by hour", "divideBy=HOUR&registeredStartDate=2024-02-10T10:00:00Z&registeredEndDate=2024-02-10T12:30:00Z", 200, `"data":{"registeredUsersRecords":[` + record("2024-02-10T10:00:00", 1) + "," + record("2024-02-10T11:00:00", 1) + "]}}"},
			{"by day", "divideBy=DAY&registeredStartDate=2024-02-28&registeredEndDate=2024-03-02", 200, `"data":{"registeredUsersRecords":[` + record("2024-02-28T00:00:00", 0) + "," + record("2024-02-29T00:00:00", 1) + "," + record("2024-03-01T00:00:00", 1) + "]}}"},
			{"by month from its last day", "divideBy=MONTH&registeredStartDate=2024-01-31&registeredEndDate=2024-03-31", 200, `"data":{"registeredUsersRecords":[` + record("2024-01-31T00:00:00", 3) + "," + record("2024-02-29T00:00:00", 2) + "]}}"},
			{"nothing to divide", "divideBy=DAY&registeredStartDate=2024-01-31&registeredEndDate=2024-01-31", 200, `"data":{"registeredUsersRecords":[]}}`},
			{"deleted and senders by day", "divideBy=DAY&deletedStartDate=2024-03-28&deletedEndDate=2024-03-29&sentMessageStartDate=2024-03-28&sentMessageEndDate=2024-03-29", 200, `"data":{"deletedUsersRecords":[` + record("2024-03-28T00:00:00", 2) + `],"usersWhoSentMessagesRecords":[` + record("2024-03-28T00:00:00", 86400) + "]}}"},
			{"no complete range", "divideBy=DAY&registeredStartDate=2024-01-31", 204, ""},
			{"24 hours", "divideBy=HOUR&registeredStartDate=2024-01-01&registeredEndDate=2024-01-02", 200, `T23:00:00`},
			{"too many hours", "divideBy=HOUR&registeredStartDate=2024-01-01&registeredEndDate=2024-01-02T00:00:00.001Z", 429, `"code":1304`},
			{"too many days", "divideBy=DAY&deletedStartDate=2024-01-01&deletedEndDate=2024-02-02", 429, `"code":1304`},
			{"too many months", "divideBy=MONTH&sentMessageStartDate=1000-01-01&sentMessageEndDate=9999-01-01", 429, `"code":1304`},
			{"reversed", "registeredStartDate=2&registeredEndDate=1", 400, `"code":1102`},
			{"reversed deletion", "deletedStartDate=2&deletedEndDate=1", 400, `"code":1102`},
			{"reversed messages", "sentMessageStartDate=2&sentMessageEndDate=1", 400, `"code":1102`},
			{"unknown unit", "divideBy=WEEK", 400, "must be one of HOUR, DAY, MONTH, NOOP"},
		} {
			if r := h.call("app", "GET", "/users/count?"+test.query, ""); r.status != test.status || !strings.Contains(r.body, test.want) {
				t.Errorf("%s: %d %s\nwant %d %s", test.name, r.status, r.body, test.status, test.want)
			}
		}
	})
}

func TestUserRoles(t *testing.T) {
	const standard = `{"id":0,"name":"default","creatableGroupTypeIds":[0],"ownedGroupLimit":2147483647,"ownedGroupLimitForEachGroupType":2147483647,"groupTypeIdToLimit":{}}`
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.play([]scenario{
			{name: "the default role exists", as: "app", method: "GET", target: "/users/roles", status: 200, want: ok("[" + standard + "]")},
			{name: "page", as: "app", method: "GET", target: "/users/roles/page", status: 200, want: ok(`{"total":1,"records":[` + standard + `]}`)},
			{
				name: "create", as: "app", method: "POST", target: "/users/roles", status: 200,
				body: `{"id":5,"name":"five","creatableGroupTypeIds":[3,1,3],"ownedGroupLimit":9,"ownedGroupLimitForEachGroupType":"4","groupTypeIdToLimit":{"3":2,"-1":0}}`,
				want: ok(`{"id":5,"name":"five","creatableGroupTypeIds":[1,3],"ownedGroupLimit":9,"ownedGroupLimitForEachGroupType":4,"groupTypeIdToLimit":{"-1":0,"3":2}}`),
			},
			{name: "create with the least", as: "app", method: "POST", target: "/users/roles", body: `{"ownedGroupLimit":0,"ownedGroupLimitForEachGroupType":0}`, status: 200, want: ok(`{"id":ID,"creatableGroupTypeIds":[],"ownedGroupLimit":0,"ownedGroupLimitForEachGroupType":0,"groupTypeIdToLimit":{}}`)},
			{name: "id taken", as: "app", method: "POST", target: "/users/roles", body: `{"id":5,"ownedGroupLimit":0,"ownedGroupLimitForEachGroupType":0}`, status: 409, want: `~"code":1103`},
			{name: "default id taken", as: "app", method: "POST", target: "/users/roles", body: `{"id":0,"ownedGroupLimit":0,"ownedGroupLimitForEachGroupType":0}`, status: 409, want: `~"code":1103`},
			illegal("no limit", "POST", "/users/roles", `{"ownedGroupLimitForEachGroupType":0}`, "ownedGroupLimit: is required"),
			illegal("no limit for each", "POST", "/users/roles", `{"ownedGroupLimit":0}`, "ownedGroupLimitForEachGroupType: is required"),
			illegal("negative limit", "POST", "/users/roles", `{"ownedGroupLimit":-1,"ownedGroupLimitForEachGroupType":0}`, "ownedGroupLimit: -1 must be at least 0"),
			illegal("limit too great", "POST", "/users/roles", `{"ownedGroupLimit":2147483648,"ownedGroupLimitForEachGroupType":0}`, "32 bits"),
			illegal("negative limit of a type", "POST", "/users/roles", `{"ownedGroupLimit":0,"ownedGroupLimitForEachGroupType":0,"groupTypeIdToLimit":{"7":-1}}`, "groupTypeIdToLimit.7: -1 must be at least 0"),
			illegal("type is no number", "POST", "/users/roles", `{"ownedGroupLimit":0,"ownedGroupLimitForEachGroupType":0,"groupTypeIdToLimit":{"x":1}}`, "must be an integer"),
			illegal("types are no numbers", "POST", "/users/roles", `{"ownedGroupLimit":0,"ownedGroupLimitForEachGroupType":0,"creatableGroupTypeIds":["x"]}`, "creatableGroupTypeIds[0]"),

			{name: "update the default role", as: "app", method: "PUT", target: "/users/roles?ids=0,5,77", body: `{"ownedGroupLimit":9}`, status: 200, want: updated(2, 1)},
			{name: "update sets", as: "app", method: "PUT", target: "/users/roles?ids=5", body: `{"creatableGroupTypeIds":[],"groupTypeIdToLimit":{},"name":"V"}`, status: 200, want: updated(1, 1)},
			{name: "updated", as: "app", method: "GET", target: "/users/roles?size=2", status: 200, want: `~{"id":5,"name":"V","creatableGroupTypeIds":[],"ownedGroupLimit":9,"ownedGroupLimitForEachGroupType":4,"groupTypeIdToLimit":{}}`},
			{name: "update to the same set", as: "app", method: "PUT", target: "/users/roles?ids=0", body: `{"creatableGroupTypeIds":[0,0]}`, status: 200, want: updated(1, 0)},
			{name: "update nothing", as: "app", method: "PUT", target: "/users/roles?ids=0", body: `{}`, status: 200, want: updated(0, 0)},
			illegal("update to a negative limit", "PUT", "/users/roles?ids=0", `{"ownedGroupLimitForEachGroupType":-5}`, "must be at least 0"),
			illegal("update without ids", "PUT", "/users/roles", `{"name":"x"}`, `parameter \"ids\": is required`),

			illegal("delete the default role", "DELETE", "/users/roles?ids=5,0", "", "cannot be deleted"),
			illegal("delete without ids", "DELETE", "/users/roles", "", `parameter \"ids\": is required`),
			{name: "delete", as: "app", method: "DELETE", target: "/users/roles?ids=5,77", status: 200, want: deleted(1)},
		})
	})
}

func TestUserConcurrency(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		const callers = 16
		statuses := make([]int, callers)
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() { statuses[i] = h.call("app", "POST", "/users", `{"id":7}`).status })
		}
		group.Wait()
		slices.Sort(statuses)
		if statuses[0] != 200 || statuses[1] != 409 || statuses[callers-1] != 409 {
			t.Errorf("%d callers who create one user get %v", callers, statuses)
		}
	})
}
