// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// replies hands the responses of calls to those who wait for them. The library's own requests do not say when a request
// is on its way, which callers that keep an order must know.
type replies struct {
	cluster *Cluster
	prefix  string
	next    atomic.Uint64

	mu      sync.Mutex
	waiting map[string]*pending
}

// A pending request waits for its response.
type pending struct {
	response chan *nats.Msg
	msg      *nats.Msg
	sent     time.Time
	// node and life are whom it was sent to, if it may be sent again; life is empty if not.
	node, life string
	// resent says that it was sent again; it belongs to the lock of the replies.
	resent bool
}

// open begins to listen to responses.
func (r *replies) open() error {
	r.prefix, r.waiting = nats.NewInbox()+".", map[string]*pending{}
	if _, err := r.cluster.conn.Subscribe(r.prefix+"*", r.take); err != nil {
		return fmt.Errorf("listen to responses of calls: %w", err)
	}
	return nil
}

// take hands a response over. One that nobody waits for any more is dropped.
func (r *replies) take(msg *nats.Msg) {
	token := strings.TrimPrefix(msg.Subject, r.prefix)
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting[token]
	// That nobody is there to take a request for the second time does not mean that nobody took it for the first time.
	if waiting == nil || waiting.resent && isNoResponder(msg) {
		return
	}
	delete(r.waiting, token)
	waiting.response <- msg
}

func isNoResponder(msg *nats.Msg) bool {
	return len(msg.Data) == 0 && msg.Header.Get("Status") == "503"
}

// exchange publishes a request, calls to.sent when it is on its way, and waits for the response. Requests are on their way
// in the order in which to.sent is called.
func (r *replies) exchange(ctx context.Context, msg *nats.Msg, to target) (*nats.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	token := strconv.FormatUint(r.next.Add(1), 36)
	msg.Reply = r.prefix + token
	p := &pending{response: make(chan *nats.Msg, 1), msg: msg, sent: time.Now(), node: to.node, life: to.life}
	r.mu.Lock()
	r.waiting[token] = p
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.waiting, token)
		r.mu.Unlock()
	}()
	if to.place != nil && to.place.own != r.cluster.connection() {
		return nil, errUnsent
	}
	if err := r.cluster.conn.PublishMsg(msg); err != nil {
		return nil, err
	}
	if to.sent != nil {
		to.sent()
	}
	select {
	case reply := <-p.response:
		if isNoResponder(reply) {
			return nil, nats.ErrNoResponders
		}
		return reply, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
