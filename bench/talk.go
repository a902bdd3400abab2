// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/wire"
)

// maxOnTheWay bounds what a paced sender has on its way: less than what a server works on for one client.
const maxOnTheWay = 30

// A talk is pairs of users, the first of which writes to the second.
type talk struct{ pairs []*pair }

type pair struct {
	sender, recipient *socket
	message           *letter
	// free has two tokens for each message that may be sent: the acknowledgement gives one back, the delivery the other.
	free chan struct{}
	// failed is closed when a connection has ended, after err was set.
	failed chan struct{}
	once   sync.Once
	err    error
	// times are those from sending to delivery. The reader of the recipient writes them while messages are on their way.
	times []time.Duration
}

// newTalk logs the pairs in.
func newTalk(s *server, pairs int) (*talk, error) {
	sockets, err := connect(s, 0, 2*pairs, 16)
	if err != nil {
		return nil, err
	}
	t := &talk{}
	for i := range pairs {
		p := &pair{
			sender: sockets[2*i], recipient: sockets[2*i+1], failed: make(chan struct{}), free: make(chan struct{}, 2*maxOnTheWay),
			message: newLetter(&wire.CreateMessageRequest{RecipientId: proto.Int64(int64(2*i + 2))}),
		}
		t.pairs = append(t.pairs, p)
		go p.readAll(p.sender, acknowledge)
		go p.readAll(p.recipient, func(payload []byte) (bool, error) {
			took, ok := age(payload)
			if ok {
				p.times = append(p.times, took)
			}
			return ok, nil
		})
	}
	return t, nil
}

func (t *talk) close() {
	for _, p := range t.pairs {
		p.sender.conn.Close()
		p.recipient.conn.Close()
	}
}

// acknowledge counts a response, which must be one of success.
func acknowledge(payload []byte) (bool, error) {
	id, code := responseOf(payload)
	switch {
	case id == 0:
		return false, nil
	case code != 1000:
		return false, fmt.Errorf("the server answered a message with %d", code)
	}
	acknowledged.Add(1)
	return true, nil
}

// readAll gives a token back for each payload that take accepts.
func (p *pair) readAll(from *socket, take func(payload []byte) (bool, error)) {
	for {
		payload, err := from.read()
		accepted := false
		if err == nil {
			accepted, err = take(payload)
		}
		if err != nil {
			p.once.Do(func() {
				p.err = err
				close(p.failed)
			})
			return
		}
		if accepted {
			p.free <- struct{}{}
		}
	}
}

// run sends for a while. A message ends when its sender has the acknowledgement and its recipient the message; at most
// window of each pair are on their way. A rate above 0 paces the senders: they send by the clock.
func (t *talk) run(s *server, window int, rate float64, duration time.Duration) (result, error) {
	used, known := s.cpuTime()
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
			failures[i] = p.run(window, first, pause, end)
		})
	}
	wg.Wait()
	took := time.Since(begin)
	if err := cmp.Or(failures...); err != nil {
		return result{}, err
	}
	var all []time.Duration
	for _, p := range t.pairs {
		all = append(all, p.times...)
	}
	slices.Sort(all)
	if len(all) == 0 {
		return result{}, errors.New("no message arrived")
	}
	res := result{rate: float64(len(all)) / took.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100]}
	if now, ok := s.cpuTime(); ok && known {
		res.cpu = (now - used) / time.Duration(len(all))
	}
	return res, nil
}

// run sends the messages of one pair and waits until all of them have ended.
func (p *pair) run(window int, first time.Time, pause time.Duration, end time.Time) error {
	for range 2 * window {
		p.free <- struct{}{}
	}
	for at := first; ; at = at.Add(pause) {
		if pause > 0 {
			time.Sleep(time.Until(at))
		}
		if time.Now().After(end) {
			return p.take(2 * window)
		}
		if err := p.take(2); err != nil {
			return err
		}
		if err := p.sender.write(p.message.stamped()); err != nil {
			return err
		}
	}
}

// take takes tokens.
func (p *pair) take(tokens int) error {
	for range tokens {
		select {
		case <-p.free:
		case <-p.failed:
			return p.err
		}
	}
	return nil
}

// A letter is a request that sends a message of 64 characters, encoded once. Its text says when it was sent.
type letter struct {
	payload []byte
	stamp   []byte // the part of the payload that is replaced
}

var stampMark = []byte("sent at ")

// stampSize is the length of the nanoseconds of our time.
const stampSize = 19

func newLetter(r *wire.CreateMessageRequest) *letter {
	text := fmt.Sprintf("%s%0*d%37s", stampMark, stampSize, 0, "and a text of some length goes on.")
	r.Text = &text
	payload, err := proto.Marshal(&wire.AppRequest{
		RequestId: proto.Int64(2), Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: r},
	})
	if err != nil {
		panic(err) // The text is UTF-8.
	}
	at := bytes.Index(payload, stampMark) + len(stampMark)
	return &letter{payload: payload, stamp: payload[at : at+stampSize : at+stampSize]}
}

// stamped is the request with the time of now.
func (l *letter) stamped() []byte {
	strconv.AppendInt(l.stamp[:0], time.Now().UnixNano(), 10)
	return l.payload
}

// age is how long ago the message in a payload was sent. It reports false if there is none.
func age(payload []byte) (time.Duration, bool) {
	at := bytes.Index(payload, stampMark)
	if at < 0 || len(payload) < at+len(stampMark)+stampSize {
		return 0, false
	}
	var nanos int64
	for _, c := range payload[at+len(stampMark):][:stampSize] {
		nanos = nanos*10 + int64(c-'0')
	}
	return time.Duration(time.Now().UnixNano() - nanos), true
}

// fanOut has a member write to a group as fast as everybody else gets the messages.
func fanOut(s *server, o clientOptions) (result, error) {
	sockets, err := connect(s, 0, groupSize, 16)
	defer func() {
		for _, c := range sockets {
			if c != nil {
				c.conn.Close()
			}
		}
	}()
	if err != nil {
		return result{}, err
	}
	const others = groupSize - 1
	var delivered atomic.Int64
	ended := make(chan struct{}, 2*maxOnTheWay)
	sender := &pair{sender: sockets[0], free: ended, failed: make(chan struct{}), message: newLetter(&wire.CreateMessageRequest{GroupId: proto.Int64(groupID)})}
	go sender.readAll(sockets[0], acknowledge)
	for _, c := range sockets[1:] {
		// The token comes back with the last of the deliveries.
		go sender.readAll(c, func(payload []byte) (bool, error) {
			_, ok := age(payload)
			return ok && delivered.Add(1)%others == 0, nil
		})
	}
	used, known := s.cpuTime()
	begin := time.Now()
	if err := sender.run(o.window, begin, 0, begin.Add(o.duration)); err != nil {
		return result{}, err
	}
	n := delivered.Load()
	res := result{rate: float64(n) / time.Since(begin).Seconds()}
	if now, ok := s.cpuTime(); ok && known && n > 0 {
		res.cpu = (now - used) / time.Duration(n)
	}
	return res, nil
}
