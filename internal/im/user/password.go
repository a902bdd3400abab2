// SPDX-License-Identifier: Apache-2.0

package user

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"example.org/app/internal/apierr"
	"example.org/app/internal/password"
)

// maxWaitingVerifications is how many verifications may wait. With the default cost of bcrypt the
// last of them waits for about fifteen seconds on one processor; further ones fail at once.
const maxWaitingVerifications = 256

// verifier compares passwords with hashes. A hash may be slow on purpose, so the number of
// concurrent comparisons leaves a processor for other work, and the queue is bounded.
type verifier struct {
	running, admitted chan struct{}
	// decoy is the stored form of an unknown password.
	decoy []byte
}

func newVerifier(h password.Hasher) *verifier {
	running := max(1, runtime.GOMAXPROCS(0)-1)
	return &verifier{
		running: make(chan struct{}, running), admitted: make(chan struct{}, running+maxWaitingVerifications),
		decoy: h.Decoy(),
	}
}

// verify compares a password with its stored form; an empty one never matches. The error is
// password.ErrMismatch, or the reason why the comparison failed.
func (v *verifier) verify(ctx context.Context, stored []byte, text string) error {
	select {
	case v.admitted <- struct{}{}:
		defer func() { <-v.admitted }()
	default:
		return apierr.Wrap(apierr.ServerUnavailable, fmt.Errorf("more than %d logins wait for their turn", maxWaitingVerifications))
	}
	select {
	case v.running <- struct{}{}:
		defer func() { <-v.running }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if len(stored) > 0 {
		return password.Verify(stored, text)
	}
	_ = password.Verify(v.decoy, text)
	return password.ErrMismatch
}

// VerifyPassword checks whether a user may log in with a password; nil means none, which is valid
// only for users without password. It returns nil, or an *apierr.Error with LoggingInUserNotActive
// for a user who does not exist, is inactive or deleted, LoginAuthenticationFailed for a wrong
// password, and ServerUnavailable if too many users are logging in; any other error is a failure of
// the check. An unknown user takes as much work as a wrong password.
func (d *Directory) VerifyPassword(ctx context.Context, userID int64, text *string) error {
	user, err := d.credentials.find(ctx, userID)
	if err != nil {
		return err
	}
	stored, active := user.Password, user.Active
	matches := text == nil && len(stored) == 0
	if text != nil {
		switch err := d.verifier.verify(ctx, stored, *text); {
		case err == nil:
			matches = true
		case !errors.Is(err, password.ErrMismatch):
			return fmt.Errorf("check the password of user %d: %w", userID, err)
		}
	}
	switch {
	case !active:
		return apierr.New(apierr.LoggingInUserNotActive, "")
	case !matches:
		return apierr.New(apierr.LoginAuthenticationFailed, "")
	}
	return nil
}
