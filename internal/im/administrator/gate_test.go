// SPDX-License-Identifier: Apache-2.0

package administrator

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store/storetest"
)

func address(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}) }

func newRoot(t *testing.T) *Directory {
	t.Helper()
	d := newDirectory(t, storetest.SQLite(t), 4)
	if _, err := d.EnsureRoot(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCrowdIsRefusedAtOnce proves that the queue before the hash is bounded, for each address and
// in total.
func TestCrowdIsRefusedAtOnce(t *testing.T) {
	d := newRoot(t)
	for range cap(d.verifier.slots) {
		d.verifier.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	guesses := 0
	login := func(from netip.Addr) {
		guesses++
		guess := fmt.Sprint("wrong", guesses)
		wg.Go(func() { _, _ = d.Authenticate(ctx, "app", guess, from) })
	}
	waiting := func(n int64) {
		for d.verifier.waiting.Load() != n {
			if t.Context().Err() != nil {
				t.Fatal("the logins do not wait")
			}
			runtime.Gosched()
		}
	}
	refused := func(what string, from netip.Addr) {
		t.Helper()
		if _, err := d.Authenticate(ctx, "app", "app", from); apierr.From(err).Code != apierr.ClientRequestsTooFrequent {
			t.Errorf("%s: %v, want a refusal at once", what, err)
		}
	}
	for range maxInside {
		login(address(0))
	}
	waiting(maxInside)
	refused("an address with many logins", address(0))
	for i := range maxWaiters - maxInside {
		login(address(i + 1))
	}
	waiting(maxWaiters)
	refused("a crowd of addresses", address(1000))
	cancel()
	wg.Wait()
	for range cap(d.verifier.slots) {
		<-d.verifier.slots
	}
	if _, err := d.Authenticate(t.Context(), "app", "app", address(0)); err != nil {
		t.Errorf("after the crowd: %v", err)
	}
	if len(d.gate.inside) != 0 || d.verifier.waiting.Load() != 0 {
		t.Errorf("%d addresses and %d waiters are left", len(d.gate.inside), d.verifier.waiting.Load())
	}
}

func TestFailuresSlowDown(t *testing.T) {
	d := newRoot(t)
	now := time.Now()
	var waited time.Duration
	d.gate.now = func() time.Time { return now }
	d.gate.wait = func(_ context.Context, delay time.Duration) error {
		waited += delay
		return nil
	}
	login := func(name, pw string, from int) time.Duration {
		waited = 0
		_, err := d.Authenticate(t.Context(), name, pw, address(from))
		if (err == nil) != (pw == "app") {
			t.Errorf("%s with %q: %v", name, pw, err)
		}
		return waited
	}
	expect := func(what string, got, want time.Duration) {
		t.Helper()
		if got != want {
			t.Errorf("%s waited %s, want %s", what, got, want)
		}
	}
	for range freeFailures {
		expect("a first failure", login("app", "wrong", 1), 0)
	}
	expect("the next", login("app", "wrong", 1), firstDelay)
	expect("the one after it", login("app", "wrong", 1), 2*firstDelay)
	for range 20 {
		login("app", "wrong", 1)
	}
	expect("the last", login("app", "wrong", 1), maxDelay)
	expect("another address", login("app", "wrong", 2), 0)
	expect("another account at the address", login("other", "wrong", 1), maxDelay)
	now = now.Add(forgetFailures + time.Second)
	expect("after a while", login("app", "wrong", 1), 0)
	for range freeFailures {
		login("app", "wrong", 1)
	}
	login("app", "app", 1)
	expect("after a success", login("app", "wrong", 1), 0)
}

func TestFailuresTakeBoundedMemory(t *testing.T) {
	g := newGate()
	for i := range 3 * maxFailures {
		g.failed("x", address(i))
	}
	for i := range maxFailures {
		g.failed(string(rune(i)), netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}))
	}
	if len(g.failures) > maxFailures {
		t.Errorf("%d failures are remembered", len(g.failures))
	}
}

// TestVerificationIsRenewedByUse proves that each use extends the cache entry.
func TestVerificationIsRenewedByUse(t *testing.T) {
	d := newRoot(t)
	now := time.Now()
	d.verifier.now = func() time.Time { return now }
	if _, err := d.Authenticate(t.Context(), "app", "app", netip.Addr{}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		now = now.Add(verificationTime * 3 / 4)
		if acc := d.current.Load().accounts["app"]; !d.verifier.remembers(acc, "app") {
			t.Fatal("a verification that is used was forgotten")
		}
	}
	now = now.Add(verificationTime + time.Second)
	if acc := d.current.Load().accounts["app"]; d.verifier.remembers(acc, "app") {
		t.Error("a verification that is not used is remembered")
	}
}
