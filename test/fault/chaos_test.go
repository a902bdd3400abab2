// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // The driver "pgx".
	"google.golang.org/protobuf/proto"
	_ "modernc.org/sqlite" // The driver "sqlite".

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

const (
	// chaosVariable names the environment variable with the duration of TestChaos in seconds.
	chaosVariable = "APP_TEST_CHAOS_SECONDS"
	// chaosSeconds is the default duration, in which every process is killed once.
	chaosSeconds = 15
	crowdSize    = 200
	// clubSize is the number of members of each group.
	clubSize = 20
)

// chaosTime returns how long processes are killed.
func chaosTime(t *testing.T) time.Duration {
	text := os.Getenv(chaosVariable)
	if text == "" {
		return chaosSeconds * time.Second
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 {
		t.Fatalf("%s is %q, it must be a positive number of seconds", chaosVariable, text)
	}
	return time.Duration(seconds) * time.Second
}

// TestChaos kills gateways and services while a crowd of clients sends messages. Every acknowledged
// message is stored exactly once, for every recipient.
func TestChaos(t *testing.T) {
	duration := chaosTime(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := []string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(),
		"app.gateway.client-api.rate-limiting.capacity=1000000", "app.gateway.client-api.rate-limiting.initial-tokens=1000000",
		"app.gateway.client-api.rate-limiting.tokens-per-period=1000000", "app.cluster.rpc.request-timeout-millis=5000",
	}
	nodes := map[string]*process{}
	for i := range 2 {
		for _, role := range []string{"service", "gateway"} {
			name := fmt.Sprintf("%s-%d", role, i)
			nodes[name] = start(t, role, name, set...)
		}
	}
	settled := func() {
		t.Helper()
		eventually(t, "all members are healthy", func() bool {
			for _, p := range nodes {
				if _, body := p.call("GET", "/health", ""); !strings.Contains(body, `"status":"UP"`) {
					return false
				}
			}
			_, body := nodes["service-0"].call("GET", "/cluster/members", "")
			return strings.Count(body, `"healthy":true`) == len(nodes)
		})
	}
	settled()
	for id := 1; id <= crowdSize; id++ {
		if status, body := nodes[fmt.Sprintf("service-%d", id%2)].call("POST", "/users", fmt.Sprintf(`{"id":%d,"password":"secret"}`, id)); status != 200 {
			t.Fatalf("create user %d: %d %s", id, status, body)
		}
	}
	c := newCrowd(t)
	c.connectTo(nodes["gateway-0"].clients, nodes["gateway-1"].clients)
	c.clubs = foundClubs(t, nodes["service-0"], nodes["gateway-0"].clients[0])
	c.run()
	begin, killed := time.Now(), time.Time{}
	for round := 0; round < 2 || time.Since(begin) < duration; round++ {
		c.awaitProgress("before processes are killed")
		// One gateway and one service keep running, in every combination.
		service, gateway := fmt.Sprintf("service-%d", round%2), fmt.Sprintf("gateway-%d", (round+round/2)%2)
		for _, name := range []string{service, gateway} {
			nodes[name].signal(syscall.SIGKILL)
			<-nodes[name].done
		}
		killed = time.Now()
		c.awaitProgress("while processes are dead")
		for _, name := range []string{service, gateway} {
			nodes[name] = start(t, nodes[name].role, name, set...)
		}
		c.connectTo(nodes["gateway-0"].clients, nodes["gateway-1"].clients)
		settled()
		t.Logf("%s and %s died and are back after %v", service, gateway, time.Since(begin).Round(time.Millisecond))
	}
	c.awaitProgress("after the last fault")
	c.stop()
	t.Logf("everybody has finished after %v", time.Since(begin).Round(time.Millisecond))
	stored := storedMessages(t, db.URL())
	c.check(stored)
	online := func(n int, connect func()) {
		t.Helper()
		for _, name := range []string{"service-0", "service-1"} {
			eventually(t, fmt.Sprintf("%s sees %d users online", name, n), func() bool {
				connect()
				_, body := nodes[name].call("GET", "/users/online-infos/count", "")
				return strings.Contains(body, fmt.Sprintf(`"total":%d}`, n))
			})
		}
	}
	online(0, func() {})
	// Users who missed something are told to connect again, also those who have connected since.
	// They may be for a while after a kill.
	eventually(t, "deliveries are not retried any more", func() bool { return time.Since(killed) > 12*time.Second })
	final := c.checkPages([]string{nodes["gateway-0"].clients[0], nodes["gateway-1"].clients[1]}, stored)
	online(crowdSize, final.connect)
	for round := 1; !final.checkDelivery(fmt.Sprint("all is well, round ", round)); round++ {
		final.connect()
	}
}

// attendance is sessions of all users, who connect again when they are told to.
type attendance struct {
	t       *testing.T
	urls    []string
	clients []*chat.Tester
}

// logIn begins a session of a user.
func (a *attendance) logIn(user int64) *chat.Tester {
	return chat.LogIn(a.t, a.urls[user%int64(len(a.urls))], user, chat.WithPassword("secret"))
}

// connect begins sessions of the users whose sessions have ended.
func (a *attendance) connect() {
	for i, client := range a.clients {
		if client.Err() != nil {
			a.t.Logf("user %d connects again: %v", i+1, client.Err())
			a.clients[i] = a.logIn(int64(i + 1))
		}
	}
}

// checkDelivery sends a message from every user to the next one, who must receive it. It reports
// false if a session has ended meanwhile.
func (a *attendance) checkDelivery(text string) (done bool) {
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	done = true
	try := func(client *chat.Tester, err error) {
		switch {
		case err == nil:
		case client.Err() == nil:
			a.t.Fatalf("%q: %v", text, err)
		default:
			done = false
		}
	}
	for i, client := range a.clients {
		next := int64((i+1)%len(a.clients)) + 1
		_, err := client.Do(ctx, &wire.CreateMessageRequest{RecipientId: &next, Text: &text})
		try(client, err)
	}
	for _, client := range a.clients {
		if !done {
			break // Perhaps its message was not sent.
		}
		_, err := client.Await(ctx, func(n *wire.AppNotification) bool {
			return n.GetRelayedRequest().GetCreateMessageRequest().GetText() == text
		})
		try(client, err)
	}
	return done
}

// foundClubs creates groups so that every user is a member of one, and returns their ids.
func foundClubs(t *testing.T, service *process, url string) (ids []int64) {
	t.Helper()
	for first := int64(1); first <= crowdSize; first += clubSize {
		owner := chat.LogIn(t, url, first, chat.WithPassword("secret"))
		id := owner.Request(&wire.CreateGroupRequest{Name: "club"}).GetData().GetLong()
		for user := first + 1; user < first+clubSize; user++ {
			body := fmt.Sprintf(`{"groupId":%d,"userId":%d,"role":"MEMBER"}`, id, user)
			if status, answer := service.call("POST", "/groups/members", body); status != 200 {
				t.Fatalf("add %s: %d %s", body, status, answer)
			}
		}
		owner.Close()
		ids = append(ids, id)
	}
	return ids
}

// A stored message is a row of the database.
type stored struct {
	id, sender, target int64
	group              bool
	text               string
}

// storedMessages reads all messages from the database, bypassing the server.
func storedMessages(t *testing.T, url string) []stored {
	t.Helper()
	rows, err := openDatabase(t, url).QueryContext(t.Context(), "SELECT id, sender_id, target_id, is_group_message, text FROM message WHERE deletion_date IS NULL")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []stored
	for rows.Next() {
		var m stored
		if err := rows.Scan(&m.id, &m.sender, &m.target, &m.group, &m.text); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// openDatabase opens the database of the nodes until the test ends.
func openDatabase(t *testing.T, url string) *sql.DB {
	t.Helper()
	driver, source := "pgx", url
	if file, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, source = "sqlite", file
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// check compares the acknowledgements and deliveries of clients with the stored messages.
func (c *crowd) check(all []stored) {
	byID, byText := map[int64]stored{}, map[string]int{}
	for _, m := range all {
		byID[m.id] = m
		byText[m.text]++
	}
	doubled := 0
	for text, n := range byText {
		if n != 1 {
			doubled++
			c.t.Errorf("%q is stored %d times", text, n)
		}
	}
	lost := 0
	for id, want := range c.acknowledged {
		if got, ok := byID[id]; !ok || got != want {
			lost++
			c.t.Logf("the message %+v was acknowledged, %+v is stored", want, got)
		}
	}
	strange := 0
	for id := range c.delivered {
		if _, ok := byID[id]; !ok {
			strange++
		}
	}
	c.t.Logf("%d sent, %d acknowledged, %d stored, %d deliveries, %d logins, %d lost connections", c.sent.Load(), len(c.acknowledged), len(all),
		c.deliveries, c.logins.Load(), c.losses.Load())
	record(c.t, figures{
		sent: int(c.sent.Load()), acknowledged: len(c.acknowledged), lost: lost, doubled: doubled, inverted: unknown, undelivered: unknown, repeated: c.repeated, late: unknown,
	}, unknown, c.acknowledgements.stop())
	if lost > 0 || strange > 0 || c.repeated > 0 {
		c.t.Errorf("%d acknowledged messages are not stored, %d delivered ones are not, %d were delivered twice to a session", lost, strange, c.repeated)
	}
	if c.losses.Load() == 0 {
		c.t.Error("no client lost its connection, although gateways were killed")
	}
}

// checkPages logs in all users again, reads all messages that were sent to them page by page, and
// compares them with the stored ones. It returns the sessions, in the order of the users.
func (c *crowd) checkPages(urls []string, all []stored) *attendance {
	a := &attendance{t: c.t, urls: urls}
	for user := int64(1); user <= crowdSize; user++ {
		client := a.logIn(user)
		for _, group := range []bool{false, true} {
			target := user
			if group {
				target = c.clubOf(user)
			}
			var want []int64
			for _, m := range all {
				if m.group == group && m.target == target {
					want = append(want, m.id)
				}
			}
			slices.Sort(want)
			if got := pages(client, group); !slices.Equal(got, want) {
				c.t.Errorf("user %d finds %d messages (of groups: %v), want %d", user, len(got), group, len(want))
			}
		}
		a.clients = append(a.clients, client)
	}
	return a
}

// pages reads all private or all group messages of a user and returns their ids in order.
func pages(client *chat.Tester, group bool) (ids []int64) {
	const size = 50
	seen, from := map[int64]bool{}, int64(0)
	for {
		n := client.Request(&wire.QueryMessagesRequest{
			AreGroupMessages: &group, DeliveryDateStart: &from, MaxCount: proto.Int32(size),
		})
		page := n.GetData().GetMessages().GetMessages()
		more := false
		for _, m := range page {
			if !seen[m.GetId()] {
				seen[m.GetId()], more = true, true
				ids = append(ids, m.GetId())
			}
			from = m.GetDeliveryDate()
		}
		if len(page) < size || !more {
			slices.Sort(ids)
			return ids
		}
	}
}
