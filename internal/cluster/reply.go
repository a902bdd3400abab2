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

// replies dispatches responses to the calls that wait for them. The library's own requests do not
// report when a request has been sent, which ordered calls need.
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
	// node and life identify the receiver if the request may be resent; otherwise life is empty.
	node, life string
	// resent is true if the request was resent; it is guarded by the lock of the replies.
	resent bool
}

// open subscribes to responses.
func (r *replies) open() error {
	r.prefix, r.waiting = nats.NewInbox()+".", map[string]*pending{}
	if _, err := r.cluster.conn.Subscribe(r.prefix+"*", r.take); err != nil {
		return fmt.Errorf("listen to responses of calls: %w", err)
	}
	return nil
}

// take dispatches a response. It drops one whose caller no longer waits.
func (r *replies) take(msg *nats.Msg) {
	token := strings.TrimPrefix(msg.Subject, r.prefix)
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting[token]
	// No responder to a resent request does not prove that the first one was not taken.
	if waiting == nil || waiting.resent && isNoResponder(msg) {
		return
	}
	delete(r.waiting, token)
	waiting.response <- msg
}

func isNoResponder(msg *nats.Msg) bool {
	return len(msg.Data) == 0 && msg.Header.Get("Status") == "503"
}

// exchange publishes a request, calls to.sent and waits for the response. Requests are sent in the
// order in which to.sent is called.
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
