// SPDX-License-Identifier: Apache-2.0

package js

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/test/need"
)

// examined is the script of the behaviours below. It is a plugin, and a module of Node.js.
const examined = `let counter = 0
function add(a, b) {
  const sum = a + b
  return sum
}
function outer(n) {
  const captured = n * 2
  return function inner(m) {
    counter = add(captured, m)
    return counter
  }
}
function fail(what) {
  throw new TypeError(what)
}
function caught() {
  try {
    fail('caught')
  } catch (e) {
    counter++
  }
  return 'survived'
}
function down(n) {
  if (n === 0) {
    return 0
  }
  const below = down(n - 1)
  return below + 1
}
function loop(n) {
  let total = 0
  for (let i = 0; i < n; i++) {
    total += i
  }
  return total
}
async function later(n) {
  const first = await n
  const second = await Promise.resolve(first + 1)
  return second
}
async function waits() {
  const got = await later(1)
  return got
}
function sets() {
  setTimeout(function fires() {
    add(1, 2)
  }, 1)
}
function registers() {
  const kept = Promise.resolve(1).then(function fulfilled(n) { return add(n, 30) })
  const broken = kept.then(() => { throw new Error('refused') })
  const mended = broken.catch(function rejected() { return add(1, 40) })
  return mended.finally(function settled() { add(1, 50) })
}
function lines() {
  return Promise.resolve(1)
    .then((n) => { return add(n, 90) })
}
function again(n) {
  const twice = Promise.resolve(n).then(handled)
  return twice
}
function handled(n) {
  return n === 0 ? add(1, 60) : again(n - 1)
}
async function mixed() {
  await null
  return Promise.all([1, 2].map((n) => new Promise((resolve) => setTimeout(resolve, 1, n)).then((v) => add(v, 70))))
}
function shared() {
  const resolve = []
  const [one, two] = [1, 2].map(() => new Promise((r) => resolve.push(r)))
  first(one)
  second(two)
  resolve[1](2)
  resolve[0](1)
  function first(p) { p.then(both) }
  function second(p) { p.then(both) }
  function both(n) { add(n, 80) }
}
function tries(n) {
  counter = 0
  try {
    n = n + 1
    counter = add(n, 100)
    for (const x of [1, 2]) {
      if (x === 2) throw new Error('in a loop')
    }
  } catch (e) {
    counter = e.message
  } finally {
    counter += '!'
  }
  return counter
}
function throws(n) {
  counter = 0
  try {
    return n > 0 ? fail('restarted') : add(n, 1)
  } catch (e) {
    return 'caught by itself'
  }
}
function maps(list) {
  const mapped = list.map((x) => add(x, 300))
  return mapped.join()
}
function writes() {
  console.log('written')
}
function calls() {
  writes()
}
class Animal {
  #secret = 7
  constructor(name) {
    this.name = name
  }
  get loud() {
    return this.name.toUpperCase()
  }
  speak(words) {
    const said = this.name + ' says ' + words
    return said
  }
}
const chain = [3, 1, 2]
  .map((n) => n * 2)
  .filter((n) => {
    const keep = n > 2
    return keep
  })

// A comment, and nothing else.

const things = {
  array: [1, 'two', null], map: new Map([['k', 1]]), set: new Set([1]), date: new Date(0), regexp: /a+/g, error: new RangeError('far'),
  symbol: Symbol('s'), big: 12n, minus: -0, nan: NaN, nothing: null, missing: undefined, bytes: new Uint8Array([1, 2, 3]),
  fn: add, animal: new Animal('Rex'), promise: Promise.resolve(5), pending: new Promise(() => {}), proxy: new Proxy({ a: 1 }, {}),
  generator: (function* gen() { yield 1 })(), weak: new WeakMap(), get accessor() { return 1 }, nested: { deep: { deeper: [1, { x: 2 }] } },
  buffer: new ArrayBuffer(4), long: 'x'.repeat(200), view: new DataView(new ArrayBuffer(2)),
}
globalThis.examined = { add, outer, fail, caught, down, loop, later, waits, sets, registers, lines, again, mixed, shared, tries, throws, maps, calls, Animal, things, chain }
if (globalThis.process) setInterval(() => {}, 1000000)
globalThis.ready = true
export default class extends (globalThis.AppPlugin ?? Object) {
  getDescriptor() {
    return { id: 'examined' }
  }
  getExtensions() {
    return [class extends AppExtension { getExtensionPoints() { return ['StorageServiceProvider'] } }]
  }
}
`

// lineWith is the number of the first line with a text, counted from 0 as the protocol does.
func lineWith(text string) int {
	for i, line := range strings.Split(examined, "\n") {
		if strings.Contains(line, text) {
			return i
		}
	}
	panic("no line with " + text)
}

// A bench is a debugger attached to the script, in Node.js or here.
type bench struct {
	*cdp
	script object
	begun  *bool
}

// begin lets the script run to its end, so that its functions can be called.
func (b bench) begin() bench {
	b.t.Helper()
	if !*b.begun {
		*b.begun = true
		b.paused()
		b.do("Debugger.resume", nil)
		b.wait("Debugger.resumed")
		b.until("globalThis.ready === true")
	}
	return b
}

// clean forgets what the last behaviour has set, and what was told meanwhile.
func (b bench) clean(t *testing.T) {
	b.t = t
	b.do("Debugger.disable", nil)
	b.do("Debugger.enable", nil)
	b.do("Debugger.setBreakpointsActive", object{"active": true})
	b.do("Debugger.setSkipAllPauses", object{"skip": false})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = nil
}

// until waits until an expression is true.
func (b bench) until(expression string) {
	b.t.Helper()
	eventually(b.t, expression, func() bool {
		r := b.do("Runtime.evaluate", object{"expression": expression, "returnByValue": true})
		return r["result"].(object)["value"] == true
	})
}

// call evaluates an expression without waiting for its answer, which goes to the channel.
func (b bench) call(expression string) <-chan object {
	answer := make(chan object, 1)
	go func() { answer <- b.answer("Runtime.evaluate", object{"expression": expression}) }()
	return answer
}

// answer is the result of a request, or its error.
func (b bench) answer(method string, params object) object {
	r, err := b.try(method, params)
	if err != nil {
		return object{"error": strings.TrimPrefix(err.Error(), method+": ")}
	}
	return r
}

// pauses is closed as soon as there is a pause that nobody has taken.
func (b bench) pauses() <-chan struct{} {
	there := make(chan struct{})
	go func() {
		for {
			b.mu.Lock()
			found := slices.ContainsFunc(b.events, func(e object) bool { return e["method"] == "Debugger.paused" })
			changed := b.changed
			b.mu.Unlock()
			if found {
				close(there)
				return
			}
			select {
			case <-changed:
			case <-b.done:
				return
			}
		}
	}()
	return there
}

// stopAt sets a breakpoint at a line with a text.
func (b bench) stopAt(text, condition string) object {
	b.t.Helper()
	return b.do("Debugger.setBreakpointByUrl", object{"url": b.script["url"], "lineNumber": lineWith(text), "columnNumber": 0, "condition": condition})
}

// here describes a pause: the reason, and the functions and lines of the script that are on the
// stack.
func (b bench) here() string {
	b.t.Helper()
	p := b.paused()
	return p.reason + " " + b.stack(p.frames)
}

func (b bench) stack(frames []any) string {
	list := []string{}
	for _, f := range frames {
		f := f.(object)
		at, ok := f["location"].(object)
		if !ok {
			at = f
		}
		if at["scriptId"] == b.script["scriptId"] {
			list = append(list, fmt.Sprintf("%s:%v", f["functionName"], at["lineNumber"].(float64)+1))
		}
	}
	return strings.Join(list, " < ")
}

// inFrame evaluates in the innermost call.
func (b bench) inFrame(p stop, expression string) object {
	return b.answer("Debugger.evaluateOnCallFrame", object{"callFrameId": p.frame(0)["callFrameId"], "expression": expression})
}

// of keeps members of an object, in their order.
func of(v any, names ...string) string {
	o, _ := v.(object)
	kept := []string{}
	for _, name := range names {
		var x any = o
		for part := range strings.SplitSeq(name, ".") {
			m, _ := x.(object)
			x = m[part]
		}
		text, _ := json.Marshal(x)
		kept = append(kept, name+"="+string(text))
	}
	return strings.Join(kept, " ")
}

// thing describes one of the things of the script.
func (b bench) thing(name string, preview bool) object {
	b.t.Helper()
	return b.do("Runtime.evaluate", object{"expression": "examined.things." + name, "generatePreview": preview})["result"].(object)
}

// firstLine cuts a text after its first line.
func firstLine(v any) string {
	text, _ := v.(string)
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// namesOf are the names of properties.
func namesOf(list any) string {
	found := []string{}
	items, _ := list.([]any)
	for _, p := range items {
		found = append(found, fmt.Sprint(p.(object)["name"]))
	}
	return strings.Join(found, ",")
}

// A behaviour is something that a debugger does. Its outcome is a text.
type behaviour struct {
	name string
	run  func(b bench) string
}

// anew are the behaviours that need the script before its first line.
var anew = []string{"stop before the first line", "step over statements of the top level", "a time limit in a frame"}

// unlike are the behaviours that differ from those of Node.js, and why.
var unlike = map[string]string{
	"step over statements of the top level":                      "V8 stops at expressions inside a statement too, and not at a class",
	"step out of an async function":                              "V8 also stops at the end of a function",
	"step through a loop":                                        "V8 also stops at the head of a loop",
	"a breakpoint in the second line of an object":               "V8 finds an expression in that line; here it is the statement",
	"a breakpoint at the end of a block":                         "V8 also stops at the end of a function",
	"a breakpoint at the head of a class":                        "V8 does not stop at a class",
	"a variable that there is not":                               "the engine has its own words for errors",
	"the names of the local scope":                               "the name of a function expression is one of them",
	"describe: date":                                             "the name of the time zone is missing",
	"a step in a script to skip":                                 "code of the console is not stopped here",
	"names of the console":                                       "the engine has no list of them",
	"an async stack across then in a statement of several lines": "here it is the first line of the statement",
	"restart a caller inside of a recursion":                     "its own caller is at the same place of the same function",
	"restart a constructor":                                      "V8 initialises private fields twice, which fails; here it is refused",
	"restart the caller of a function of the engine":             "functions of the engine cannot be left",
	"describe: generator":                                        "its function and its state are not known",
}

// asNode20 makes the output of a newer Node.js that of Node.js 20: since 22 a step is a reason of a
// pause, and a buffer says whether it is detached.
var asNode20 = strings.NewReplacer(" step ", " other ", " ambiguous ", " other ", `,{"name":"detached","type":"boolean","value":"false"}`, "")

// TestLikeNode runs the same debugger against Node.js and against a plugin, and compares what they
// do.
func TestLikeNode(t *testing.T) {
	need.Time(t)
	if _, err := exec.LookPath("node"); err != nil {
		need.Skip(t, "node", err)
	}
	node, here := underNode(t), underHost(t)
	equal := 0
	for _, x := range behaviours() {
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			var want, got string
			if slices.Contains(anew, x.name) {
				want, got = x.run(underNode(t)), x.run(underHost(t))
			} else {
				node.begin().clean(t)
				here.begin().clean(t)
				want, got = x.run(node), x.run(here)
			}
			want = asNode20.Replace(want)
			switch _, known := unlike[x.name]; {
			case want == got && known:
				t.Errorf("%s is like Node.js now", x.name)
			case want == got:
				equal++
			case !known:
				t.Errorf("\nNode.js %s\nhere    %s", want, got)
			}
		})
	}
	for name := range maps.Keys(unlike) {
		if !slices.ContainsFunc(behaviours(), func(b behaviour) bool { return b.name == name }) {
			t.Errorf("there is no behaviour %q", name)
		}
	}
	guide, err := os.ReadFile("../../../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%d behaviours of debuggers against both; %d are equal", len(behaviours()), equal); equal+len(unlike) == len(behaviours()) && !strings.Contains(string(guide), text) {
		t.Errorf("docs/plugins.md does not say that the test runs %s", text)
	}
}

var inspectorAddress = regexp.MustCompile(`ws://\S+`)

// underNode attaches to the script in Node.js.
func underNode(t *testing.T) bench {
	t.Helper()
	file := filepath.Join(t.TempDir(), "examined.mjs")
	if err := os.WriteFile(file, []byte(examined), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", "--inspect-brk=127.0.0.1:0", "--unhandled-rejections=warn", file)
	cmd.Env = append(os.Environ(), "NODE_OPTIONS=")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	address := ""
	for address == "" && lines.Scan() {
		address = inspectorAddress.FindString(lines.Text())
	}
	go func() {
		for lines.Scan() {
			continue
		}
	}()
	return open(t, attach(t, address))
}

// underHost attaches to the script as a plugin.
func underHost(t *testing.T) bench {
	t.Helper()
	h, s, _ := debugHostWith(t, Options{WaitToLoad: true})
	done := make(chan loadResult, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		m, err := h.Load(ctx, plugin.Source{Name: "examined.mjs", Data: []byte(examined)})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		done <- loadResult{m, err}
	}()
	c := attach(t, target(t, s))
	t.Cleanup(func() {
		c.t = t
		c.detach()
		cancel()
		if l := <-done; l.module != nil {
			_ = l.module.Close(context.Background())
		}
	})
	return open(t, c)
}

func open(t *testing.T, c *cdp) bench {
	t.Helper()
	c.do("Runtime.enable", nil)
	c.do("Debugger.enable", nil)
	c.do("Runtime.runIfWaitingForDebugger", nil)
	for {
		if s := c.wait("Debugger.scriptParsed"); strings.HasSuffix(s["url"].(string), "examined.mjs") {
			return bench{c, s, new(bool)}
		}
	}
}

// sorted is a text of words in their order.
func sorted(words []string) string {
	slices.SortFunc(words, cmp.Compare)
	return strings.Join(words, ",")
}

// TestDebuggerEnds ends code that a debugger evaluates, also where Node.js does not.
func TestDebuggerEnds(t *testing.T) {
	b := underHost(t)
	p := b.paused()
	endless := object{"expression": "for (;;) {}", "timeout": 20}
	if r := b.answer("Runtime.evaluate", endless); r["error"] != "Execution was terminated" {
		t.Error("in a pause:", r)
	}
	answer := b.call("console.log('spins'); for (;;) {}")
	b.wait("Runtime.consoleAPICalled")
	b.do("Runtime.terminateExecution", nil)
	if r := <-answer; r["error"] != "Execution was terminated" {
		t.Error("ended in a pause:", r)
	}
	if r := b.inFrame(p, "counter"); of(r["result"], "type") != `type="undefined"` && r["exceptionDetails"] == nil {
		t.Error("the pause goes on:", r)
	}
	b.do("Debugger.resume", nil)
	b.until("globalThis.ready === true")
	answer = b.call("console.log('spins'); for (;;) {}")
	b.wait("Runtime.consoleAPICalled")
	b.do("Runtime.terminateExecution", nil)
	if r := <-answer; r["error"] != "Execution was terminated" {
		t.Error("ended:", r)
	}
	b.do("Runtime.evaluate", object{"expression": "setTimeout(() => { console.log('spins'); for (;;) {} }, 1)"})
	b.wait("Runtime.consoleAPICalled")
	b.do("Runtime.terminateExecution", nil)
	if r := b.do("Runtime.evaluate", object{"expression": "examined.add(1, 2)"}); of(r["result"], "value") != "value=3" {
		t.Error("after a timer was ended:", r)
	}
}

// TestDebuggerIsTold tells a debugger of exceptions and rejections that nobody handles.
func TestDebuggerIsTold(t *testing.T) {
	b := underHost(t).begin()
	b.do("Runtime.evaluate", object{"expression": "setTimeout(() => examined.fail('late'), 1)"})
	d := b.wait("Runtime.exceptionThrown")["exceptionDetails"].(object)
	frames, _ := d["stackTrace"].(object)["callFrames"].([]any)
	if got := of(d, "text") + firstLine(d["exception"].(object)["description"]) + b.stack(frames); got != fmt.Sprintf(`text="Uncaught"TypeError: latefail:%d`, lineWith("throw new TypeError")+1) {
		t.Error(got, d)
	}
	b.do("Runtime.evaluate", object{"expression": "void Promise.reject(new RangeError('alone'))"})
	d = b.wait("Runtime.exceptionThrown")["exceptionDetails"].(object)
	if got := of(d, "text") + firstLine(d["exception"].(object)["description"]); got != `text="Uncaught (in promise)"RangeError: alone` {
		t.Error(got, d)
	}
}
