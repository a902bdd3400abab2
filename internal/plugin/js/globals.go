// SPDX-License-Identifier: Apache-2.0

package js

import (
	"embed"
	"errors"
	"fmt"
	"sync"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin/js/engine"
)

//go:embed prelude.js
var prelude string

// bytecode is a part of the prelude, compiled once because compilation is most of the cost of
// loading.
type bytecode struct {
	mu   sync.Mutex
	code []byte
}

//go:embed web.js stream.js socket.js
var partFiles embed.FS

// partCodes are rarely used globals, which are created on first use.
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

// thenName is the property that makes an object a thenable.
var thenName = func() int {
	codecsMu.Lock()
	defer codecsMu.Unlock()
	return name("then")
}()

// globals are the host's additions to the engine's globals, and the values that the host needs of
// them. Only the owner of the engine may use it.
type globals struct {
	m *module
	// watch, adopt and serve are functions of the prelude, the others its classes.
	watch, adopt, serve                engine.Value
	appPlugin, appExtension, appErrors engine.Value
}

// free frees all values.
func (gl *globals) free() {
	for _, v := range []engine.Value{gl.watch, gl.adopt, gl.serve, gl.appPlugin, gl.appExtension, gl.appErrors} {
		gl.m.engine.Free(v)
	}
}

// install runs the prelude with the functions of the host.
func (gl *globals) install() error {
	e := gl.m.engine
	e.OnError(gl.m.errorValue)
	e.OnRejection(gl.m.uncaught.rejected)
	e.OnImport(gl.m.scripts.resolve, gl.m.scripts.source)
	host := e.Object()
	defer e.Free(host)
	lib := &library{gl.m.t, gl.m.host.opts.MemoryLimit, func(f work) (engine.Value, error) { return gl.m.operations.inTurn(&gl.m.gates.crypto, f) }}
	for _, group := range []map[string]engine.Func{
		gl.basics(), lib.text(), lib.urls(), lib.crypto(), gl.m.network.functions(), lib.matchers(), gl.m.server.all(),
	} {
		for name, f := range group {
			if !e.DefineName(host, name, e.Function(name, 0, f)) {
				return gl.m.loading.pendingError()
			}
		}
	}
	for name, v := range gl.m.server.values() {
		if !e.DefineName(host, name, gl.m.t.anyToJS(v)) {
			return gl.m.loading.pendingError()
		}
	}
	code, ok := compiled.of(e, prelude)
	if !ok {
		return gl.m.loading.pendingError()
	}
	f := e.RunBytecode(code)
	if engine.IsFailed(f) {
		return gl.m.loading.pendingError()
	}
	defer e.Free(f)
	r := e.Call(f, engine.Undefined, host)
	if engine.IsFailed(r) {
		return gl.m.loading.pendingError()
	}
	defer e.Free(r)
	gl.appPlugin, gl.appExtension, gl.appErrors = e.GetName(r, "AppPlugin"), e.GetName(r, "AppExtension"), e.GetName(r, "AppError")
	gl.adopt, gl.watch, gl.serve = e.GetName(r, "adopt"), e.GetName(r, "watch"), e.GetName(r, "serve")
	if err := gl.installFunctions(); err != nil {
		return err
	}
	if gl.m.debug.target != nil {
		return gl.m.debug.target.Install()
	}
	if c := gl.m.host.opts.Coverage; c != nil {
		return c.counter.Install(e)
	}
	return nil
}

// basics are the functions that the rest of the prelude uses.
func (gl *globals) basics() map[string]engine.Func {
	functions := map[string]engine.Func{
		"log":        gl.m.console.write,
		"say":        gl.m.console.say,
		"timer":      gl.m.timers.set,
		"clearTimer": gl.m.timers.clear,
		"code":       gl.statusCode,
		"load":       gl.m.scripts.load,
		"fetch":      gl.m.network.fetch,
		"abort":      gl.m.network.abortFetch,
		"java":       gl.m.javaGlobal,
		"part":       gl.part,
		"readStream": gl.m.network.readStream,
		"inspect": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			return gl.m.t.value(gl.m.engine.String(engine.OneLine(gl.m.engine.Inspect(argument(args, 0), maxLine), maxLine)))
		},
		"answered": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			id, _ := engine.AsNumber(args[0])
			ok, _ := engine.AsBool(args[1])
			gl.m.calls.answered(int(id), ok, args[2])
			return engine.Undefined, nil
		},
	}
	if gl.m.debug.target != nil {
		functions["tell"] = gl.m.console.tell
	}
	if gl.m.host.opts.Clock != nil {
		functions["now"] = gl.m.timers.nowFunction
	}
	return functions
}

// part returns the function that creates the globals of a part of the prelude.
func (gl *globals) part(_ engine.Value, args []engine.Value) (engine.Value, error) {
	name := gl.m.t.text(args[0])
	source, err := partFiles.ReadFile(name + ".js")
	if err != nil {
		return engine.Undefined, err
	}
	code, ok := partCodes[name].of(gl.m.engine, string(source))
	if !ok {
		return engine.Failed, engine.Thrown()
	}
	f := gl.m.engine.RunBytecode(code)
	if engine.IsFailed(f) {
		return f, engine.Thrown()
	}
	return f, nil
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

// statusCode returns number, name and text of a status code given by number or name.
func (gl *globals) statusCode(_ engine.Value, args []engine.Value) (engine.Value, error) {
	var code apierr.Code
	if f, ok := engine.AsNumber(args[0]); ok && f == float64(int32(f)) {
		code = apierr.Code(f)
	} else if engine.IsString(args[0]) {
		code = codesByName()[gl.m.t.text(args[0])]
	}
	if code.Name() == "" {
		return engine.Undefined, fmt.Errorf("AppError: %s is not a status code", gl.m.engine.Inspect(args[0], 100))
	}
	return gl.m.t.anyToJS([]any{int32(code), code.Name(), code.Text()}), nil
}

// argument returns an argument of the prelude, or undefined.
func argument(args []engine.Value, i int) engine.Value {
	if i < len(args) {
		return args[i]
	}
	return engine.Undefined
}

var errTooMany = errors.New("the plugin waits for too many things at once")
