// SPDX-License-Identifier: Apache-2.0

package user

import (
	"context"
	"errors"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
)

// codeOf returns the code that a caller is told, and OK for no error.
func codeOf(err error) apierr.Code {
	if err == nil {
		return apierr.OK
	}
	return apierr.From(err).Code
}

func TestVerifyPassword(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		for i, algorithm := range []password.Algorithm{password.SaltedSHA256, password.BCrypt, password.Noop} {
			f := newFixture(t, db, func(o *Options) { o.Hasher = password.Hasher{Algorithm: algorithm, Cost: 4} })
			base := int64(10 * i)
			f.create(Creation{ID: new(base + 1), Password: new("right")})
			f.create(Creation{ID: new(base + 2)})
			f.create(Creation{ID: new(base + 3), Password: new("right"), IsActive: new(false)})
			f.create(Creation{ID: new(base + 4), Password: new("right")})
			f.create(Creation{ID: new(base + 5), IsActive: new(false)})
			f.create(Creation{ID: new(base + 6), Password: new("")})
			f.create(Creation{ID: new(base + 7), Password: new("right")})
			if _, err := f.Delete(t.Context(), []int64{base + 4}, new(true)); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Update(t.Context(), []int64{base + 7}, Change{Password: new("new")}); err != nil {
				t.Fatal(err)
			}
			for _, test := range []struct {
				name     string
				user     int64
				password *string
				want     apierr.Code
			}{
				{"right", 1, new("right"), apierr.OK},
				{"wrong", 1, new("Right"), apierr.LoginAuthenticationFailed},
				{"empty", 1, new(""), apierr.LoginAuthenticationFailed},
				{"none", 1, nil, apierr.LoginAuthenticationFailed},
				{"none of a user without one", 2, nil, apierr.OK},
				{"one of a user without one", 2, new("right"), apierr.LoginAuthenticationFailed},
				{"empty one of a user without one", 2, new(""), apierr.LoginAuthenticationFailed},
				{"inactive user", 3, new("right"), apierr.LoggingInUserNotActive},
				{"inactive user, wrong", 3, new("wrong"), apierr.LoggingInUserNotActive},
				{"deleted user", 4, new("right"), apierr.LoggingInUserNotActive},
				{"inactive user without one", 5, nil, apierr.LoggingInUserNotActive},
				{"user with an empty one", 6, nil, apierr.OK},
				{"old", 7, new("right"), apierr.LoginAuthenticationFailed},
				{"new", 7, new("new"), apierr.OK},
				{"unknown user", 8, new("right"), apierr.LoggingInUserNotActive},
				{"unknown user, none", 8, nil, apierr.LoggingInUserNotActive},
			} {
				if got := codeOf(f.VerifyPassword(t.Context(), base+test.user, test.password)); got != test.want {
					t.Errorf("%s, %s: got %v, want %v", algorithm, test.name, got, test.want)
				}
			}
		}
	})
}

func TestVerifyPasswordThatCannotBeRead(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		f := newFixture(t, db, nil)
		u := f.create(Creation{Password: new("right")})
		change := store.UserChange{Password: new([]byte("ROT13:evtug"))}
		err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := store.UpdateUsers(ctx, tx, []int64{u.ID}, change, beginning)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := codeOf(f.VerifyPassword(t.Context(), u.ID, new("right"))); got != apierr.ServerInternalError {
			t.Errorf("got %v", got)
		}
	})
}

// TestVerificationsAreBounded occupies the slots itself, so that the test does not depend on time.
func TestVerificationsAreBounded(t *testing.T) {
	v := newVerifier(password.Hasher{Algorithm: password.BCrypt, Cost: 4})
	stored, err := password.Hasher{Algorithm: password.BCrypt, Cost: 4}.Hash("right")
	if err != nil {
		t.Fatal(err)
	}
	for range cap(v.running) {
		v.running <- struct{}{}
		v.admitted <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// An unknown user waits for a slot, too.
	for name, stored := range map[string][]byte{"known": stored, "unknown": nil} {
		if err := v.verify(ctx, stored, "right"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: did not wait for its turn: %v", name, err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- v.verify(t.Context(), stored, "right") }()
	<-v.running
	if err := <-done; err != nil {
		t.Errorf("the right password: %v", err)
	}
	v.running <- struct{}{}
	for len(v.admitted) < cap(v.admitted) {
		v.admitted <- struct{}{}
	}
	if got := codeOf(v.verify(t.Context(), stored, "right")); got != apierr.ServerUnavailable {
		t.Errorf("too many wait: got %v", got)
	}
}
