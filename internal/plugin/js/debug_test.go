// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/app/internal/plugin"
)

// debugged is a plugin whose lines the tests know.
const debugged = `const factor = 2
let calls = 0
class Extension extends AppExtension {
  #secret = 41
  getExtensionPoints() { return ['StorageServiceProvider'] }
  count(n) {
    calls++
    let sum = 0
    for (let i = 0; i < 3; i++) sum += this.double(i)
    const reveal = () => this.#secret + sum
    sum += Number(n)
    return reveal() - 41
  }
  double(x) {
    const r = x * factor
    return r
  }
}
export default class extends AppPlugin {
  getDescriptor() { return { id: 'debugged' } }
  getExtensions() { return [Extension] }
}
`

// debugging loads a plugin in debug mode and attaches a debugger, whose breakpoints are there
// before the first call.
func debugging(t *testing.T, source string, lines ...int) (*module, *cdp) {
	t.Helper()
	h, _, _ := debugHost(t)
	m := load(t, h, plugin.Source{Name: "debugged.js", Data: []byte(source)})
	c := attach(t, m.debug.target.Address())
	script := c.enable()
	for _, line := range lines {
		c.breakAt(script["url"].(string), line, "")
	}
	c.do("Runtime.runIfWaitingForDebugger", nil)
	return m, c
}

func TestDebugAttach(t *testing.T) {
	h, s, _ := debugHost(t)
	m := load(t, h, plugin.Source{Name: "debugged.js", Data: []byte(debugged)})
	var version map[string]string
	getJSON(t, "http://"+s.Addr()+"/json/version", &version)
	if version["Protocol-Version"] != "1.3" {
		t.Error(version)
	}
	for _, path := range []string{"/json", "/json/list"} {
		var list []map[string]string
		getJSON(t, "http://"+s.Addr()+path, &list)
		if len(list) != 1 || list[0]["webSocketDebuggerUrl"] != m.debug.target.Address() || list[0]["title"] != "debugged.js" ||
			list[0]["devtoolsFrontendUrl"] != "devtools://devtools/bundled/js_app.html?ws="+strings.TrimPrefix(m.debug.target.Address(), "ws://") {
			t.Error(list)
		}
	}
	load(t, h, plugin.Source{Name: "another.js", Data: []byte(strings.Replace(debugged, "debugged", "another", 1))})
	var list []map[string]string
	getJSON(t, "http://"+strings.Replace(s.Addr(), "127.0.0.1", "localhost", 1)+"/json/list", &list)
	if len(list) != 2 || list[0]["title"] != "another.js" || list[1]["webSocketDebuggerUrl"] != m.debug.target.Address() {
		t.Errorf("two plugins: %v", list)
	}
	done := begin[int32](t.Context(), m, count, int64(5))
	c := attach(t, m.debug.target.Address())
	script := c.enable()
	if src := c.do("Debugger.getScriptSource", object{"scriptId": script["scriptId"]}); src["scriptSource"] != debugged {
		t.Errorf("source: %v", src)
	}
	eventually(t, "waiting", func() bool { return m.debug.target.Waiting() == 1 })
	c.do("Runtime.runIfWaitingForDebugger", nil)
	p := c.paused().want("count:7")
	if p.reason != "Break on start" {
		t.Error(p.reason)
	}
	c.do("Debugger.resume", nil)
	if v := finish(t, done); v != int32(11) {
		t.Error(v)
	}
	if v := finish(t, begin[int32](context.Background(), m, count, int64(6))); v != int32(12) {
		t.Error(v)
	}
}

func TestDebugBreakpointsAndSteps(t *testing.T) {
	m, c := debugging(t, debugged, 7)
	done := begin[int32](t.Context(), m, count, int64(5))
	p := c.paused().want("count:7")
	if hits := p.params["hitBreakpoints"].([]any); len(hits) != 1 {
		t.Error(hits)
	}
	// What cannot be done is refused, and what was asked for has no effect.
	for method, params := range map[string]object{
		"Debugger.setScriptSource":              {"scriptId": p.frame(0)["location"].(object)["scriptId"], "scriptSource": ""},
		"HeapProfiler.takeHeapSnapshot":         {},
		"Debugger.setReturnValue":               {"newValue": object{"value": 1}},
		"Debugger.setInstrumentationBreakpoint": {"instrumentation": "beforeScriptExecution"},
	} {
		if _, err := c.try(method, params); err == nil || !strings.Contains(err.Error(), "wasn't found") {
			t.Errorf("%s is answered by %v", method, err)
		}
	}
	for _, step := range []struct{ method, at string }{
		{"stepOver", "count:8"},
		{"stepOver", "count:9"},
		{"stepOver", "count:9"}, // the body of the loop
		{"stepInto", "double:15"},
		{"stepOver", "double:16"},
		{"stepOver", "count:9"},
		{"stepInto", "double:15"},
		{"stepOut", "count:9"},
		{"stepOver", "count:10"},
		{"stepOver", "count:11"},
		{"stepOver", "count:12"},
		{"stepInto", "reveal:10"},
	} {
		c.do("Debugger."+step.method, nil)
		p = c.paused().want(step.at)
	}
	if p.at(1) != "count:12" || p.reason != "other" {
		t.Error(p.at(1), p.reason)
	}
	c.do("Debugger.resume", nil)
	if v := finish(t, done); v != int32(11) {
		t.Error(v)
	}
	c.wait("Debugger.resumed")
	if _, err := c.try("Debugger.stepOver", nil); err == nil {
		t.Error("a step of what is not paused succeeded")
	}
}

func TestDebugStack(t *testing.T) {
	m, c := debugging(t, debugged, 16)
	done := begin[int32](t.Context(), m, count, int64(5))
	p := c.paused().want("double:16")
	if len(p.frames) != 2 || p.at(1) != "count:9" {
		t.Fatal(p.frames)
	}
	if s := p.scope(0, "local"); s["x"] != 0.0 || s["r"] != 0.0 {
		t.Error("local", s)
	}
	if s := p.scope(0, "module"); s["factor"] != 2.0 || s["calls"] != 1.0 {
		t.Error("module", s)
	}
	if s := p.scope(1, "block"); s["i"] != 0.0 {
		t.Error("block", s)
	}
	// reveal has no value yet and so is not there.
	if s := p.scope(1, "local"); s["n"] != "5" || s["sum"] != 0.0 || len(s) != 2 {
		t.Error("caller", s)
	}
	this := p.frame(0)["this"].(object)
	if this["className"] != "Extension" {
		t.Error(this)
	}
	if s := c.properties(this["objectId"].(string), "privateProperties"); s["#secret"] != 41.0 {
		t.Error("private", s)
	}
	for expression, want := range map[string]any{
		"x + factor": 2.0, "this.#secret": 41.0, "r = 100": "TypeError: 'r' is read-only", "typeof reveal": "undefined",
		"nothing": "ReferenceError: 'nothing' is not defined\n    at double (debugged.js:16:5)\n    at count (debugged.js:9:",
	} {
		if v := p.eval(0, expression); !strings.HasPrefix(fmt.Sprint(v), fmt.Sprint(want)) {
			t.Errorf("%s is %v", expression, v)
		}
	}
	if v := p.eval(1, "sum = 1000"); v != 1000.0 {
		t.Error(v)
	}
	c.do("Debugger.setVariableValue", object{
		"scopeNumber": 0, "variableName": "n", "newValue": object{"value": "7"}, "callFrameId": p.frame(1)["callFrameId"],
	})
	for range 2 {
		c.do("Debugger.resume", nil)
		p = c.paused().want("double:16")
	}
	c.do("Debugger.resume", nil)
	// The first addition had read sum before it was assigned.
	if v := finish(t, done); v != int32(2+4+7) {
		t.Error(v)
	}
}

func TestDebugBreakpoints(t *testing.T) {
	h, _, _ := debugHost(t)
	m := load(t, h, plugin.Source{Name: "debugged.js", Data: []byte(debugged)})
	c := attach(t, m.debug.target.Address())
	script := c.enable()
	c.do("Runtime.runIfWaitingForDebugger", nil)

	r := c.do("Debugger.getPossibleBreakpoints", object{
		"start": object{"scriptId": script["scriptId"], "lineNumber": 8, "columnNumber": 0},
		"end":   object{"scriptId": script["scriptId"], "lineNumber": 9, "columnNumber": 0},
	})
	if l := r["locations"].([]any); len(l) != 2 || l[0].(object)["columnNumber"] != 4.0 || l[1].(object)["columnNumber"] != 32.0 {
		t.Error(l)
	}
	r = c.do("Debugger.setBreakpoint", object{"location": object{"scriptId": script["scriptId"], "lineNumber": 13}})
	if l := r["actualLocation"].(object); l["lineNumber"] != 14.0 {
		t.Error("a breakpoint at the head of a function is not at its first statement:", l)
	}
	c.do("Debugger.removeBreakpoint", object{"breakpointId": r["breakpointId"]})

	id := c.breakAt("debugged.js", 15, "x === 2")
	done := begin[int32](t.Context(), m, count, int64(5))
	if v := c.paused().want("double:15").eval(0, "x"); v != 2.0 {
		t.Error(v)
	}
	c.do("Debugger.resume", nil)
	finish(t, done)
	c.do("Debugger.removeBreakpoint", object{"breakpointId": id})

	c.do("Debugger.setBreakpointByUrl", object{"urlRegex": ".*debugged\\.js$", "lineNumber": 11})
	done = begin[int32](t.Context(), m, count, int64(5))
	c.paused().want("count:12")
	c.do("Debugger.resume", nil)
	finish(t, done)
	c.do("Debugger.setBreakpointsActive", object{"active": false})
	finish(t, begin[int32](t.Context(), m, count, int64(5)))

	c.do("Debugger.pause", nil)
	done = begin[int32](t.Context(), m, count, int64(5))
	c.paused().want("count:7")
	c.do("Debugger.continueToLocation", object{"location": object{"scriptId": script["scriptId"], "lineNumber": 10}})
	c.paused().want("count:11")
	c.do("Debugger.resume", nil)
	finish(t, done)
	for method, params := range map[string]object{
		"Debugger.setBreakpoint":        {"location": object{"scriptId": "99", "lineNumber": 0}},
		"Debugger.setBreakpointByUrl":   {"lineNumber": 1},
		"Debugger.evaluateOnCallFrame":  {"callFrameId": "1.0", "expression": "1"},
		"Debugger.setPauseOnExceptions": {"state": "perhaps"},
		"Runtime.getProperties":         {"objectId": "99999"},
		"Nothing.atAll":                 {},
	} {
		if _, err := c.try(method, params); err == nil {
			t.Errorf("%s succeeded", method)
		}
	}
}

const failing = `class Extension extends AppExtension {
  getExtensionPoints() { return ['StorageServiceProvider'] }
  count(n) {
    const kind = n
    if (kind === '1') return this.guarded()
    if (kind === '2') return this.fails(kind)
    if (kind === '3') return this.later()
    debugger
    return 4
  }
  guarded() {
    try {
      this.fails('caught')
    } catch (e) {
      return 1
    }
  }
  fails(why) {
    const local = why + '!'
    throw new Error(local)
  }
  async later() {
    const before = 1
    const got = await new Promise((done) => setTimeout(() => done(2), 1))
    const sum = before + got
    await Promise.reject(new TypeError('late'))
  }
}
export default class extends AppPlugin {
  getDescriptor() { return { id: 'failing' } }
  getExtensions() { return [Extension] }
}
`

func TestDebugExceptions(t *testing.T) {
	m, c := debugging(t, failing)
	for _, state := range []struct {
		state            string
		caught, uncaught bool
	}{{"none", false, false}, {"uncaught", false, true}, {"caught", true, false}, {"all", true, true}} {
		c.do("Debugger.setPauseOnExceptions", object{"state": state.state})
		done := begin[int32](t.Context(), m, count, int64(1))
		if state.caught {
			p := c.paused().want("fails:20")
			if s := p.scope(0, "local"); p.reason != "exception" || s["local"] != "caught!" || p.params["data"].(object)["uncaught"] != false {
				t.Error(p.reason, s)
			}
			c.do("Debugger.resume", nil)
		}
		finish(t, done)
		done = begin[int32](t.Context(), m, count, int64(2))
		if state.uncaught {
			p := c.paused().want("fails:20")
			if d := p.params["data"].(object); d["uncaught"] != true || !strings.HasPrefix(d["description"].(string), "Error: 2!") || p.at(1) != "count:6" {
				t.Error(d)
			}
			c.do("Debugger.resume", nil)
		}
		if r := <-done; r.err == nil || !strings.Contains(r.err.Error(), "debugged.js:20:") {
			t.Error(r.err)
		}
	}
}

func TestDebugAsync(t *testing.T) {
	m, c := debugging(t, failing, 24)
	c.do("Debugger.setPauseOnExceptions", object{"state": "all"})
	done := begin[int32](t.Context(), m, count, int64(3))
	c.paused().want("later:24")
	c.do("Debugger.stepOver", nil)
	p := c.paused().want("later:25")
	if v := p.eval(0, "before + got"); v != 3.0 {
		t.Error(v)
	}
	c.do("Debugger.stepOver", nil)
	p = c.paused().want("later:26")
	if s := p.scope(0, "local"); s["sum"] != 3.0 {
		t.Error(s)
	}
	c.do("Debugger.resume", nil)
	if p = c.paused().want("later:26"); p.reason != "exception" {
		t.Error(p.reason)
	}
	c.do("Debugger.resume", nil)
	if r := <-done; r.err == nil || !strings.Contains(r.err.Error(), "late") {
		t.Error(r.err)
	}
}

func TestDebugStatement(t *testing.T) {
	m, c := debugging(t, failing)
	done := begin[int32](t.Context(), m, count, int64(4))
	c.paused().want("count:8")
	c.do("Debugger.resume", nil)
	if v := finish(t, done); v != int32(4) {
		t.Error(v)
	}
}

func TestDebugConsoleAndEvaluate(t *testing.T) {
	m, c := debugging(t, `let state = { a: 1, list: [1, 2] }
class Extension extends AppExtension {
  getExtensionPoints() { return ['StorageServiceProvider'] }
  count(n) {
    console.warn('counting', { n })
    globalThis.seen = this.count.toString() + Extension
    return n
  }
}
globalThis.state = state
export default class extends AppPlugin {
  getDescriptor() { return { id: 'talks' } }
  getExtensions() { return [Extension] }
}
`)
	finish(t, begin[int32](t.Context(), m, count, int64(5)))
	e := c.wait("Runtime.consoleAPICalled")
	args := e["args"].([]any)
	if e["type"] != "warning" || len(args) != 2 || args[0].(object)["value"] != "counting" || args[1].(object)["preview"] == nil {
		t.Error(e)
	}
	if f := e["stackTrace"].(object)["callFrames"].([]any)[0].(object); f["lineNumber"] != 4.0 || f["functionName"] != "count" {
		t.Error(f)
	}
	seen := c.do("Runtime.evaluate", object{"expression": "seen"})["result"].(object)["value"].(string)
	if strings.Contains(seen, "__app") || !strings.HasPrefix(seen, "count(n) {\n    console.warn('counting', { n })\n") || !strings.Contains(seen, "class Extension extends") {
		t.Errorf("functions show other text than their author wrote: %q", seen)
	}
	r := c.do("Runtime.evaluate", object{"expression": "state", "generatePreview": true})["result"].(object)
	if p := c.properties(r["objectId"].(string), "result"); p["a"] != 1.0 || p["list"].(object)["description"] != "Array(2)" {
		t.Error(p)
	}
	r = c.do("Runtime.callFunctionOn", object{
		"objectId": r["objectId"], "functionDeclaration": "function (n) { return this.a + n }", "arguments": []object{{"value": 2}}, "returnByValue": true,
	})["result"].(object)
	if r["value"] != 3.0 {
		t.Error(r)
	}
	if r := c.do("Runtime.evaluate", object{"expression": "Promise.resolve(7)", "awaitPromise": true})["result"].(object); r["value"] != 7.0 {
		t.Error(r)
	}
	for expression, want := range map[string]string{
		"new Map([[1, 2]])": "Map(1)", "[1,2,3]": "Array(3)", "/a/g": "/a/g", "10n": "10n", "-0": "-0", "Symbol('x')": "Symbol(x)", "new Date(0)": "Thu Jan 01 1970 00:00:00 GMT+0000",
	} {
		if r := c.do("Runtime.evaluate", object{"expression": expression})["result"].(object); r["description"] != want {
			t.Errorf("%s: %v", expression, r)
		}
	}
	if r := c.do("Runtime.evaluate", object{"expression": "throw new RangeError('no')"}); r["exceptionDetails"] == nil {
		t.Error(r)
	}
	if r := c.do("Runtime.evaluate", object{"expression": "state.a = 9", "throwOnSideEffect": true}); r["exceptionDetails"] == nil {
		t.Error(r)
	}
}

func TestDebugDetach(t *testing.T) {
	m, c := debugging(t, debugged, 7)
	first := begin[int32](t.Context(), m, count, int64(5))
	c.paused().want("count:7")
	c.detach()
	if v := finish(t, first); v != int32(11) {
		t.Error(v)
	}
	second := begin[int32](t.Context(), m, count, int64(5))
	eventually(t, "waiting", func() bool { return m.debug.target.Waiting() == 1 })
	c = attach(t, m.debug.target.Address())
	c.enable()
	c.do("Runtime.runIfWaitingForDebugger", nil)
	c.paused().want("count:7")
	c.do("Debugger.resume", nil)
	finish(t, second)
}

func TestDebugUnload(t *testing.T) {
	m, c := debugging(t, debugged, 7)
	done := begin[int32](t.Context(), m, count, int64(5))
	c.paused()
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done // The call fails, unless its end was near.
	<-c.done
	var list []map[string]string
	getJSON(t, "http://"+m.host.opts.Inspector.Addr()+"/json/list", &list)
	if len(list) != 0 {
		t.Error(list)
	}
}

func TestDebugUnloadWhileWaiting(t *testing.T) {
	h, _, _ := debugHost(t)
	m := load(t, h, plugin.Source{Name: "debugged.js", Data: []byte(debugged)})
	done := begin[int32](t.Context(), m, count, int64(5))
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := begin[int32](ctx, m, count, int64(5))
	eventually(t, "waiting", func() bool { return m.debug.target.Waiting() == 2 })
	cancel()
	if r := <-cancelled; !errors.Is(r.err, context.Canceled) {
		t.Error(r.err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-done; !errors.Is(r.err, errClosed) {
		t.Error(r.err)
	}
}

// TestDebugHoldsClocks proves that the time of a call does not count while it waits for a debugger
// or is paused, nor that of calls behind it.
func TestDebugHoldsClocks(t *testing.T) {
	h, _, _ := debugHost(t)
	m := load(t, h, plugin.Source{Name: "debugged.js", Data: []byte(debugged)})
	var held atomic.Int32
	hold := func() func() {
		held.Add(1)
		return func() { held.Add(-1) }
	}
	entered := make(chan func())
	go func() {
		leave, err := m.debug.target.Call(context.Background(), hold)
		if err != nil {
			t.Error(err)
		}
		entered <- leave
	}()
	eventually(t, "holding a call that waits", func() bool { return held.Load() == 1 })
	c := attach(t, m.debug.target.Address())
	c.enable()
	c.breakAt("debugged.js", 8, "")
	c.do("Runtime.runIfWaitingForDebugger", nil)
	leave := <-entered
	if held.Load() != 0 {
		t.Error("a call that runs is held")
	}
	done := begin[int32](t.Context(), m, count, int64(5))
	c.paused().want("count:7") // because a call had waited
	if held.Load() != 1 {
		t.Error("a call is not held while the plugin is paused")
	}
	late, err := m.debug.target.Call(t.Context(), hold)
	if err != nil || held.Load() != 2 {
		t.Error("a call that came while the plugin is paused is not held", err)
	}
	c.do("Debugger.resume", nil)
	c.paused().want("count:8")
	late()
	if held.Load() != 1 {
		t.Error(held.Load())
	}
	c.do("Debugger.resume", nil)
	finish(t, done)
	if held.Load() != 0 {
		t.Error("a call that runs again is held")
	}
	leave()
}

// TestDebugRetire proves that a plugin that goes away holds nothing: neither what waits nor what is
// paused.
func TestDebugRetire(t *testing.T) {
	m, c := debugging(t, debugged, 7)
	paused := begin[int32](t.Context(), m, count, int64(5))
	c.paused().want("count:7")
	m.Retire()
	if v := finish(t, paused); v != int32(11) {
		t.Error(v)
	}
	finish(t, begin[int32](t.Context(), m, count, int64(5)))

	m = load(t, m.host, plugin.Source{Name: "debugged.js", Data: []byte(debugged)})
	waiting := begin[int32](t.Context(), m, count, int64(5))
	eventually(t, "waiting", func() bool { return m.debug.target.Waiting() == 1 })
	m.Retire()
	if r := <-waiting; !errors.Is(r.err, plugin.ErrRetired) {
		t.Error(r.err)
	}
}

// TestDebugImports proves that what a plugin imports and loads is debugged like itself.
func TestDebugImports(t *testing.T) {
	dir := t.TempDir()
	for name, source := range map[string]string{
		"plugin.js": `import { twice } from './lib.js'
class Extension extends AppExtension {
  getExtensionPoints() { return ['StorageServiceProvider'] }
  count(n) { return twice(Number(n)) + load('late.js') }
}
export default class extends AppPlugin {
  getDescriptor() { return { id: 'imports' } }
  getExtensions() { return [Extension] }
}
`,
		"lib.js":  "export function twice(x) {\n  return 2 * x\n}\n",
		"late.js": "var late = 1\nlate + 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "plugin.js")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := debugHost(t)
	m := load(t, h, plugin.Source{Name: "plugin.js", Path: path, Data: data})
	c := attach(t, m.debug.target.Address())
	url := c.enable()["url"].(string)
	lib := c.wait("Debugger.scriptParsed")["url"].(string)
	if url != "file://"+path || lib != "file://"+filepath.Join(dir, "lib.js") {
		t.Error(url, lib)
	}
	c.breakAt(lib, 2, "")
	// This script is not there yet.
	c.do("Debugger.setBreakpointByUrl", object{"urlRegex": "late\\.js$", "lineNumber": 1})
	c.do("Runtime.runIfWaitingForDebugger", nil)
	done := begin[int32](t.Context(), m, count, int64(5))
	if p := c.paused().want("twice:2"); p.at(1) != "count:4" {
		t.Error(p.at(1))
	}
	c.do("Debugger.resume", nil)
	c.wait("Debugger.breakpointResolved")
	p := c.paused().want(":2")
	if v := p.eval(0, "late"); v != 1.0 {
		t.Error(v)
	}
	// The variables of a script are global.
	c.do("Debugger.setVariableValue", object{"scopeNumber": 0, "variableName": "late", "newValue": object{"value": 20}, "callFrameId": p.frame(0)["callFrameId"]})
	if s := p.scope(0, "script"); s["late"] != 20.0 {
		t.Error(s)
	}
	c.do("Debugger.resume", nil)
	if v := finish(t, done); v != int32(31) {
		t.Error(v)
	}
}

// TestDebugWithoutProbes loads a plugin that has a name of the debugger's own: it runs as its
// author wrote it.
func TestDebugWithoutProbes(t *testing.T) {
	h, _, log := debugHost(t)
	m := load(t, h, plugin.Source{Name: "debugged.js", Data: []byte("const __app_0 = 1\n" + debugged)})
	attach(t, m.debug.target.Address()).do("Runtime.runIfWaitingForDebugger", nil)
	if v := finish(t, begin[int32](t.Context(), m, count, int64(5))); v != int32(11) {
		t.Error(v)
	}
	if text := log.String(); !strings.Contains(text, "a script runs without probes for debuggers and coverage") {
		t.Error(text)
	}
	_, err := h.Load(t.Context(), plugin.Source{Name: "bad.js", Data: []byte("let a; let a;\n" + debugged)})
	if err == nil || !strings.Contains(err.Error(), "SyntaxError") || !strings.Contains(err.Error(), "bad.js:1:") {
		t.Errorf("a script that is at fault itself: %v", err)
	}
}
