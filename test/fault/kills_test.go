// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

const (
	// killsVariable names the environment variable with the number of kills of TestKills for each
	// engine.
	killsVariable = "APP_TEST_KILLS"
	// defaultKills kills every process twice.
	defaultKills = "6"
	// insisting is the number of users who send messages, each to its own recipient, and burst how
	// many messages they send at once.
	insisting, burst = 8, 3
)

// TestKills kills processes repeatedly, while users send messages and create groups with
// idempotency keys, and retry on any gateway until they are acknowledged. Each request then took
// effect exactly once and completely, and messages are stored in the order in which they were sent.
// Users on a gateway that keeps running receive all of them, or are told to reconnect.
func TestKills(t *testing.T) {
	beside(t)
	kills, err := strconv.Atoi(cmp.Or(os.Getenv(killsVariable), defaultKills))
	if err != nil || kills < 1 {
		t.Fatalf("%s must be a positive number: %v", killsVariable, err)
	}
	t.Run("SQLite", func(t *testing.T) {
		set := append([]string{"app.store.url=" + storetest.SQLiteURL(t)}, openClients...)
		k := newKilling(t, strings.TrimPrefix(set[0], "app.store.url="))
		k.boot("all", "all", set...)
		k.begin([]string{"all"}, "all")
		for range kills {
			k.kill("all")
		}
		k.end()
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		nats, db := clustertest.StartServer(t), storetest.StartServer(t)
		set := append([]string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL()}, openClients...)
		k := newKilling(t, db.URL())
		k.boot("service", "service-0", set...)
		k.boot("service", "service-1", set...)
		k.boot("gateway", "gateway-0", set...)
		k.boot("gateway", "gateway-1", set...)
		k.begin([]string{"gateway-0", "gateway-1"}, "service-0")
		k.listen("gateway-0")
		for i := range kills {
			k.kill([]string{"service-0", "service-1", "gateway-1"}[i%3])
		}
		k.end()
	})
}

// killing is processes that are killed and users who retry.
type killing struct {
	t        *testing.T
	database string
	// program is the program of the next process.
	program   string
	history   *history
	senders   []*insister
	listeners []*attentive
	kills     int
	// pause is how many rounds of progress all users make before a process is replaced.
	pause int

	mu       sync.Mutex
	nodes    map[string]*process
	set      map[string][]string
	gateways []string

	stop  atomic.Bool
	group sync.WaitGroup
}

func newKilling(t *testing.T, database string) *killing {
	return &killing{t: t, database: database, program: binary, pause: 1, history: newHistory(), nodes: map[string]*process{}, set: map[string][]string{}}
}

// boot starts a process, also after it was killed.
func (k *killing) boot(role, name string, set ...string) {
	k.t.Helper()
	p := startWith(k.t, []string{k.program}, role, name, set...)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nodes[name], k.set[name] = p, set
}

// anyURL returns the address of a random running gateway.
func (k *killing) anyURL() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.nodes[k.gateways[rand.IntN(len(k.gateways))]].clients[0]
}

// programOf returns the program of the gateway with an address.
func (k *killing) programOf(url string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.nodes {
		if len(p.clients) > 0 && p.clients[0] == url {
			return p.Path
		}
	}
	return binary
}

// begin creates users on a service, and makes them send through the gateways.
func (k *killing) begin(gateways []string, service string) {
	k.t.Helper()
	k.gateways = gateways
	createUsers(k.t, k.nodes[service], 2*insisting)
	for i := range insisting {
		u := &insister{killing: k, user: int64(i + 1), to: int64(insisting + i + 1), groups: map[string]bool{}}
		k.senders = append(k.senders, u)
		k.group.Go(u.run)
	}
	k.t.Cleanup(k.finish)
}

// listen connects the recipients to a gateway that is not killed.
func (k *killing) listen(gateway string) {
	url := k.nodes[gateway].clients[0]
	k.attend(func() string { return url }, wire.ClosedServerUnavailable)
}

// attend connects the recipients to the gateways that url returns. Their sessions may be closed
// with the given statuses.
func (k *killing) attend(url func() string, ends ...wire.CloseStatus) {
	for _, u := range k.senders {
		l := &attentive{killing: k, user: u.to, conversation: u.conversation(), url: url, ends: ends}
		k.listeners = append(k.listeners, l)
		l.connect()
		k.group.Go(l.run)
	}
}

// kill kills a process at a random moment and starts it again. All users make progress before.
func (k *killing) kill(name string) {
	k.t.Helper()
	k.progress("before " + name + " is killed")
	<-time.After(rand.N(50 * time.Millisecond))
	p := k.nodes[name]
	p.signal(syscall.SIGKILL)
	<-p.done
	k.kills++
	k.boot(p.role, name, k.set[name]...)
}

// progress waits until every user has received another acknowledgement.
func (k *killing) progress(when string) {
	k.t.Helper()
	before := make([]int64, len(k.senders))
	for i, u := range k.senders {
		before[i] = u.done.Load()
	}
	eventually(k.t, "requests are acknowledged "+when, func() bool {
		for i, u := range k.senders {
			if u.done.Load() <= before[i] {
				return false
			}
		}
		return true
	})
}

func (k *killing) finish() {
	k.stop.Store(true)
	k.group.Wait()
}

// end lets all users finish and checks what is stored and delivered.
func (k *killing) end() {
	k.t.Helper()
	k.progress("after the last fault")
	for _, u := range k.senders {
		u.last.Store(true)
	}
	eventually(k.t, "everybody is answered", func() bool {
		for _, u := range k.senders {
			if !u.over.Load() {
				return false
			}
		}
		return true
	})
	told := unknown
	if len(k.listeners) > 0 {
		defer func() {
			if k.t.Failed() {
				k.t.Logf("undelivered: %q", k.history.undelivered())
			}
		}()
		eventually(k.t, "everybody got everything or was told to connect again", func() bool {
			for _, l := range k.listeners {
				l.note()
			}
			return k.history.complete()
		})
		told = len(k.history.told)
	}
	k.finish()
	f := k.history.figures(storedMessages(k.t, k.database))
	if len(k.listeners) == 0 {
		f.undelivered, f.disagreements, f.repeated = unknown, 0, unknown
	}
	k.t.Logf("%d kills: %v; %s sessions were told to connect again; nothing was acknowledged for %v at most", k.kills, f, counted(told), k.history.acknowledgements.stop())
	record(k.t, f, told, k.history.acknowledgements.stop())
	if f.lost+f.doubled+f.inverted+f.disagreements+f.late > 0 || f.undelivered > 0 {
		k.t.Errorf("something is wrong: %v %q", f, f.inversions)
	}
	k.checkGroups()
}

// checkGroups finds incomplete groups, and compares the acknowledged groups with the existing ones.
func (k *killing) checkGroups() {
	k.t.Helper()
	rows, err := openDatabase(k.t, k.database).QueryContext(k.t.Context(), `SELECT g.name,
		(SELECT COUNT(*) FROM group_member m WHERE m.group_id = g.id AND m.user_id = g.owner_id AND m.role = 0),
		(SELECT COUNT(*) FROM group_version v WHERE v.group_id = g.id) FROM im_group g`)
	if err != nil {
		k.t.Fatal(err)
	}
	defer rows.Close()
	exist := map[string]int{}
	for rows.Next() {
		var name string
		var owners, versions int
		if err := rows.Scan(&name, &owners, &versions); err != nil {
			k.t.Fatal(err)
		}
		if exist[name]++; owners != 1 || versions != 1 {
			k.t.Errorf("the group %q has %d members who own it and %d versions", name, owners, versions)
		}
	}
	if err := rows.Err(); err != nil {
		k.t.Fatal(err)
	}
	acknowledged := 0
	for _, u := range k.senders {
		for name := range u.groups {
			acknowledged++
			if exist[name] != 1 {
				k.t.Errorf("the group %q, which was acknowledged, exists %d times", name, exist[name])
			}
		}
	}
	if acknowledged == 0 || len(exist) != acknowledged {
		k.t.Errorf("%d groups were acknowledged, %d exist", acknowledged, len(exist))
	}
}

// An insister retries every request until it is acknowledged.
type insister struct {
	*killing
	user, to int64
	client   *chat.Client
	// groups are the names of the acknowledged groups.
	groups map[string]bool
	// done counts acknowledgements; last makes the user stop after the current round, and over is
	// true when it has stopped.
	done       atomic.Int64
	last, over atomic.Bool
}

func (u *insister) conversation() string { return fmt.Sprintf("%d to %d", u.user, u.to) }

func (u *insister) run() {
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	defer u.over.Store(true)
	for n := 0; !u.stop.Load() && !u.last.Load(); n++ {
		<-pace.C
		var open []*sending
		for i := range burst {
			open = append(open, u.history.send(fmt.Sprint("user ", u.user), u.conversation(), fmt.Sprintf("message %d.%d of user %d", n, i, u.user)))
		}
		for len(open) > 0 && !u.stop.Load() {
			open = u.sendAll(open)
		}
		if n%10 == 0 {
			u.createGroup(fmt.Sprintf("group %d of user %d", n, u.user))
		}
	}
	if u.client != nil {
		u.client.Close()
	}
}

// connected returns a logged-in client, or nil if the login fails.
func (u *insister) connected() *chat.Client {
	if u.client != nil && u.client.Err() == nil {
		return u.client
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := chat.Dial(ctx, u.anyURL(), chat.Options{Discard: true})
	if err != nil {
		return nil
	}
	if err := c.Login(ctx, &wire.CreateSessionRequest{Version: wire.Version, UserId: u.user, Password: proto.String("secret")}); err != nil {
		c.Close()
		return nil
	}
	u.client = c
	return c
}

// sendAll sends messages at once and returns those to be sent again.
func (u *insister) sendAll(messages []*sending) (again []*sending) {
	c := u.connected()
	if c == nil {
		<-time.After(20 * time.Millisecond)
		return messages
	}
	answers := make([]func() *wire.AppNotification, 0, len(messages))
	for _, s := range messages {
		answers = append(answers, u.request(c, s.text, &wire.CreateMessageRequest{RecipientId: &u.to, Text: &s.text}))
	}
	for i, s := range messages {
		response := answers[i]()
		switch {
		case response == nil:
			again = append(again, s)
		case response.GetCode() == 1000:
			u.history.answer(s, response)
			u.done.Add(1)
		default:
			// A refused message has no order relative to those that were sent with it.
			s.session += fmt.Sprintf(", after %d", response.GetCode())
			again = append(again, s)
			if code := response.GetCode(); code != 1200 && code != 1201 {
				u.t.Errorf("%q was refused with %d %q", s.text, code, response.GetReason())
			}
		}
	}
	return again
}

// request sends a request. await waits for the response; it returns nil if the connection ended
// before.
func (u *insister) request(c *chat.Client, key string, body proto.Message) (await func() *wire.AppNotification) {
	answer, err := c.Begin(key, body)
	return func() *wire.AppNotification {
		if err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		n, err := answer(ctx)
		if err != nil && ctx.Err() != nil {
			u.t.Errorf("user %d was not answered: %v", u.user, err)
			c.Close()
		}
		return n
	}
}

// createGroup creates a group, with as many retries as necessary.
func (u *insister) createGroup(name string) {
	for !u.stop.Load() {
		c := u.connected()
		if c == nil {
			<-time.After(20 * time.Millisecond)
			continue
		}
		response := u.request(c, name, &wire.CreateGroupRequest{Name: name})()
		switch code := response.GetCode(); code {
		case 1000:
			u.groups[name] = true
			return
		case 0, 1200, 1201:
		default:
			u.t.Errorf("%q was refused with %d %q", name, code, response.GetReason())
		}
	}
}

// An attentive user stays connected, and reconnects when told to.
type attentive struct {
	*killing
	user         int64
	conversation string
	url          func() string
	ends         []wire.CloseStatus

	mu       sync.Mutex
	sessions []listener
}

// connect begins a session. It reports false if that fails.
func (l *attentive) connect() bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	url := l.url()
	earlier := l.programOf(url) != binary
	c, err := chat.Dial(ctx, url, chat.Options{})
	if err != nil {
		return false
	}
	if err := c.Login(ctx, &wire.CreateSessionRequest{Version: wire.Version, UserId: l.user, Password: proto.String("secret")}); err != nil {
		c.Close()
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	name := fmt.Sprintf("session %d of user %d", len(l.sessions), l.user)
	l.history.begin(name, l.conversation)
	if earlier {
		l.history.disorder(name)
	}
	l.sessions = append(l.sessions, listener{session: name, client: &chat.Tester{Client: c}})
	return true
}

func (l *attentive) run() {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !l.stop.Load() {
		<-look.C
		l.mu.Lock()
		n := len(l.sessions)
		ended := n == 0 || l.sessions[n-1].client.Err() != nil
		l.mu.Unlock()
		if ended {
			l.connect()
		}
	}
	for _, s := range l.sessions {
		s.client.Close()
	}
}

// note records in the history what the sessions received.
func (l *attentive) note() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sessions {
		if s.client.Err() != nil {
			status := wire.CloseStatus(0)
			for _, n := range s.client.Inbox() {
				status = max(status, wire.CloseStatus(n.GetCloseStatus()))
			}
			if !slices.Contains(l.ends, status) {
				l.t.Errorf("%s was closed with the status %d", s.session, status)
			}
			// A client that is told to reconnect queries what it missed.
			l.history.excuse(s.session)
		}
		l.history.receive(s.session, s.client.Client)
	}
}
