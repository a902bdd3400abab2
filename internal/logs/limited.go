// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxLimited is how many lines per second a Limited allows.
const maxLimited = 10

// A Limited limits lines about single requests to ten per second: during an outage, all requests
// fail for the same reason. Its zero value is ready for use, and it is safe for concurrent use.
type Limited struct{ rate Rate }

// Take reports whether a line may be logged, and returns the logger for it, which adds how many
// lines before it were omitted. The first omission of a second is logged.
func (l *Limited) Take(ctx context.Context, logger *slog.Logger) (*slog.Logger, bool) {
	omitted, first, ok := l.rate.Take(maxLimited)
	if first {
		logger.WarnContext(ctx, "more lines of this kind are omitted in this second")
	}
	if omitted > 0 {
		logger = logger.With("omitted", omitted)
	}
	return logger, ok
}

// A Rate limits lines per second. Its zero value is ready for use, and it is safe for concurrent
// use.
type Rate struct {
	mu     sync.Mutex
	second time.Time
	// lines are those of this second, and omitted those that were refused since the last allowed
	// one.
	lines, omitted int
}

// Take reports whether a line may be logged if limit lines per second may. omitted is the number of
// lines that were refused since the last allowed one. first is true for the first of them.
func (r *Rate) Take(limit int) (omitted int, first, ok bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.second) >= time.Second {
		r.second, r.lines = now, 0
	}
	if r.lines++; r.lines > limit {
		r.omitted++
		return 0, r.omitted == 1, false
	}
	omitted, r.omitted = r.omitted, 0
	return omitted, false, true
}
