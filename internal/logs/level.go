// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// Levels beyond those of log/slog.
const (
	LevelTrace = slog.Level(-8)
	LevelFatal = slog.Level(12)
)

var levels = []struct {
	level slog.Level
	name  string
}{
	{LevelTrace, "TRACE"},
	{slog.LevelDebug, "DEBUG"},
	{slog.LevelInfo, "INFO"},
	{slog.LevelWarn, "WARN"},
	{slog.LevelError, "ERROR"},
	{LevelFatal, "FATAL"},
}

// ParseLevel parses the name of a level: TRACE, DEBUG, INFO, WARN, ERROR or FATAL.
func ParseLevel(name string) (slog.Level, error) {
	for _, l := range levels {
		if l.name == name {
			return l.level, nil
		}
	}
	return 0, fmt.Errorf("parse log level %q: it must be TRACE, DEBUG, INFO, WARN, ERROR or FATAL", name)
}

// LevelName returns the name of the highest named level that does not exceed level.
func LevelName(level slog.Level) string {
	name := levels[0].name
	for _, l := range levels {
		if level >= l.level {
			name = l.name
		}
	}
	return name
}

// handler adds two things to a handler of log/slog: names for the levels that the library prints as
// "ERROR+4", and immediate writes of warnings.
type handler struct {
	plain slog.Handler // for the levels with names in the library: faster without ReplaceAttr
	named slog.Handler
	spool *spool
}

func newHandler(s *spool, level slog.Level, json bool) slog.Handler {
	build := func(o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(s, o) }
	if json {
		build = func(o *slog.HandlerOptions) slog.Handler { return slog.NewJSONHandler(s, o) }
	}
	return &handler{
		plain: build(&slog.HandlerOptions{Level: level}),
		named: build(&slog.HandlerOptions{Level: level, ReplaceAttr: nameLevel}),
		spool: s,
	}
}

func nameLevel(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.LevelKey && len(groups) == 0 {
		if level, ok := a.Value.Any().(slog.Level); ok {
			a.Value = slog.StringValue(LevelName(level))
		}
	}
	return a
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.plain.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	chosen := h.named
	switch r.Level {
	case slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError:
		chosen = h.plain
	}
	err := chosen.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.spool.flush()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.plain.WithAttrs(attrs), h.named.WithAttrs(attrs), h.spool}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.plain.WithGroup(name), h.named.WithGroup(name), h.spool}
}

var (
	_ slog.Handler = (*handler)(nil)
	_ io.Writer    = (*spool)(nil)
)
