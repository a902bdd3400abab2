// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/app/internal/plugin"
	"example.org/app/internal/testkit"
	"example.org/app/test/need"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs test files, which are in a folder with the plugin of testdata, and returns their
// outcomes by name.
func run(t *testing.T, o testkit.Options, files map[string]string) (testkit.Summary, map[string]string, error) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"probe.js", "typed.ts"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.Paths = []string{dir}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Minute // A slow machine must not make a test fail.
	}
	outcomes := map[string]string{}
	o.Done = func(out testkit.Outcome) {
		text := "ok"
		if out.Skipped {
			text = "skipped"
		}
		for _, p := range out.Problems {
			text = strings.TrimPrefix(text+"\n", "ok\n") + describe(p)
		}
		for _, line := range out.Log {
			text += "\nlog: " + line
		}
		name := out.Test
		if name == "" {
			name = filepath.Base(out.File)
		}
		outcomes[name] = text
	}
	s, err := testkit.Run(t.Context(), o)
	return s, outcomes, err
}

// describe formats an error with its stack.
func describe(err error) string {
	if x, ok := errors.AsType[*plugin.Exception](err); ok {
		return fmt.Sprintf("%v\n%s", err, x.Stack)
	}
	return err.Error()
}

// begins prepends the import that all files need.
func begins(text string) string {
	return "import { test, describe, beforeEach, afterEach, assert, start, until } from 'app:test';\n" + text
}

// want checks the outcomes of tests: each text must be contained in the outcome; "ok" must equal
// it.
func want(t *testing.T, got map[string]string, expected map[string][]string) {
	t.Helper()
	for name, parts := range expected {
		for _, part := range parts {
			if part == "ok" && got[name] != "ok" || !strings.Contains(got[name], part) {
				t.Errorf("%s is %q and lacks %q", name, got[name], part)
			}
		}
	}
	if len(got) != len(expected) {
		t.Errorf("there are %d outcomes: %q", len(got), got)
	}
}

// TestServer checks the test's view of the server and the plugin.
func TestServer(t *testing.T) {
	data, err := os.ReadFile("testdata/server.test.js")
	if err != nil {
		t.Fatal(err)
	}
	typed, err := os.ReadFile("testdata/typed.test.ts")
	if err != nil {
		t.Fatal(err)
	}
	s, got, err := run(t, testkit.Options{}, map[string]string{"server.test.js": string(data), "typed.test.ts": string(typed)})
	if err != nil || !s.OK() || s.Passed != len(got) || s.Files != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	for name, text := range got {
		if text != "ok" {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestFailures runs tests that must fail, each with a message that says why. The probes for
// coverage must not be visible.
func TestFailures(t *testing.T) {
	var said []string
	s, got, err := run(t, testkit.Options{Coverage: true, Said: func(_, text string) { said = append(said, text) }}, map[string]string{"a.test.js": begins(`
test('equal', () => { assert.equal(1, 2, 'the sum'); });
test('deep', () => { assert.deepEqual({ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }); });
test('text', () => { throw 'oh'; });
test('refusal', () => { throw new AppError('SERVER_UNAVAILABLE', 'closed'); });
test('rejection', async () => { Promise.reject(new Error('nobody listens')); });
test('timer', () => { setInterval(() => {}, 1); });
test('server', async () => { const s = await start({ plugin: './probe.js' }); await s.login({ userId: 5, password: 'x' }); });
test('unexpected request', async () => {
  const s = await start({ plugin: './probe.js', answers: { 'GET https://known.example.org/*': 200 } });
  await (await s.user()).request({ createMessageRequest: { recipientId: '9', text: 'fetch https://other.example.org/' } }).catch(() => {});
});
test('uncaught', async () => {
  const s = await start({ plugin: './probe.js', now: 0 });
  await (await s.user()).request({ createMessageRequest: { recipientId: '9', text: 'throw later' } }).catch(() => {});
  await s.clock.advance(10);
});
test('no file', async () => { await start({ plugin: './missing.js' }); });
test('no name', async () => { await start(); });
test('two servers', async () => { await start({ plugin: './probe.js' }); await start({ plugin: './probe.js' }); });
test('clock', async () => { const s = await start({ plugin: './probe.js' }); await s.clock.advance(1); });
test('bad answer', async () => { const s = await start({ plugin: './probe.js' }); s.http.answer('known.example.org', 200); });
test('nothing comes', async () => { const s = await start({ plugin: './probe.js' }); await (await s.user()).message({ within: 20 }); });
describe('group', () => {
  beforeEach(() => { throw new Error('not ready'); });
  test('hook', () => {});
});
test('logged', async () => {
  const s = await start({ plugin: './typed.ts' });
  console.log('asks', 1);
  await (await s.user()).request({ createMessageRequest: { recipientId: '9', text: 'fail' } });
});
test('socket', async () => {
  const s = await start({ plugin: './probe.js', answers: { 'https://known.example.org/': { error: 'no way' } } });
  const u = await s.user();
  for (const url of ['wss://known.example.org/', 'wss://unknown.example.org/']) {
    await u.request({ createMessageRequest: { recipientId: '9', text: 'socket ' + url } }).catch(() => {});
  }
});
test('last', () => {});
`)})
	if err != nil || s.OK() || s.Passed != 1 || s.Failed != len(got)-1 {
		t.Errorf("%+v, %v", s, err)
	}
	if len(said) != 1 || said[0] != "asks 1" {
		t.Errorf("the tests wrote %q", said)
	}
	want(t, got, map[string][]string{
		"equal":              {"AssertionError: the sum: 1 is not 2", "a.test.js:3:30"},
		"deep":               {"the values differ at a[1].b: 2 is not 3", "actual:   { a: [1, { b: 2 }] }", "a.test.js:4:29"},
		"text":               {`"oh" was thrown, which is not an Error`},
		"refusal":            {"AppError SERVER_UNAVAILABLE: closed", "a.test.js:6"},
		"rejection":          {"nobody listens", "a.test.js:7"},
		"timer":              {"the test left a timer running"},
		"server":             {"LOGGING_IN_USER_NOT_ACTIVE", "a.test.js:9"},
		"unexpected request": {"unexpected request GET https://other.example.org/; answers are declared for GET https://known.example.org/*"},
		"uncaught":           {"the plugin: Error: nobody catches this", "probe.js:"},
		"no file":            {"missing.js: no such file", "a.test.js:19"},
		"no name":            {"there is neither a.ts nor a.js beside the tests"},
		"two servers":        {"the test has a server already"},
		"clock":              {"the clock of the plugin goes by itself"},
		"bad answer":         {`the request "known.example.org" must be a URL`},
		"nothing comes":      {"got no such notification within 20 ms"},
		"group > hook":       {"not ready"},
		"logged":             {"SERVER_INTERNAL_ERROR", "log: warn an extension failed: Error: not here (typed.ts:13:"},
		"socket":             {"unexpected request GET https://unknown.example.org/;"},
		"last":               {"ok"},
	})
}

// TestCoverage counts lines in the sources, independently of the build and the engine.
func TestCoverage(t *testing.T) {
	s, got, err := run(t, testkit.Options{Coverage: true}, map[string]string{
		"lib.ts": "export type Unused = string;\n\nexport const half = (n: number) => {\n  if (n < 0) {\n    return 0;\n  }\n  return n / 2;\n};\n",
		"a.test.ts": begins(`import { half } from './lib';
test('a', async () => {
  half(1); half(2);
  const s = await start({ plugin: './typed.ts' });
  await (await s.user()).request({ createMessageRequest: { recipientId: '9', text: 'hello' } }).catch(() => {});
});
test('b', async () => {
  const s = await start({ plugin: './typed.ts' });
  await assert.rejects((await s.user()).request({ createMessageRequest: { recipientId: '9', text: 'fail' } }));
});
`),
	})
	if err != nil || !s.OK() {
		t.Fatalf("%+v, %v, %v", s, err, got)
	}
	lines := map[string]map[int]int{}
	for file, l := range s.Lines {
		lines[filepath.Base(file)] = l
	}
	if len(lines) != 2 {
		t.Errorf("the files are %v", s.Lines)
	}
	if l := lines["lib.ts"]; len(l) != 4 || l[3] != 1 || l[4] != 2 || l[7] != 2 {
		t.Errorf("the lines of lib.ts are %v", l)
	} else if n, ok := l[5]; !ok || n != 0 {
		t.Errorf("the lines of lib.ts are %v", l)
	}
	// The callback returns after the second line for a request that is not a message.
	if l := lines["typed.ts"]; l[5] != 2 || l[11] < 2 || l[13] != 2 || l[14] != 1 {
		t.Errorf("the lines of typed.ts are %v", l)
	}
}

// TestFiles runs files that cannot be run.
func TestFiles(t *testing.T) {
	s, got, err := run(t, testkit.Options{}, map[string]string{
		"syntax.test.js": "const x = ;", "import.test.js": "import './missing.js';", "empty.test.js": "", "throws.test.ts": "\nthrow new Error('at the top' as string);",
		"twice.test.js": begins("test('a', () => {}); test('a', () => {});"), "async.test.js": begins("describe('a', async () => {});"),
		"rejected.test.js": begins("test('a', () => {}); Promise.reject(new Error('nobody listens'));"),
		"global.test.js":   "import { test } from 'app:test'; test('hidden', () => { if ('__app_functions' in globalThis) throw new Error('it is there'); });",
	})
	if err != nil || s.OK() || s.Broken != len(got)-1 || s.Passed != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	want(t, got, map[string][]string{
		"syntax.test.js":   {`syntax.test.js:1:11: Unexpected ";"`},
		"import.test.js":   {`Could not resolve "./missing.js"`},
		"empty.test.js":    {"the file declares no test"},
		"throws.test.ts":   {"at the top", "throws.test.ts:2:11"},
		"twice.test.js":    {`test "a" is declared twice`},
		"async.test.js":    {`describe "a": the function must not be async`},
		"rejected.test.js": {"nobody listens"},
		"hidden":           {"ok"},
	})
}

// TestTimeout ends tests that do not end, and continues.
func TestTimeout(t *testing.T) {
	need.Time(t)
	s, got, err := run(t, testkit.Options{Timeout: 2 * time.Second}, map[string]string{"a.test.js": begins(`
test('endless', () => { for (;;); });
test('waits', () => new Promise(() => {}));
test('next', () => {});
`)})
	if err != nil || s.Failed != 2 || s.Passed != 1 {
		t.Errorf("%+v, %v, %q", s, err, got)
	}
	want(t, got, map[string][]string{"endless": {"did not end within 2s"}, "waits": {"did not end within 2s"}, "next": {"ok"}})
}

// TestMatch runs the tests whose names match.
func TestMatch(t *testing.T) {
	file := begins("describe('group', () => { test('one', () => {}); test.skip('two'); }); test('three', () => { throw new Error(); });")
	o := testkit.Options{Match: regexp.MustCompile("group > ")}
	s, got, err := run(t, o, map[string]string{"a.test.js": file})
	if err != nil || !s.OK() || s.Skipped != 1 || s.Passed != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	want(t, got, map[string][]string{"group > one": {"ok"}, "group > two": {"skipped"}})
	o.Match = regexp.MustCompile("four")
	if _, _, err := run(t, o, map[string]string{"a.test.js": file}); err == nil || !strings.Contains(err.Error(), `no test has a name that matches "four"`) {
		t.Error(err)
	}
}

// TestFind searches for test files.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.test.js", "a.js", "sub/b.test.ts", "node_modules/x/c.test.js", ".hidden/d.test.js"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := testkit.Find([]string{dir, filepath.Join(dir, "a.test.js")})
	if err != nil || len(files) != 2 || filepath.Base(files[0]) != "a.test.js" || filepath.Base(files[1]) != "b.test.ts" {
		t.Errorf("%v, %v", files, err)
	}
	for path, reason := range map[string]string{
		t.TempDir(): "no tests found in", filepath.Join(dir, "a.js"): "is not a file with tests", filepath.Join(dir, "nothing"): "no such file",
	} {
		if _, err := testkit.Find([]string{path}); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestStopped checks that Run ends with its context.
func TestStopped(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.test.js"), []byte(begins("test('waits', () => new Promise(() => {}));")), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := testkit.Run(ctx, testkit.Options{Paths: []string{dir}, Timeout: time.Hour, Done: func(testkit.Outcome) {}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
