// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// traffic is users of one gateway who continuously send messages to users of others. All stay
// connected.
type traffic struct {
	t        *testing.T
	history  *history
	gateways []*process
	// burst is how many messages a user sends at once.
	burst        int
	senders      []*chat.Tester
	listeners    []listener
	acknowledged []atomic.Int64
	// longest is the longest time that a sender waited for an acknowledgement.
	longest atomic.Int64
	// resting is true while nothing is sent.
	resting, stop atomic.Bool
	group         sync.WaitGroup
}

type listener struct {
	session string
	client  *chat.Tester
}

// newTraffic starts to send from senders users of a gateway, each to one user of every other
// gateway. Users 1 to senders × (1 + gateways) must exist.
func newTraffic(t *testing.T, senders, burst int, from *process, to ...*process) *traffic {
	t.Helper()
	tr := &traffic{t: t, history: newHistory(), burst: burst, gateways: append([]*process{from}, to...), acknowledged: make([]atomic.Int64, senders)}
	for i := range senders {
		sender := chat.LogIn(t, from.clients[0], int64(i+1), chat.WithPassword("secret"))
		tr.senders = append(tr.senders, sender)
		var recipients []int64
		for g, gateway := range to {
			id := int64((g+1)*senders + i + 1)
			recipients = append(recipients, id)
			l := listener{fmt.Sprint("user ", id), chat.LogIn(t, gateway.clients[0], id, chat.WithPassword("secret"))}
			tr.history.expect(l.session, fmt.Sprintf("%d to %d", i+1, id))
			tr.listeners = append(tr.listeners, l)
		}
		tr.group.Go(func() { tr.send(sender, i, recipients) })
	}
	t.Cleanup(tr.end)
	return tr
}

// send sends bursts: several messages to the same user without waiting for the responses in
// between.
func (tr *traffic) send(sender *chat.Tester, i int, recipients []int64) {
	pace := time.NewTicker(time.Duration(tr.burst) * 10 * time.Millisecond)
	defer pace.Stop()
	for n := 0; !tr.stop.Load(); n++ {
		if <-pace.C; tr.resting.Load() {
			continue
		}
		to := recipients[n%len(recipients)]
		var answers sync.WaitGroup
		for k := range tr.burst {
			s := tr.history.send(fmt.Sprint("sender ", i), fmt.Sprintf("%d to %d", i+1, to), fmt.Sprintf("message %d.%d from %d to %d", n, k, i+1, to))
			id, err := sender.Send(&wire.CreateMessageRequest{RecipientId: proto.Int64(to), Text: &s.text})
			if err != nil {
				tr.t.Errorf("%q: %v", s.text, err)
				return
			}
			answers.Go(func() { tr.await(sender, i, s, id) })
		}
		answers.Wait()
	}
}

func (tr *traffic) await(sender *chat.Tester, i int, s *sending, id int64) {
	ctx, cancel := context.WithTimeout(tr.t.Context(), patience)
	defer cancel()
	began := time.Now()
	response, err := sender.Await(ctx, func(n *wire.AppNotification) bool { return n.GetRequestId() == id && n.Code != nil })
	if err != nil {
		tr.t.Errorf("%q: %v", s.text, err)
		return
	}
	if took := int64(time.Since(began)); took > tr.longest.Load() {
		tr.longest.Store(took)
	}
	if tr.history.answer(s, response); s.acknowledged {
		tr.acknowledged[i].Add(1)
	}
}

// progress waits until every sender has received more acknowledgements.
func (tr *traffic) progress(when string) {
	tr.t.Helper()
	before := make([]int64, len(tr.acknowledged))
	for i := range before {
		before[i] = tr.acknowledged[i].Load()
	}
	eventually(tr.t, "messages are acknowledged "+when, func() bool {
		for i := range before {
			if tr.acknowledged[i].Load() < before[i]+40 {
				return false
			}
		}
		return true
	})
}

// total returns the number of acknowledgements.
func (tr *traffic) total() (n int64) {
	for i := range tr.acknowledged {
		n += tr.acknowledged[i].Load()
	}
	return n
}

func (tr *traffic) end() {
	tr.stop.Store(true)
	tr.group.Wait()
}

// settle ends the traffic, waits until every user received everything or was told to reconnect,
// checks the history and returns how many users were told to reconnect.
func (tr *traffic) settle(databaseURL string, rules ...rule) (told int) {
	tr.t.Helper()
	tr.end()
	closed := map[string]bool{}
	tr.t.Cleanup(func() {
		if tr.t.Failed() {
			tr.t.Logf("not delivered: %q", tr.history.undelivered())
		}
	})
	eventually(tr.t, "everybody got everything or was told to connect again", func() bool {
		for _, l := range tr.listeners {
			for _, n := range l.client.Inbox() {
				if n.GetCloseStatus() == int32(wire.ClosedServerUnavailable) {
					closed[l.session] = true
				}
			}
			if closed[l.session] {
				tr.history.excuse(l.session)
			}
			tr.history.receive(l.session, l.client.Client)
		}
		return tr.history.complete()
	})
	tr.t.Logf("%d of %d users were told to connect again; a message took %v at most", len(closed), len(tr.listeners), time.Duration(tr.longest.Load()).Round(time.Millisecond))
	tr.history.check(tr.t, storedMessages(tr.t, databaseURL), tr.gateways, rules...)
	return len(closed)
}

// logins are users who continuously log in and out.
type logins struct {
	t             *testing.T
	done, refused atomic.Int64
	// longest is the longest time in which no login succeeded, and refusing the longest time in
	// which a gateway refused all logins, since the time in since; reason is its last error.
	mu                sync.Mutex
	last              time.Time
	since             map[string]time.Time
	longest, refusing time.Duration
	reason            error
	// resting is true while nobody logs in.
	resting, stop atomic.Bool
	group         sync.WaitGroup
}

func newLogins(t *testing.T, first int64, users int, gateways []*process) *logins {
	l := &logins{t: t, last: time.Now(), since: map[string]time.Time{}}
	for i := range int64(users) {
		url := gateways[int(i)%len(gateways)].clients[0]
		l.group.Go(func() {
			pace := time.NewTicker(20 * time.Millisecond)
			defer pace.Stop()
			for !l.stop.Load() {
				if <-pace.C; !l.resting.Load() {
					l.try(url, first+i)
				}
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

func (l *logins) try(url string, user int64) {
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	c, err := chat.Dial(ctx, url, chat.Options{})
	if err != nil {
		l.t.Errorf("connect user %d: %v", user, err)
		return
	}
	defer c.Close()
	if err := c.Login(ctx, &wire.CreateSessionRequest{Version: wire.Version, UserId: user, Password: proto.String("secret"), DeviceType: wire.DeviceType_BROWSER}); err != nil {
		l.refused.Add(1)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.since[url].IsZero() {
			l.since[url] = time.Now()
		}
		l.refusing, l.reason = max(l.refusing, time.Since(l.since[url])), err
		return
	}
	l.done.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, url)
	l.longest = max(l.longest, time.Since(l.last))
	l.last = time.Now()
}

// progress waits for more successful logins.
func (l *logins) progress(when string) {
	l.t.Helper()
	before := l.done.Load()
	eventually(l.t, "users log in "+when, func() bool { return l.done.Load() >= before+20 })
}

// rest calls fn, which takes long, while nobody sends messages or logs in.
func rest(tr *traffic, in *logins, fn func()) {
	tr.resting.Store(true)
	in.resting.Store(true)
	fn()
	in.mu.Lock()
	in.last = time.Now()
	in.mu.Unlock()
	in.resting.Store(false)
	tr.resting.Store(false)
}

func (l *logins) end() {
	l.stop.Store(true)
	l.group.Wait()
}

func (l *logins) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d logins, %d refused, for %v at most, the last with %v; for %v nobody could log in",
		l.done.Load(), l.refused.Load(), l.refusing.Round(time.Millisecond), l.reason, l.longest.Round(time.Millisecond))
}
