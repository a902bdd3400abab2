// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"log/slog"

	"example.org/app/internal/logs"
)

// Lines limits a plugin's log lines per second. Its methods are safe for concurrent use.
type Lines struct {
	// limit returns the limit; 0 means none.
	limit func() int
	rate  logs.Rate
}

// NewLines returns a limiter that follows limit; nil means no limit.
func NewLines(limit func() int) *Lines { return &Lines{limit: limit} }

// Take reports whether the plugin may log a line now. The first refused line, and the number of
// dropped ones, are logged for the plugin.
func (l *Lines) Take(log *slog.Logger) bool {
	if l.limit == nil {
		return true
	}
	limit := l.limit()
	if limit <= 0 {
		return true
	}
	dropped, first, ok := l.rate.Take(limit)
	if dropped > 0 {
		log.LogAttrs(context.Background(), slog.LevelWarn, "lines of a plugin were dropped", slog.Int("lines", dropped))
	}
	if first {
		log.LogAttrs(context.Background(), slog.LevelWarn, "a plugin writes too many lines; those over the limit of this second are dropped", slog.Int("limit", limit))
	}
	return ok
}
