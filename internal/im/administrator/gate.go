// SPDX-License-Identifier: Apache-2.0

package administrator

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/sleep"
)

// gate keeps those who guess passwords from costing others their logins. It
// admits few logins of an address at a time, and makes an address wait that
// failed before, for each account and for all together. Others are never made
// to wait for it: an account cannot be locked by somebody who fails to log in.
type gate struct {
	now  func() time.Time
	wait func(ctx context.Context, d time.Duration) error

	mu       sync.Mutex
	inside   map[netip.Addr]int
	failures map[attempt]*failure
	failing  atomic.Int64 // len(failures)
}

// attempt is who tried what; an empty name stands for all of them.
type attempt struct {
	name string
	addr netip.Addr
}

type failure struct {
	count int
	last  time.Time
}

const (
	// maxWaiters bounds how many logins wait for a processor, of all addresses.
	maxWaiters = 64
	// maxInside bounds how many logins of an address are being decided. Browsers
	// send some requests at a time before the first is answered.
	maxInside = 16
	// freeFailures and freeAddressFailures are how often an address may fail for
	// one account and for all of them before it has to wait.
	freeFailures        = 5
	freeAddressFailures = 20
	// firstDelay doubles with each further failure up to maxDelay.
	firstDelay = 50 * time.Millisecond
	maxDelay   = time.Second
	// forgetFailures is the time after the last failure when all are forgotten.
	forgetFailures = 10 * time.Minute
	// maxFailures bounds the memory.
	maxFailures = 20_000
)

// errCrowd tells a caller that too many log in.
var errCrowd = apierr.New(apierr.ClientRequestsTooFrequent, "too many logins are being checked; try again later")

func newGate() *gate {
	return &gate{now: time.Now, wait: sleep.For, inside: map[netip.Addr]int{}, failures: map[attempt]*failure{}}
}

// enter admits a login, after a while if the address failed before, or refuses
// it at once. The caller must call leave.
func (g *gate) enter(ctx context.Context, name string, addr netip.Addr) (leave func(), err error) {
	g.mu.Lock()
	if g.inside[addr] >= maxInside {
		g.mu.Unlock()
		return nil, errCrowd
	}
	g.inside[addr]++
	delay := max(g.delay(attempt{shortName(name), addr}, freeFailures), g.delay(attempt{"", addr}, freeAddressFailures))
	g.mu.Unlock()
	leave = func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.inside[addr]--; g.inside[addr] <= 0 {
			delete(g.inside, addr)
		}
	}
	if delay > 0 {
		if err := g.wait(ctx, delay); err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// delay returns how long an attempt has to wait. The caller holds the lock.
func (g *gate) delay(a attempt, free int) time.Duration {
	f := g.failures[a]
	if f == nil || f.count < free || g.now().Sub(f.last) > forgetFailures {
		return 0
	}
	d := firstDelay
	for range f.count - free {
		if d *= 2; d >= maxDelay {
			return maxDelay
		}
	}
	return d
}

// failed counts a wrong password.
func (g *gate) failed(name string, addr netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if len(g.failures) >= maxFailures-1 {
		g.forget(now)
	}
	for _, a := range []attempt{{shortName(name), addr}, {"", addr}} {
		f := g.failures[a]
		if f == nil || now.Sub(f.last) > forgetFailures {
			f = &failure{}
			g.failures[a] = f
		}
		f.count++
		f.last = now
	}
	g.failing.Store(int64(len(g.failures)))
}

// succeeded forgets the failures of the account at the address.
func (g *gate) succeeded(name string, addr netip.Addr) {
	if g.failing.Load() == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.failures, attempt{shortName(name), addr})
	g.failing.Store(int64(len(g.failures)))
}

// forget drops what is old, and anything at all if that is not enough.
func (g *gate) forget(now time.Time) {
	for a, f := range g.failures {
		if now.Sub(f.last) > forgetFailures {
			delete(g.failures, a)
		}
	}
	for a := range g.failures {
		if len(g.failures) < maxFailures/2 {
			break
		}
		delete(g.failures, a)
	}
}

// shortName bounds the memory for a name that nobody has.
func shortName(name string) string {
	const most = 64
	return name[:min(len(name), most)]
}
