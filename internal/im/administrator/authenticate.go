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
	"runtime"
	"sync"
	"time"

	"example.org/app/internal/password"
)

// Authenticate returns the administrator with these credentials, or an
// apierr.Unauthorized error. An unknown name costs as much time as a wrong
// password.
func (d *Directory) Authenticate(ctx context.Context, loginName, pw string) (*Identity, error) {
	if acc := d.current.Load().accounts[loginName]; acc != nil && d.verifier.remembers(acc, pw) {
		return &acc.Identity, nil
	}
	s, err := d.fresh(ctx)
	if err != nil {
		// Administrators must be able to look at a server whose store is down.
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

// verifier checks passwords. A hash is slow on purpose, so a success is
// remembered for a while, as a keyed digest of stored hash and password: the
// clear text is not kept, and a new stored hash makes the memory void.
type verifier struct {
	digests  sync.Pool // of hash.Hash
	decoy    []byte    // stored form of a password that nobody has
	slots    chan struct{}
	now      func() time.Time
	mu       sync.RWMutex
	verified map[int64]verification // by id of the administrator
}

type verification struct {
	digest  [sha256.Size]byte
	expires time.Time
}

// verificationTime is how long a success is remembered.
const verificationTime = 10 * time.Minute

func newVerifier(h password.Hasher) (*verifier, error) {
	key := make([]byte, sha256.Size)
	rand.Read(key)
	decoy, err := h.Hash(randomLetters(randomPasswordLength))
	if err != nil {
		return nil, err
	}
	return &verifier{
		digests:  sync.Pool{New: func() any { return hmac.New(sha256.New, key) }},
		decoy:    decoy,
		slots:    make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
		now:      time.Now,
		verified: map[int64]verification{},
	}, nil
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

// remembers reports whether the password was verified a short while ago.
func (v *verifier) remembers(acc *account, pw string) bool {
	v.mu.RLock()
	known, ok := v.verified[acc.ID]
	v.mu.RUnlock()
	if !ok || v.now().After(known.expires) {
		return false
	}
	d := v.digest(acc.password, pw)
	return hmac.Equal(d[:], known.digest[:])
}

// verify compares the password with the stored hash; acc is nil for an unknown
// name. Only few comparisons run at a time, so that guessing cannot take all
// processors.
func (v *verifier) verify(ctx context.Context, acc *account, pw string) (bool, error) {
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-ctx.Done():
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

// keep forgets administrators that are no longer there.
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
