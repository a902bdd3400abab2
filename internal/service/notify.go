// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster"
	"example.org/app/internal/link"
	"example.org/app/internal/presence"
	"example.org/app/internal/wire"
)

// A Notification notifies users of a request.
type Notification struct {
	// Relay is the content; nil means the request itself.
	Relay *wire.AppRequest
	// To are the recipients, in chunks, which may be read from the store during iteration. The
	// requester is always excluded; nil means nobody.
	To Audience
	// Self adds the requester's other sessions.
	Self bool
	// From is the user shown as requester; 0 means the requester.
	From int64
	// Transient is true if the notification is soon outdated: it is dropped if the recipients
	// cannot be read at once.
	Transient bool
}

// An Audience is a sequence of chunks of users. An error ends it.
type Audience = iter.Seq2[[]int64, error]

// users returns the audience of the given users.
func users(ids ...int64) Audience {
	return func(yield func([]int64, error) bool) {
		if len(ids) > 0 {
			yield(ids, nil)
		}
	}
}

// both concatenates two audiences; nil means nobody.
func both(a, b Audience) Audience {
	return func(yield func([]int64, error) bool) {
		for _, audience := range []Audience{a, b} {
			if audience == nil {
				continue
			}
			for ids, err := range audience {
				if !yield(ids, err) {
					return
				}
			}
		}
	}
}

const (
	// lanes is the number of lanes, which send concurrently.
	lanes = 32
	// deliveryTimeout bounds one call to a gateway.
	deliveryTimeout = 10 * time.Second
	// maxRecipients is the maximum number of users in one call to a gateway, which bounds its size.
	maxRecipients = 50_000
	// maxLater bounds the concurrent background work.
	maxLater = 256
)

// A Locator locates the sessions of users.
type Locator interface {
	// Locate returns the nodes with the users' sessions, each node once. Offline users are on none;
	// unknown are users who may be online somewhere.
	Locate(ctx context.Context, userIDs []int64) (found []presence.Destination, unknown []int64)
}

// A Notifier sends notifications to the gateways of their recipients. Notifications with the same
// key, such as the messages to one user, arrive in the order in which they were queued. A gateway
// gets one call for each, however many recipients it has, and one that does not answer does not
// delay others.
type Notifier struct {
	node     *cluster.Node
	presence Locator
	logger   *slog.Logger
	clock    func() time.Time
	lanes    [lanes]*lane
	wg       sync.WaitGroup
	// busy bounds the background work.
	busy chan struct{}

	outletsMu sync.Mutex
	// outlets has one outlet for each gateway.
	outlets map[string]*outlet

	lost lost

	// ctx ends when deliveries stop.
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex // Guards stopped; once it is set, nothing is added to senders and handing.
	stopped bool
	senders sync.WaitGroup
	// handing counts messages that are being handed over to another service.
	handing sync.WaitGroup
	// done is closed when everything queued was processed.
	done chan struct{}
}

// task is a queued notification.
type task struct {
	ctx          context.Context
	notification *wire.AppNotification
	to           Audience
	// requester is notified in all sessions except the one on device if self is set.
	requester int64
	device    wire.DeviceType
	self      bool
	transient bool
	// message is set if the notification is a message whose order matters.
	message *link.MessageOrder
	// stored is set if the notification is another message.
	stored *link.StoredMessage
	// report requests the users who are offline.
	report bool
	// job replaces everything else if it is set. It gets the lane that it runs in.
	job func(*lane)
	// pendingSends is notified when the notification is sent. markSent completes the entry of this
	// task, which was added when it was queued.
	pendingSends *pendingSends
	markSent     func()
}

// NewNotifier starts a notifier that sends by the node.
func NewNotifier(node *cluster.Node, presence Locator, logger *slog.Logger, clock func() time.Time) *Notifier {
	if clock == nil {
		clock = time.Now
	}
	n := &Notifier{node: node, presence: presence, logger: logger, clock: clock, busy: make(chan struct{}, maxLater), done: make(chan struct{}), outlets: map[string]*outlet{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	for i := range n.lanes {
		l := newLane()
		n.lanes[i] = l
		n.wg.Go(func() {
			for e := range l.tasks {
				if e.job != nil {
					e.job(l)
				} else {
					n.run(l, e)
				}
				e.markSent()
			}
		})
	}
	return n
}

// Stop waits until everything queued was sent. When the context ends, it drops the rest.
func (n *Notifier) Stop(ctx context.Context) error {
	n.mu.Lock()
	first := !n.stopped
	n.stopped = true
	n.mu.Unlock()
	if first {
		go n.drain()
	}
	select {
	case <-n.done:
		return nil
	case <-ctx.Done():
		n.cancel()
		return fmt.Errorf("send the last notifications: %w", ctx.Err())
	}
}

// drain waits for the last notifications. Senders may still wait for space in a lane.
func (n *Notifier) drain() {
	defer close(n.done)
	defer n.cancel()
	n.handing.Wait()
	n.senders.Wait()
	for _, l := range n.lanes {
		close(l.tasks)
	}
	n.wg.Wait()
}

// notify sends a notification of a request.
func (n *Notifier) notify(ctx context.Context, r *Request, note Notification) {
	if e, ok := newTask(ctx, r, note); ok {
		n.send(r.UserID, e)
	}
}

// newTask returns the task of a notification; ok is false if there is no recipient.
func newTask(ctx context.Context, r *Request, note Notification) (e task, ok bool) {
	if note.To == nil && !note.Self {
		return e, false
	}
	relay := note.Relay
	if relay == nil {
		relay = r.AppRequest
	}
	return task{
		ctx: context.WithoutCancel(ctx), notification: &wire.AppNotification{RequesterId: proto.Int64(cmp.Or(note.From, r.UserID)), RelayedRequest: relay},
		to: note.To, requester: r.UserID, device: r.Device, self: note.Self, transient: note.Transient, pendingSends: r.pendingSends,
	}, true
}

// send puts a task into the lane of its key. It waits while the lane is full.
func (n *Notifier) send(key int64, e task) {
	n.mu.Lock()
	stopped := n.stopped
	if !stopped {
		n.senders.Add(1)
	}
	n.mu.Unlock()
	if stopped {
		n.logger.WarnContext(e.ctx, "a notification was dropped because the server stops")
		return
	}
	defer n.senders.Done()
	n.enqueue(key, &e)
}

// enqueue puts a task into the lane of its key.
func (n *Notifier) enqueue(key int64, e *task) {
	e.markSent = e.pendingSends.add()
	n.laneOf(key).tasks <- e
}

// laneOf returns the lane of a key.
func (n *Notifier) laneOf(key int64) *lane { return n.lanes[uint64(key)%lanes] }

// later runs work in the background; Stop waits for it.
func (n *Notifier) later(work func()) {
	n.busy <- struct{}{}
	n.wg.Go(func() {
		defer func() { <-n.busy }()
		work()
	})
}

// run sends a notification to the gateways, in the goroutine of the lane. It returns the offline
// recipients if report is set.
func (n *Notifier) run(l *lane, e *task) (offline []int64) {
	e.notification.Timestamp = n.clock().UnixMilli()
	payload, err := wire.MarshalOptions.Marshal(e.notification)
	if err != nil {
		n.logger.ErrorContext(e.ctx, "could not encode a notification", "error", err)
		return nil
	}
	found, err := n.find(e)
	if err != nil {
		n.lose(e, err)
		return nil
	}
	var except *link.Session
	if e.self {
		except = &link.Session{UserID: e.requester, Device: e.device}
	}
	if unknown := found.unknown; len(unknown) > 0 {
		n.logger.WarnContext(e.ctx, "could not find out where users are; those who are online are told to connect again", "users", len(unknown))
		n.missEverywhere(&link.Delivery{Recipients: unknown, Except: except})
	}
	calls := make(map[string]<-chan struct{}, len(found.nodes))
	for node, ids := range found.nodes {
		o := n.outlet(node)
		for part := range slices.Chunk(ids, maxRecipients) {
			delivery := &link.Delivery{Notification: payload, Recipients: part, Except: except, Message: e.message, Stored: e.stored}
			if n.deliverHere(e.ctx, l, o, delivery) {
				continue
			}
			if !o.begin() {
				n.miss(o, delivery)
				continue
			}
			markSent := e.pendingSends.add()
			deliver := func() {
				defer o.end()
				defer markSent()
				n.deliver(e.ctx, o, delivery, markSent)
			}
			done, fresh := l.call(node, o.life, n.wg.Go, deliver)
			if fresh || calls[node] != nil {
				calls[node] = done
			} else {
				markSent()
			}
		}
	}
	l.await(calls)
	return found.offline
}

// missing returns the users who are in none of the places and not unknown.
func missing(ids []int64, places map[string][]int64, unknown []int64) (absent []int64) {
	present := make(map[int64]bool)
	for _, id := range unknown {
		present[id] = true
	}
	for _, users := range places {
		for _, id := range users {
			present[id] = true
		}
	}
	for _, id := range ids {
		if !present[id] {
			absent = append(absent, id)
		}
	}
	return absent
}

// withoutUser returns the ids except one, without copying if it is not among them.
func withoutUser(ids []int64, one int64) []int64 {
	if !slices.Contains(ids, one) {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return id == one })
}
