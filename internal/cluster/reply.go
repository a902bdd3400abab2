// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// replies hands the responses of calls to those who wait for them. The library's own requests do not say when a request
// is on its way, which callers that keep an order must know.
type replies struct {
	prefix string
	next   atomic.Uint64

	mu      sync.Mutex
	waiting map[string]chan *nats.Msg
}

// openReplies begins to listen to responses.
func (c *Cluster) openReplies() error {
	r := &c.replies
	r.prefix, r.waiting = nats.NewInbox()+".", map[string]chan *nats.Msg{}
	if _, err := c.conn.Subscribe(r.prefix+"*", r.take); err != nil {
		return fmt.Errorf("listen to responses of calls: %w", err)
	}
	return nil
}

// take hands a response over. One that nobody waits for any more is dropped.
func (r *replies) take(msg *nats.Msg) {
	token := strings.TrimPrefix(msg.Subject, r.prefix)
	r.mu.Lock()
	waiting := r.waiting[token]
	delete(r.waiting, token)
	r.mu.Unlock()
	if waiting != nil {
		waiting <- msg
	}
}

// exchange publishes a request, calls sent when it is on its way, and waits for the response. Requests are on their way
// in the order in which sent is called.
func (c *Cluster) exchange(ctx context.Context, msg *nats.Msg, sent func()) (*nats.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &c.replies
	token := strconv.FormatUint(r.next.Add(1), 36)
	response := make(chan *nats.Msg, 1)
	r.mu.Lock()
	r.waiting[token] = response
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.waiting, token)
		r.mu.Unlock()
	}()
	msg.Reply = r.prefix + token
	if err := c.conn.PublishMsg(msg); err != nil {
		return nil, err
	}
	if sent != nil {
		sent()
	}
	select {
	case reply := <-response:
		if len(reply.Data) == 0 && reply.Header.Get("Status") == "503" {
			return nil, nats.ErrNoResponders
		}
		return reply, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
