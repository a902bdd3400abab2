// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/message"
	"example.org/app/internal/link"
	"example.org/app/internal/role"
	"example.org/app/internal/sleep"
	"example.org/app/internal/store"
)

const (
	// killedInterval is how often a service looks for killed ones.
	killedInterval = time.Second
	// killedPause is how long the last notifications of a killed service may take to arrive, and
	// those of requests that gateways resend to another service.
	killedPause = 2 * time.Second
	// killedDelay is the longest time for which a service tries to deliver a message.
	killedDelay = deliveryTimeout
	// killedLimit is the default of KilledServices.Limit. A paused gateway is gone before, which it
	// learns when it resumes.
	killedLimit = 2 * time.Minute
	// killedAge is how long killed services are looked for.
	killedAge = 24 * time.Hour
	// killedPage is how many messages are read at once, and killedUsers how many of their users are
	// located at once.
	killedPage, killedUsers = 1000, 10_000
)

// KilledServices makes gateways close the sessions that missed messages of services that were
// killed. A service delivers what it stores, retries that, and remembers who missed something. If
// it is killed, only the database and the gateways together show what was not delivered: the
// messages are in the database, and gateways remember for a while what they delivered. One of the
// running services compares them.
type KilledServices struct {
	Notifier *Notifier
	Messages *message.Directory
	Store    *store.DB
	// Holders returns the nodes that have not released their node numbers.
	Holders func(ctx context.Context, margin time.Duration) ([]cluster.Holder, error)
	// Settings returns the notification settings.
	Settings func() config.Notification
	// Limit is how long gateways that do not respond are called for one killed service; 0 means 2
	// minutes.
	Limit  time.Duration
	Logger *slog.Logger

	// lives are the known services when they were last compared with the holders of node numbers.
	lives map[string]string
	// since is when killed services were first seen; it is zero for those whose messages were
	// checked.
	since map[cluster.Holder]time.Time
	// pending is true if holders have to be looked at again, failing if that failed the last time.
	pending, failing bool
	// checks are the checks that wait for gateways.
	checks sync.WaitGroup
}

// Run looks for killed services until the context ends.
func (k *KilledServices) Run(ctx context.Context) error {
	defer k.checks.Wait()
	k.since = map[cluster.Holder]time.Time{}
	for sleep.For(ctx, killedInterval) == nil {
		if !k.responsible() {
			k.lives = nil
			continue
		}
		lives := k.Notifier.node.Cluster().Lives(role.Service)
		if !k.pending && sameLives(lives, k.lives) {
			continue
		}
		k.lives, k.pending = lives, false
		err := k.look(ctx)
		if err != nil && ctx.Err() == nil {
			k.pending = true
			if !k.failing { // An outage would fill the log.
				k.Logger.WarnContext(ctx, "could not check whether the messages of killed services were delivered; trying again", "error", err)
			}
		}
		k.failing = err != nil
	}
	return nil
}

// responsible reports whether this service has the smallest id of the running ones. If two consider
// themselves responsible for a moment, both check, which has the same result.
func (k *KilledServices) responsible() bool {
	node := k.Notifier.node
	c := node.Cluster()
	if c.Exclusive() || c.Synchronized().IsZero() {
		return false
	}
	for id, life := range c.Lives(role.Service) {
		if alive, _ := c.Alive(id, life); alive && id < node.ID() {
			return false
		}
	}
	return true
}

// look checks the messages of the services that were killed.
func (k *KilledServices) look(ctx context.Context) error {
	c := k.Notifier.node.Cluster()
	holders, err := k.Holders(ctx, killedAge)
	if err != nil {
		return err
	}
	since := make(map[cluster.Holder]time.Time, len(k.since))
	for _, h := range holders {
		alive, certain := c.Alive(h.NodeID, h.Incarnation)
		if alive {
			continue
		}
		// Renewed does not change once a node is not alive.
		first, seen := k.since[h]
		switch {
		case seen && first.IsZero():
		case !certain:
			k.pending = true
			continue
		case !seen:
			first, k.pending = time.Now(), true
		case time.Since(first) < killedPause:
			k.pending = true
		default:
			if err := k.check(ctx, h); err != nil {
				return err
			}
			first = time.Time{}
		}
		since[h] = first
	}
	k.since = since
	return nil
}

// check makes gateways close the sessions that missed messages of a killed service. It does not
// wait for the gateways.
func (k *KilledServices) check(ctx context.Context, h cluster.Holder) error {
	calls, cancel := context.WithTimeout(ctx, cmp.Or(k.Limit, killedLimit))
	c := &deliveryCheck{notifier: k.Notifier, calls: calls}
	for node := range k.Notifier.node.Cluster().Lives(role.Gateway) {
		c.call(node, &link.Undelivered{Alive: h.Renewed})
	}
	if err := k.read(ctx, c, h); err != nil {
		cancel()
		c.group.Wait()
		return err
	}
	k.checks.Go(func() {
		defer cancel()
		c.group.Wait()
		if ctx.Err() == nil {
			k.report(ctx, c, h)
		}
	})
	return nil
}

// read adds the last messages of a killed service to a check.
func (k *KilledServices) read(ctx context.Context, c *deliveryCheck, h cluster.Holder) error {
	after, before := ids.First(h.Renewed.Add(-killedDelay))-1, ids.First(h.Until)
	for more := true; more; {
		var page []store.Message
		err := k.Store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			page, err = store.FindMessagesOfNode(ctx, r, h.Number, after, before, killedPage)
			return err
		})
		if err != nil {
			return err
		}
		threads := map[thread][]store.Message{}
		for _, m := range page {
			after = m.ID
			t := thread{conversationKey(m), m.SenderID}
			threads[t] = append(threads[t], m)
		}
		for t, messages := range threads {
			if err := k.add(ctx, c, t, messages); err != nil {
				return err
			}
		}
		c.flush(ctx)
		more = len(page) == killedPage
	}
	return ctx.Err()
}

// report logs the result of a check.
func (k *KilledServices) report(ctx context.Context, c *deliveryCheck, h cluster.Holder) {
	c.failed.Range(func(gateway, err any) bool {
		k.Logger.WarnContext(ctx, "could not ask a gateway which messages of a killed service it delivered", "node", h.NodeID, "gateway", gateway, "error", err)
		return true
	})
	if sessions := c.sessions.Load(); c.messages > 0 || sessions > 0 {
		k.Logger.InfoContext(ctx, "checked whether the messages of a killed service were delivered, and told users who missed some to connect again",
			"node", h.NodeID, "messages", c.messages, "sessions", sessions)
	}
}

// A thread contains the messages of one sender in a conversation, which have the same recipients.
type thread struct {
	conversation uint64
	sender       int64
}

// add adds messages of a thread to a check.
func (k *KilledServices) add(ctx context.Context, c *deliveryCheck, t thread, messages []store.Message) error {
	all := make([]int64, len(messages))
	for i, m := range messages {
		all[i] = m.ID
	}
	c.messages += len(messages)
	settings := k.Settings().MessageCreated
	if settings.NotifyRequesterOtherOnlineSessions {
		c.add(ctx, link.UndeliveredConversation{Conversation: t.conversation, MessageIDs: all, SenderID: t.sender})
	}
	if !settings.NotifyMessageRecipients {
		return nil
	}
	for users, err := range k.Messages.Recipients(ctx, messages[0]) {
		if err != nil {
			return err
		}
		c.add(ctx, link.UndeliveredConversation{Conversation: t.conversation, MessageIDs: all, UserIDs: users})
	}
	return nil
}

// deliveryCheck makes gateways close the sessions that messages were not delivered to.
type deliveryCheck struct {
	notifier *Notifier
	// calls is the context of the calls of gateways, which group contains: a gateway that does not
	// respond must not delay those of others, which forget.
	calls context.Context
	group sync.WaitGroup
	// messages and sessions are the numbers of checked messages and closed sessions.
	messages int
	sessions atomic.Int64
	// failed are the errors of gateways that could not be asked.
	failed sync.Map
	// next are the next messages to check, with users users in total.
	next  []link.UndeliveredConversation
	users int
}

// add adds messages of a conversation with some of its users.
func (c *deliveryCheck) add(ctx context.Context, u link.UndeliveredConversation) {
	c.next = append(c.next, u)
	if c.users += len(u.UserIDs) + 1; c.users >= killedUsers {
		c.flush(ctx)
	}
}

// flush starts the calls of the gateways of the users.
func (c *deliveryCheck) flush(ctx context.Context) {
	next := c.next
	c.next, c.users = nil, 0
	gateways := map[string]*link.Undelivered{}
	places := c.locate(ctx, next)
	for _, n := range next {
		here := map[string]link.UndeliveredConversation{}
		for _, user := range n.UserIDs {
			for _, node := range places[user] {
				h := here[node]
				h.UserIDs = append(h.UserIDs, user)
				here[node] = h
			}
		}
		for _, node := range places[n.SenderID] {
			h := here[node]
			if len(places[n.SenderID]) > 1 {
				h.UserIDs = append(h.UserIDs, n.SenderID)
			} else {
				h.SenderID = n.SenderID
			}
			here[node] = h
		}
		for node, h := range here {
			if gateways[node] == nil {
				gateways[node] = &link.Undelivered{}
			}
			h.Conversation, h.MessageIDs = n.Conversation, n.MessageIDs
			gateways[node].Conversations = append(gateways[node].Conversations, h)
		}
	}
	for node, u := range gateways {
		c.call(node, u)
	}
}

// call starts a call of a gateway.
func (c *deliveryCheck) call(node string, u *link.Undelivered) {
	c.group.Go(func() {
		closed, err := c.notifier.closeUnaware(c.calls, c.notifier.outlet(node), u)
		if err != nil {
			c.failed.Store(node, err)
		}
		c.sessions.Add(int64(closed))
	})
}

// locate returns the gateways of users; a user who cannot be located may be on any.
func (c *deliveryCheck) locate(ctx context.Context, list []link.UndeliveredConversation) map[int64][]string {
	var all []int64
	for _, n := range list {
		all = append(all, n.UserIDs...)
		if n.SenderID != 0 {
			all = append(all, n.SenderID)
		}
	}
	slices.Sort(all)
	found, unknown := c.notifier.locate(ctx, slices.Compact(all))
	places := map[int64][]string{}
	for _, at := range found {
		for _, user := range at.UserIDs {
			places[user] = append(places[user], at.NodeID)
		}
	}
	if len(unknown) > 0 {
		gateways := slices.Collect(maps.Keys(c.notifier.node.Cluster().Lives(role.Gateway)))
		for _, user := range unknown {
			places[user] = gateways
		}
	}
	return places
}

// closeUnaware makes a gateway close the sessions that messages were not delivered to, and returns
// how many. It retries until the gateway responds or is gone, or the context ends. A gateway of an
// earlier version does not know this call.
func (n *Notifier) closeUnaware(ctx context.Context, o *outlet, u *link.Undelivered) (closed int, err error) {
	for wait := retryMin; ; wait = min(2*wait, retryMax) {
		call, cancel := context.WithTimeout(ctx, deliveryTimeout)
		result, err := cluster.CallNode(call, n.node, o.node, link.CloseUnaware, u)
		cancel()
		if err == nil {
			return result.Sessions, nil
		}
		if n.gone(o) {
			return 0, nil
		}
		if sleep.For(ctx, wait) != nil {
			return 0, err
		}
	}
}

// sameLives reports whether two sets of nodes are equal; nil is not equal to any.
func sameLives(a, b map[string]string) bool { return a != nil && b != nil && maps.Equal(a, b) }
