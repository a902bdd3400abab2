// SPDX-License-Identifier: Apache-2.0

package js

import (
	"fmt"
	"slices"
	"strings"
)

func behaviours() []behaviour {
	return slices.Concat(stepping(), breaking(), looking(), describing(), evaluating(), telling(), restarting(), measuring())
}

func stepping() []behaviour {
	// stepped stops at a line of a call, and does steps; the outcome is where each one stops.
	stepped := func(call, text string, steps ...string) func(bench) string {
		return func(b bench) string {
			b.begin()
			b.stopAt(text, "")
			answer := b.call(call)
			list := []string{b.here()}
			for _, s := range steps {
				b.do("Debugger."+s, nil)
				list = append(list, b.here())
			}
			b.do("Debugger.setBreakpointsActive", object{"active": false})
			b.do("Debugger.resume", nil)
			<-answer
			return strings.Join(list, " | ")
		}
	}
	return []behaviour{
		{"stop before the first line", func(b bench) string { return b.here() }},
		{"step over statements of the top level", func(b bench) string {
			list := []string{b.here()}
			for range 3 {
				b.do("Debugger.stepOver", nil)
				list = append(list, b.here())
			}
			return strings.Join(list, " | ")
		}},
		{"step over a call", stepped("examined.outer(1)(2)", "counter = add(captured", "stepOver")},
		{"step into a call", stepped("examined.outer(1)(2)", "counter = add(captured", "stepInto", "stepOver")},
		{"step out of a call", stepped("examined.outer(1)(2)", "const sum = a + b", "stepOut")},
		{"step out of a recursion", stepped("examined.down(3)", "return 0", "stepOut", "stepOut")},
		{"step over a recursive call", func(b bench) string {
			b.begin()
			b.stopAt("const below", "n === 2")
			answer := b.call("examined.down(3)")
			list := []string{b.here()}
			b.do("Debugger.stepOver", nil)
			list = append(list, b.here())
			b.do("Debugger.resume", nil)
			<-answer
			return strings.Join(list, " | ")
		}},
		{"step over an await", stepped("examined.later(1)", "const first = await n", "stepOver", "stepOver")},
		{"step out of an async function", stepped("examined.waits()", "return second", "stepOver")},
		{"step into a method", stepped("new examined.Animal('Rex').speak('wuff')", "const said", "stepOver")},
		{"step through a loop", stepped("examined.loop(2)", "total += i", "stepOver", "stepOver")},
		{"step into a callback of map", stepped("[1].map((n) => examined.outer(n)(1))", "const captured", "stepInto")},
		{"pause on demand", func(b bench) string {
			b.begin()
			b.do("Debugger.pause", nil)
			answer := b.call("examined.add(1, 2)")
			p := b.paused()
			b.do("Debugger.resume", nil)
			<-answer
			return p.reason
		}},
		{"continue to a place", func(b bench) string {
			b.begin()
			b.stopAt("const captured", "")
			answer := b.call("examined.outer(1)(2)")
			first := b.here()
			b.do("Debugger.continueToLocation", object{"location": object{"scriptId": b.script["scriptId"], "lineNumber": lineWith("return sum")}})
			second := b.here()
			b.do("Debugger.resume", nil)
			<-answer
			return first + " | " + second
		}},
		{"a step in a script to skip", func(b bench) string {
			b.begin()
			b.stopAt("const sum", "")
			answer := b.call("examined.outer(1)(2)")
			where := b.here()
			b.do("Debugger.setBlackboxPatterns", object{"patterns": []string{"examined"}})
			b.do("Debugger.stepOver", nil)
			select {
			case r := <-answer:
				return where + of(r["result"], "value")
			case <-b.pauses():
				defer b.do("Debugger.resume", nil)
				return where + " | " + b.here()
			}
		}},
		{"resume without a pause", func(b bench) string { return fmt.Sprint(b.begin().answer("Debugger.resume", nil)) }},
		{"step over without a pause", func(b bench) string { return fmt.Sprint(b.begin().answer("Debugger.stepOver", nil)) }},
	}
}

func breaking() []behaviour {
	resolved := func(text string, offset int) func(bench) string {
		return func(b bench) string {
			b.begin()
			r := b.do("Debugger.setBreakpointByUrl", object{"url": b.script["url"], "lineNumber": lineWith(text) + offset, "columnNumber": 0})
			list := []string{}
			for _, l := range r["locations"].([]any) {
				list = append(list, fmt.Sprint(l.(object)["lineNumber"].(float64)+1))
			}
			return strings.Join(list, ",")
		}
	}
	exception := func(state, call string) func(bench) string {
		return func(b bench) string {
			b.begin()
			b.do("Debugger.setPauseOnExceptions", object{"state": state})
			answer := b.call(call)
			select {
			case r := <-answer:
				return "no stop: " + of(r["result"], "type", "className", "value")
			case <-b.pauses():
			}
			p := b.paused()
			data, _ := p.params["data"].(object)
			b.do("Debugger.resume", nil)
			r := <-answer
			return fmt.Sprintf("%s %s %s %s / %s", p.reason, b.stack(p.frames), of(data, "type", "subtype", "className", "uncaught"), firstLine(data["description"]),
				of(r["exceptionDetails"], "text"))
		}
	}
	return []behaviour{
		{"a breakpoint by URL", func(b bench) string {
			b.begin()
			id := b.stopAt("const sum", "")["breakpointId"]
			answer := b.call("examined.add(1, 2)")
			p := b.paused()
			b.do("Debugger.resume", nil)
			<-answer
			hits := p.params["hitBreakpoints"].([]any)
			return fmt.Sprint(p.reason, " ", b.stack(p.frames), " ", len(hits) == 1 && hits[0] == id)
		}},
		{"a breakpoint by a pattern", func(b bench) string {
			b.begin()
			r := b.do("Debugger.setBreakpointByUrl", object{"urlRegex": ".*examined\\.mjs$", "lineNumber": lineWith("const sum")})
			answer := b.call("examined.add(1, 2)")
			where := b.here()
			b.do("Debugger.resume", nil)
			<-answer
			return fmt.Sprint(len(r["locations"].([]any)), where)
		}},
		{"a breakpoint at a place", func(b bench) string {
			b.begin()
			r := b.do("Debugger.setBreakpoint", object{"location": object{"scriptId": b.script["scriptId"], "lineNumber": lineWith("return sum")}})
			answer := b.call("examined.add(1, 2)")
			where := b.here()
			b.do("Debugger.resume", nil)
			<-answer
			return of(r["actualLocation"], "lineNumber") + where
		}},
		{"a breakpoint in a comment", resolved("// A comment", 0)},
		{"a breakpoint in an empty line", resolved("// A comment", 1)},
		{"a breakpoint in the line of a chain", resolved(".map((n)", 0)},
		{"a breakpoint in the second line of an object", resolved("symbol: Symbol", 0)},
		{"a breakpoint at the end of a block", resolved("const said", 2)},
		{"a breakpoint behind the last line", resolved("getExtensions", 20)},
		{"a breakpoint at the head of a function", resolved("function add", 0)},
		{"a breakpoint at the head of a class", resolved("class Animal", 0)},
		{"a breakpoint twice", func(b bench) string {
			b.begin()
			b.stopAt("const sum", "")
			return fmt.Sprint(b.answer("Debugger.setBreakpointByUrl", object{"url": b.script["url"], "lineNumber": lineWith("const sum"), "columnNumber": 0}))
		}},
		{"a breakpoint without a place", func(b bench) string {
			return fmt.Sprint(b.begin().answer("Debugger.setBreakpointByUrl", object{"lineNumber": 1}))
		}},
		{"a condition", func(b bench) string {
			b.begin()
			b.stopAt("total += i", "i === 3")
			answer := b.call("examined.loop(5)")
			p := b.paused()
			i := b.inFrame(p, "i + ':' + total")
			b.do("Debugger.resume", nil)
			<-answer
			return of(i["result"], "value")
		}},
		{"a condition that throws", func(b bench) string {
			b.begin()
			b.stopAt("total += i", "nowhere.to.be.found")
			return of((<-b.call("examined.loop(5)"))["result"], "value")
		}},
		{"a breakpoint that is removed", func(b bench) string {
			b.begin()
			b.do("Debugger.removeBreakpoint", object{"breakpointId": b.stopAt("const sum", "")["breakpointId"]})
			return of((<-b.call("examined.add(1, 2)"))["result"], "value")
		}},
		{"breakpoints that are off", func(b bench) string {
			b.begin()
			b.stopAt("const sum", "")
			b.do("Debugger.setBreakpointsActive", object{"active": false})
			return of((<-b.call("examined.add(1, 2)"))["result"], "value")
		}},
		{"pauses that are skipped", func(b bench) string {
			b.begin()
			b.stopAt("const sum", "")
			b.do("Debugger.setSkipAllPauses", object{"skip": true})
			return of((<-b.call("examined.add(1, 2)"))["result"], "value")
		}},
		{"exceptions: all", exception("all", "examined.caught()")},
		{"exceptions: uncaught, one that is caught", exception("uncaught", "examined.caught()")},
		{"exceptions: uncaught", exception("uncaught", "examined.fail('far')")},
		{"exceptions: caught, one that is not", exception("caught", "examined.fail('far')")},
		{"exceptions: none", exception("none", "examined.fail('far')")},
		{"exceptions: a state that there is not", func(b bench) string {
			return fmt.Sprint(b.begin().answer("Debugger.setPauseOnExceptions", object{"state": "some"}) != nil)
		}},
	}
}

func looking() []behaviour {
	// in stops inside a function that is inside another one.
	in := func(f func(b bench, p stop) string) func(bench) string {
		return func(b bench) string {
			b.begin()
			b.stopAt("counter = add(captured", "")
			answer := b.call("examined.outer(1)(2)")
			p := b.paused()
			outcome := f(b, p)
			b.do("Debugger.resume", nil)
			return outcome + " => " + of((<-answer)["result"], "value")
		}
	}
	evaluated := func(expression string) func(bench) string {
		return in(func(b bench, p stop) string { return of(b.inFrame(p, expression)["result"], "type", "value") })
	}
	return []behaviour{
		{"a parameter", evaluated("m")},
		{"a variable of a closure", evaluated("captured")},
		{"a variable of the module", evaluated("counter")},
		{"an expression", evaluated("captured + m * 10")},
		{"a call of a function of the module", evaluated("add(captured, 40)")},
		{"an assignment", in(func(b bench, p stop) string {
			return of(b.inFrame(p, "m = 20")["result"], "value") + of(b.inFrame(p, "m")["result"], "value")
		})},
		{"a new value of a variable", in(func(b bench, p stop) string {
			b.do("Debugger.setVariableValue", object{"callFrameId": p.frame(0)["callFrameId"], "scopeNumber": 0, "variableName": "m", "newValue": object{"value": 30}})
			return of(b.inFrame(p, "m")["result"], "value")
		})},
		{"a variable that there is not", in(func(b bench, p stop) string {
			r := b.inFrame(p, "nowhere")
			return of(r["result"], "type", "subtype", "className") + firstLine(r["result"].(object)["description"]) + of(r["exceptionDetails"], "text")
		})},
		{"the names of the local scope", in(func(b bench, p stop) string {
			sc := p.frame(0)["scopeChain"].([]any)[0].(object)
			list := b.do("Runtime.getProperties", object{"objectId": sc["object"].(object)["objectId"], "ownProperties": true})["result"]
			return of(sc, "type") + " " + namesOf(list)
		})},
		{"the kinds of scopes", in(func(b bench, p stop) string {
			list := []string{}
			for _, sc := range p.frame(0)["scopeChain"].([]any) {
				list = append(list, fmt.Sprint(sc.(object)["type"]))
			}
			return strings.Join(list, ",")
		})},
		{"the scope of a loop", func(b bench) string {
			b.begin()
			b.stopAt("total += i", "")
			answer := b.call("examined.loop(1)")
			p := b.paused()
			list := []string{}
			for _, sc := range p.frame(0)["scopeChain"].([]any) {
				sc := sc.(object)
				if sc["type"] == "block" || sc["type"] == "local" {
					r := b.do("Runtime.getProperties", object{"objectId": sc["object"].(object)["objectId"], "ownProperties": true})
					list = append(list, fmt.Sprint(sc["type"], ":", namesOf(r["result"])))
				}
			}
			b.do("Debugger.resume", nil)
			<-answer
			return strings.Join(list, " ")
		}},
		{"this in a method", func(b bench) string {
			b.begin()
			b.stopAt("const said", "")
			answer := b.call("examined.things.animal.speak('wuff')")
			p := b.paused()
			outcome := of(p.frame(0)["this"], "type", "className", "description") + of(b.inFrame(p, "this.name + this.#secret")["result"], "value")
			b.do("Debugger.resume", nil)
			<-answer
			return outcome
		}},
		{"a frame that is gone", in(func(b bench, _ stop) string {
			return fmt.Sprint(b.answer("Debugger.evaluateOnCallFrame", object{"callFrameId": "7.7.7", "expression": "1"})["error"] != nil)
		})},
		{"the source of a script", func(b bench) string {
			b.begin()
			return fmt.Sprint(b.do("Debugger.getScriptSource", object{"scriptId": b.script["scriptId"]})["scriptSource"] == examined)
		}},
		{"a search in a script", func(b bench) string {
			b.begin()
			return fmt.Sprint(b.do("Debugger.searchInContent", object{"scriptId": b.script["scriptId"], "query": "CAPTURED"})["result"])
		}},
		{"the script", func(b bench) string {
			return of(b.script, "startLine", "startColumn", "endLine", "endColumn", "isModule", "length", "sourceMapURL")
		}},
		{"what can be stopped at in a line", func(b bench) string {
			b.begin()
			line := lineWith("const sum")
			r := b.do("Debugger.getPossibleBreakpoints", object{
				"start": object{"scriptId": b.script["scriptId"], "lineNumber": line, "columnNumber": 0},
				"end":   object{"scriptId": b.script["scriptId"], "lineNumber": line + 1, "columnNumber": 0},
			})
			list := []string{}
			for _, l := range r["locations"].([]any) {
				list = append(list, of(l, "lineNumber"))
			}
			return strings.Join(list, " ")
		}},
		{"an async stack", func(b bench) string {
			b.do("Debugger.setAsyncCallStackDepth", object{"maxDepth": 8})
			b.begin()
			b.stopAt("return second", "")
			answer := b.call("examined.waits()")
			p := b.paused()
			outcome := b.asyncStack(p)
			b.do("Debugger.resume", nil)
			<-answer
			return outcome
		}},
		{"an async stack of a timer", func(b bench) string {
			b.do("Debugger.setAsyncCallStackDepth", object{"maxDepth": 8})
			b.begin()
			b.stopAt("const sum", "")
			<-b.call("examined.sets()")
			outcome := b.asyncStack(b.paused())
			b.do("Debugger.resume", nil)
			return outcome
		}},
		{"an async stack across then", asyncStacks("examined.registers()", "b === 30", 1)},
		{"an async stack across catch", asyncStacks("examined.registers()", "b === 40", 1)},
		{"an async stack across finally", asyncStacks("examined.registers()", "b === 50", 1)},
		{"an async stack across then in a statement of several lines", asyncStacks("examined.lines()", "b === 90", 1)},
		{"an async stack across then again and again", asyncStacks("examined.again(3)", "b === 60", 1)},
		{"an async stack across await, timers and then", asyncStacks("examined.mixed()", "b === 70", 2)},
		{"async stacks of a function that is registered twice", asyncStacks("examined.shared()", "b === 80", 2)},
	}
}

// asyncStacks stops in a function as often as a condition holds, and describes where it was called
// from.
func asyncStacks(call, condition string, times int) func(bench) string {
	return func(b bench) string {
		b.do("Debugger.setAsyncCallStackDepth", object{"maxDepth": 8})
		b.begin()
		b.stopAt("const sum", condition)
		answer := b.call(call)
		outcome := []string{}
		for range times {
			outcome = append(outcome, b.asyncStack(b.paused()))
			b.do("Debugger.resume", nil)
		}
		<-answer
		return strings.Join(outcome, " ; ")
	}
}

// asyncStack describes a pause and where it comes from.
func (b bench) asyncStack(p stop) string {
	list := []string{b.stack(p.frames)}
	for parent, _ := p.params["asyncStackTrace"].(object); parent != nil; parent, _ = parent["parent"].(object) {
		if text := b.stack(parent["callFrames"].([]any)); text != "" {
			list = append(list, fmt.Sprint(parent["description"], " ", text))
		}
	}
	return strings.Join(list, " | ")
}

func describing() []behaviour {
	var list []behaviour
	for _, name := range []string{
		"array", "map", "set", "date", "regexp", "symbol", "big", "minus", "nan", "nothing", "missing", "bytes", "animal", "promise", "pending", "proxy", "generator",
		"weak", "buffer", "view", "nested",
	} {
		list = append(list, behaviour{"describe: " + name, func(b bench) string {
			b.begin()
			r := b.thing(name, true)
			return of(r, "type", "subtype", "className", "description", "value", "unserializableValue", "preview")
		}})
	}
	return append(list,
		behaviour{"describe: an error", func(b bench) string {
			r := b.begin().thing("error", false)
			return of(r, "type", "subtype", "className") + firstLine(r["description"]) + fmt.Sprint(strings.Contains(fmt.Sprint(r["description"]), "examined.mjs:"))
		}},
		behaviour{"describe: a function", func(b bench) string { return of(b.begin().thing("fn", false), "type", "className", "description") }},
		behaviour{"describe: a class", func(b bench) string {
			r := b.begin().do("Runtime.evaluate", object{"expression": "examined.Animal"})["result"].(object)
			return of(r, "type", "className") + firstLine(r["description"])
		}},
		behaviour{"the properties of an array", func(b bench) string {
			b.begin()
			r := b.do("Runtime.getProperties", object{"objectId": b.thing("array", false)["objectId"], "ownProperties": true})
			return namesOf(r["result"]) + " " + namesOf(r["internalProperties"])
		}},
		behaviour{"the properties of a map", func(b bench) string {
			b.begin()
			r := b.do("Runtime.getProperties", object{"objectId": b.thing("map", false)["objectId"], "ownProperties": true})
			return namesOf(r["result"]) + " " + namesOf(r["internalProperties"])
		}},
		behaviour{"the properties of a promise", func(b bench) string {
			b.begin()
			r := b.do("Runtime.getProperties", object{"objectId": b.thing("promise", false)["objectId"], "ownProperties": true})
			list := []string{}
			for _, p := range r["internalProperties"].([]any) {
				list = append(list, fmt.Sprint(p.(object)["name"], "=", p.(object)["value"].(object)["value"]))
			}
			return sorted(list)
		}},
		behaviour{"the properties of a proxy", func(b bench) string {
			b.begin()
			r := b.do("Runtime.getProperties", object{"objectId": b.thing("proxy", false)["objectId"], "ownProperties": true})
			return namesOf(r["internalProperties"])
		}},
		behaviour{"private properties", func(b bench) string {
			b.begin()
			r := b.do("Runtime.getProperties", object{"objectId": b.thing("animal", false)["objectId"], "ownProperties": true})
			return namesOf(r["result"]) + " " + namesOf(r["privateProperties"])
		}},
		behaviour{"a getter is not run", func(b bench) string {
			b.begin()
			r := b.do("Runtime.getProperties", object{"objectId": b.do("Runtime.evaluate", object{"expression": "examined.things"})["result"].(object)["objectId"], "ownProperties": true})
			for _, p := range r["result"].([]any) {
				if p := p.(object); p["name"] == "accessor" {
					return fmt.Sprint(p["value"]) + of(p["get"], "type") + of(p["set"], "type")
				}
			}
			return "none"
		}},
		behaviour{"an object that was released", func(b bench) string {
			b.begin()
			id := b.thing("array", false)["objectId"]
			b.do("Runtime.releaseObject", object{"objectId": id})
			return fmt.Sprint(b.answer("Runtime.getProperties", object{"objectId": id}))
		}},
	)
}

func evaluating() []behaviour {
	of2 := func(r object) string {
		return of(r, "error") + of(r["result"], "type", "subtype", "className", "value") + of(r["exceptionDetails"], "text")
	}
	evaluate := func(params object) func(bench) string {
		return func(b bench) string { return of2(b.begin().answer("Runtime.evaluate", params)) }
	}
	return []behaviour{
		{"evaluate by value", evaluate(object{"expression": "examined.things.nested", "returnByValue": true})},
		{"evaluate a promise by value", evaluate(object{"expression": "Promise.resolve({ a: 1 })", "returnByValue": true, "awaitPromise": true})},
		{"wait for a promise that is settled later", evaluate(object{"expression": "new Promise((done) => setTimeout(() => done(42), 5))", "awaitPromise": true})},
		{"wait for a promise that is rejected", evaluate(object{"expression": "Promise.reject(new RangeError('far'))", "awaitPromise": true})},
		{"wait for no promise", evaluate(object{"expression": "5", "awaitPromise": true})},
		{"evaluate what throws an error", evaluate(object{"expression": "\n examined.fail('far')"})},
		{"evaluate what throws a text", evaluate(object{"expression": "throw 'text'"})},
		{"evaluate a syntax error", evaluate(object{"expression": "1 +"})},
		{"await at the top level", evaluate(object{"expression": "await Promise.resolve(6)", "replMode": true, "awaitPromise": true})},
		{"declare twice", func(b bench) string {
			b.begin()
			one := b.answer("Runtime.evaluate", object{"expression": "let twice = 1; twice", "replMode": true})
			two := b.answer("Runtime.evaluate", object{"expression": "let twice = 2; twice", "replMode": true})
			return of2(one) + of2(two) + of2(b.answer("Runtime.evaluate", object{"expression": "twice + 1"}))
		}},
		{"an object literal in the console", evaluate(object{"expression": "{ a: 1 }", "replMode": true, "returnByValue": true})},
		{"a time limit", evaluate(object{"expression": "for (;;) {}", "timeout": 50})},
		{"a time limit in a frame", func(b bench) string {
			p := b.paused()
			r := b.answer("Debugger.evaluateOnCallFrame", object{"callFrameId": p.frame(0)["callFrameId"], "expression": "for (;;) {}", "timeout": 50})
			return of2(r) + of2(b.inFrame(p, "1 + 1"))
		}},
		{"call a function", func(b bench) string {
			b.begin()
			id := b.thing("animal", false)["objectId"]
			return of2(b.answer("Runtime.callFunctionOn", object{
				"objectId": id, "functionDeclaration": "function (a, b) { return this.name + a + b }", "arguments": []object{{"value": 1}, {"unserializableValue": "2n"}},
			}))
		}},
		{"call a function that throws", func(b bench) string {
			b.begin()
			return of2(b.answer("Runtime.callFunctionOn", object{"objectId": b.thing("animal", false)["objectId"], "functionDeclaration": "function () { throw new Error('no') }"}))
		}},
		{"call a function that is async", func(b bench) string {
			b.begin()
			return of2(b.answer("Runtime.callFunctionOn", object{
				"objectId": b.thing("animal", false)["objectId"], "functionDeclaration": "async function () { await 1; return this.name }", "awaitPromise": true,
			}))
		}},
		{"no side effects: a name", evaluate(object{"expression": "examined", "throwOnSideEffect": true})},
		{"no side effects: an assignment", evaluate(object{"expression": "globalThis.x = 1", "throwOnSideEffect": true})},
		{"compile what is wrong", func(b bench) string {
			r := b.begin().answer("Runtime.compileScript", object{"expression": "1 +", "sourceURL": "", "persistScript": false})
			return of(r["exceptionDetails"], "text")
		}},
		{"compile and run", func(b bench) string {
			r := b.begin().answer("Runtime.compileScript", object{"expression": "40 + 2", "sourceURL": "x.js", "persistScript": true})
			return of2(b.answer("Runtime.runScript", object{"scriptId": r["scriptId"]}))
		}},
		{"names of the console", func(b bench) string {
			b.begin()
			b.do("Runtime.evaluate", object{"expression": "let named = 1; const other = 2"})
			return fmt.Sprint(b.answer("Runtime.globalLexicalScopeNames", nil)["names"])
		}},
		{"a timer that the console sets", func(b bench) string {
			b.begin()
			b.do("Runtime.evaluate", object{"expression": "setTimeout(() => { globalThis.fired = true }, 1)"})
			b.until("globalThis.fired === true")
			return "fired"
		}},
		{"a binding", func(b bench) string {
			b.begin()
			b.do("Runtime.addBinding", object{"name": "tell"})
			b.do("Runtime.evaluate", object{"expression": "tell('payload')"})
			return of(b.wait("Runtime.bindingCalled"), "name", "payload")
		}},
		{"a method that there is not", func(b bench) string { return fmt.Sprint(b.begin().answer("Page.navigate", nil)) }},
		{"a domain that there is not", func(b bench) string { return fmt.Sprint(b.begin().answer("Log.enable", nil)) }},
		{"parameters that are wrong", func(b bench) string {
			return fmt.Sprint(b.begin().answer("Runtime.evaluate", object{"expression": 7})["error"] != nil)
		}},
	}
}

func telling() []behaviour {
	console := func(code string) func(bench) string {
		return func(b bench) string {
			b.begin()
			b.do("Runtime.evaluate", object{"expression": code})
			e := b.wait("Runtime.consoleAPICalled")
			list := []string{}
			for _, a := range e["args"].([]any) {
				list = append(list, of(a, "type", "subtype", "value", "description"))
			}
			return fmt.Sprint(e["type"], " ", strings.Join(list, ";"))
		}
	}
	return []behaviour{
		{"console.log", console("console.log('a', 1, null, [1, 2])")},
		{"console.error", console("console.error('a')")},
		{"console.warn", console("console.warn('a')")},
		{"console.info", console("console.info('a')")},
		{"console.debug", console("console.debug('a')")},
		{"console.assert", console("console.assert(false, 'wrong')")},
		{"console.table", console("console.table([{ a: 1 }])")},
		{"console.trace", console("console.trace('here')")},
		{"console.group", console("console.group('name')")},
		{"console.count", console("console.count('name')")},
		{"console.dir", console("console.dir({ a: 1 })")},
		{"the stack of console.log", func(b bench) string {
			b.begin()
			b.do("Runtime.evaluate", object{"expression": "examined.calls()"})
			frames, _ := b.wait("Runtime.consoleAPICalled")["stackTrace"].(object)["callFrames"].([]any)
			return b.stack(frames)
		}},
		{"an exception of evaluate", func(b bench) string {
			b.begin()
			d := b.do("Runtime.evaluate", object{"expression": "examined.fail('far')"})["exceptionDetails"].(object)
			frames, _ := d["stackTrace"].(object)["callFrames"].([]any)
			return of(d, "text") + fmt.Sprint(d["lineNumber"], d["scriptId"] == b.script["scriptId"], " ", b.stack(frames))
		}},
	}
}

func measuring() []behaviour {
	return []behaviour{
		{"the use of memory", func(b bench) string {
			r := b.begin().do("Runtime.getHeapUsage", nil)
			return fmt.Sprint(r["usedSize"].(float64) > 0, r["totalSize"].(float64) >= r["usedSize"].(float64))
		}},
		{"collect garbage", func(b bench) string {
			b.begin()
			b.do("HeapProfiler.enable", nil)
			return fmt.Sprint(b.answer("HeapProfiler.collectGarbage", nil))
		}},
		{"a profile", func(b bench) string {
			b.begin()
			b.do("Profiler.enable", nil)
			// On a busy machine the sampler of Node.js may not run once in this time. It gets more
			// of it then.
			hit, profile := false, object{}
			for millis := 200; !hit && millis <= 20_000; millis *= 2 {
				b.do("Profiler.start", nil)
				b.do("Runtime.evaluate", object{"expression": fmt.Sprintf("for (const end = Date.now() + %d; Date.now() < end;) examined.loop(1000)", millis)})
				profile = b.do("Profiler.stop", nil)["profile"].(object)
				for _, n := range profile["nodes"].([]any) {
					n := n.(object)
					hit = hit || n["callFrame"].(object)["functionName"] == "loop" && n["hitCount"].(float64) > 0
				}
			}
			nodes, samples, deltas := profile["nodes"].([]any), profile["samples"].([]any), profile["timeDeltas"].([]any)
			return fmt.Sprint(of(nodes[0].(object)["callFrame"], "functionName"), hit, len(samples) == len(deltas), profile["endTime"].(float64) > profile["startTime"].(float64))
		}},
		{"a profile without a start", func(b bench) string {
			b.begin()
			b.do("Profiler.enable", nil)
			return fmt.Sprint(b.answer("Profiler.stop", nil))
		}},
		{"coverage", func(b bench) string {
			b.begin()
			b.do("Profiler.enable", nil)
			b.do("Profiler.startPreciseCoverage", object{"callCount": true})
			b.do("Runtime.evaluate", object{"expression": "examined.down(3); examined.loop(2); for (let i = 0; i < 5; i++) examined.add(1, i); examined.caught()"})
			list := []string{}
			for _, s := range b.do("Profiler.takePreciseCoverage", nil)["result"].([]any) {
				s := s.(object)
				if s["scriptId"] != b.script["scriptId"] {
					continue
				}
				for _, f := range s["functions"].([]any) {
					f := f.(object)
					r := f["ranges"].([]any)[0].(object)
					if f["functionName"] != "" && r["count"].(float64) > 0 {
						list = append(list, fmt.Sprint(f["functionName"], " ", r["startOffset"], "-", r["endOffset"], " ", r["count"]))
					}
				}
			}
			b.do("Profiler.stopPreciseCoverage", nil)
			return sorted(list)
		}},
		{"coverage without a start", func(b bench) string {
			b.begin()
			b.do("Profiler.enable", nil)
			return fmt.Sprint(b.answer("Profiler.takePreciseCoverage", nil))
		}},
	}
}
