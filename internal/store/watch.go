// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"log/slog"
	"time"
)

// Watch calls refresh periodically until ctx ends, so that what is kept in memory follows the
// store. While refresh fails, what is in memory stays; the log tells once that it fails and once
// that it works again.
func Watch(ctx context.Context, every time.Duration, logger *slog.Logger, what string, refresh func(context.Context) error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := refresh(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !failing:
			logger.WarnContext(ctx, "cannot be read again, what is known stays valid", "what", what, "error", err)
		case err == nil && failing:
			logger.InfoContext(ctx, "can be read again", "what", what)
		}
		failing = err != nil
	}
}
