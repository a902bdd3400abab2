// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"log/slog"
)

// A line is a log line of a plugin.
type line struct {
	module                 *module
	level                  slog.Level
	logger, message, stack string
}

// maxLines bounds the queue of lines. Further ones are dropped and counted: calls take precedence.
const maxLines = 4096

var levels = []slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo, slog.LevelDebug}

// tellLevel sends the log level to the JVM if it changed.
func (s *session) tellLevel() {
	s.levelMu.Lock()
	defer s.levelMu.Unlock()
	n := 0
	for n < len(levels) && s.host.opts.Log.Enabled(context.Background(), levels[n]) {
		n++
	}
	if s.told && n == s.level {
		return
	}
	s.told, s.level = true, n
	b, _ := endFrame(append(beginFrame(nil, kindLevel, 0), byte(n)), 0)
	_ = s.conn.send(b, nil) // A JVM that has ended logs nothing.
}

// logged queues a log line of a plugin.
func (s *session) logged(r *in) {
	l := line{module: s.module(r.uint()), level: slog.LevelInfo}
	if n := int(r.byte()); n < len(levels) {
		l.level = levels[n]
	}
	if !s.host.opts.Log.Enabled(context.Background(), l.level) || l.module != nil && !l.module.lines.Take(l.module.log) {
		return
	}
	if l.logger, l.message, l.stack = r.string(), r.string(), r.string(); r.err != nil {
		return
	}
	select {
	case s.lines <- l:
	default:
		s.lost.Add(1)
	}
}

// writeLog writes lines until the session ends.
func (s *session) writeLog() {
	for l := range s.lines {
		attrs := make([]slog.Attr, 0, 5)
		if l.module != nil {
			attrs = append(attrs, slog.String("plugin", l.module.descriptor.ID), slog.String("version", l.module.descriptor.Version))
		}
		attrs = append(attrs, slog.String("logger", l.logger), slog.String("text", l.message))
		if l.stack != "" {
			attrs = append(attrs, slog.String("stack", l.stack))
		}
		s.log.LogAttrs(context.Background(), l.level, "plugin says", attrs...)
		if n := s.lost.Swap(0); n > 0 {
			s.log.Warn("plugins wrote more than the log could take, and lines are missing", slog.Int64("lines", n))
		}
	}
}
