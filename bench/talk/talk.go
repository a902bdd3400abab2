// SPDX-License-Identifier: Apache-2.0

// Package talk makes clients send messages to each other over WebSockets as fast as a server can
// handle them, with any protocol.
package talk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/bench/websocket"
)

// MaxWindow limits the unacknowledged messages of one sender.
const MaxWindow = 30

// A Judge reports whether a payload acknowledges a message. It returns an error if the server
// refused one, or ends the session.
type Judge func(payload []byte) (acknowledges bool, err error)

// A Pair is a user who writes to another one.
type Pair struct {
	Sender, Recipient *websocket.Socket
	Letter            *Letter
}

// An Outcome is the result of a run.
type Outcome struct {
	// Count is the number of deliveries.
	Count int
	Took  time.Duration
	// P50 and P99 are the times from sending to delivery.
	P50, P99 time.Duration
}

// Rate returns the deliveries per second.
func (o Outcome) Rate() float64 { return float64(o.Count) / o.Took.Seconds() }

// A counter counts acknowledgements.
type counter struct{ acknowledged atomic.Int64 }

// Acknowledged returns how many messages the server has acknowledged.
func (c *counter) Acknowledged() int64 { return c.acknowledged.Load() }

// counted wraps judge and counts the acknowledgements.
func (c *counter) counted(judge Judge) Judge {
	return func(payload []byte) (bool, error) {
		acknowledges, err := judge(payload)
		if acknowledges {
			c.acknowledged.Add(1)
		}
		return acknowledges, err
	}
}

// A Talk is pairs that exchange messages concurrently.
type Talk struct {
	counter
	pairs []*pair
}

type pair struct {
	Pair
	flow
	// times are the times from sending to delivery. The reader of the recipient writes them while
	// the run lasts.
	times []time.Duration
}

// New makes a talk of logged-in pairs.
func New(judge Judge, pairs ...Pair) *Talk {
	t := &Talk{}
	for _, each := range pairs {
		p := &pair{Pair: each, flow: newFlow()}
		t.pairs = append(t.pairs, p)
		go p.readAll(p.Sender, t.counted(judge))
		go p.readAll(p.Recipient, func(payload []byte) (bool, error) {
			took, ok := age(payload)
			if !ok {
				_, err := judge(payload)
				return false, err
			}
			p.times = append(p.times, took)
			return true, nil
		})
	}
	return t
}

// Close ends the connections.
func (t *Talk) Close() {
	for _, p := range t.pairs {
		p.Sender.Close()
		p.Recipient.Close()
	}
}

// Run sends messages for a duration. A message is complete when its sender has the acknowledgement
// and its recipient the message; each pair has at most window incomplete messages. If rate is above
// 0, the senders send at that rate.
func (t *Talk) Run(window int, rate float64, duration time.Duration) (Outcome, error) {
	begin := time.Now()
	end := begin.Add(duration)
	failures := make([]error, len(t.pairs))
	var wg sync.WaitGroup
	for i, p := range t.pairs {
		p.times = p.times[:0]
		wg.Go(func() {
			var pause time.Duration
			first := begin
			if rate > 0 {
				pause = time.Duration(float64(len(t.pairs)) / rate * float64(time.Second))
				first = begin.Add(pause * time.Duration(i) / time.Duration(len(t.pairs)))
			}
			failures[i] = p.run(p.Sender, p.Letter, window, first, pause, end)
		})
	}
	wg.Wait()
	took := time.Since(begin)
	if err := cmp.Or(failures...); err != nil {
		return Outcome{}, err
	}
	var all []time.Duration
	for _, p := range t.pairs {
		all = append(all, p.times...)
	}
	return outcome(all, took)
}

func outcome(times []time.Duration, took time.Duration) (Outcome, error) {
	n := len(times)
	if n == 0 {
		return Outcome{}, errors.New("no message arrived")
	}
	slices.Sort(times)
	return Outcome{Count: n, Took: took, P50: times[n/2], P99: times[n*99/100]}, nil
}

// A flow limits the incomplete messages of a sender.
type flow struct {
	// free has two tokens for each message that may be sent: the acknowledgement returns one, the
	// delivery the other.
	free chan struct{}
	// failed is closed when a connection has ended, after err was set.
	failed chan struct{}
	once   *sync.Once
	err    *error
}

func newFlow() flow {
	return flow{free: make(chan struct{}, 2*MaxWindow), failed: make(chan struct{}), once: new(sync.Once), err: new(error)}
}

// readAll returns a token for each payload that take accepts.
func (f *flow) readAll(from *websocket.Socket, take Judge) {
	for {
		payload, err := from.Read()
		accepted := false
		if err == nil {
			accepted, err = take(payload)
		}
		if err != nil {
			f.once.Do(func() {
				*f.err = err
				close(f.failed)
			})
			return
		}
		if accepted {
			f.free <- struct{}{}
		}
	}
}

// run sends the messages of one sender and waits until all of them are complete.
func (f *flow) run(sender *websocket.Socket, letter *Letter, window int, first time.Time, pause time.Duration, end time.Time) error {
	for range 2 * window {
		f.free <- struct{}{}
	}
	for at := first; ; at = at.Add(pause) {
		if pause > 0 {
			time.Sleep(time.Until(at))
		}
		if time.Now().After(end) {
			return f.take(2 * window)
		}
		if err := f.take(2); err != nil {
			return err
		}
		if err := sender.Write(letter.stamped()); err != nil {
			return err
		}
	}
}

// patience is the time limit for responses of a server that may share a busy machine.
const patience = 5 * time.Minute

// take acquires tokens.
func (f *flow) take(tokens int) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for range tokens {
		select {
		case <-f.free:
		case <-f.failed:
			return *f.err
		case <-timer.C:
			return fmt.Errorf("an acknowledgement or a delivery did not come within %s", patience)
		}
	}
	return nil
}

// A Group is a user who writes to many.
type Group struct {
	counter
	flow
	sender  *websocket.Socket
	letter  *Letter
	members []*member
	// delivered counts all deliveries.
	delivered atomic.Int64
}

type member struct {
	socket *websocket.Socket
	times  []time.Duration
}

// NewGroup makes a group of logged-in members; the first of them writes.
func NewGroup(judge Judge, letter *Letter, sockets ...*websocket.Socket) *Group {
	g := &Group{flow: newFlow(), sender: sockets[0], letter: letter}
	go g.readAll(g.sender, g.counted(judge))
	others := int64(len(sockets) - 1)
	for _, s := range sockets[1:] {
		m := &member{socket: s}
		g.members = append(g.members, m)
		// The last delivery returns the token.
		go g.readAll(s, func(payload []byte) (bool, error) {
			took, ok := age(payload)
			if !ok {
				_, err := judge(payload)
				return false, err
			}
			m.times = append(m.times, took)
			return g.delivered.Add(1)%others == 0, nil
		})
	}
	return g
}

// Run makes the first member write for a duration, as fast as all others receive the messages.
func (g *Group) Run(window int, duration time.Duration) (Outcome, error) {
	for _, m := range g.members {
		m.times = m.times[:0]
	}
	begin := time.Now()
	if err := g.run(g.sender, g.letter, window, begin, 0, begin.Add(duration)); err != nil {
		return Outcome{}, err
	}
	took := time.Since(begin)
	var all []time.Duration
	for _, m := range g.members {
		all = append(all, m.times...)
	}
	return outcome(all, took)
}

// Close ends the connections.
func (g *Group) Close() {
	g.sender.Close()
	for _, m := range g.members {
		m.socket.Close()
	}
}
