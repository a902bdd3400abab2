// SPDX-License-Identifier: Apache-2.0

package js

import (
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin/js/engine"
)

//go:embed prelude.js
var prelude string

// bytecode is a part of the prelude in the form that the engine runs, because compiling it is most of the cost of
// loading.
type bytecode struct {
	mu   sync.Mutex
	code []byte
}

//go:embed web.js stream.js socket.js
var partFiles embed.FS

// partCodes are the globals that few plugins use, which are made when one is asked for.
var partCodes = map[string]*bytecode{"web": {}, "stream": {}, "socket": {}}

var compiled bytecode

// of compiles a source the first time.
func (b *bytecode) of(e *engine.Engine, source string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.code == nil {
		code, ok := e.Bytecode(preludeName, source)
		if !ok {
			return nil, false
		}
		b.code = code
	}
	return b.code, true
}

// thenName is what makes an object a promise of somebody else.
var thenName = func() int {
	codecsMu.Lock()
	defer codecsMu.Unlock()
	return name("then")
}()

// install runs the prelude with the functions of the host.
func (m *module) install() error {
	e := m.engine
	e.OnError(m.errorValue)
	e.OnRejection(m.rejected)
	e.OnImport(m.scripts.resolve, m.scripts.source)
	host := e.Object()
	defer e.Free(host)
	lib := &library{m.t, m.host.opts.MemoryLimit, func(f work) (engine.Value, error) { return m.inTurn(&m.gates.crypto, f) }}
	for _, group := range []map[string]engine.Func{
		m.basics(), lib.text(), lib.urls(), lib.crypto(), m.network.functions(), lib.matchers(), m.server.all(),
	} {
		for name, f := range group {
			if !e.DefineName(host, name, e.Function(name, 0, f)) {
				return m.loading.pendingError()
			}
		}
	}
	for name, v := range m.server.values() {
		if !e.DefineName(host, name, m.t.anyToJS(v)) {
			return m.loading.pendingError()
		}
	}
	code, ok := compiled.of(e, prelude)
	if !ok {
		return m.loading.pendingError()
	}
	f := e.RunBytecode(code)
	if engine.IsFailed(f) {
		return m.loading.pendingError()
	}
	defer e.Free(f)
	r := e.Call(f, engine.Undefined, host)
	if engine.IsFailed(r) {
		return m.loading.pendingError()
	}
	defer e.Free(r)
	m.appPlugin, m.appExtension, m.appErrors = e.GetName(r, "AppPlugin"), e.GetName(r, "AppExtension"), e.GetName(r, "AppError")
	m.adopt, m.watch, m.serve = e.GetName(r, "adopt"), e.GetName(r, "watch"), e.GetName(r, "serve")
	if err := m.installFunctions(); err != nil {
		return err
	}
	if m.debug.target != nil {
		return m.debug.target.Install()
	}
	if c := m.host.opts.Coverage; c != nil {
		return c.counter.Install(e)
	}
	return nil
}

// basics are the functions that the rest of the prelude builds on.
func (m *module) basics() map[string]engine.Func {
	functions := map[string]engine.Func{
		"log":        m.write,
		"say":        m.say,
		"timer":      m.setTimer,
		"clearTimer": m.clearTimer,
		"code":       m.statusCode,
		"load":       m.scripts.load,
		"fetch":      m.network.fetch,
		"abort":      m.network.abortFetch,
		"java":       m.javaGlobal,
		"part":       m.part,
		"readStream": m.network.readStream,
		"inspect": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			return m.t.value(m.engine.String(engine.OneLine(m.engine.Inspect(argument(args, 0), maxLine), maxLine)))
		},
		"answered": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			id, _ := engine.AsNumber(args[0])
			ok, _ := engine.AsBool(args[1])
			m.answered(int(id), ok, args[2])
			return engine.Undefined, nil
		},
	}
	if m.debug.target != nil {
		functions["tell"] = m.tell
	}
	if m.host.opts.Clock != nil {
		functions["now"] = m.nowFunction
	}
	return functions
}

// part returns the function that makes the globals of a part of the prelude.
func (m *module) part(_ engine.Value, args []engine.Value) (engine.Value, error) {
	name := m.t.text(args[0])
	source, err := partFiles.ReadFile(name + ".js")
	if err != nil {
		return engine.Undefined, err
	}
	code, ok := partCodes[name].of(m.engine, string(source))
	if !ok {
		return engine.Failed, engine.Thrown()
	}
	f := m.engine.RunBytecode(code)
	if engine.IsFailed(f) {
		return f, engine.Thrown()
	}
	return f, nil
}

// maxLine is how many bytes of a line that a plugin writes are kept.
const maxLine = 4096

var levels = map[string]slog.Level{
	"error": slog.LevelError, "warn": slog.LevelWarn, "info": slog.LevelInfo, "debug": slog.LevelDebug,
}

// write logs a line of the plugin: strings as they are, everything else as people want to see it.
func (m *module) write(this engine.Value, args []engine.Value) (engine.Value, error) {
	if m.debug.target != nil {
		m.debug.target.Console(consoleTypes[m.t.text(args[0])], args[1:])
	}
	return m.say(this, args)
}

// consoleTypes are the names of levels for debuggers.
var consoleTypes = map[string]string{"error": "error", "warn": "warning", "info": "info", "debug": "debug"}

// tell tells debuggers of a call of the console: its kind and its arguments.
func (m *module) tell(_ engine.Value, args []engine.Value) (engine.Value, error) {
	m.debug.target.Console(m.t.text(args[0]), args[1:])
	return engine.Undefined, nil
}

// say writes what the console is told to the log.
func (m *module) say(_ engine.Value, args []engine.Value) (engine.Value, error) {
	level := levels[m.t.text(args[0])]
	if !m.log.Enabled(m.ctx, level) || !m.lines.Take(m.log) {
		return engine.Undefined, nil
	}
	var b strings.Builder
	for i, v := range args[1:] {
		if i > 0 {
			b.WriteByte(' ')
		}
		if engine.IsString(v) {
			b.WriteString(m.t.text(v))
		} else if m.java != nil && m.java.objectOf(v) != nil {
			b.WriteString(m.t.text(v))
		} else {
			b.WriteString(m.engine.Inspect(v, maxLine))
		}
		if b.Len() > maxLine {
			break
		}
	}
	m.log.Log(m.ctx, level, "plugin says", slog.String("text", engine.OneLine(m.scripts.authored(b.String()), maxLine)))
	return engine.Undefined, nil
}

// codesByName finds status codes by their names.
var codesByName = sync.OnceValue(func() map[string]apierr.Code {
	m := map[string]apierr.Code{}
	for c := range apierr.Code(10000) {
		if n := c.Name(); n != "" {
			m[n] = c
		}
	}
	return m
})

// statusCode returns number, name and text of a status code, which is given by number or by name.
func (m *module) statusCode(_ engine.Value, args []engine.Value) (engine.Value, error) {
	var code apierr.Code
	if f, ok := engine.AsNumber(args[0]); ok && f == float64(int32(f)) {
		code = apierr.Code(f)
	} else if engine.IsString(args[0]) {
		code = codesByName()[m.t.text(args[0])]
	}
	if code.Name() == "" {
		return engine.Undefined, fmt.Errorf("AppError: %s is not a status code", m.engine.Inspect(args[0], 100))
	}
	return m.t.anyToJS([]any{int32(code), code.Name(), code.Text()}), nil
}

// argument checks that an argument of the prelude is there.
func argument(args []engine.Value, i int) engine.Value {
	if i < len(args) {
		return args[i]
	}
	return engine.Undefined
}

var errTooMany = errors.New("the plugin waits for too many things at once")
