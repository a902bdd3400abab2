// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/ids"
	"example.org/app/internal/sleep"
	"example.org/app/internal/store"
)

// NumberOptions are those of LeaseNumber.
type NumberOptions struct {
	// Holder identifies the lease; it must be different for each call, even of the same node.
	Holder string
	// Lease is how long the number stays leased without renewal; 0 means DefaultNumberLease.
	Lease time.Duration
	// Now is the clock of the ids; nil means time.Now.
	Now func() time.Time
	// Logger logs what an operator should know; nil discards it.
	Logger *slog.Logger
}

// A Number is the lease of a node number, with the generator that makes ids with it.
//
// Two things prevent duplicate ids. A number is given to another node only after its lease has
// ended by the database's clock and another quarter of the lease has passed. And each lease or
// renewal grants a span of id times, which the database stores before the generator may use it; the
// next holder begins above all of them. So even two nodes that both believe to hold a number,
// because one was paused or a clock jumped, never make the same id.
//
// If the lease cannot be renewed, Healthy fails and the generator continues within the granted
// span, see ids.Reserve. If the number was given to another node meanwhile, the generator continues
// with another number.
type Number struct {
	db        *store.DB
	options   NumberOptions
	generator *ids.Generator
	cancel    context.CancelFunc
	ended     chan struct{}

	mu       sync.Mutex
	number   int
	high     time.Time
	renewed  time.Time
	err      error
	released bool
}

// LeaseNumber leases a number that no other node has and renews the lease until Release.
func LeaseNumber(ctx context.Context, db *store.DB, o NumberOptions) (*Number, error) {
	o.Lease = cmp.Or(max(o.Lease, 0), DefaultNumberLease)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Number{db: db, options: o, ended: make(chan struct{})}
	start := time.Now()
	leased, err := n.acquire(ctx, o.Now())
	if err != nil {
		return nil, err
	}
	if n.generator, err = ids.NewLeased(leased.Number, leased.Floor, leased.HighWater, o.Now); err != nil {
		return nil, err
	}
	n.number, n.high, n.renewed = leased.Number, leased.HighWater, start
	loop, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	go n.run(loop)
	o.Logger.InfoContext(ctx, "leased a node number", "number", leased.Number)
	return n, nil
}

// span is the id time that a lease grants: what the clock may use until the lease ends, and the
// reserve.
func (n *Number) span() time.Duration { return n.options.Lease + ids.Reserve }

func (n *Number) margin() time.Duration { return n.options.Lease / 4 }

// acquire leases any free number. now is the earliest time of the ids.
func (n *Number) acquire(ctx context.Context, now time.Time) (leased store.NodeNumber, err error) {
	for {
		var taken []int
		err := n.db.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			taken, err = store.TakenNodeNumbers(ctx, r, n.margin())
			return err
		})
		if err != nil {
			return store.NodeNumber{}, fmt.Errorf("lease a node number: %w", err)
		}
		free := make([]int, 0, ids.MaxNode+1)
		for number := range ids.MaxNode + 1 {
			if _, found := slices.BinarySearch(taken, number); !found {
				free = append(free, number)
			}
		}
		if len(free) == 0 {
			return store.NodeNumber{}, fmt.Errorf("lease a node number: %w: all %d are taken", ErrNoNumber, ids.MaxNode+1)
		}
		// Random, so that nodes that start at the same time rarely choose the same one.
		number := free[rand.IntN(len(free))]
		var ok bool
		err = n.db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			leased, ok, err = store.LeaseNodeNumber(ctx, tx, number, n.options.Holder, now, n.span(), n.options.Lease, n.margin())
			return err
		})
		if err != nil {
			return store.NodeNumber{}, fmt.Errorf("lease a node number: %w", err)
		}
		if ok {
			return leased, nil
		}
	}
}

// run renews the lease, sooner after a failure.
func (n *Number) run(ctx context.Context) {
	defer close(n.ended)
	for {
		pause := n.options.Lease / 3
		if n.failure() != nil {
			pause = n.options.Lease / 20
		}
		if sleep.For(ctx, pause) != nil {
			return
		}
		err := n.renew(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && n.failure() == nil {
			n.options.Logger.Warn("cannot renew the node number", "number", n.generator.Number(), "error", err)
		}
		n.mu.Lock()
		n.err = err
		n.mu.Unlock()
	}
}

func (n *Number) failure() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

func (n *Number) renew(ctx context.Context) error {
	n.mu.Lock()
	number, granted := n.number, n.high
	n.mu.Unlock()
	start, now := time.Now(), n.options.Now()
	if last := n.generator.Last(); last.After(now) {
		now = last
	}
	high := now.Add(n.span())
	if granted.After(high) {
		// The clock went back. The granted span may have been used already.
		high = granted
	}
	var ok bool
	err := n.db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		ok, err = store.RenewNodeNumber(ctx, tx, number, n.options.Holder, high, n.options.Lease)
		return err
	})
	if err != nil {
		return err
	}
	var floor time.Time
	if !ok {
		leased, err := n.acquire(ctx, now)
		if err != nil {
			return err
		}
		n.options.Logger.Warn("the node number was given to another node, this one goes on with a new one", "old", number, "new", leased.Number)
		number, floor, high = leased.Number, leased.Floor, leased.HighWater
	}
	if err := n.generator.Lease(number, floor, high); err != nil {
		return err
	}
	n.mu.Lock()
	n.number, n.high, n.renewed = number, high, start
	n.mu.Unlock()
	return nil
}

// Generator returns the generator, which stays the same as long as the lease is held.
func (n *Number) Generator() *ids.Generator { return n.generator }

// Healthy returns an error if the lease has expired, or is about to, without renewal.
func (n *Number) Healthy() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.released {
		return fmt.Errorf("%w: it was released", ErrNoNumber)
	}
	if silence := time.Since(n.renewed); silence > n.options.Lease*5/6 {
		return fmt.Errorf("%w: the lease of number %d was not renewed for %v: %w", ErrNoNumber, n.number,
			silence.Round(time.Second), cmp.Or(n.err, errors.New("the last attempt has not ended")))
	}
	return nil
}

// Release ends the lease. The generator remains usable: no other node gets the rest of its span.
func (n *Number) Release(ctx context.Context) error {
	n.mu.Lock()
	if n.released {
		n.mu.Unlock()
		return nil
	}
	n.released = true
	n.mu.Unlock()
	n.cancel()
	<-n.ended
	n.mu.Lock()
	number, high := n.number, n.high
	n.mu.Unlock()
	return n.db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		return store.ReleaseNodeNumber(ctx, tx, number, n.options.Holder, high)
	})
}

// A Holder is an incarnation of a node that has not released its node number.
type Holder struct {
	NodeID, Incarnation string
	Number              int
	// Renewed is when the lease was last renewed, by the clock of the node. All ids of the node
	// have times before Until.
	Renewed, Until time.Time
}

// NumberHolders returns the holders of node numbers whose lease has not ended, or ended less than
// margin ago. Those that are not running were killed: a node that leaves releases its number.
func (c *Cluster) NumberHolders(ctx context.Context, margin time.Duration) ([]Holder, error) {
	var list []Holder
	err := c.options.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		numbers, err := store.NodeNumbers(ctx, r, margin)
		if err != nil {
			return err
		}
		list = make([]Holder, 0, len(numbers))
		for _, n := range numbers {
			id, incarnation, _ := strings.Cut(n.Holder, "/")
			list = append(list, Holder{NodeID: id, Incarnation: incarnation, Number: n.Number, Renewed: n.HighWater.Add(-c.options.NumberLease - ids.Reserve), Until: n.HighWater})
		}
		return nil
	})
	return list, err
}
