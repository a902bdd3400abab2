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

// gate prevents password guessing from blocking the logins of others. It limits the concurrent
// logins of an address, and delays an address with failures, for each account and in total. It
// never delays other addresses: failed logins cannot lock an account.
type gate struct {
	now  func() time.Time
	wait func(ctx context.Context, d time.Duration) error

	mu       sync.Mutex
	inside   map[netip.Addr]int
	failures map[attempt]*failure
	failing  atomic.Int64 // len(failures)
}

// attempt is an address and a name; an empty name stands for all names.
type attempt struct {
	name string
	addr netip.Addr
}

type failure struct {
	count int
	last  time.Time
}

const (
	// maxWaiters bounds how many logins wait for a processor in total.
	maxWaiters = 64
	// maxInside bounds the concurrent logins of an address. Browsers send several requests before
	// the first is answered.
	maxInside = 16
	// freeFailures and freeAddressFailures are how often an address may fail without delay, for one
	// account and in total.
	freeFailures        = 5
	freeAddressFailures = 20
	// firstDelay doubles with each further failure up to maxDelay.
	firstDelay = 50 * time.Millisecond
	maxDelay   = time.Second
	// forgetFailures is how long failures are remembered after the last one.
	forgetFailures = 10 * time.Minute
	// maxFailures bounds the memory.
	maxFailures = 20_000
)

// errCrowd reports too many concurrent logins.
var errCrowd = apierr.New(apierr.ClientRequestsTooFrequent, "too many logins are being checked; try again later")

func newGate() *gate {
	return &gate{now: time.Now, wait: sleep.For, inside: map[netip.Addr]int{}, failures: map[attempt]*failure{}}
}

// enter admits a login, with a delay if the address has failures, or returns an error at once. The
// caller must call leave.
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

// delay returns the delay of an attempt. The caller holds the lock.
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

// failed records a wrong password.
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

// succeeded resets the failures of the account at the address.
func (g *gate) succeeded(name string, addr netip.Addr) {
	if g.failing.Load() == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.failures, attempt{shortName(name), addr})
	g.failing.Store(int64(len(g.failures)))
}

// forget drops old entries and, if that is not enough, arbitrary ones.
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

// shortName truncates an unknown name to bound the memory.
func shortName(name string) string {
	const most = 64
	return name[:min(len(name), most)]
}
