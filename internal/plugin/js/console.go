// SPDX-License-Identifier: Apache-2.0

package js

import (
	"log/slog"
	"strings"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
)

// A console passes a plugin's output to the log, and to debuggers.
type console struct {
	m *module
	// lines limits the plugin's log lines.
	lines *plugin.Lines
}

// maxLine is the maximum length of a logged line in bytes.
const maxLine = 4096

var levels = map[string]slog.Level{
	"error": slog.LevelError, "warn": slog.LevelWarn, "info": slog.LevelInfo, "debug": slog.LevelDebug,
}

// write logs a line of the plugin: strings unchanged, other values formatted.
func (co *console) write(this engine.Value, args []engine.Value) (engine.Value, error) {
	if co.m.debug.target != nil {
		co.m.debug.target.Console(consoleTypes[co.m.t.text(args[0])], args[1:])
	}
	return co.say(this, args)
}

// consoleTypes are the names of levels for debuggers.
var consoleTypes = map[string]string{"error": "error", "warn": "warning", "info": "info", "debug": "debug"}

// tell passes a call of the console to debuggers: its kind and its arguments.
func (co *console) tell(_ engine.Value, args []engine.Value) (engine.Value, error) {
	co.m.debug.target.Console(co.m.t.text(args[0]), args[1:])
	return engine.Undefined, nil
}

// say logs a call of the console.
func (co *console) say(_ engine.Value, args []engine.Value) (engine.Value, error) {
	level := levels[co.m.t.text(args[0])]
	if !co.m.log.Enabled(co.m.ctx, level) || !co.lines.Take(co.m.log) {
		return engine.Undefined, nil
	}
	var b strings.Builder
	for i, v := range args[1:] {
		if i > 0 {
			b.WriteByte(' ')
		}
		if engine.IsString(v) {
			b.WriteString(co.m.t.text(v))
		} else if co.m.java != nil && co.m.java.objectOf(v) != nil {
			b.WriteString(co.m.t.text(v))
		} else {
			b.WriteString(co.m.engine.Inspect(v, maxLine))
		}
		if b.Len() > maxLine {
			break
		}
	}
	co.m.log.Log(co.m.ctx, level, "plugin says", slog.String("text", engine.OneLine(co.m.scripts.authored(b.String()), maxLine)))
	return engine.Undefined, nil
}
