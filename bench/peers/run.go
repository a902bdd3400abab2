// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"slices"
	"time"

	"example.org/app/bench/process"
	"example.org/app/bench/talk"
	"example.org/app/internal/sleep"
)

const (
	// manyInFlight is how many unacknowledged messages a sender has where it is not one.
	manyInFlight = 8
	// loginsAtOnce and loginsEach are the numbers of concurrent logins, and of logins per phase.
	loginsAtOnce, loginsEach = 64, 512
	// adminConnections is the number of concurrent requests of administrators.
	adminConnections = 32
	// attempts is how often a disturbed phase is measured.
	attempts = 3
)

// A run is one comparison.
type run struct {
	options
	db    *database
	end   time.Time
	sides []*side
	// dropped and kept count phases.
	dropped, kept int
}

// A side is one server of the run.
type side struct {
	*running
	talk    *talk.Talk
	group   *talk.Group
	figures map[figure][]float64
	// admins is the address of its admin API; "" means none.
	admins     string
	byID, page []byte
}

// own reports whether the server is that of this tree.
func (s *side) own() bool {
	a, ok := s.server.(*app)
	return ok && a.build == thisBuild
}

// limits reports whether the server is the limit of one of ours.
func (s *side) limits(own *side) bool {
	b, ok := s.server.(*bound)
	return ok && own.server.(*app).engine == b.engine
}

// rival reports whether the server is another product.
func (s *side) rival() bool {
	_, bound := s.server.(*bound)
	return !bound && !s.own()
}

// wants reports whether one of the figures is measured.
func (r *run) wants(list ...figure) bool {
	return r.only == nil || slices.ContainsFunc(list, func(f figure) bool { return r.only.MatchString(string(f)) })
}

func newRun(o options, db *database, end time.Time) *run { return &run{options: o, db: db, end: end} }

// users returns the number of users of each server.
func (r *run) users() int { return max(r.sessions, r.members+2*r.pairs+loginsEach) }

// begin starts a server, creates its users and opens the sessions that send messages.
func (r *run) begin(ctx context.Context, s server) error {
	log.Printf("%s: start it and create %d users", s.name(), r.users())
	if err := s.prepare(ctx); err != nil {
		return err
	}
	process, _, err := start(ctx, s)
	if err != nil {
		return err
	}
	side := &side{running: process, figures: map[figure][]float64{}}
	r.sides = append(r.sides, side)
	if err := s.fill(ctx, r.users()); err != nil {
		return fmt.Errorf("create users: %w", err)
	}
	if side.admins, side.byID, side.page, err = s.admin(ctx); err != nil {
		return fmt.Errorf("log in an administrator: %w", err)
	}
	m, ok := s.(messenger)
	if !ok {
		return nil
	}
	members, err := logins(ctx, m, 0, r.members, loginsAtOnce)
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	letter, err := m.toGroup(ctx, members)
	if err != nil {
		return fmt.Errorf("make a group: %w", err)
	}
	side.group = talk.NewGroup(m.judge, letter, members...)
	sockets, err := logins(ctx, m, r.members, 2*r.pairs, loginsAtOnce)
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	pairs := make([]talk.Pair, r.pairs)
	for i := range pairs {
		from, to := sockets[2*i], sockets[2*i+1]
		letter, err := m.toUser(r.members+2*i, r.members+2*i+1, from, to)
		if err != nil {
			return fmt.Errorf("begin a conversation: %w", err)
		}
		pairs[i] = talk.Pair{Sender: from, Recipient: to, Letter: letter}
	}
	side.talk = talk.New(m.judge, pairs...)
	return nil
}

func (r *run) stopAll() {
	for _, s := range r.sides {
		s.stop()
	}
}

// rounds measures all servers in turn.
func (r *run) rounds(ctx context.Context) error {
	// Leave time for the later parts.
	last := r.end.Add(-time.Duration(len(r.sides)) * (r.settle + 30*time.Second))
	for round := range r.options.rounds + 1 {
		if round > 1 && time.Now().After(last) {
			log.Printf("the time is over after %d rounds", round-1)
			return nil
		}
		begin := time.Now()
		for i := range r.sides {
			s := r.sides[(i+round)%len(r.sides)]
			if err := r.phases(ctx, s, round > 0); err != nil {
				return fmt.Errorf("%s: %w; its last output: %s", s.name(), err, s.said)
			}
		}
		if round > 0 { // The first round warms up.
			log.Printf("round %d of %d took %s", round, r.options.rounds, time.Since(begin).Round(time.Second))
		}
	}
	return nil
}

// phases runs all phases of a round for one server.
func (r *run) phases(ctx context.Context, s *side, keep bool) error {
	var list []func() (work, error)
	add := func(phase func() (work, error), figures ...figure) {
		if r.wants(figures...) {
			list = append(list, phase)
		}
	}
	messages := func(window int, rate, cpu, serverCPU figure) {
		add(func() (work, error) {
			o, err := s.talk.Run(window, 0, r.duration)
			return work{count: o.Count, rate: rate, cpu: cpu, serverCPU: serverCPU, took: o.Took}, err
		}, rate, cpu, serverCPU)
	}
	deliveries := func(window int, rate, cpu, spread figure) {
		add(func() (work, error) {
			o, err := s.group.Run(window, r.duration)
			if err != nil {
				return work{}, err
			}
			return work{count: o.Count, rate: rate, cpu: cpu, took: o.Took, more: map[figure]float64{spread: o.P99.Seconds() / o.P50.Seconds()}}, nil
		}, rate, cpu, spread)
	}
	admin := func(request []byte, rate, cpu figure) {
		add(func() (work, error) {
			n, took, err := requests(s.admins, request, adminConnections, r.duration/2)
			return work{count: n, rate: rate, cpu: cpu, took: took}, err
		}, rate, cpu)
	}
	if s.talk != nil {
		messages(1, messages1, cpu1, serverCPU1)
		messages(manyInFlight, messagesMany, cpuMany, serverCPUMany)
		deliveries(1, deliveries1, deliveryCPU1, spread1)
		deliveries(manyInFlight, deliveriesMany, deliveryCPU, spreadMany)
		add(func() (work, error) {
			begin := time.Now()
			sockets, err := logins(ctx, s.server.(messenger), r.members+2*r.pairs, loginsEach, loginsAtOnce)
			took := time.Since(begin)
			closeAll(sockets)
			return work{count: loginsEach, rate: loginRate, cpu: loginCPU, took: took}, err
		}, loginRate, loginCPU)
	}
	if s.admins != "" {
		admin(s.byID, getRate, getCPU)
		admin(s.page, pageRate, pageCPU)
	}
	for _, phase := range list {
		if err := r.measure(ctx, s, phase, keep); err != nil {
			return err
		}
	}
	return nil
}

// work is the result of a phase.
type work struct {
	count                int
	took                 time.Duration
	rate, cpu, serverCPU figure // the figures that it belongs to; "" means none
	more                 map[figure]float64
}

// measure runs a phase, repeats it if other processes used the processors meanwhile, and keeps its
// figures.
func (r *run) measure(ctx context.Context, s *side, phase func() (work, error), keep bool) error {
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		before, begin := r.usage(s), time.Now()
		w, err := phase()
		if err != nil {
			return err
		}
		used, took := r.usage(s).minus(before), time.Since(begin)
		others := (used.machine - used.server - used.database - used.client).Seconds() / (took.Seconds() * float64(runtime.NumCPU()))
		switch {
		case !keep:
			return nil
		case others > r.disturb && attempt < attempts:
			r.dropped++
			continue
		case others > r.disturb:
			r.dropped++
			return nil
		}
		r.kept++
		note := func(f figure, value float64) {
			if f != "" {
				s.figures[f] = append(s.figures[f], value)
			}
		}
		each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(w.count) }
		note(w.rate, float64(w.count)/w.took.Seconds())
		note(w.cpu, each(used.server+used.database))
		note(w.serverCPU, each(used.server))
		for f, value := range w.more {
			note(f, value)
		}
		return nil
	}
}

// usage is the processor time so far, by consumer.
type usage struct{ machine, server, database, client time.Duration }

func (r *run) usage(s *side) usage {
	u := usage{database: r.db.cpu()}
	u.machine, _ = process.Busy()
	u.server, _ = process.CPU(s.pid())
	u.client, _ = process.CPU(os.Getpid())
	return u
}

func (u usage) minus(v usage) usage {
	return usage{u.machine - v.machine, u.server - v.server, u.database - v.database, u.client - v.client}
}

// fresh restarts each messenger several times with its existing data, and opens many sessions the
// last time.
func (r *run) fresh(ctx context.Context) error {
	for _, s := range r.sides {
		if s.talk != nil {
			s.talk.Close()
			s.group.Close()
		}
		s.stop()
	}
	if !r.wants(startTime, startCPU, startMemory, sessionMemory) {
		return nil
	}
	for _, s := range r.sides {
		m, ok := s.server.(messenger)
		if _, bound := m.(*bound); !ok || bound {
			continue
		}
		log.Printf("%s: start it %d times, then open %d sessions", m.name(), r.starts, r.sessions)
		for i := range r.starts {
			running, took, err := start(ctx, m)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name(), err)
			}
			s.running = running
			used, _ := process.CPU(running.pid())
			s.figures[startTime] = append(s.figures[startTime], float64(took.Milliseconds()))
			s.figures[startCPU] = append(s.figures[startCPU], float64(used.Milliseconds()))
			if err := r.memory(ctx, s, m, i == r.starts-1 && r.wants(sessionMemory)); err != nil {
				return fmt.Errorf("%s: %w", m.name(), err)
			}
			running.stop()
		}
	}
	return nil
}

// memory measures the memory of a server that was just started, then that of sessions.
func (r *run) memory(ctx context.Context, s *side, m messenger, open bool) error {
	if err := sleep.For(ctx, time.Second); err != nil {
		return err
	}
	before, err := process.Resident(s.pid())
	if err != nil {
		return err
	}
	s.figures[startMemory] = append(s.figures[startMemory], float64(before)/(1<<20))
	if !open {
		return nil
	}
	sockets, err := logins(ctx, m, 0, r.sessions, loginsAtOnce)
	if err != nil {
		return err
	}
	defer closeAll(sockets)
	for _, c := range sockets {
		go c.Listen() // A client that does not answer pings is disconnected.
	}
	if err := sleep.For(ctx, r.settle); err != nil {
		return err
	}
	after, err := process.Resident(s.pid())
	if err != nil {
		return err
	}
	s.figures[sessionMemory] = append(s.figures[sessionMemory], float64(after-before)/1024/float64(len(sockets)))
	return nil
}

// checkStored checks that each server has stored what it acknowledged. All servers are stopped.
func (r *run) checkStored(ctx context.Context, out io.Writer) error {
	var total int64
	for _, s := range r.sides {
		m, ok := s.server.(messenger)
		if !ok {
			continue
		}
		stored, err := m.stored(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name(), err)
		}
		acknowledged := s.talk.Acknowledged() + s.group.Acknowledged()
		if stored != acknowledged {
			return fmt.Errorf("%s: %d messages were acknowledged, but %d are stored", m.name(), acknowledged, stored)
		}
		total += stored
	}
	fmt.Fprintf(out, "\nAll %d messages that were acknowledged are stored, each once. %d phases were measured; %d others were disturbed and dropped.\n",
		total, r.kept, r.dropped)
	return nil
}

// middle returns the median of values.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
