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
	// killsVariable names the environment variable with how often TestKills kills a process, for each engine.
	killsVariable = "APP_TEST_KILLS"
	// defaultKills lets every process die twice.
	defaultKills = "6"
	// insisting is how many users send messages, each to a user of its own, and burst how many at once.
	insisting, burst = 8, 3
)

// TestKills kills processes again and again, while users send messages and create groups with idempotency keys, and send them
// again to whichever gateway there is until they are told that it was done: then it was done once, completely, and messages are in
// the order in which they were sent. Users whose gateway lives get them all, or are told to connect again.
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

// killing is processes that are killed and users who do not give up.
type killing struct {
	t        *testing.T
	database string
	// program is what is started next.
	program   string
	history   *history
	senders   []*insister
	listeners []*attentive
	kills     int
	// pause is how often everybody makes progress before a process is replaced.
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

// boot starts a process, for the first time or after it was killed.
func (k *killing) boot(role, name string, set ...string) {
	k.t.Helper()
	p := startWith(k.t, []string{k.program}, role, name, set...)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nodes[name], k.set[name] = p, set
}

// anyURL returns where clients may connect at the moment.
func (k *killing) anyURL() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.nodes[k.gateways[rand.IntN(len(k.gateways))]].clients[0]
}

// begin lets users send through the gateways, who are created by a service.
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

// listen lets the recipients stay connected to a gateway that is not killed.
func (k *killing) listen(gateway string) {
	url := k.nodes[gateway].clients[0]
	k.attend(func() string { return url }, wire.ClosedServerUnavailable)
}

// attend lets the recipients stay connected to the gateways that url returns. Their sessions may be closed with some statuses.
func (k *killing) attend(url func() string, ends ...wire.CloseStatus) {
	for _, u := range k.senders {
		l := &attentive{killing: k, user: u.to, conversation: u.conversation(), url: url, ends: ends}
		k.listeners = append(k.listeners, l)
		l.connect()
		k.group.Go(l.run)
	}
}

// kill kills a process at a moment that nobody chose, while all users make progress before and afterwards, and starts it again.
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

// progress waits until every user has been told of something more that was done.
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

// end lets everybody finish and checks what is stored and delivered.
func (k *killing) end() {
	k.t.Helper()
	k.progress("when all is well again")
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

// checkGroups finds groups that are half there, and compares those that were acknowledged with those that exist.
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

// An insister sends everything again until it is told that it was done.
type insister struct {
	*killing
	user, to int64
	client   *chat.Client
	// groups are the names of those that were acknowledged.
	groups map[string]bool
	// done counts what was acknowledged; last has the user stop then, and over says that this has happened.
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

// connected returns a client that is logged in, or nil if there is none now.
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

// sendAll sends messages at once and returns those that have to be sent again.
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
			// What was refused has no place among what was sent with it any more.
			s.session += fmt.Sprintf(", after %d", response.GetCode())
			again = append(again, s)
			if code := response.GetCode(); code != 1200 && code != 1201 {
				u.t.Errorf("%q was refused with %d %q", s.text, code, response.GetReason())
			}
		}
	}
	return again
}

// request sends a request and returns what waits for the response; it returns nil if the connection ended before.
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

// createGroup creates a group, however often that takes.
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

// An attentive user stays connected, and connects again when told to.
type attentive struct {
	*killing
	user         int64
	conversation string
	url          func() string
	ends         []wire.CloseStatus

	mu       sync.Mutex
	sessions []listener
}

// connect begins a session. It reports false if that cannot be now.
func (l *attentive) connect() bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := chat.Dial(ctx, l.url(), chat.Options{})
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

// note tells the history what the sessions got.
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
			// Whoever is told to connect again asks for what it missed.
			l.history.excuse(s.session)
		}
		l.history.receive(s.session, s.client.Client)
	}
}
