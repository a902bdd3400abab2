// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// A crowd is users who send messages to each other and reconnect whenever they lose their
// connections.
type crowd struct {
	t     *testing.T
	clubs []int64
	ctx   context.Context
	leave context.CancelFunc
	group sync.WaitGroup

	sent, logins, losses atomic.Int64

	mu   sync.Mutex
	urls []string
	// acknowledged has the acknowledged messages by id, delivered the ids of those that at least
	// one client received.
	acknowledged map[int64]stored
	delivered    map[int64]bool
	deliveries   int
	// repeated counts messages that one session received more than once.
	repeated int

	acknowledgements stopwatch
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{t: t, acknowledged: map[int64]stored{}, delivered: map[int64]bool{}}
	c.ctx, c.leave = context.WithCancel(context.Background())
	t.Cleanup(c.stop)
	return c
}

// connectTo sets the gateways for further logins.
func (c *crowd) connectTo(gateways ...[]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.urls = nil
	for _, urls := range gateways {
		c.urls = append(c.urls, urls...)
	}
}

func (c *crowd) anyURL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.urls[rand.IntN(len(c.urls))]
}

// clubOf returns the group that a user is a member of.
func (c *crowd) clubOf(user int64) int64 { return c.clubs[(user-1)/clubSize] }

// run starts the users.
func (c *crowd) run() {
	for user := int64(1); user <= crowdSize; user++ {
		c.group.Go(func() {
			for n := 0; c.ctx.Err() == nil; {
				c.visit(user, &n)
			}
		})
	}
}

// stop lets all users finish their requests, then ends their sessions.
func (c *crowd) stop() {
	c.leave()
	c.group.Wait()
}

// pause is the interval between two messages or login attempts of a user. It limits the load; no
// test relies on it.
const pause = 200 * time.Millisecond

// visit runs one session, which ends when the connection is lost or after some messages.
func (c *crowd) visit(user int64, n *int) {
	pace := time.NewTicker(pause)
	defer pace.Stop()
	wait := func() bool {
		select {
		case <-pace.C:
			return true
		case <-c.ctx.Done():
			return false
		}
	}
	// Requests have their own time limit and outlive the crowd: stop waits for them.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := chat.Dial(ctx, c.anyURL(), chat.Options{})
	if err != nil {
		wait()
		return
	}
	defer client.Close()
	password := "secret"
	if err := client.Login(ctx, &wire.CreateSessionRequest{Version: wire.Version, UserId: user, Password: &password}); err != nil {
		wait()
		return
	}
	c.logins.Add(1)
	for range 20 + rand.IntN(40) {
		if !wait() {
			break
		}
		*n++
		if err := c.say(client, user, *n); err != nil {
			c.losses.Add(1)
			break
		}
	}
	client.Close()
	c.note(client)
}

// say sends a message to a random user, or to the user's group, and records it if it is
// acknowledged. An error means that the connection was lost.
func (c *crowd) say(client *chat.Client, user int64, n int) error {
	m := stored{sender: user, text: fmt.Sprintf("message %d of user %d", n, user)}
	request := &wire.CreateMessageRequest{Text: &m.text}
	if n%10 == 0 {
		m.target, m.group = c.clubOf(user), true
		request.GroupId = &m.target
	} else {
		m.target = (user+int64(rand.IntN(crowdSize-1)))%crowdSize + 1
		request.RecipientId = &m.target
	}
	c.sent.Add(1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	response, err := client.Do(ctx, request)
	if err != nil {
		return err
	}
	switch code := response.GetCode(); code {
	case 1000:
		m.id = response.GetData().GetLong()
		c.acknowledgements.acknowledge()
		c.mu.Lock()
		defer c.mu.Unlock()
		if old, ok := c.acknowledged[m.id]; ok {
			c.t.Errorf("the messages %+v and %+v got one id", old, m)
		}
		c.acknowledged[m.id] = m
	case 1200, 1201:
		// Whether the message is stored is unknown.
	default:
		c.t.Errorf("a message was refused with %d %q", code, response.GetReason())
	}
	return nil
}

// note counts what a session received.
func (c *crowd) note(client *chat.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[int64]bool{}
	for _, n := range client.Inbox() {
		m := n.GetRelayedRequest().GetCreateMessageRequest()
		if m == nil {
			continue
		}
		if seen[m.GetMessageId()] {
			c.repeated++
		}
		seen[m.GetMessageId()], c.delivered[m.GetMessageId()] = true, true
		c.deliveries++
	}
}

// awaitProgress waits for as many more acknowledgements as there are users.
func (c *crowd) awaitProgress(when string) {
	c.t.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.acknowledged)
	}
	want := count() + crowdSize
	eventually(c.t, "messages are acknowledged "+when, func() bool { return count() >= want })
}
