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
type Limited struct {
	mu     sync.Mutex
	second time.Time
	// lines are those of this second, and omitted those that were refused since the last allowed
	// one.
	lines, omitted int
}

// Take reports whether a line may be logged, and returns the logger for it, which adds how many
// lines before it were omitted. The first omission of a second is logged.
func (l *Limited) Take(ctx context.Context, logger *slog.Logger) (*slog.Logger, bool) {
	omitted, first, ok := l.take(time.Now())
	if first {
		logger.WarnContext(ctx, "more lines of this kind are omitted in this second")
	}
	if omitted > 0 {
		logger = logger.With("omitted", omitted)
	}
	return logger, ok
}

// take counts a line. first is true for the first one of a second that is omitted.
func (l *Limited) take(now time.Time) (omitted int, first, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.second) >= time.Second {
		l.second, l.lines = now, 0
	}
	if l.lines++; l.lines > maxLimited {
		l.omitted++
		return 0, l.lines == maxLimited+1, false
	}
	omitted, l.omitted = l.omitted, 0
	return omitted, false, true
}
