// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"strings"
)

// scripts are the faulty plugins in JavaScript: the top of the file, the plugin if it is not the
// usual one, and the members of the extension.
var scripts = []struct{ kind, top, plugin, members string }{
	{"never loads", `await new Promise(() => {});`, "", ""},
	{"loops while loading", `for (;;) {}`, "", ""},
	{"searches without end while loading", `Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);`, "", ""},
	{"throws while loading", `throw new Error('no');`, "", ""},
	{"throws nothing while loading", `throw undefined;`, "", ""},
	{"is no script", `this is no script`, "", ""},
	{"uses up its memory while loading", `const held = []; for (;;) held.push(new Array(1000).fill(1));`, "", ""},
	{"recurses while loading", `const f = () => f() + 1; f();`, "", ""},
	{"exports nothing", `export {};`, "-", ""},
	{"lies in its descriptor", "", `export default class extends AppPlugin { getDescriptor() { return { id: 5, version: {} }; } getExtensions() { return [Actor]; } }`, ""},
	{"loops in its descriptor", "", `export default class extends AppPlugin { getDescriptor() { for (;;) {} } getExtensions() { return [Actor]; } }`, ""},
	{"has a descriptor that changes", `let n = 0;`, `export default class extends AppPlugin { getDescriptor() { return { get id() { return n++ ? 'other' : 'suite-bad'; } }; } getExtensions() { return [Actor]; } }`, ""},
	{"has extensions that are none", "", `export default class extends AppPlugin { getDescriptor() { return { id: 'suite-bad' }; } getExtensions() { return [1, null, class {}]; } }`, ""},
	{"names a point that there is not", "", "", `getExtensionPoints() { return ['Nothing']; }`},
	{"throws in its constructor", "", "", `constructor() { super(); throw new Error('no'); }`},
	{"throws in start", "", "", `start() { throw new Error('no'); }`},
	{"loops in start", "", "", `start() { for (;;) {} }`},
	{"never ends start", "", "", `start() { return new Promise(() => {}); }`},
	{"throws in stop", "", "", `stop() { throw new Error('no'); }`},
	{"loops in stop", "", "", `stop() { for (;;) {} }`},
	{"never ends any hook", "", "", `start() {} pause() { return new Promise(() => {}); } resume() { return new Promise(() => {}); } stop() { return new Promise(() => {}); }`},
	{"throws", "", "", `transform() { throw new Error('no'); }`},
	{"throws nothing", "", "", `transform() { throw null; }`},
	{"throws what cannot be read", "", "", `transform() { throw { get message() { for (;;) {} }, toString() { for (;;) {} } }; }`},
	{"loops", "", "", `transform() { for (;;) {} }`},
	{"catches every interrupt", "", "", `transform() { for (;;) { try { for (;;) {} } catch {} finally { continue; } } }`},
	{"never settles", "", "", `transform() { return new Promise(() => {}); }`},
	{"makes a storm of promises", "", "", `async transform() { const f = async () => { await null; f(); f(); }; for (;;) { await f(); } }`},
	{"queues microtasks without end", "", "", `transform() { const f = () => queueMicrotask(f); f(); return new Promise(() => {}); }`},
	{"has a catastrophic regular expression", "", "", `transform() { return /^(a+)+$/.test('a'.repeat(40) + 'b'); }`},
	{"recurses", "", "", `transform() { const f = () => f() + 1; return f(); }`},
	{"bombs its heap", "", "", `transform() { const a = []; for (;;) a.push(new Array(1000).fill(1)); }`},
	{"leaks to its limit", `const held = [];`, "", `transform() { for (;;) held.push(new Uint8Array(1 << 16)); }`},
	{"asks for a buffer that is too large", "", "", `transform() { return new Uint8Array(1e12); }`},
	{"searches without end", "", "", `transform() { return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1); }`},
	{"joins without end", "", "", `transform() { return Array(4294967295).join('-'); }`},
	{"sorts without end", "", "", `transform() { return Array.prototype.sort.call({ length: 2 ** 53 - 1 }); }`},
	{"answers 40 MB", "", "", `transform(r) { r.clientIp = 'x'.repeat(40 << 20); return r; }`},
	{"answers with something else", "", "", `transform() { return 5; }`},
	{"answers with a proxy that loops", "", "", `transform() { return new Proxy({}, { get() { for (;;) {} }, ownKeys() { for (;;) {} } }); }`},
	{"answers with a thenable that loops", "", "", `transform() { return { get then() { for (;;) {} } }; }`},
	{"floods the log", "", "", `transform() { for (;;) app.log.info('x'.repeat(1000)); }`},
	{"sets timers without end", "", "", `transform() { const f = () => { setTimeout(f, 0); setTimeout(f, 0); }; f(); return null; }`},
	{"loops in timers", "", "", `start() { setInterval(() => { for (;;) {} }, 1); }`},
	{"rejects without end", "", "", `transform() { for (let i = 0; i < 1e5; i++) Promise.reject(new Error('no')); }`},
	{"fetches without end", "", "", `transform() { for (;;) fetch('http://127.0.0.1:1/').catch(() => {}); }`},
	{"breaks the built-in classes", "", "", `start() { Array.prototype[Symbol.iterator] = null; Object.prototype.then = (f) => { for (;;) {} }; Promise.prototype.then = null; globalThis.Promise = null; } transform(r) { return r; }`},
	{"stores without end", "", "", `async transform() { for (let i = 0; ; i++) await app.storage.set('key ' + i % 100, 'x'.repeat(1 << 15)); }`},
	{"asks the server without end", "", "", `transform() { for (;;) app.api.users.query({ ids: ['5'] }); }`},
}

// harmlessScripts are the kinds that affect nothing, with the reason.
var harmlessScripts = map[string]string{
	"breaks the built-in classes":   "The host took what it uses of them before code of the plugin ran.",
	"has a descriptor that changes": "The host reads the descriptor once.",
}

// usualPlugin is the plugin of those that are faulty elsewhere.
const usualPlugin = `export default class extends AppPlugin { getDescriptor() { return { id: 'suite-bad', version: '1' }; } getExtensions() { return [Actor]; } }`

// Scripts returns the faulty plugins in JavaScript.
func Scripts() (list []Bad) {
	for _, k := range scripts {
		p := k.plugin
		switch p {
		case "":
			p = usualPlugin
		case "-":
			p = ""
		}
		points := "getExtensionPoints() { return ['ClientRequestHandler']; }"
		if strings.Contains(k.members, "getExtensionPoints") {
			points = ""
		}
		source := fmt.Sprintf("%s\nclass Actor extends AppExtension { %s %s }\n%s\n", k.top, points, k.members, p)
		list = append(list, Bad{Kind: k.kind, Harmless: harmlessScripts[k.kind], Data: []byte(source)})
	}
	return list
}
