// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
)

// A client is a session of a user.
type client struct {
	conn net.Conn
	done chan struct{}

	mu      sync.Mutex
	nextID  int64
	pending map[int64]chan *wire.AppNotification
	inbox   []*wire.AppNotification
	// changed is closed and replaced when something arrives.
	changed chan struct{}
}

// connect opens a connection to the server.
func (v *server) connect(ctx context.Context) (*client, error) {
	address := ""
	for _, u := range v.app.ClientURLs() {
		if a, ok := strings.CutPrefix(u, "tcp://"); ok {
			address = a
		}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	c := &client{conn: conn, done: make(chan struct{}), pending: map[int64]chan *wire.AppNotification{}, changed: make(chan struct{})}
	go c.read()
	return c, nil
}

// close disconnects and waits until nothing more can arrive.
func (c *client) close() {
	_ = c.conn.Close()
	<-c.done
}

// read reads until the connection ends.
func (c *client) read() {
	defer close(c.done)
	defer c.conn.Close()
	for r := bufio.NewReader(c.conn); ; {
		payload, err := wire.ReadFrame(r, nil, math.MaxInt32)
		if err != nil {
			return
		}
		n := &wire.AppNotification{}
		if len(payload) == 0 || proto.Unmarshal(payload, n) != nil {
			continue
		}
		c.take(n)
	}
}

func (c *client) take(n *wire.AppNotification) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.pending[n.GetRequestId()]; n.RequestId != nil && n.RelayedRequest == nil && answer != nil {
		delete(c.pending, n.GetRequestId())
		answer <- n
		return
	}
	if n.RelayedRequest == nil && n.GetData().GetUserSession() != nil {
		return // Every login has it, and no test waits for it.
	}
	c.inbox = append(c.inbox, n)
	close(c.changed)
	c.changed = make(chan struct{})
}

var errDisconnected = errors.New("the connection of the client has ended")

// do sends a request and returns the response. An error response is an *apierr.Error.
func (c *client) do(ctx context.Context, r *wire.AppRequest) (*wire.AppNotification, error) {
	answer := make(chan *wire.AppNotification, 1)
	c.mu.Lock()
	c.nextID++
	id := c.nextID
	c.pending[id] = answer
	c.mu.Unlock()
	r = proto.CloneOf(r)
	r.RequestId = &id
	payload, err := proto.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	if _, err := c.conn.Write(wire.AppendFrame(nil, payload)); err != nil {
		return nil, errDisconnected
	}
	var n *wire.AppNotification
	select {
	case n = <-answer:
	case <-c.done:
		select {
		case n = <-answer: // It arrived at the last moment.
		default:
			return nil, errDisconnected
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if code := n.GetCode(); code < 1000 || code >= 1100 {
		return nil, &apierr.Error{Code: apierr.Code(code), Reason: cmp.Or(n.GetReason(), apierr.Code(code).Text())}
	}
	return n, nil
}

// notifications returns the notifications from index after on, and waits for one if there is none.
func (c *client) notifications(ctx context.Context, after int, wait time.Duration) []*wire.AppNotification {
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for {
		c.mu.Lock()
		list, changed := c.inbox[min(after, len(c.inbox)):], c.changed
		c.mu.Unlock()
		if len(list) > 0 || wait <= 0 {
			return list
		}
		select {
		case <-changed:
		case <-timeout.C:
			wait = 0
		case <-c.done:
			wait = 0
		case <-ctx.Done():
			return nil
		}
	}
}
