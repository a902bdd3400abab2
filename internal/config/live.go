// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Live is the configuration that runs now. All methods may be called by many
// goroutines at once.
type Live struct {
	current atomic.Pointer[Config]

	// updating is held while an update is prepared and swapped in. It is taken
	// before mu and never while subscribers are called.
	updating sync.Mutex

	// mu guards what follows and is held for moments only.
	mu          sync.Mutex
	subscribers []*subscriber
	// changes are swapped in, but not yet told to the subscribers.
	changes []change
	// telling says that a goroutine is at work on changes.
	telling bool
}

// subscriber is one registration.
type subscriber struct {
	call      func(before, after *Config)
	cancelled atomic.Bool
}

// change is one swap and who was subscribed when it happened.
type change struct {
	before, after *Config
	subscribers   []*subscriber
}

// NewLive starts with a copy of c.
func NewLive(c *Config) *Live {
	l := new(Live)
	l.current.Store(c.Clone())
	return l
}

// Current returns the configuration that runs now. It must be treated as
// read-only. Whoever needs several values that fit together takes them from one
// result.
func (l *Live) Current() *Config { return l.current.Load() }

// Update gives a copy of the current configuration to mutate, validates it and
// makes it the current one. If mutate or the validation fails, everything stays
// as it was and the error is returned. Updates happen one after the other;
// mutate must not call Update and must not keep its argument.
//
// Update tells the subscribers before it returns, unless another goroutine is
// just telling them about an earlier change; then that one goes on with this.
func (l *Live) Update(mutate func(*Config) error) error {
	if err := l.swap(mutate); err != nil {
		return err
	}
	l.tell()
	return nil
}

func (l *Live) swap(mutate func(*Config) error) error {
	l.updating.Lock()
	defer l.updating.Unlock()
	before := l.current.Load()
	after := before.Clone()
	if err := mutate(after); err != nil {
		return err
	}
	if err := after.Validate(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current.Store(after)
	l.changes = append(l.changes, change{before, after, slices.Clone(l.subscribers)})
	return nil
}

// tell calls the subscribers for each change that waits, unless someone else is
// already doing so. No lock is held meanwhile, so a subscriber may call every
// method.
func (l *Live) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.telling {
		return
	}
	l.telling = true
	defer func() { l.telling = false }()
	for len(l.changes) > 0 {
		next := l.changes[0]
		l.changes = l.changes[1:]
		l.tellOne(next)
	}
}

// tellOne gives up mu, which the caller holds, during the calls.
func (l *Live) tellOne(c change) {
	l.mu.Unlock()
	defer l.mu.Lock()
	for _, s := range c.subscribers {
		if !s.cancelled.Load() {
			s.call(c.before, c.after)
		}
	}
}

// Subscribe registers a function that is called after each swap with the
// configurations before and after it, both read-only. Calls come in the order
// of the swaps and never overlap, those of other subscribers included, so a
// function that takes long delays the others. Cancel does not wait: a call that
// has begun, or is just about to, may still run after it. Calling cancel again
// does nothing.
func (l *Live) Subscribe(call func(before, after *Config)) (cancel func()) {
	s := &subscriber{call: call}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscribers = append(l.subscribers, s)
	return func() {
		s.cancelled.Store(true)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.subscribers = slices.DeleteFunc(l.subscribers, func(other *subscriber) bool { return other == s })
	}
}
