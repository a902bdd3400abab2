// SPDX-License-Identifier: Apache-2.0

package administrator

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/password"
)

// Authenticate returns the administrator with these credentials, or an apierr.Unauthorized error.
// An unknown name takes as much time as a wrong password. If there are too many callers, it returns
// apierr.ClientRequestsTooFrequent at once, and an address with failures has to wait (see gate).
func (d *Directory) Authenticate(ctx context.Context, loginName, pw string, remote netip.Addr) (*Identity, error) {
	if d.opts.Client != nil {
		remote = d.opts.Client(remote)
	}
	if acc := d.current.Load().accounts[loginName]; acc != nil && d.verifier.remembers(acc, pw) {
		d.gate.succeeded(loginName, remote)
		return &acc.Identity, nil
	}
	acc := d.current.Load().accounts[loginName]
	if acc == nil {
		return d.check(ctx, loginName, pw, remote)
	}
	return d.flights.do(ctx, d.verifier.digest(acc.password, pw), func() (*Identity, error) {
		return d.check(ctx, loginName, pw, remote)
	})
}

// check passes the gate and verifies the password.
func (d *Directory) check(ctx context.Context, loginName, pw string, remote netip.Addr) (*Identity, error) {
	leave, err := d.gate.enter(ctx, loginName, remote)
	if err != nil {
		return nil, err
	}
	defer leave()
	id, err := d.verify(ctx, loginName, pw)
	switch {
	case err == nil:
		d.gate.succeeded(loginName, remote)
	case apierr.From(err).Code == apierr.Unauthorized:
		d.gate.failed(loginName, remote)
	}
	return id, err
}

// verify compares the password with the stored one.
func (d *Directory) verify(ctx context.Context, loginName, pw string) (*Identity, error) {
	s, err := d.fresh(ctx)
	if err != nil {
		// Administrators must be able to inspect a server whose store is down.
		s = d.current.Load()
	}
	acc := s.accounts[loginName]
	ok, err := d.verifier.verify(ctx, acc, pw)
	if err != nil {
		return nil, fmt.Errorf("check the password of %q: %w", loginName, err)
	}
	if !ok {
		return nil, unauthorized("login name or password is wrong")
	}
	return &acc.Identity, nil
}

// flights makes concurrent requests with the same credentials, such as those of a browser, share
// one check.
type flights struct {
	mu      sync.Mutex
	running map[[sha256.Size]byte]*flight
}

type flight struct {
	done chan struct{}
	id   *Identity
	err  error
}

func (f *flights) do(ctx context.Context, key [sha256.Size]byte, check func() (*Identity, error)) (*Identity, error) {
	f.mu.Lock()
	other := f.running[key]
	if other == nil {
		own := &flight{done: make(chan struct{})}
		if f.running == nil {
			f.running = map[[sha256.Size]byte]*flight{}
		}
		f.running[key] = own
		f.mu.Unlock()
		defer func() {
			f.mu.Lock()
			delete(f.running, key)
			f.mu.Unlock()
			close(own.done)
		}()
		own.id, own.err = check()
		return own.id, own.err
	}
	f.mu.Unlock()
	select {
	case <-other.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if other.id == nil && apierr.From(other.err).Code != apierr.Unauthorized {
		return check() // The checking request was refused or cancelled.
	}
	return other.id, other.err
}

// verifier verifies passwords. A hash is slow on purpose, so a success is cached, as a keyed digest
// of stored hash and password: the clear text is not kept, and a new stored hash invalidates the
// entry.
type verifier struct {
	digests  sync.Pool // of hash.Hash
	decoy    []byte    // stored form of an unknown password
	slots    chan struct{}
	waiting  atomic.Int64 // for a slot
	now      func() time.Time
	mu       sync.RWMutex
	verified map[int64]verification // by id of the administrator
}

type verification struct {
	digest  [sha256.Size]byte
	expires time.Time
}

// verificationTime is how long a success is cached after its last use.
const verificationTime = 10 * time.Minute

func newVerifier(h password.Hasher) *verifier {
	key := make([]byte, sha256.Size)
	rand.Read(key)
	return &verifier{
		digests:  sync.Pool{New: func() any { return hmac.New(sha256.New, key) }},
		decoy:    h.Decoy(),
		slots:    make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
		now:      time.Now,
		verified: map[int64]verification{},
	}
}

func (v *verifier) digest(stored []byte, pw string) (d [sha256.Size]byte) {
	h := v.digests.Get().(hash.Hash)
	defer v.digests.Put(h)
	h.Reset()
	fmt.Fprintf(h, "%d:", len(stored))
	h.Write(stored)
	h.Write([]byte(pw))
	h.Sum(d[:0])
	return d
}

// remembers reports whether a successful verification is cached.
func (v *verifier) remembers(acc *account, pw string) bool {
	v.mu.RLock()
	known, ok := v.verified[acc.ID]
	v.mu.RUnlock()
	if !ok || v.now().After(known.expires) {
		return false
	}
	d := v.digest(acc.password, pw)
	if !hmac.Equal(d[:], known.digest[:]) {
		return false
	}
	if now := v.now(); known.expires.Sub(now) < verificationTime/2 {
		v.mu.Lock()
		if latest, ok := v.verified[acc.ID]; ok && latest.digest == known.digest {
			v.verified[acc.ID] = verification{known.digest, now.Add(verificationTime)}
		}
		v.mu.Unlock()
	}
	return true
}

// verify compares the password with the stored hash; acc is nil for an unknown name. The number of
// concurrent comparisons is limited, so that guessing cannot use all processors, and so is the
// queue.
func (v *verifier) verify(ctx context.Context, acc *account, pw string) (bool, error) {
	if v.waiting.Add(1) > maxWaiters {
		v.waiting.Add(-1)
		return false, errCrowd
	}
	select {
	case v.slots <- struct{}{}:
		v.waiting.Add(-1)
		defer func() { <-v.slots }()
	case <-ctx.Done():
		v.waiting.Add(-1)
		return false, ctx.Err()
	}
	stored := v.decoy
	if acc != nil {
		if v.remembers(acc, pw) {
			return true, nil // Verified while this call waited.
		}
		stored = acc.password
	}
	err := password.Verify(stored, pw)
	if errors.Is(err, password.ErrMismatch) || acc == nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	known := verification{v.digest(acc.password, pw), v.now().Add(verificationTime)}
	v.mu.Lock()
	v.verified[acc.ID] = known
	v.mu.Unlock()
	return true, nil
}

// keep drops deleted administrators.
func (v *verifier) keep(s *snapshot) {
	ids := make(map[int64]bool, len(s.accounts))
	for _, acc := range s.accounts {
		ids[acc.ID] = true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for id := range v.verified {
		if !ids[id] {
			delete(v.verified, id)
		}
	}
}
