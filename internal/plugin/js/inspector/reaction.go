// SPDX-License-Identifier: Apache-2.0

package inspector

import "example.org/app/internal/plugin/js/engine"

// maxRegistrations limits the recorded registrations of functions with promises, because some never
// run.
const maxRegistrations = 1000

// registrations are the stacks that registered functions with promises, by the promise of the
// registration: a newer half and an older one, which is dropped when the newer one is full.
type registrations struct{ newer, older map[uintptr]*Origin }

func (r *registrations) put(promise uintptr, o *Origin) {
	if len(r.newer) >= maxRegistrations/2 || r.newer == nil {
		r.newer, r.older = map[uintptr]*Origin{}, r.newer
	}
	r.newer[promise] = o
}

// take removes a registration and returns it, nil if there is none.
func (r *registrations) take(promise uintptr) *Origin {
	o := r.newer[promise]
	if o == nil {
		o = r.older[promise]
	}
	delete(r.newer, promise)
	delete(r.older, promise)
	return o
}

// registered is called after functions were registered with a promise.
func (c *calls) registered(promise uintptr, how engine.Registration) {
	c.registrations.take(promise) // The promise with this number was freed.
	if c.asyncDepth.Load() == 0 || !c.active.Load() || how == engine.ByEngine {
		return
	}
	if o := c.origin(string(how)); o != nil {
		c.registrations.put(promise, o)
	}
}

// reacts is called before each job, which runs a function registered with promise if that is not 0.
func (c *calls) reacts(promise uintptr) {
	o := c.registrations.take(promise)
	if c.asyncDepth.Load() == 0 || !c.active.Load() {
		return
	}
	c.prune() // The calls of the previous job have ended, and their frames are reused.
	if c.last, c.from = 0, c.turn; o != nil {
		c.from = o
	}
}
