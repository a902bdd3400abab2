// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/gofrs/flock"
)

// lockPoll is the pause between attempts to lock.
const lockPoll = 10 * time.Millisecond

// lockFile locks the file at path, creating it if necessary, and returns the function that unlocks
// it. The file is not removed, because another process might just have locked it.
func lockFile(ctx context.Context, path string, timeout time.Duration) (func(), error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	lock := flock.New(path)
	locked, err := lock.TryLock() // A free lock is taken even with the shortest time-out.
	if !locked && err == nil {
		locked, err = lock.TryLockContext(limited, lockPoll)
	}
	switch {
	case locked:
		return func() { _ = lock.Close() }, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("%w: another process holds the lock file %q for longer than %v", ErrTimeout, path, timeout)
	default:
		return nil, fmt.Errorf("lock file %q: %w", path, err)
	}
}
