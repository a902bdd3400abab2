// SPDX-License-Identifier: Apache-2.0

package user

import (
	"context"
	"sync"
	"time"

	"example.org/app/internal/store"
)

const (
	// credentialReads is how many statements read credentials concurrently.
	credentialReads = 2
	// credentialTime bounds one statement, for which several users wait.
	credentialTime = 10 * time.Second
)

// credentials reads the credentials of users who log in. Requests that arrive during a statement
// are combined into one statement that begins after they arrived.
type credentials struct {
	store *store.DB

	mu      sync.Mutex
	running int
	// next are the requests that wait for a statement to begin; nil means none.
	next *credentialBatch
}

// A credentialBatch is a set of users read by one statement.
type credentialBatch struct {
	ids []int64
	// done is closed when found and err are set.
	done  chan struct{}
	found []store.Credentials
	err   error
}

// find returns the credentials of a user. An unknown user has none and is inactive.
func (c *credentials) find(ctx context.Context, userID int64) (store.Credentials, error) {
	c.mu.Lock()
	if c.next == nil {
		c.next = &credentialBatch{done: make(chan struct{})}
	}
	batch := c.next
	batch.ids = append(batch.ids, userID)
	first := c.running < credentialReads
	if first {
		c.running++
		c.next = nil
	}
	c.mu.Unlock()
	if first {
		c.read(context.WithoutCancel(ctx), batch)
	}
	select {
	case <-batch.done:
	case <-ctx.Done():
		return store.Credentials{}, ctx.Err()
	}
	if batch.err != nil {
		return store.Credentials{}, batch.err
	}
	for _, found := range batch.found {
		if found.UserID == userID {
			return found, nil
		}
	}
	return store.Credentials{UserID: userID}, nil
}

// read reads a batch, with a context independent of the users' requests. Requests that wait
// afterwards are read in a new goroutine.
func (c *credentials) read(ctx context.Context, batch *credentialBatch) {
	defer func() {
		close(batch.done)
		c.mu.Lock()
		next := c.next
		c.next = nil
		if next == nil {
			c.running--
		}
		c.mu.Unlock()
		if next != nil {
			go c.read(context.Background(), next)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, credentialTime)
	defer cancel()
	batch.err = c.store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
		batch.found, err = store.FindCredentials(ctx, r, batch.ids)
		return err
	})
}
