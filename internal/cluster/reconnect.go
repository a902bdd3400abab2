// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A node whose NATS server fails reconnects to another one within milliseconds. Messages that were
// under way may or may not have arrived, without notice. So when either end of a call learns of the
// new connection, it acts: repeatable calls are made again, in the order of their callers; other
// requests are resent under their old number, by which the receiver recognises those that it
// already got.

const (
	// resendAge is the maximum age at which a request is resent.
	resendAge = 8 * time.Second
	// lateAge is the age at which a resendable request is dropped; rememberAge is how long its
	// number is kept at least. The differences allow for latency and clock skew.
	lateAge     = 9 * time.Second
	rememberAge = 10 * time.Second
	// maxRemembered bounds the bytes of stored responses.
	maxRemembered = 8 << 20
)

// errCut means that the connection of one end was lost during a repeatable call.
var errCut = errors.New("a connection to NATS was lost")

// errUnsent means that the connection of one end was lost before a request was sent, or that the
// node refused it for that reason. The request was not carried out.
var errUnsent = errors.New("a connection to NATS was lost before")

// A staleError means that the caller did not know the node's last connection, so that earlier
// requests may not have arrived. The request was not carried out.
type staleError struct{ Connection uint64 }

func (e *staleError) Error() string { return "the node was connected to NATS again" }

// connection returns the number of the current connection to NATS, or of the last one while
// disconnected.
func (c *Cluster) connection() uint64 {
	if c.up.Load() {
		c.connections.Store(c.conn.Stats().Reconnects)
	}
	return c.connections.Load()
}

// announcement reports that the nodes of a process have a new connection.
type announcement struct {
	Nodes      []string `json:"nodes"`
	Connection uint64   `json:"connection"`
}

func (c *Cluster) reconnectSubject() string { return c.prefix + "reconnected" }

// openReconnects subscribes to the announcements of other processes.
func (c *Cluster) openReconnects() error {
	if c.exclusive {
		return nil
	}
	_, err := c.conn.Subscribe(c.reconnectSubject(), func(msg *nats.Msg) {
		var a announcement
		if json.Unmarshal(msg.Data, &a) != nil {
			return
		}
		for _, id := range a.Nodes {
			if b := c.routes.current(id, c.Life(id)); b != nil && c.localNode(id) == nil {
				b.learn(a.Connection)
			}
		}
		c.replies.resend(func(node string) bool { return slices.Contains(a.Nodes, node) && c.localNode(node) == nil })
	})
	return err
}

// reconnected handles a new connection of this process and announces it to the others.
func (c *Cluster) reconnected() {
	if c.exclusive {
		return
	}
	for _, b := range c.routes.busy() {
		b.cancelRepeatable(errCut)
	}
	c.replies.resend(func(string) bool { return true })
	a := announcement{Connection: c.connection()}
	for _, n := range c.ownNodes() {
		a.Nodes = append(a.Nodes, n.id)
	}
	data, err := json.Marshal(a)
	if err == nil {
		err = c.conn.Publish(c.reconnectSubject(), data)
	}
	if err != nil {
		c.logger.Warn("other nodes cannot be told of the new connection", "error", err)
	}
}

// resend resends the resendable requests to the selected nodes, in order.
func (r *replies) resend(to func(node string) bool) {
	c := r.cluster
	var list []*pending
	r.mu.Lock()
	for _, p := range r.waiting {
		if p.life != "" && to(p.node) && time.Since(p.sent) < resendAge {
			p.resent = true
			list = append(list, p)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(list, func(a, b *pending) int { return a.sent.Compare(b.sent) })
	for _, p := range list {
		msg := nats.NewMsg(p.msg.Subject)
		for key, values := range p.msg.Header {
			msg.Header[key] = values
		}
		msg.Header[headerFirst] = p.msg.Header[headerTime]
		msg.Header[headerTime] = []string{strconv.FormatInt(c.clock.now().UnixMicro(), 10)}
		msg.Reply, msg.Data = p.msg.Reply, p.msg.Data
		if err := c.conn.PublishMsg(msg); err != nil {
			c.logger.Debug("a request could not be sent again", "subject", msg.Subject, "error", err)
			return
		}
	}
}

// remembered are the resendable requests of the last seconds, with their responses.
type remembered struct {
	mu         sync.Mutex
	young, old generation
	since      time.Time
}

// A generation maps the reply subjects of one period to responses. A nil message means that the
// request is still running or its response is not stored.
type generation struct {
	responses map[string]*nats.Msg
	bytes     int
}

// begin reports whether a request is new. If not, response is the stored one, or nil.
func (r *remembered) begin(reply string) (response *nats.Msg, isNew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.young.responses == nil || now.Sub(r.since) > rememberAge {
		r.old, r.young, r.since = r.young, generation{responses: map[string]*nats.Msg{}}, now
	}
	for _, g := range []*generation{&r.young, &r.old} {
		if response, ok := g.responses[reply]; ok {
			return response, false
		}
	}
	r.young.responses[reply] = nil
	return nil, true
}

// end stores the response to a resendable request.
func (r *remembered) end(response *nats.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range []*generation{&r.young, &r.old} {
		if _, ok := g.responses[response.Subject]; ok && g.bytes+len(response.Data) <= maxRemembered {
			g.responses[response.Subject] = response
			g.bytes += len(response.Data)
		}
	}
}

// admit reports whether to carry out a request that may arrive twice. If it arrived before, the
// stored response is sent again.
func (h *handler) admit(msg *nats.Msg, life string) bool {
	c := h.node.cluster
	sent, again := first(msg.Header, headerFirst), true
	if sent == "" {
		sent, again = first(msg.Header, headerTime), false
	}
	micros, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || c.clock.estimate().Sub(time.UnixMicro(micros)) > lateAge {
		return false // Its number may be forgotten, and nobody has been told yet that it failed.
	}
	if again && life != h.node.incarnation {
		return false // Another process may have carried it out.
	}
	response, isNew := c.remembered.begin(msg.Reply)
	if response != nil {
		h.publish(response)
	}
	return isNew
}
