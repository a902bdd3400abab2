// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// A lease says who leads. Without Fence it is a claim: its holder is about to get the fencing
// number from SQL.
type lease struct {
	NodeID      string
	Incarnation string
	Fence       int64
	Beat        uint64
}

// An election is a node's part in electing a leader. One goroutine runs all its transitions.
//
// Normally the lease in the bucket ensures a single leader: a leader gives up its lease by its own
// clock, counted from before it was renewed, and the others wait for the same time counted from
// when they saw the renewal. If that fails, the fencing number in SQL does: a leader that was
// paused finds in its next transaction that its number is not the newest.
type election struct {
	node     *Node
	commands chan command
	wake     chan struct{}
	// vacant is the time since which this node sees no leader; retry is when a failed attempt may
	// be repeated.
	vacant, retry time.Time
	// ended is closed when the work of the last term has returned.
	ended chan struct{}

	mu    sync.Mutex
	term  *term
	works []*work
}

// A term is a period in which this node leads.
type term struct {
	fence    Fence
	lease    lease
	revision uint64
	renew    time.Time
	until    time.Time
	ctx      context.Context
	cancel   context.CancelFunc
	// expiry cancels ctx when the lease runs out, even if the election's goroutine is blocked.
	expiry *time.Timer
	group  sync.WaitGroup
}

// A command is a request from another node.
type command struct {
	ctx   context.Context
	run   func(ctx context.Context) error
	reply chan error
}

type leadRequest struct{}

type leadAnswer struct{ Fence int64 }

type handOverRequest struct{ NodeID, Incarnation string }

type handOverAnswer struct{}

var (
	// leadEndpoint makes a node take over the lead at once.
	leadEndpoint = Endpoint[leadRequest, leadAnswer]{Name: "cluster.lead"}
	// handOverEndpoint makes a leader stop its work and transfer its lease to another node.
	handOverEndpoint = Endpoint[handOverRequest, handOverAnswer]{Name: "cluster.hand-over"}
)

func newElection(n *Node) *election {
	ended := make(chan struct{})
	close(ended)
	return &election{node: n, commands: make(chan command), wake: make(chan struct{}, 1), ended: ended}
}

func (e *election) handle() error {
	err := Handle(e.node, leadEndpoint, func(ctx context.Context, _ *leadRequest) (*leadAnswer, error) {
		if err := e.command(ctx, e.leadNow); err != nil {
			return nil, err
		}
		return &leadAnswer{Fence: e.fence()}, nil
	})
	if err != nil {
		return err
	}
	return Handle(e.node, handOverEndpoint, func(ctx context.Context, req *handOverRequest) (*handOverAnswer, error) {
		return nil, e.command(ctx, func(ctx context.Context) error { return e.handOver(ctx, *req) })
	})
}

// command runs a function in the election's goroutine.
func (e *election) command(ctx context.Context, run func(ctx context.Context) error) error {
	c := command{ctx: ctx, run: run, reply: make(chan error, 1)}
	select {
	case e.commands <- c:
		return <-c.reply
	case <-ctx.Done():
		return ctx.Err()
	case <-e.node.loops.Done():
		return unavailable(ErrNoNode)
	}
}

func (e *election) leaseTime() time.Duration { return e.node.cluster.options.LeaseTime }

func (e *election) wakeUp() { wake(e.wake) }

// current returns the current term, or nil.
func (e *election) current() *term {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.term
}

func (e *election) fence() int64 {
	if r := e.current(); r != nil {
		return r.fence.number
	}
	return 0
}

// leads reports whether the node leads at this moment.
func (e *election) leads() bool {
	r := e.current()
	return r != nil && r.ctx.Err() == nil
}

func (e *election) run() {
	ctx := e.node.loops
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		changed := e.node.cluster.Changed()
		timer.Reset(max(e.step(ctx), time.Millisecond))
		select {
		case <-ctx.Done():
			// The node is leaving; resigning must still complete.
			e.resign(context.WithoutCancel(ctx))
			<-e.ended
			return
		case <-timer.C:
		case <-changed:
		case <-e.wake:
		case c := <-e.commands:
			c.reply <- c.run(c.ctx)
		}
	}
}

// step takes the next step and returns when to take another.
func (e *election) step(ctx context.Context) time.Duration {
	if r := e.current(); r != nil {
		return e.continueTerm(ctx, r)
	}
	now := time.Now()
	wait := e.leaseTime() / 3
	if now.Before(e.retry) {
		return time.Until(e.retry)
	}
	select {
	case <-e.ended:
	default:
		return wait
	}
	b, err := e.node.cluster.directory.current()
	if err != nil {
		e.vacant = time.Time{}
		return wait
	}
	seen := e.node.cluster.directory.leaseSighting()
	if left, err := e.untilVacant(ctx, b, seen); err != nil || left > 0 {
		e.vacant = time.Time{}
		if err != nil {
			return e.failed("look for the leader", err)
		}
		return left
	}
	if e.vacant.IsZero() {
		e.vacant = now
	}
	rank := e.rank(seen)
	if rank < 0 {
		return wait
	}
	// Better candidates go first. One that is dead without being known to be delays the others only
	// briefly.
	if left := time.Duration(rank)*e.leaseTime()/10 - now.Sub(e.vacant); left > 0 {
		return left
	}
	if err := e.take(ctx, b, seen); err != nil {
		return e.failed("take the lead", err)
	}
	return 0
}

func (e *election) failed(action string, err error) time.Duration {
	if !errors.Is(err, errConflict) && e.node.loops.Err() == nil {
		e.node.logger.Warn("a step of the election failed", "action", action, "error", err)
	}
	pause := e.leaseTime() / 10
	e.retry = time.Now().Add(pause)
	return pause
}

// untilVacant returns how long there may still be a leader.
func (e *election) untilVacant(ctx context.Context, b *bucket, seen *leaseSighting) (time.Duration, error) {
	if seen != nil {
		if seen.lease.Incarnation == e.node.incarnation {
			// A lease that this node gave up, or a claim that it did not complete.
			return 0, nil
		}
		return e.leaseTime() - time.Since(seen.at), nil
	}
	left := e.leaseTime() - b.existed()
	if left <= 0 || e.node.cluster.exclusive {
		return 0, nil
	}
	// The fabric may have come back empty while a leader has not renewed its lease yet, unless the
	// last leader is known to have resigned.
	var holder string
	err := e.node.cluster.options.Store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
		_, holder, err = store.LeaderFence(ctx, r)
		return err
	})
	if err == nil && holder == "" {
		return 0, nil
	}
	return left, err
}

// rank returns the position of this node among the candidates, or -1. The holder of an expired
// lease is not a candidate.
func (e *election) rank(seen *leaseSighting) int {
	if !e.node.mayLead() {
		return -1
	}
	candidates := e.node.cluster.candidates()
	if seen != nil && seen.lease.NodeID != e.node.id {
		candidates = slices.DeleteFunc(candidates, func(m Member) bool { return m.NodeID == seen.lease.NodeID })
	}
	return slices.IndexFunc(candidates, func(m Member) bool { return m.NodeID == e.node.id })
}

// candidates returns the members that may lead, the best one first.
func (d *directory) candidates() []Member {
	members := slices.DeleteFunc(d.Members(), func(m Member) bool { return !m.qualified() })
	slices.SortFunc(members, compareCandidates)
	return members
}

// take claims the lease, gets the fencing number and starts a term.
func (e *election) take(ctx context.Context, b *bucket, seen *leaseSighting) error {
	n, db := e.node, e.node.cluster.options.Store
	ctx, cancel := context.WithTimeout(ctx, e.leaseTime())
	defer cancel()
	// Read the number before the claim: if another node gets one afterwards, the claim is too old.
	var last int64
	err := db.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
		last, _, err = store.LeaderFence(ctx, r)
		return err
	})
	if err != nil {
		return err
	}
	l := lease{NodeID: n.id, Incarnation: n.incarnation}
	var revision uint64
	if seen == nil {
		revision, err = b.create(ctx, leaderKey, l, e.leaseTime())
	} else {
		revision, err = b.update(ctx, leaderKey, l, e.leaseTime(), seen.revision)
	}
	if err != nil {
		return err
	}
	var ok bool
	err = db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		l.Fence, ok, err = store.TakeLead(ctx, tx, last, n.incarnation)
		return err
	})
	if err != nil || !ok {
		return errors.Join(err, b.remove(ctx, leaderKey, revision))
	}
	l.Beat++
	start := time.Now()
	if revision, err = b.update(ctx, leaderKey, l, e.leaseTime(), revision); err != nil {
		return err
	}
	e.begin(l, revision, start)
	return nil
}

// begin starts the leader's jobs.
func (e *election) begin(l lease, revision uint64, start time.Time) {
	r := &term{lease: l, revision: revision, until: start.Add(e.leaseTime()), renew: start.Add(e.leaseTime() / 3)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.fence = Fence{number: l.Fence, fenced: func() {
		r.cancel()
		e.wakeUp()
	}}
	r.expiry = time.AfterFunc(time.Until(r.until), r.cancel)
	e.vacant, e.retry = time.Time{}, time.Time{}
	e.mu.Lock()
	e.term = r
	for _, w := range e.works {
		r.group.Go(func() { w.run(r, e.node) })
	}
	e.mu.Unlock()
	e.node.logger.Info("this node is the leader now", "fence", l.Fence)
	e.node.cluster.directory.touch()
}

// end stops the jobs of a term and waits for them until ctx or the lease ends.
func (e *election) end(ctx context.Context, r *term, reason string) {
	r.expiry.Stop()
	r.cancel()
	ended := make(chan struct{})
	e.mu.Lock()
	e.term = nil
	e.ended = ended
	e.mu.Unlock()
	go func() {
		defer e.wakeUp()
		defer close(ended)
		r.group.Wait()
	}()
	e.node.logger.Info("this node is not the leader any more", "fence", r.fence.number, "reason", reason)
	e.node.cluster.directory.touch()
	ctx, cancel := context.WithDeadline(ctx, r.until)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// continueTerm renews the lease, or ends the term if that is lost.
func (e *election) continueTerm(ctx context.Context, r *term) time.Duration {
	now := time.Now()
	seen := e.node.cluster.directory.leaseSighting()
	switch {
	case r.ctx.Err() != nil && now.Before(r.until):
		e.resignWith(ctx, r, "it was fenced off")
		return 0
	case !now.Before(r.until):
		e.end(ctx, r, "the lease ran out")
		return 0
	case !e.node.mayLead():
		e.resignWith(ctx, r, "it does not qualify any more")
		return 0
	case seen != nil && seen.revision > r.revision && seen.lease.Incarnation != e.node.incarnation:
		e.end(ctx, r, "another node took over")
		return 0
	case now.Before(r.renew):
		return min(time.Until(r.renew), time.Until(r.until))
	}
	b, err := e.node.cluster.directory.current()
	if err == nil {
		err = e.renew(ctx, b, r)
	}
	if err != nil {
		r.renew = time.Now().Add(e.leaseTime() / 30)
	}
	return min(time.Until(r.renew), time.Until(r.until))
}

func (e *election) renew(ctx context.Context, b *bucket, r *term) error {
	ctx, cancel := context.WithDeadline(ctx, r.until)
	defer cancel()
	next := r.lease
	next.Beat++
	start := time.Now()
	revision, err := b.update(ctx, leaderKey, next, e.leaseTime(), r.revision)
	if errors.Is(err, errConflict) {
		var found lease
		latest, _, getErr := b.get(ctx, leaderKey, &found)
		switch {
		case errors.Is(getErr, errAbsent):
			// The fabric came back empty. No other node claims the lease while this one may be
			// valid.
			revision, err = b.create(ctx, leaderKey, next, e.leaseTime())
		case getErr != nil:
			return getErr
		case found.Incarnation != r.lease.Incarnation || found.Fence != r.lease.Fence:
			e.end(ctx, r, "another node took over")
			return nil
		default:
			// The response to an earlier renewal was lost.
			revision, err = b.update(ctx, leaderKey, next, e.leaseTime(), latest)
		}
	}
	if err != nil {
		return err
	}
	r.lease, r.revision = next, revision
	r.until, r.renew = start.Add(e.leaseTime()), start.Add(e.leaseTime()/3)
	r.expiry.Reset(time.Until(r.until))
	return nil
}

// resign ends the term, if there is one.
func (e *election) resign(ctx context.Context) {
	if r := e.current(); r != nil {
		e.resignWith(ctx, r, "it resigned")
	}
}

func (e *election) resignWith(ctx context.Context, r *term, reason string) {
	e.end(ctx, r, reason)
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	err := e.node.cluster.options.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		return store.ReleaseLead(ctx, tx, r.fence.number)
	})
	b, bucketErr := e.node.cluster.directory.current()
	if bucketErr == nil {
		err = errors.Join(err, b.remove(ctx, leaderKey, r.revision))
	}
	if err != nil && !errors.Is(err, errConflict) {
		e.node.logger.Warn("cannot resign properly, the lease will run out", "error", err)
	}
}

// leadNow takes over the lead from the current leader.
func (e *election) leadNow(ctx context.Context) error {
	if e.leads() {
		return nil
	}
	if !e.node.mayLead() {
		return apierr.New(apierr.NotQualifiedMemberToBeLeader, "")
	}
	select {
	case <-e.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	for range maxConflicts {
		b, err := e.node.cluster.directory.current()
		if err != nil {
			return unavailable(err)
		}
		var found lease
		seen := &leaseSighting{}
		seen.revision, _, err = b.get(ctx, leaderKey, &found)
		if errors.Is(err, errAbsent) {
			seen, err = nil, nil
		}
		if err == nil {
			err = e.take(ctx, b, seen)
		}
		if err == nil && e.leads() {
			return nil
		}
		if err != nil && !errors.Is(err, errConflict) {
			return unavailable(fmt.Errorf("take the lead: %w", err))
		}
	}
	return unavailable(fmt.Errorf("take the lead: %w", errConflict))
}

// handOver ends this node's term and transfers the lead to another node.
func (e *election) handOver(ctx context.Context, to handOverRequest) error {
	r := e.current()
	if r == nil || to.Incarnation == e.node.incarnation {
		return nil
	}
	e.end(ctx, r, "it handed over")
	b, err := e.node.cluster.directory.current()
	if err != nil {
		return unavailable(err)
	}
	_, err = b.update(ctx, leaderKey, lease{NodeID: to.NodeID, Incarnation: to.Incarnation}, e.leaseTime(), r.revision)
	if err != nil && !errors.Is(err, errConflict) {
		return unavailable(fmt.Errorf("hand over the lead: %w", err))
	}
	return nil
}

// leaseSighting returns the last lease seen, or nil.
func (d *directory) leaseSighting() *leaseSighting {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lease
}
