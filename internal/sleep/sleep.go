// SPDX-License-Identifier: Apache-2.0

// Package sleep waits for time that a context can cut short.
package sleep

import (
	"context"
	"time"
)

// For waits for d and returns nil. It returns the error of ctx if ctx ends before, or has ended if there is nothing to wait
// for.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
