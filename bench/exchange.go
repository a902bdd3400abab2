// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"example.org/app/bench/session"
	"example.org/app/bench/talk"
)

// An exchange is pairs of users of a server. The first user of each pair writes to the second.
type exchange struct{ *talk.Talk }

// newExchange logs the pairs in.
func newExchange(s *server, pairs int) (exchange, error) {
	sockets, err := connect(s, 0, 2*pairs, 16)
	if err != nil {
		return exchange{}, err
	}
	var list []talk.Pair
	for i := range pairs {
		list = append(list, talk.Pair{Sender: sockets[2*i], Recipient: sockets[2*i+1], Letter: session.ToUser(int64(2*i + 2))})
	}
	return exchange{talk.New(session.Judge, list...)}, nil
}

func (c exchange) close() {
	acknowledged.Add(c.Acknowledged())
	c.Close()
}

// run is like Run of the talk, and measures the resources of the server.
func (c exchange) run(s *server, window int, rate float64, duration time.Duration) (result, error) {
	return measured(s, func() (talk.Outcome, error) { return c.Run(window, rate, duration) })
}

// measured measures the resources of the server per delivery.
func measured(s *server, run func() (talk.Outcome, error)) (result, error) {
	used, known := s.cpuTime()
	o, err := run()
	if err != nil {
		return result{}, err
	}
	res := result{rate: o.Rate(), p50: o.P50, p99: o.P99}
	if now, ok := s.cpuTime(); ok && known {
		res.cpu = (now - used) / time.Duration(o.Count)
	}
	return res, nil
}

// fanOut makes a member write to a group of the first users as fast as the others receive the
// messages.
func fanOut(s *server, o clientOptions, group int64, size int) (result, error) {
	sockets, err := connect(s, 0, size, 16)
	if err != nil {
		disconnect(sockets)
		return result{}, err
	}
	g := talk.NewGroup(session.Judge, session.ToGroup(group), sockets...)
	defer func() {
		acknowledged.Add(g.Acknowledged())
		g.Close()
	}()
	return measured(s, func() (talk.Outcome, error) { return g.Run(o.window, o.duration) })
}
