// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sqldb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockPoll is the pause between two attempts to get the lock.
const lockPoll = 10 * time.Millisecond

// lockFile locks the file at path, which it creates, and returns the function that unlocks it. The file stays:
// whoever removed it could remove one that another process has just locked.
func lockFile(ctx context.Context, path string, timeout time.Duration) (func(), error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the lock file: %w", err)
	}
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = file.Close()
			return nil, fmt.Errorf("lock file %q: %w", path, err)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		case <-limit.C:
			_ = file.Close()
			return nil, fmt.Errorf("%w: another process holds the lock file %q for longer than %v", ErrTimeout, path, timeout)
		}
	}
}
