// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/im/imtest"
	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// messageHarness is the part of the harness that is about messages.
type messageHarness struct {
	deliveries deliveries
	sent       int64
}

// deliveries remembers what is delivered, and fails while told to.
type deliveries struct {
	mu   sync.Mutex
	list []string
	fail error
}

func (d *deliveries) Deliver(_ context.Context, delivery message.Delivery) error {
	var recipients []int64
	for part, err := range delivery.Recipients {
		if err != nil {
			return err
		}
		recipients = append(recipients, part...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	text := "-"
	if delivery.Message.Text != nil {
		text = *delivery.Message.Text
	}
	d.list = append(d.list, fmt.Sprintf("%s %v %s to %v", text, delivery.Message.Records, delivery.SenderDevice, recipients))
	return d.fail
}

// take returns what was delivered since the last call.
func (d *deliveries) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.list
	d.list = nil
	return list
}

// people creates active users.
func (h *harness) people(userIDs ...int) {
	h.t.Helper()
	for _, id := range userIDs {
		h.must("app", "POST", "/users", fmt.Sprintf(`{"id":%d}`, id))
	}
}

// groupOf stores an active group of the default type with members.
func (h *harness) groupOf(id int64, members ...int64) {
	h.t.Helper()
	g := store.Group{ID: id, CreatorID: members[0], OwnerID: members[0], CreationDate: h.Now, LastUpdatedDate: h.Now, IsActive: true}
	h.write(func(ctx context.Context, tx store.Tx) error {
		if err := store.InsertGroups(ctx, tx, g); err != nil {
			return err
		}
		for i, member := range members {
			role := store.GroupRegularMember
			if i == 0 {
				role = store.GroupOwner
			}
			err := store.InsertGroupMembers(ctx, tx, store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: id, UserID: member}, Role: role, JoinDate: h.Now})
			if err != nil {
				return err
			}
		}
		return store.InsertGroupVersion(ctx, tx, id, h.Now, int32(len(members)))
	})
}

func (h *harness) write(f store.WriteFunc) {
	h.t.Helper()
	if err := h.DB.Write(h.t.Context(), f); err != nil {
		h.t.Fatal(err)
	}
}

// storedMessages returns the messages that match a query, as the interface shows them.
func (h *harness) storedMessages(query string) []map[string]any {
	h.t.Helper()
	var e struct{ Data []map[string]any }
	if r := h.call("app", "GET", "/messages?size=1000&ascending=true&"+query, ""); r.status == 200 {
		decoder := json.NewDecoder(strings.NewReader(r.body))
		decoder.UseNumber()
		if err := decoder.Decode(&e); err != nil {
			h.t.Fatal(err)
		}
	} else if r.status != 204 {
		h.t.Fatalf("query messages: %d %s", r.status, r.body)
	}
	return e.Data
}

func (h *harness) wantDelivered(want ...string) {
	h.t.Helper()
	if got := h.deliveries.take(); !slices.Equal(got, want) {
		h.t.Errorf("delivered %q, want %q", got, want)
	}
}

func private(sender, target int, rest string) string {
	return fmt.Sprintf(`{"isGroupMessage":false,"isSystemMessage":false,"senderId":%d,"targetId":%d%s}`, sender, target, rest)
}

func toGroup(sender, target int, rest string) string {
	return strings.Replace(private(sender, target, rest), `"isGroupMessage":false`, `"isGroupMessage":true`, 1)
}

func system(target int, rest string) string {
	return fmt.Sprintf(`{"isGroupMessage":false,"isSystemMessage":true,"targetId":%d%s}`, target, rest)
}

// messageJSON is a message as the interface shows it.
func messageJSON(id string, group, system bool, rest string) string {
	return fmt.Sprintf(`{"id":%s,"isGroupMessage":%v,"isSystemMessage":%v,"deliveryDate":"DATE",%s}`, id, group, system, rest)
}

func TestMessages(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.people(1, 2, 3)
		h.groupOf(7, 1, 2)
		delivered := func(want ...string) func(*harness) { return func(h *harness) { h.wantDelivered(want...) } }
		hi := messageJSON("10", false, false, `"text":"hi","senderId":1,"targetId":2`)
		inGroup := messageJSON("11", true, false, `"text":"all","senderId":2,"targetId":7,"burnAfter":0`)
		server := messageJSON("12", false, true, `"senderId":0,"targetId":3,"records":["AQ==",""]`)
		forwarded := messageJSON("13", false, false, `"text":"hi","senderId":2,"targetId":3,"referenceId":10`)
		send := func(name, target, body string, after func(*harness)) scenario {
			return scenario{name: name, as: "app", method: "POST", target: target, body: body, status: 200, want: done, after: func(h *harness) {
				after(h)
				h.Now = h.Now.Add(time.Second)
			}}
		}
		get := func(name, query string, want ...string) scenario {
			s := scenario{name: name, as: "app", method: "GET", target: "/messages?" + query, status: 200, want: ok("[" + strings.Join(want, ",") + "]")}
			if len(want) == 0 {
				s.status, s.want = 204, ""
			}
			return s
		}
		h.play([]scenario{
			send("send", "/messages", private(1, 2, `,"id":"10","text":"hi"`), delivered("hi []  to [2]")),
			send("send to a group", "/messages?send=true", toGroup(2, 7, `,"id":11,"text":"all","burnAfter":0,"senderDeviceType":"IOS","records":["AQ=="],"senderIp":"192.0.2.1","preMessageId":9`), delivered("all [[1]] IOS to [1]")),
			send("of the server, not delivered", "/messages?send=false", system(3, `,"id":12,"records":["AQ==",""]`), delivered()),
			send("forward", "/messages", private(2, 3, `,"id":13,"text":"ignored","referenceId":10`), delivered("hi []  to [3]")),

			get("all", "", hi, inGroup, server, forwarded),
			get("oldest first", "ascending=true&size=2", hi, inGroup),
			get("newest first", "ascending=false&size=2", forwarded, server),
			get("by id", "ids=10,12,99", hi, server),
			get("by sender", "senderIds=1,0", hi, server),
			get("by target", "targetIds[]=7", inGroup),
			get("group messages", "areGroupMessages=true", inGroup),
			get("system messages", "areSystemMessages=true", server),
			get("filters are combined", "areGroupMessages=false&areSystemMessages=false&targetIds=3", forwarded),
			get("by delivery date", fmt.Sprintf("deliveryDateStart=%d&deliveryDateEnd=%d", imtest.Noon.Add(time.Second).UnixMilli(), imtest.Noon.Add(3*time.Second).UnixMilli()), inGroup, server),
			get("none", "senderIds=99"),
			{name: "page", as: "app", method: "GET", target: "/messages/page?page=1&size=3", status: 200, want: ok(`{"total":4,"records":[` + forwarded + `]}`)},
			{name: "page beyond the end", as: "app", method: "GET", target: "/messages/page?page=2147483647&size=1000", status: 200, want: ok(`{"total":4,"records":[]}`)},
			{name: "empty page", as: "app", method: "GET", target: "/messages/page?ids=99", status: 204},
			{name: "negative page", as: "app", method: "GET", target: "/messages/page?page=-1", status: 400, want: "~must be at least 0"},
			{name: "reversed dates", as: "app", method: "GET", target: "/messages/page?recallDateStart=2&recallDateEnd=1", status: 400, want: "~recallDate: the end"},

			{name: "taken id", as: "app", method: "POST", target: "/messages", body: private(1, 2, `,"id":10,"text":"x"`), status: 409, want: `~"code":1103`, after: delivered()},
			{name: "to oneself", as: "app", method: "POST", target: "/messages", body: private(1, 1, `,"text":"x"`), status: 510, want: `~"code":5007`, after: delivered()},
			{name: "to nobody", as: "app", method: "POST", target: "/messages", body: private(1, 99, `,"text":"x"`), status: 403, want: `~"code":5000`},
			{name: "by a guest", as: "app", method: "POST", target: "/messages", body: toGroup(3, 7, `,"text":"x"`), status: 403, want: `~"code":5009`},
			{name: "forward what one cannot read", as: "app", method: "POST", target: "/messages", body: private(3, 2, `,"text":"x","referenceId":11`), status: 403, want: `~"code":5011`},
			{name: "forward nothing", as: "app", method: "POST", target: "/messages", body: private(1, 2, `,"text":"x","referenceId":99`), status: 403, want: `~"code":5011`},

			{name: "update nothing", as: "app", method: "PUT", target: "/messages?ids=10", body: `{"senderId":1,"senderDeviceType":"IOS"}`, status: 200, want: updated(0, 0)},
			{name: "update", as: "app", method: "PUT", target: "/messages?ids=10,11,99", body: `{"text":"new","records":["Ag=="],"burnAfter":5,"senderIp":"192.0.2.1"}`, status: 200, want: updated(2, 2), after: delivered()},
			{name: "update to the same", as: "app", method: "PUT", target: "/messages?ids=10", body: `{"text":"new"}`, status: 200, want: updated(1, 0)},
			{name: "recall", as: "app", method: "PUT", target: "/messages?ids=10,99", body: fmt.Sprintf(`{"recallDate":%d,"isSystemMessage":false,"senderId":1}`, imtest.Noon.UnixMilli()), status: 200, want: updated(1, 1), after: delivered("- [[1] [0 0 0 0 0 0 0 10]]  to [2]")},
			{name: "recall again", as: "app", method: "PUT", target: "/messages?ids=10", body: fmt.Sprintf(`{"recallDate":%d}`, imtest.Noon.UnixMilli()), status: 200, want: updated(1, 0), after: delivered()},
			{
				name: "page by recall date", as: "app", method: "GET", target: "/messages/page?recallDateStart=2024-01-01", status: 200,
				want: ok(`{"total":1,"records":[{"id":10,"isGroupMessage":false,"isSystemMessage":false,"deliveryDate":"DATE","modificationDate":"DATE","recallDate":"DATE","text":"new","senderId":1,"senderIp":1073742337,"targetId":2,"records":["Ag=="],"burnAfter":5}]}`),
			},
			get("the notice", "areSystemMessages=true&targetIds=2", messageJSON("ID", false, true, `"senderId":1,"targetId":2,"records":["AQ==","AAAAAAAAAAo="]`)),

			{name: "delete logically", as: "app", method: "DELETE", target: "/messages?ids=11,99", status: 200, want: deleted(1)},
			{name: "page by deletion date", as: "app", method: "GET", target: "/messages/page?deletionDateStart=2024-01-01", status: 200, want: `~"deletionDate":"DATE","text":"new","senderId":2`},
			{name: "delete", as: "app", method: "DELETE", target: "/messages?ids=11&deleteLogically=false", status: 200, want: deleted(1)},
			get("it is gone", "ids=11"),
			{name: "delete without ids", as: "app", method: "DELETE", target: "/messages?deleteLogically=false", status: 400, want: "~ids"},
			{name: "update without ids", as: "app", method: "PUT", target: "/messages", body: `{"text":"x"}`, status: 400, want: "~ids"},
		})
		if h.sent != 4 {
			t.Errorf("%d messages were counted", h.sent)
		}
		h.Rules.Message.DeleteMessageLogicallyByDefault = false
		if r := h.call("app", "DELETE", "/messages?ids=10", ""); plain(r.body) != deleted(1) || len(h.storedMessages("ids=10")) != 0 {
			t.Errorf("delete by the settings: %s", r.body)
		}
	})
}

// TestMessageSettings proves what is kept of a message.
func TestMessageSettings(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.people(1, 2)
		h.groupOf(7, 1, 2)
		body := func(id int, ip string) string {
			return private(1, 2, fmt.Sprintf(`,"id":%d,"text":"👋","records":["AQ=="],"senderIp":%q,"preMessageId":-1`, id, ip))
		}
		h.must("app", "POST", "/messages", body(1, "192.0.2.1"))
		h.Rules.Message.PersistRecord, h.Rules.Message.PersistPreMessageID, h.Rules.Message.PersistSenderIP, h.Rules.Message.UseConversationID = true, true, true, true
		h.Rules.Message.SequenceID = config.MessageSequenceID{UseSequenceIDForPrivateConversation: true}
		h.must("app", "POST", "/messages", body(2, "255.255.255.255"))
		h.must("app", "POST", "/messages", body(3, "2001:db8::1"))
		h.must("app", "POST", "/messages", private(2, 1, `,"id":4,"text":"back"`))
		h.must("app", "POST", "/messages", toGroup(2, 7, `,"id":5,"text":"group"`))
		h.Rules.Message.PersistMessage = false
		h.deliveries.take()
		h.must("app", "POST", "/messages", body(6, ""))
		h.wantDelivered("👋 [[1]]  to [2]")
		const private = `"isGroupMessage":false,"isSystemMessage":false,"deliveryDate":"DATE","text":"👋","senderId":1,`
		h.play([]scenario{
			{name: "what is kept", as: "app", method: "GET", target: "/messages?ids=1,2,3,5,6", status: 200, want: ok(`[` +
				`{"id":1,` + private + `"targetId":2},` +
				`{"id":2,"conversationId":"AAAAAAAAAAEAAAAAAAAAAg==",` + private + `"senderIp":2147483647,"targetId":2,"records":["AQ=="],"sequenceId":1,"preMessageId":-1},` +
				`{"id":3,"conversationId":"AAAAAAAAAAEAAAAAAAAAAg==",` + private + `"senderIpV6":"IAENuAAAAAAAAAAAAAAAAQ==","targetId":2,"records":["AQ=="],"sequenceId":2,"preMessageId":-1},` +
				`{"id":5,"conversationId":"BwAAAAAAAAA=","isGroupMessage":true,"isSystemMessage":false,"deliveryDate":"DATE","text":"group","senderId":2,"targetId":7}]`)},
			{name: "both directions", as: "app", method: "GET", target: "/messages/page?senderIds=1&targetIds=2&areGroupMessages=false", status: 200, want: `~"total":4`},
			{name: "one direction", as: "app", method: "GET", target: "/messages/page?senderIds=1&targetIds=2", status: 200, want: `~"total":3`},
		})
		h.Rules.Message = config.Default().Service.Message
		h.deliveries.fail = errors.New("nobody can be reached")
		h.must("app", "POST", "/messages", body(8, ""))
		if got := h.storedMessages("ids=8"); len(got) != 1 {
			t.Errorf("a message that could not be delivered is stored as %v", got)
		}
	})
}

// TestBadMessages sends what is wrong in one field each.
func TestBadMessages(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	h.people(1, 2)
	long := strings.Repeat("x", 501)
	var list []scenario
	add := func(method, target, body, want string) {
		list = append(list, scenario{name: method + " " + want, as: "app", method: method, target: target, body: body, status: 400, want: "~" + want})
	}
	for rest, want := range map[string]string{
		``: "must not both be empty", `,"text":""`: "must not both be empty", `,"text":null,"records":[]`: "must not both be empty",
		`,"text":"` + long + `"`:                   "text: must have at most 500 characters, but has 501",
		`,"text":"\u0000"`:                         "U+0000",
		`,"text":"` + "\xff" + `"`:                 "not valid JSON",
		`,"records":["?"]`:                         "Base64",
		`,"text":"x","burnAfter":-1`:               "must be at least 0",
		`,"text":"x","burnAfter":2147483648`:       "32 bits",
		`,"text":"x","burnAfter":"soon"`:           "burnAfter",
		`,"text":"x","id":9223372036854775808`:     "64 bits",
		`,"text":"x","id":1.5`:                     "id",
		`,"text":"x","senderIp":"300.1.1.1"`:       "senderIp: must be an IPv4 or IPv6 address",
		`,"text":"x","senderIp":"fe80::1%eth0"`:    "senderIp: must be",
		`,"text":"x","senderDeviceType":"TOASTER"`: "must be one of DESKTOP",
		`,"text":"x","referenceId":"a"`:            "referenceId",
		`,"text":"x","deliveryDate":1`:             "there is no field",
	} {
		add("POST", "/messages", private(1, 2, rest), want)
	}
	add("POST", "/messages", `{"isGroupMessage":false,"isSystemMessage":false,"senderId":1,"text":"x"}`, "targetId: is required")
	add("POST", "/messages", `{"isGroupMessage":false,"isSystemMessage":false,"targetId":1,"text":"x"}`, "senderId: is required")
	add("POST", "/messages", `{"isSystemMessage":true,"targetId":1,"text":"x"}`, "isGroupMessage: is required")
	add("POST", "/messages", `{"isGroupMessage":true,"targetId":1,"text":"x"}`, "isSystemMessage: is required")
	add("POST", "/messages", private(0, 2, `,"text":"x"`), "senderId: 0 cannot")
	add("POST", "/messages", private(1, 0, `,"text":"x"`), "targetId: 0 cannot")
	add("POST", "/messages?send=perhaps", private(1, 2, `,"text":"x"`), "must be true or false")
	add("POST", "/messages", "", "the body is empty")
	for query, want := range map[string]string{
		"ids=a": "integer of 64 bits", "senderIds=9223372036854775808": "integer of 64 bits", "targetIds=1.5": "integer",
		"areGroupMessages=2": "true or false", "areSystemMessages=x": "true or false", "ascending=up": "true or false",
		"deliveryDateStart=yesterday": "must be a date", "deliveryDateStart=2&deliveryDateEnd=1": "deliveryDate: the end",
		"deletionDateStart=2&deletionDateEnd=1": "deletionDate: the end", "size=x": "integer of 32 bits",
	} {
		add("GET", "/messages?"+query, "", want)
	}
	for body, want := range map[string]string{
		`{"text":"` + long + `"}`: "at most 500", `{"burnAfter":-1}`: "at least 0", `{"recallDate":"2030-01-01"}`: "must not be in the future",
		`{"senderIp":"x"}`: "senderIp", `{"targetId":3}`: "there is no field", `{"senderDeviceType":7}`: "senderDeviceType", `{"isSystemMessage":"no"}`: "isSystemMessage",
	} {
		add("PUT", "/messages?ids=1", body, want)
	}
	h.play(list)
	if got := h.storedMessages(""); len(got) != 0 || h.sent != 0 || len(h.deliveries.take()) != 0 {
		t.Errorf("stored %v, sent %d", got, h.sent)
	}
	// What looks strange and is right.
	for _, body := range []string{
		private(1, 2, `,"id":-9223372036854775808,"text":"👋","burnAfter":2147483647`), private(1, 2, `,"id":9223372036854775807,"records":"AQ=="`),
		private(1, 2, `,"id":0,"text":{"a":1},"senderDeviceType":0`), private(1, 2, `,"text":"`+strings.Repeat("👋", 250)+`"`),
	} {
		h.must("app", "POST", "/messages", body)
	}
	if got := h.storedMessages("ids=0"); len(got) != 1 || got[0]["text"] != `{"a":1}` {
		t.Errorf("stored %v", got)
	}
}

func TestMessageCounts(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.people(1, 2)
		h.groupOf(7, 1, 2)
		for range 3 {
			h.must("app", "POST", "/messages", private(1, 2, `,"text":"x"`))
			h.Now = h.Now.Add(30 * time.Minute)
		}
		h.must("app", "POST", "/messages", toGroup(2, 7, `,"text":"x"`))
		h.must("app", "POST", "/messages", system(2, `,"text":"x"`))
		get := func(name, query string, status int, want string) scenario {
			return scenario{name: name, as: "app", method: "GET", target: "/messages/count?" + query, status: status, want: want}
		}
		span := func(name string, from, to int) string {
			return fmt.Sprintf("%sStartDate=%d&%sEndDate=%d&", name, imtest.Noon.Add(time.Duration(from)*time.Hour).UnixMilli(), name, imtest.Noon.Add(time.Duration(to)*time.Hour).UnixMilli())
		}
		h.play([]scenario{
			get("all", "", 200, ok(`{"sentMessages":5}`)),
			get("of a kind", "areGroupMessages=false&areSystemMessages=false", 200, ok(`{"sentMessages":3}`)),
			get("in a range", span("sent", 0, 1), 200, ok(`{"sentMessages":2}`)),
			get("on average", span("sentOnAverage", 0, 2)+"areSystemMessages=false", 200, ok(`{"sentMessagesOnAverage":2}`)),
			get("of nobody", span("sentOnAverage", 5, 6), 200, ok(`{"sentMessagesOnAverage":0}`)),
			get("both", span("sent", 0, 2)+span("sentOnAverage", 0, 2), 200, ok(`{"sentMessagesOnAverage":1,"sentMessages":5}`)),
			get("by hours", span("sent", 0, 2)+"divideBy=HOUR", 200, ok(`{"sentMessagesRecords":[{"date":"DATE","total":2},{"date":"DATE","total":3}]}`)),
			get("average by hours", span("sentOnAverage", 0, 1)+"divideBy=HOUR", 200, ok(`{"sentMessagesOnAverageRecords":[{"date":"DATE","total":2}]}`)),
			get("by hours without a range", "divideBy=HOUR", 204, ""),
			get("acknowledged", span("acknowledged", 0, 2)+span("acknowledgedOnAverage", 0, 2), 204, ""),
			get("too long", span("sent", 0, 25)+"divideBy=HOUR", 429, `~"code":1304`),
			get("reversed", span("sent", 1, 0), 400, "~sentDate: the end"),
			get("no unit", "divideBy=YEAR", 400, "~must be one of HOUR"),
		})
	})
}
