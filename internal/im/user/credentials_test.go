// SPDX-License-Identifier: Apache-2.0

package user

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"example.org/app/internal/store"
)

// TestCredentialsAreReadTogether checks that requests during a statement are combined into one
// statement, which sees what was written before it began.
func TestCredentialsAreReadTogether(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		f := newFixture(t, db, nil)
		for id := range int64(3) {
			f.create(Creation{ID: new(id + 1), Password: new("right")})
		}
		c := f.credentials
		c.mu.Lock()
		c.running = credentialReads // as if others were being read
		c.mu.Unlock()
		const logins = 30
		users := make([]store.Credentials, logins)
		var wg sync.WaitGroup
		for i := range logins {
			wg.Go(func() {
				var err error
				if users[i], err = c.find(t.Context(), int64(i%4)+1); err != nil {
					t.Error(err)
				}
			})
		}
		gaveUp, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := c.find(gaveUp, 1); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		waiting := func() (batch *credentialBatch, users int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.next == nil {
				return nil, 0
			}
			return c.next, len(c.next.ids)
		}
		batch, n := waiting()
		for ; n < logins+1; batch, n = waiting() {
			runtime.Gosched()
		}
		cancel()
		if _, err := f.Update(t.Context(), []int64{2}, Change{IsActive: new(false)}); err != nil {
			t.Fatal(err)
		}
		c.read(t.Context(), &credentialBatch{ids: []int64{1}, done: make(chan struct{})}) // The others have been read.
		wg.Wait()
		if <-batch.done; len(batch.found) != 3 {
			t.Errorf("%d users were found", len(batch.found))
		}
		for _, u := range users {
			if active := u.UserID == 1 || u.UserID == 3; u.Active != active || (len(u.Password) > 0) != (u.UserID < 4) {
				t.Errorf("got %+v", u)
			}
		}
		// One of the places that were taken is free.
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.running != credentialReads-1 || c.next != nil {
			t.Errorf("%d run", c.running)
		}
	})
}
