// SPDX-License-Identifier: Apache-2.0

package js

import (
	"strings"
	"testing"
)

// again restarts a call of a pause.
func (c *cdp) again(p stop, frame int) {
	c.t.Helper()
	c.do("Debugger.restartFrame", object{"callFrameId": p.frame(frame)["callFrameId"], "mode": "StepInto"})
}

// TestDebugRestart restarts calls many times, also where the caller is a function of the server.
func TestDebugRestart(t *testing.T) {
	m, c := debugging(t, debugged, 16)
	done := begin[int32](t.Context(), m, count, int64(5))
	p := c.paused().want("double:16")
	for range 50 {
		c.again(p, 0)
		if p = c.paused().want("double:15"); len(p.frames) != 2 || p.at(1) != "count:9" {
			t.Fatal(p.frames)
		}
		if v := p.eval(0, "x * 10 + this.#secret"); v != 41.0 {
			t.Fatal(v)
		}
		c.do("Debugger.stepOver", nil)
		p = c.paused().want("double:16")
	}
	c.again(p, 1)
	if p = c.paused().want("count:7"); len(p.frames) != 1 || p.eval(0, "calls") != 1.0 {
		t.Fatal(p.frames)
	}
	for range 3 {
		c.do("Debugger.resume", nil)
		c.paused().want("double:16")
	}
	c.do("Debugger.resume", nil)
	if v := finish(t, done); v != int32(11) {
		t.Error(v)
	}
	// Nothing of that is left.
	done = begin[int32](t.Context(), m, count, int64(6))
	for range 3 {
		c.paused().want("double:16")
		c.do("Debugger.resume", nil)
	}
	if v := finish(t, done); v != int32(12) {
		t.Error(v)
	}
}

// TestDebugRestartException restarts a call where an exception is thrown, which then is not.
func TestDebugRestartException(t *testing.T) {
	m, c := debugging(t, failing)
	c.do("Debugger.setPauseOnExceptions", object{"state": "all"})
	done := begin[int32](t.Context(), m, count, int64(2))
	p := c.paused().want("fails:20")
	c.again(p, 0)
	c.paused().want("fails:19")
	c.do("Debugger.resume", nil)
	if p = c.paused().want("fails:20"); p.reason != "exception" {
		t.Error(p.reason)
	}
	c.do("Debugger.resume", nil)
	if r := <-done; r.err == nil || !strings.Contains(r.err.Error(), "debugged.js:20:") {
		t.Error(r.err)
	}
}

// TestDebugRestartEnds ends the debugger, and the plugin, while a call is restarted.
func TestDebugRestartEnds(t *testing.T) {
	m, c := debugging(t, debugged, 16)
	done := begin[int32](t.Context(), m, count, int64(5))
	c.again(c.paused().want("double:16"), 0)
	c.paused().want("double:15")
	c.detach()
	if v := finish(t, done); v != int32(11) {
		t.Error(v)
	}
	c = attach(t, m.debug.target.Address())
	c.breakAt(c.enable()["url"].(string), 16, "")
	c.do("Runtime.runIfWaitingForDebugger", nil)
	done = begin[int32](t.Context(), m, count, int64(5))
	c.again(c.paused().want("double:16"), 0)
	c.paused().want("double:15")
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	<-done
}
