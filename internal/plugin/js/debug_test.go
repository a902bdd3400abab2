// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"strings"
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

// debugging loads a plugin in debug mode and attaches a debugger, whose breakpoints are there before the first call.
func debugging(t *testing.T, source string, lines ...int) (*module, *cdp) {
	t.Helper()
	h, _, _ := debugHost(t)
	m := load(t, h, plugin.Source{Name: "debugged.js", Data: []byte(source)})
	c := attach(t, m.debug.Address())
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
		if len(list) != 1 || list[0]["webSocketDebuggerUrl"] != m.debug.Address() || list[0]["title"] != "debugged.js" ||
			list[0]["devtoolsFrontendUrl"] != "devtools://devtools/bundled/js_app.html?ws="+strings.TrimPrefix(m.debug.Address(), "ws://") {
			t.Error(list)
		}
	}
	done := begin[int32](t.Context(), m, count, int64(5))
	c := attach(t, m.debug.Address())
	script := c.enable()
	if src := c.do("Debugger.getScriptSource", object{"scriptId": script["scriptId"]}); src["scriptSource"] != debugged {
		t.Errorf("source: %v", src)
	}
	until(t, func() bool { return m.debug.Waiting() == 1 })
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
