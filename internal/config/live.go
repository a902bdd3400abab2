// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Live is the current configuration. It is safe for concurrent use.
type Live struct {
	current atomic.Pointer[Config]

	// updating is held while an update is prepared and swapped in. It is taken before mu and never
	// held while subscribers are called.
	updating sync.Mutex

	// mu guards the following fields and is held only briefly.
	mu          sync.Mutex
	subscribers []*subscriber
	// changes are swapped in, but the subscribers were not called yet.
	changes []change
	// telling is true while a goroutine processes changes.
	telling bool
}

// subscriber is one registration.
type subscriber struct {
	call      func(before, after *Config)
	cancelled atomic.Bool
}

// change is one swap with the subscribers at its time.
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

// Current returns the current configuration, which is read only. For several consistent values, use
// a single result.
func (l *Live) Current() *Config { return l.current.Load() }

// Update calls mutate with a copy of the current configuration, validates the copy and makes it the
// current one. If mutate or the validation fails, nothing changes and the error is returned.
// Updates are serialised; mutate must not call Update and must not retain its argument.
//
// Update calls the subscribers before it returns, unless another goroutine is calling them for an
// earlier change; then that one continues with this change.
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

// tell calls the subscribers for each queued change, unless another goroutine does. It holds no
// lock meanwhile, so a subscriber may call every method.
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

// tellOne releases mu, which the caller holds, during the calls.
func (l *Live) tellOne(c change) {
	l.mu.Unlock()
	defer l.mu.Lock()
	for _, s := range c.subscribers {
		if !s.cancelled.Load() {
			s.call(c.before, c.after)
		}
	}
}

// Subscribe registers a function that is called after each swap with the former and the new
// configuration, both read only. Calls, including those of other subscribers, are made in the order
// of the swaps and never overlap, so a slow function delays the others. Cancel does not wait: a
// call may still run after it. Further calls of cancel do nothing.
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
