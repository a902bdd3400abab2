// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"strings"
	"testing"

	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/inspector"
	"example.org/app/internal/role"
)

// loadtime is a plugin with code that runs while it is loaded.
const loadtime = `const first = 1
let second = first + 1
await new Promise((done) => { globalThis.go = done })
second++
class Extension extends AppExtension {
  getExtensionPoints() { return ['StorageServiceProvider'] }
  count(n) { return second }
}
export default class extends AppPlugin {
  getDescriptor() {
    return { id: 'loadtime' }
  }
  getExtensions() { return [Extension] }
}
`

// A loadResult is what loading a plugin came to.
type loadResult struct {
	module plugin.Module
	err    error
}

// beginLoading loads a plugin in the background, and attaches a debugger to it.
func beginLoading(t *testing.T, ctx context.Context, h plugin.Host, s *inspector.Server) (<-chan loadResult, *cdp) {
	t.Helper()
	done := make(chan loadResult, 1)
	go func() {
		m, err := h.Load(ctx, plugin.Source{Name: "loadtime.js", Data: []byte(loadtime)})
		done <- loadResult{m, err}
	}()
	return done, attach(t, target(t, s))
}

// target waits for the only plugin, and returns where debuggers attach to it.
func target(t *testing.T, s *inspector.Server) string {
	t.Helper()
	var list []map[string]string
	eventually(t, "a plugin that can be debugged", func() bool {
		getJSON(t, "http://"+s.Addr()+"/json/list", &list)
		return len(list) == 1 && list[0]["url"] != ""
	})
	return list[0]["webSocketDebuggerUrl"]
}

// TestDebugLoad debugs a plugin from its first line on.
func TestDebugLoad(t *testing.T) {
	h, s, _ := debugHostWith(t, Options{WaitToLoad: true})
	done, c := beginLoading(t, t.Context(), h, s)
	script := c.enable()
	if v := c.do("Runtime.evaluate", object{"expression": "typeof AppPlugin"})["result"].(object)["value"]; v != "function" {
		t.Error("evaluated before the first line:", v)
	}
	c.breakAt(script["url"].(string), 11, "")
	c.do("Runtime.runIfWaitingForDebugger", nil)
	p := c.paused().want(":1")
	if p.reason != "Break on start" {
		t.Error(p.reason)
	}
	c.do("Debugger.stepOver", nil)
	p = c.paused().want(":2")
	if v := p.eval(0, "first"); v != 1.0 {
		t.Error(v)
	}
	c.do("Debugger.resume", nil)
	// The plugin waits at its top level now. Only the debugger can end that.
	eventually(t, "the await", func() bool {
		return c.do("Runtime.evaluate", object{"expression": "typeof go"})["result"].(object)["value"] == "function"
	})
	c.do("Runtime.evaluate", object{"expression": "go()"})
	c.paused().want("getDescriptor:11")
	c.do("Debugger.resume", nil)
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	if v := finish(t, begin[int32](t.Context(), r.module.(*module), count, int64(5))); v != int32(3) {
		t.Error(v)
	}
}

// TestDebugLoadIsCancelled proves that a plugin that waits for a debugger, or that one has paused,
// does not hold up who loads it.
func TestDebugLoadIsCancelled(t *testing.T) {
	h, s, _ := debugHostWith(t, Options{WaitToLoad: true})
	for _, paused := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		done, c := beginLoading(t, ctx, h, s)
		c.enable()
		if paused {
			c.do("Runtime.runIfWaitingForDebugger", nil)
			c.paused().want(":1")
		}
		cancel()
		if r := <-done; r.err == nil {
			t.Errorf("paused %t: it is loaded", paused)
		}
		c.detach()
	}
}

// clocks remembers the clock of what is loaded.
type clocks struct {
	*Host
	held chan plugin.Held
}

func (h clocks) Load(ctx context.Context, src plugin.Source) (plugin.Module, error) {
	h.held <- plugin.HeldOf(ctx)
	return h.Host.Load(ctx, src)
}

// TestDebugLoadHoldsTheClock proves that the time limit of loading does not count while a plugin
// waits for a debugger or is paused.
func TestDebugLoadHoldsTheClock(t *testing.T) {
	h, s, _ := debugHostWith(t, Options{WaitToLoad: true})
	held := make(chan plugin.Held, 1)
	m := plugin.NewManager(plugin.Options{
		Roles: role.All, Hosts: []plugin.Host{clocks{h, held}}, Logger: h.opts.Log,
		Settings: func() config.Plugin { return config.Plugin{LoadTimeoutMillis: 1 << 30, HookTimeoutMillis: 1 << 30} },
	})
	done := make(chan error, 1)
	go func() {
		_, err := m.Load(t.Context(), plugin.JavaScript, plugin.Source{Name: "loadtime.js", Data: []byte(strings.Replace(loadtime, "await new", "new", 1))})
		done <- err
	}()
	clock := <-held
	grows := func(what string) {
		t.Helper()
		before := clock.Total()
		eventually(t, "holding the clock while "+what, func() bool { return clock.Total() > before })
	}
	c := attach(t, target(t, s))
	c.enable()
	grows("the plugin waits")
	c.do("Runtime.runIfWaitingForDebugger", nil)
	c.paused().want(":1")
	grows("the plugin is paused")
	c.do("Debugger.resume", nil)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDebugSomePlugins debugs one plugin while another one runs as always.
func TestDebugSomePlugins(t *testing.T) {
	h, s, _ := debugHostWith(t, Options{Debugged: []string{"one.js"}})
	one := load(t, h, plugin.Source{Name: "one.js", Data: []byte(debugged)})
	other := load(t, h, plugin.Source{Name: "other.js", Data: []byte(debugged)})
	if v := finish(t, begin[int32](t.Context(), other, count, int64(5))); v == int32(0) {
		t.Error("the plugin that is not debugged returned", v)
	}
	waiting := begin[int32](t.Context(), one, count, int64(5))
	c := attach(t, target(t, s))
	c.enable()
	eventually(t, "waiting", func() bool { return one.debug.target.Waiting() == 1 })
	c.do("Runtime.runIfWaitingForDebugger", nil)
	c.paused()
	if v := finish(t, begin[int32](t.Context(), other, count, int64(5))); v == int32(0) {
		t.Error("while the other one is paused it returned", v)
	}
	c.do("Debugger.resume", nil)
	finish(t, waiting)
}
