// SPDX-License-Identifier: Apache-2.0

package js

import "fmt"

// restart restarts a call of a pause, and describes the answer.
func (b bench) restart(p stop, frame int) string {
	r := b.answer("Debugger.restartFrame", object{"callFrameId": p.frame(frame)["callFrameId"], "mode": "StepInto"})
	if r["error"] != nil {
		b.do("Debugger.resume", nil)
	}
	return of(r, "callFrames", "error")
}

// goes resumes as often as there is a pause, and returns where these were and the value at the end.
func (b bench) goes(answer <-chan object) string {
	text := ""
	for {
		there := b.pauses()
		select {
		case r := <-answer:
			return text + " => " + of(r["result"], "value", "description") + of(r["exceptionDetails"], "text")
		case <-there:
			text += " " + b.here()
			b.do("Debugger.resume", nil)
		}
	}
}

func restarting() []behaviour {
	restarts := func(at, call string, frame int, also func(b bench, p stop) string) func(bench) string {
		return func(b bench) string {
			b.begin()
			b.stopAt(at, "")
			answer := b.call(call)
			p := b.paused()
			outcome := b.stack(p.frames) + of(p.frame(frame), "canBeRestarted")
			if also != nil {
				outcome += also(b, p)
			}
			return outcome + b.restart(p, frame) + b.goes(answer)
		}
	}
	value := func(b bench, p stop, expression string) string {
		return of(b.inFrame(p, expression)["result"], "value")
	}
	return []behaviour{
		{"restart a call", restarts("return sum", "examined.add(1, 2)", 0, nil)},
		{"restart a call with another value of a parameter", restarts("return sum", "examined.add(1, 2)", 0, func(b bench, p stop) string { return value(b, p, "a = 40") })},
		{"restart a call with fewer arguments", restarts("return sum", "examined.add(1)", 0, nil)},
		{"restart a caller", restarts("return sum", "examined.outer(1)(2)", 1, nil)},
		{"restart a call inside of a recursion", restarts("return 0", "examined.down(3)", 0, nil)},
		{"restart a caller inside of a recursion", restarts("return 0", "examined.down(3)", 2, nil)},
		{"restart a call in a try block", restarts("counter = add(n, 100)", "examined.tries(1)", 0, nil)},
		{"restart a call in a loop in a try block", restarts("if (x === 2) throw", "examined.tries(1)", 0, nil)},
		{"restart a call in a catch block", restarts("counter = e.message", "examined.tries(1)", 0, nil)},
		{"restart a call in a finally block", restarts("counter += '!'", "examined.tries(1)", 0, nil)},
		{"restart a caller in a try block", restarts("throw new TypeError(what)", "examined.throws(1)", 1, nil)},
		{"restart a call that throws", restarts("throw new TypeError(what)", "examined.caught()", 0, nil)},
		{"restart a call that throws then", restarts("throw new TypeError(what)", "examined.throws(1)", 0, nil)},
		{"restart a method", restarts("return said", "new examined.Animal('Rex').speak('hello')", 0, nil)},
		{"restart a getter", restarts("return this.name.toUpperCase()", "new examined.Animal('Rex').loud", 0, nil)},
		{"restart a constructor", restarts("this.name = name", "new examined.Animal('Rex').name", 0, nil)},
		{"restart what a function of the engine calls", restarts("return sum", "examined.maps([1, 2])", 0, nil)},
		{"restart the caller of a function of the engine", restarts("return sum", "examined.maps([1, 2])", 2, nil)},
		{"restart an async function", restarts("const second = await", "examined.later(1)", 0, nil)},
		{"restart twice, and step", func(b bench) string {
			b.begin()
			b.stopAt("return sum", "")
			answer := b.call("examined.outer(1)(2)")
			text := ""
			for range 2 {
				p := b.paused()
				text += b.stack(p.frames) + b.restart(p, 0)
				text += " " + b.here()
				b.do("Debugger.resume", nil)
			}
			text += " " + b.here()
			b.do("Debugger.stepOut", nil)
			text += " " + b.here()
			b.do("Debugger.resume", nil)
			return text + of((<-answer)["result"], "value")
		}},
		{"restart a call, and then its caller", func(b bench) string {
			b.begin()
			b.stopAt("return sum", "")
			answer := b.call("examined.outer(1)(2)")
			text := ""
			for _, frame := range []int{0, 0, 1, 0, 1} {
				p := b.paused()
				text += b.stack(p.frames) + of(p.frame(frame), "canBeRestarted") + b.restart(p, frame) + " " + b.here()
				b.do("Debugger.resume", nil)
			}
			return text + b.goes(answer)
		}},
		{"restart without a mode", func(b bench) string {
			b.begin()
			b.stopAt("return sum", "")
			answer := b.call("examined.add(1, 2)")
			p := b.paused()
			r := b.answer("Debugger.restartFrame", object{"callFrameId": p.frame(0)["callFrameId"]})
			b.do("Debugger.resume", nil)
			return fmt.Sprint(r) + b.goes(answer)
		}},
		{"restart what is not paused", func(b bench) string {
			b.begin()
			return fmt.Sprint(b.answer("Debugger.restartFrame", object{"callFrameId": "1.2.3", "mode": "StepInto"}))
		}},
	}
}
