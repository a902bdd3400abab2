// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/store"
)

// blocklistStart is when the tests of blocklists begin, in milliseconds.
const blocklistStart = 1_700_000_000_000

// openBlocklists makes the blocklists of a harness, whose time stands still.
func (h *harness) openBlocklists() {
	h.t.Helper()
	h.blocklistsEnabled.Store(true)
	h.blocklistTime.Store(blocklistStart)
	h.blockedIPs = open(h, blocklist.NewIPs)
	h.blockedUsers = open(h, blocklist.NewUsers)
}

func open[K blocklist.Key](h *harness, make func(context.Context, blocklist.Options) (*blocklist.List[K], error)) *blocklist.List[K] {
	h.t.Helper()
	list, err := make(h.t.Context(), blocklist.Options{
		Store: h.DB, Enabled: h.blocklistsEnabled.Load, Logger: slog.New(slog.DiscardHandler),
		Clock: func() time.Time { return time.UnixMilli(h.blocklistTime.Load()) },
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// blockScenario is a request about one blocklist, the expected answer, and who
// is blocked afterwards for how many seconds from the start.
type blockScenario struct {
	name, method, target, body string
	disabled                   bool
	after                      int // seconds since the start
	status                     int
	want                       string // a part of the body
	blocked                    string
	told                       string // whom the gateways hear of
}

// playBlocklist runs scenarios in order. A second list over the same store
// stands for another node.
func playBlocklist[K blocklist.Key](t *testing.T, h *harness, list *blocklist.List[K], make func(context.Context, blocklist.Options) (*blocklist.List[K], error), scenarios []blockScenario) {
	var told, toldElsewhere []K
	other := open(h, make)
	list.OnBlocked(func(keys []K) { told = append(told, keys...) })
	other.OnBlocked(func(keys []K) { toldElsewhere = append(toldElsewhere, keys...) })
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			told, toldElsewhere = nil, nil
			h.blocklistTime.Store(blocklistStart + int64(s.after)*1000)
			h.blocklistsEnabled.Store(!s.disabled)
			r := h.call("app", s.method, s.target, s.body)
			h.blocklistsEnabled.Store(true)
			if r.status != s.status || !strings.Contains(r.body, s.want) || s.status == 204 && r.body != "" {
				t.Errorf("answer %d %s\nwant %d %s", r.status, r.body, s.status, s.want)
			}
			if err := other.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, found, err := list.FindPage(t.Context(), store.Page{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range found {
				got = append(got, fmt.Sprintf("%v=%d", e.Key, (e.Until.UnixMilli()-blocklistStart)/1000))
				for _, l := range []*blocklist.List[K]{list, other} {
					if until, ok := l.Blocked(e.Key); !ok || !until.Equal(e.Until) {
						t.Errorf("memory has %v blocked %v until %v, the store until %v", e.Key, ok, until, e.Until)
					}
				}
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); text != s.blocked {
				t.Errorf("blocked are %q, want %q", text, s.blocked)
			}
			for _, keys := range [][]K{told, toldElsewhere} {
				if text := strings.Trim(fmt.Sprint(keys), "[]"); text != s.told {
					t.Errorf("told of %q, want %q", text, s.told)
				}
			}
		})
	}
}

func TestBlockedIPs(t *testing.T) {
	const path = "/blocked-clients/ips"
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.role(1, 1, "LOG_QUERY")
		h.account("logger", 1)
		playBlocklist(t, h, h.blockedIPs, blocklist.NewIPs, []blockScenario{
			{name: "nobody", method: "GET", target: path + "?ids=1.2.3.4", status: 204},
			{name: "empty page", method: "GET", target: path + "/page", status: 204},

			// POST.
			{name: "no body", method: "POST", target: path, status: 400, want: "the body is empty"},
			{name: "no ids", method: "POST", target: path, body: `{"blockDurationMillis":1000}`, status: 400, want: `"code":1102,"reason":"ids: is required"`},
			{name: "null ids", method: "POST", target: path, body: `{"ids":null,"blockDurationMillis":1000}`, status: 400, want: `"reason":"ids: is required"`},
			{name: "empty ids", method: "POST", target: path, body: `{"ids":[],"blockDurationMillis":1000}`, status: 204},
			{name: "no duration", method: "POST", target: path, body: `{"ids":["1.2.3.4"]}`, status: 204},
			{name: "no time", method: "POST", target: path, body: `{"ids":["1.2.3.4"],"blockDurationMillis":0}`, status: 204},
			{name: "negative time", method: "POST", target: path, body: `{"ids":["1.2.3.4"],"blockDurationMillis":-1}`, status: 204},
			{name: "no address", method: "POST", target: path, body: `{"ids":["1.2.3.4","1.2.3"],"blockDurationMillis":1000}`, status: 400, want: `"code":1102,"reason":"ids: \"1.2.3\" must be an IPv4 or IPv6 address"`},
			{name: "empty address", method: "POST", target: path, body: `{"ids":[""],"blockDurationMillis":1000}`, status: 400, want: `\"\" must be an IPv4 or IPv6 address`},
			{name: "network", method: "POST", target: path, body: `{"ids":["1.2.3.0/24"],"blockDurationMillis":1000}`, status: 400, want: `\"1.2.3.0/24\" must be`},
			{name: "zone", method: "POST", target: path, body: `{"ids":["fe80::1%eth0"],"blockDurationMillis":1000}`, status: 400, want: `\"fe80::1%eth0\" must be an address without zone`},
			{name: "disabled", disabled: true, method: "POST", target: path, body: `{"ids":["1.2.3.4"],"blockDurationMillis":1000}`, status: 403, want: `"code":1400`},
			{
				name: "block", method: "POST", target: path, status: 204,
				body:    `{"ids":["1.2.3.4","::ffff:1.2.3.4","2001:DB8:0:0::1","10.0.0.1"],"blockDurationMillis":60000}`,
				blocked: "1.2.3.4=60 10.0.0.1=60 2001:db8::1=60", told: "1.2.3.4 10.0.0.1 2001:db8::1",
			},
			{
				name: "block again", after: 10, method: "POST", target: path, body: `{"ids":["::FFFF:a00:1"],"blockDurationMillis":20000}`, status: 204,
				blocked: "1.2.3.4=60 10.0.0.1=30 2001:db8::1=60",
			},

			// GET.
			{name: "query without ids", method: "GET", target: path, status: 400, want: `parameter \"ids\": is required`, blocked: "1.2.3.4=60 10.0.0.1=30 2001:db8::1=60"},
			{name: "query no address", method: "GET", target: path + "?ids=x", status: 400, want: `\"x\" must be an IPv4 or IPv6 address`, blocked: "1.2.3.4=60 10.0.0.1=30 2001:db8::1=60"},
			{
				name: "query", method: "GET", target: path + "?ids=::ffff:10.0.0.1,10.0.0.2", status: 200,
				want:    `"data":[{"id":"10.0.0.1","blockEndTime":"2023-11-14T22:13:50.000+00:00"}]`,
				blocked: "1.2.3.4=60 10.0.0.1=30 2001:db8::1=60",
			},
			{name: "query while disabled", disabled: true, method: "GET", target: path + "?ids=10.0.0.1", status: 204, blocked: "1.2.3.4=60 10.0.0.1=30 2001:db8::1=60"},
			{name: "page while disabled", disabled: true, method: "GET", target: path + "/page", status: 204, blocked: "1.2.3.4=60 10.0.0.1=30 2001:db8::1=60"},
			{
				name: "page", method: "GET", target: path + "/page?page=1&size=1", status: 200,
				want:    `"data":{"total":3,"records":[{"id":"10.0.0.1","blockEndTime":"2023-11-14T22:13:50.000+00:00"}]}`,
				blocked: "1.2.3.4=60 10.0.0.1=30 2001:db8::1=60",
			},
			{name: "page beyond the end", method: "GET", target: path + "/page?page=9", status: 200, want: `{"total":3,"records":[]}`, blocked: "1.2.3.4=60 10.0.0.1=30 2001:db8::1=60"},
			{name: "an ended block", after: 30, method: "GET", target: path + "?ids=10.0.0.1", status: 204, blocked: "1.2.3.4=60 2001:db8::1=60", want: ""},

			// DELETE.
			{name: "delete nothing", after: 30, method: "DELETE", target: path, status: 400, want: `"code":1301`, blocked: "1.2.3.4=60 2001:db8::1=60"},
			{name: "delete not all", after: 30, method: "DELETE", target: path + "?deleteAll=false", status: 400, want: `"code":1301`, blocked: "1.2.3.4=60 2001:db8::1=60"},
			{name: "delete no address", after: 30, method: "DELETE", target: path + "?ids=1.2.3.4,x", status: 400, want: `\"x\" must be`, blocked: "1.2.3.4=60 2001:db8::1=60"},
			{name: "delete while disabled", disabled: true, after: 30, method: "DELETE", target: path + "?ids=1.2.3.4", status: 204, blocked: "1.2.3.4=60 2001:db8::1=60"},
			{name: "delete all while disabled", disabled: true, after: 30, method: "DELETE", target: path + "?deleteAll=true", status: 204, blocked: "1.2.3.4=60 2001:db8::1=60"},
			{name: "delete", after: 30, method: "DELETE", target: path + "?ids=::ffff:1.2.3.4,9.9.9.9", status: 204, blocked: "2001:db8::1=60"},
			{name: "delete again", after: 30, method: "DELETE", target: path + "?ids=1.2.3.4", status: 204, blocked: "2001:db8::1=60"},
			{name: "block after deletion", after: 30, method: "POST", target: path, body: `{"ids":"1.2.3.4","blockDurationMillis":"1000"}`, status: 204, blocked: "1.2.3.4=31 2001:db8::1=60", told: "1.2.3.4"},
			{name: "delete all wins", after: 30, method: "DELETE", target: path + "?ids=9.9.9.9&deleteAll=true", status: 204},
			{name: "delete all of nothing", after: 30, method: "DELETE", target: path + "?deleteAll=true", status: 204},

			// The end of time.
			{
				name: "block for ever", method: "POST", target: path, body: `{"ids":["1.2.3.4"],"blockDurationMillis":9223372036854775807}`, status: 204,
				blocked: "1.2.3.4=251702300799", told: "1.2.3.4",
			},
			{name: "for ever ends", method: "GET", target: path + "?ids=1.2.3.4", status: 200, want: `"blockEndTime":"9999-12-31T23:59:59.999+00:00"`, blocked: "1.2.3.4=251702300799"},
		})
		for method, permission := range map[string]string{"POST": "CREATE", "GET": "QUERY", "DELETE": "DELETE"} {
			r := h.call("logger", method, path+"?ids=1.2.3.4", `{"ids":[]}`)
			if r.status != 401 || !strings.Contains(r.body, "CLIENT_BLOCKLIST_"+permission) {
				t.Errorf("%s without permission: %d %s", method, r.status, r.body)
			}
		}
	})
}

func TestBlockedUsers(t *testing.T) {
	const path = "/blocked-clients/users"
	onBothEngines(t, func(t *testing.T, h *harness) {
		playBlocklist(t, h, h.blockedUsers, blocklist.NewUsers, []blockScenario{
			{name: "nobody", method: "GET", target: path + "?ids=1", status: 204},
			{name: "empty page", method: "GET", target: path + "/page", status: 204},
			{name: "no ids", method: "POST", target: path, body: `{"blockDurationMillis":1000}`, status: 204},
			{name: "nothing at all", method: "POST", target: path, body: `{}`, status: 204},
			{name: "no duration", method: "POST", target: path, body: `{"ids":[1]}`, status: 204},
			{name: "no id", method: "POST", target: path, body: `{"ids":["x"],"blockDurationMillis":1000}`, status: 400, want: `ids[0]: \"x\" must be an integer`},
			{name: "disabled", disabled: true, method: "POST", target: path, body: `{"ids":[1],"blockDurationMillis":1000}`, status: 403, want: `"code":1401`},
			{name: "block", method: "POST", target: path, body: `{"ids":[2,1,2,9223372036854775807],"blockDurationMillis":60000}`, status: 204, blocked: "1=60 2=60 9223372036854775807=60", told: "1 2 9223372036854775807"},
			{name: "block again", after: 10, method: "POST", target: path, body: `{"ids":[2,3],"blockDurationMillis":20000}`, status: 204, blocked: "1=60 2=30 3=30 9223372036854775807=60", told: "3"},
			{name: "query without ids", method: "GET", target: path, status: 400, want: "is required", blocked: "1=60 2=30 3=30 9223372036854775807=60"},
			{name: "query", method: "GET", target: path + "?ids=2,7", status: 200, want: `"data":[{"id":2,"blockEndTime":"2023-11-14T22:13:50.000+00:00"}]`, blocked: "1=60 2=30 3=30 9223372036854775807=60"},
			{name: "query while disabled", disabled: true, method: "GET", target: path + "?ids=2", status: 204, blocked: "1=60 2=30 3=30 9223372036854775807=60"},
			{name: "page while disabled", disabled: true, method: "GET", target: path + "/page", status: 204, blocked: "1=60 2=30 3=30 9223372036854775807=60"},
			{name: "page", method: "GET", target: path + "/page?page=1&size=1", status: 200, want: `"data":{"total":4,"records":[{"id":2,"blockEndTime":`, blocked: "1=60 2=30 3=30 9223372036854775807=60"},
			{name: "ended blocks", after: 30, method: "GET", target: path + "/page", status: 200, want: `"total":2`, blocked: "1=60 9223372036854775807=60"},
			{name: "delete nothing", after: 30, method: "DELETE", target: path + "?ids=&deleteAll=false", status: 400, want: `"code":1301`, blocked: "1=60 9223372036854775807=60"},
			{name: "delete while disabled", disabled: true, after: 30, method: "DELETE", target: path + "?ids=1", status: 204, blocked: "1=60 9223372036854775807=60"},
			{name: "delete", after: 30, method: "DELETE", target: path + "?ids=1,5&deleteAll=false", status: 204, blocked: "9223372036854775807=60"},
			{name: "delete all", after: 30, method: "DELETE", target: path + "?deleteAll=true", status: 204},
			{name: "block after deletion", after: 30, method: "POST", target: path, body: `{"ids":[1],"blockDurationMillis":1000}`, status: 204, blocked: "1=31", told: "1"},
		})
	})
}

// TestBlocklistDeletionWithoutFilter lifts the guard, which does not make the
// absence of a selector mean everybody.
func TestBlocklistDeletionWithoutFilter(t *testing.T) {
	h := newSQLiteHarness(t)
	h.settings.AllowDeleteWithoutFilter = true
	h.must("app", "POST", "/blocked-clients/ips", `{"ids":["1.2.3.4"],"blockDurationMillis":1000}`)
	h.must("app", "POST", "/blocked-clients/users", `{"ids":[1],"blockDurationMillis":1000}`)
	h.must("app", "DELETE", "/blocked-clients/ips", "")
	h.must("app", "DELETE", "/blocked-clients/users", "")
	if !h.blockedIPs.BlockedNow(netip.MustParseAddr("::ffff:1.2.3.4")) || !h.blockedUsers.BlockedNow(1) {
		t.Error("a deletion without selectors unblocked somebody")
	}
}

// TestBlocklistRefusalsChangeNothing proves that a request that does nothing
// does not make other nodes read anything either.
func TestBlocklistRefusalsChangeNothing(t *testing.T) {
	h := newSQLiteHarness(t)
	for _, request := range [][3]string{
		{"POST", "/blocked-clients/ips", `{"ids":[],"blockDurationMillis":1000}`},
		{"POST", "/blocked-clients/ips", `{"ids":["1.2.3.4"],"blockDurationMillis":0}`},
		{"DELETE", "/blocked-clients/ips?ids=1.2.3.4", ""},
	} {
		h.must("app", request[0], request[1], request[2])
	}
	if n, err := h.DB.Revision(t.Context(), store.BlockedIPs.Revision()); n != 0 || err != nil {
		t.Errorf("revision %d, %v", n, err)
	}
}
