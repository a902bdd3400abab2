// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"sync"
	"time"

	"example.org/app/internal/link"
	"example.org/app/internal/role"
	"example.org/app/internal/sleep"
)

const (
	// recipientsTime is how long a lane waits for a store that cannot be read.
	recipientsTime = 2 * time.Second
	// maxLost is the maximum number of notifications whose recipients are read later; beyond that,
	// all sessions are closed.
	maxLost = 10_000
)

// recipients are the located recipients of a notification.
type recipients struct {
	// nodes are the users by gateway.
	nodes map[string][]int64
	// unknown are users who may be online on any gateway, offline those who are not online.
	unknown, offline []int64
}

// find locates the recipients of a task. It retries for some time if the store cannot be read.
func (n *Notifier) find(e *task) (r recipients, err error) {
	err = n.retry(e, func() error {
		r = recipients{nodes: map[string][]int64{}}
		if e.self {
			n.add(e.ctx, &r, []int64{e.requester}, false)
		}
		return e.eachRecipient(func(ids []int64) { n.add(e.ctx, &r, ids, e.report) })
	})
	return r, err
}

// retry calls read until it succeeds or recipientsTime is over, only once for a transient
// notification.
func (n *Notifier) retry(e *task, read func() error) error {
	err := read()
	if err == nil || e.transient {
		return err
	}
	ctx, cancel := context.WithTimeout(e.ctx, recipientsTime)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	for wait := retryMin; err != nil && sleep.For(ctx, wait) == nil; wait = min(2*wait, retryMax) {
		err = read()
	}
	return err
}

// add locates users.
func (n *Notifier) add(ctx context.Context, r *recipients, ids []int64, report bool) {
	found, unknown := n.locate(ctx, ids)
	for _, at := range found {
		r.nodes[at.NodeID] = append(r.nodes[at.NodeID], at.UserIDs...)
	}
	r.unknown = append(r.unknown, unknown...)
	if report {
		r.offline = append(r.offline, missing(ids, r.nodes, unknown)...)
	}
}

// eachRecipient calls f with the recipients, without the requester, in chunks.
func (e *task) eachRecipient(f func(ids []int64)) error {
	if e.to == nil {
		return nil
	}
	for ids, err := range e.to {
		if err != nil {
			return err
		}
		f(withoutUser(ids, e.requester))
	}
	return nil
}

// readRecipients returns the recipients of a task, without the requester. Like find, it retries.
func (n *Notifier) readRecipients(e *task) (all []int64, err error) {
	err = n.retry(e, func() error {
		all = nil
		return e.eachRecipient(func(ids []int64) { all = append(all, ids...) })
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// lost are notifications whose recipients could not be read. Nobody else would tell the recipients
// that they missed something, so their sessions are closed as soon as the store can be read.
type lost struct {
	mu    sync.Mutex
	tasks []*task
	// everybody is true if there were more than maxLost.
	everybody bool
	reading   bool
}

// lose records a notification whose recipients could not be read, unless it is transient. The
// notifier must wait for the calling goroutine.
func (n *Notifier) lose(e *task, err error) {
	if e.transient {
		n.logger.WarnContext(e.ctx, "dropped a notification because its recipients could not be read", "error", err)
		return
	}
	n.logger.ErrorContext(e.ctx, "could not read the recipients of a notification; those who are online will be told to connect again", "error", err)
	n.lost.mu.Lock()
	defer n.lost.mu.Unlock()
	if len(n.lost.tasks) < maxLost {
		n.lost.tasks = append(n.lost.tasks, e)
	} else {
		n.lost.everybody = true
	}
	if !n.lost.reading {
		n.lost.reading = true
		n.wg.Go(n.readLost)
	}
}

// readLost reads the recipients of lost notifications until there are none left.
func (n *Notifier) readLost() {
	wait := retryMin
	for sleep.For(n.ctx, wait) == nil {
		e, everybody := n.lost.first()
		if e == nil {
			return
		}
		var all []int64
		if err := e.eachRecipient(func(ids []int64) { all = append(all, ids...) }); err != nil {
			wait = min(2*wait, retryMax)
			continue
		}
		wait = 0
		if everybody {
			n.lost.clear()
			n.missAll()
			continue
		}
		d := &link.Delivery{Recipients: all}
		if e.self {
			d.Recipients = append(d.Recipients, e.requester)
			d.Except = &link.Session{UserID: e.requester, Device: e.device}
		}
		if len(d.Recipients) > 0 {
			n.missEverywhere(d)
		}
		n.lost.next()
	}
}

// first returns the first task, or nil if there is none: the caller must stop reading then.
func (l *lost) first() (e *task, everybody bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tasks) == 0 {
		l.reading = false
		return nil, false
	}
	return l.tasks[0], l.everybody
}

// next removes the first task.
func (l *lost) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks = l.tasks[1:]
}

func (l *lost) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks, l.everybody = nil, false
}

// missEverywhere records at every gateway that users, who may be there, missed a notification.
func (n *Notifier) missEverywhere(d *link.Delivery) {
	for node := range n.node.Cluster().Lives(role.Gateway) {
		n.miss(n.outlet(node), d)
	}
}

// missAll records at every gateway that all users missed a notification.
func (n *Notifier) missAll() {
	for node := range n.node.Cluster().Lives(role.Gateway) {
		if o := n.outlet(node); o.missAll() {
			n.wg.Go(func() { n.heal(o) })
		}
	}
}
