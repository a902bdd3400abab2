// SPDX-License-Identifier: Apache-2.0

// Package sleep sleeps until a context ends.
package sleep

import (
	"context"
	"time"
)

// For sleeps for d and returns nil. If ctx ends earlier, or has ended when d is not positive, it
// returns the error of ctx.
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
