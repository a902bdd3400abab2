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

// A node that loses its connection to NATS, because a server of a NATS cluster is gone, has another one within milliseconds.
// What was on its way over the lost one may have arrived or not, and nobody tells. So whoever has calls under way at
// either end acts when it hears of the new connection: repeatable calls are made again, in the order of their callers, and
// others are sent again under the number that they have, by which the other end knows those that it got before.

const (
	// resendAge is for how long after it was sent a request is sent again.
	resendAge = 8 * time.Second
	// lateAge is after which time a request that may be sent again is dropped, and rememberAge for how long its number is
	// known at least. The differences are for the way and for clocks that differ.
	lateAge     = 9 * time.Second
	rememberAge = 10 * time.Second
	// maxRemembered bounds the bytes of the responses that are kept.
	maxRemembered = 8 << 20
)

// errCut means that the connection of one end was lost while a repeatable call was under way.
var errCut = errors.New("a connection to NATS was lost")

// errUnsent means that the connection of one end was lost before a request was sent, or that the node refused it for that.
// The request was not carried out.
var errUnsent = errors.New("a connection to NATS was lost before")

// A staleError means that the caller did not know of the last connection of the node, so that what it had sent before may
// not have arrived. The request was not carried out.
type staleError struct{ Connection uint64 }

func (e *staleError) Error() string { return "the node was connected to NATS again" }

// connection counts the connections to NATS. While there is none it returns the number of the last one.
func (c *Cluster) connection() uint64 {
	if c.up.Load() {
		c.connections.Store(c.conn.Stats().Reconnects)
	}
	return c.connections.Load()
}

// announcement says that the nodes of a process have a new connection.
type announcement struct {
	Nodes      []string `json:"nodes"`
	Connection uint64   `json:"connection"`
}

func (c *Cluster) reconnectSubject() string { return c.prefix + "reconnected" }

// openReconnects begins to listen to other processes that have a new connection.
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

// reconnected acts on a new connection of this process, and tells others of it.
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

// resend sends the requests to some nodes again that may be, in their order.
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

// remembered are the requests of the last seconds that may come again, with their responses.
type remembered struct {
	mu         sync.Mutex
	young, old generation
	since      time.Time
}

// A generation has what came in a while, by the subject of the response. A nil message stands for a request that is being
// carried out, or for a response that is not kept.
type generation struct {
	responses map[string]*nats.Msg
	bytes     int
}

// begin reports whether a request is new, and the response to one that is not, if there is one.
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

// end keeps the response to a request that may come again.
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

// admit reports whether a request shall be carried out that may come twice. The response to one that came before is sent
// again.
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
