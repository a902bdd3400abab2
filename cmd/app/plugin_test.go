// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.org/app/internal/plugin/java/javatest"
)

// output runs the program until it exits.
func output(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(t, nil, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// newPlugin creates a plugin with the program and returns its file.
func newPlugin(t *testing.T, language, name string) string {
	t.Helper()
	dir := t.TempDir()
	if code, out, errs := output(t, "plugin", "new", "--"+language, name, "--dir", dir); code != 0 || !strings.Contains(out, "app plugin check "+dir) {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	return filepath.Join(dir, name, name+"."+language)
}

// checkRunConfigurations checks that the debug configurations of a new plugin can be parsed and
// contain the port.
func checkRunConfigurations(t *testing.T, dir, name, port string) {
	t.Helper()
	var launch struct {
		Configurations []struct {
			Name, Request string
			Port          json.Number
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, ".vscode", "launch.json"))
	if err != nil || json.Unmarshal(data, &launch) != nil || len(launch.Configurations) != 1 {
		t.Fatalf("launch.json is %s, %v", data, err)
	}
	if c := launch.Configurations[0]; c.Name != "Attach to "+name || c.Request != "attach" || c.Port.String() != port {
		t.Errorf("launch.json is %s", data)
	}
	var run struct {
		Configuration struct {
			Name    string `xml:"name,attr"`
			Port    string `xml:"port,attr"`
			Options []struct {
				Name  string `xml:"name,attr"`
				Value string `xml:"value,attr"`
			} `xml:"option"`
		} `xml:"configuration"`
	}
	data, err = os.ReadFile(filepath.Join(dir, ".run", "Attach to "+name+".run.xml"))
	if err != nil || xml.Unmarshal(data, &run) != nil {
		t.Fatalf("the run configuration is %s, %v", data, err)
	}
	for _, o := range run.Configuration.Options {
		if o.Name == "PORT" {
			run.Configuration.Port = o.Value
		}
	}
	if run.Configuration.Name != "Attach to "+name || run.Configuration.Port != port {
		t.Errorf("the run configuration is %s", data)
	}
}

func TestPluginNew(t *testing.T) {
	file := newPlugin(t, "js", "two-words")
	checkRunConfigurations(t, filepath.Dir(file), "two-words", "24242")
	for _, name := range []string{"jsconfig.json", "two-words.test.js", "types/test.d.ts", "types/index.d.ts", "types/points.d.ts", "types/api.d.ts", "types/codes.d.ts", "types/java.d.ts"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), name)); err != nil {
			t.Error(err)
		}
	}
	code, out, errs := output(t, "plugin", "check", file)
	if code != 0 || errs != "" {
		t.Errorf("%d %s", code, errs)
	}
	for _, part := range []string{"id           two-words\n", "version      0.1\n", "made for     every server\n", "extension TwoWords\n", "ClientRequestHandler: transform (without handle)\n"} {
		if !strings.Contains(out, part) {
			t.Errorf("%s lacks %q", out, part)
		}
	}
	for name, want := range map[string]string{"two-words": "file exists", "Bad Name": `"Bad Name" cannot be the name of a plugin`, "../up": "cannot be the name"} {
		if code, _, errs := output(t, "plugin", "new", "--js", name, "--dir", filepath.Dir(filepath.Dir(file))); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s", name, code, errs)
		}
	}
}

// TestPluginTest runs the tests of new plugins, and failing tests.
func TestPluginTest(t *testing.T) {
	for _, language := range []string{"js", "ts"} {
		file := newPlugin(t, language, "tested")
		report := filepath.Join(t.TempDir(), "coverage.info")
		code, out, errs := output(t, "plugin", "test", filepath.Dir(file), "--timeout", "5m", "--coverage", "--lcov", report)
		if data, err := os.ReadFile(report); err != nil || !strings.Contains(string(data), "SF:"+file+"\nDA:") || !strings.Contains(out, "100.0 %") {
			t.Errorf("%s, %v\n%s", data, err, out)
		}
		if code != 0 || errs != "" || !strings.Contains(out, "2 tests in 1 file: 2 passed") || !strings.Contains(out, `ok    makes a greeting of "hello"`) {
			t.Errorf("%d %s %s", code, out, errs)
		}
	}
	dir := t.TempDir()
	tests := filepath.Join(dir, "a.test.ts")
	const text = `import { assert, test } from 'app:test';
const n: number = 1;
test('fails', () => { assert.equal(n, 2); });
test('passes', () => {});
test.skip('later');
`
	if err := os.WriteFile(tests, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := output(t, "plugin", "test", dir)
	if code != 1 || !strings.Contains(errs, "tests failed") {
		t.Errorf("%d %s", code, errs)
	}
	for _, part := range []string{
		"  FAIL  fails (", "        AssertionError: 1 is not 2\n          at <anonymous> (a.test.ts:3:30)\n", "  ok    passes (", "  skip  later\n",
		"3 tests in 1 file: 1 passed, 1 failed, 1 skipped (",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("%s lacks %q", out, part)
		}
	}
	if code, out, errs := output(t, "plugin", "test", tests, "--run", "^passes$"); code != 0 || strings.Contains(out, "FAIL") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{tests, "--run", "("}, "--run \"(\""},
		{[]string{tests, "--run", "nothing"}, "no test has a name that matches"},
		{[]string{t.TempDir()}, "no tests found"},
		{[]string{tests, "--timeout", "0s"}, "--timeout must be more than 0"},
	} {
		if code, _, errs := output(t, append([]string{"plugin", "test"}, c.args...)...); code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%q: %d %s", c.args, code, errs)
		}
	}
}

// TestPluginTestWatch reruns tests when a source is saved.
func TestPluginTestWatch(t *testing.T) {
	tests := filepath.Join(t.TempDir(), "a.test.js")
	save := func(sum string) {
		t.Helper()
		text := "import { assert, test } from 'app:test';\ntest('adds', () => assert.equal(" + sum + ", 2));\n"
		if err := os.WriteFile(tests, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save("1 + 1")
	cmd := command(t, nil, "plugin", "test", tests, "--watch")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	wait := func(part string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("the terminal never shows %q", part)
	}
	for _, step := range []struct{ sum, want string }{{"1 + 1", "ok    adds"}, {"1 + 10", "11 is not 2"}, {"1 +", "Unexpected"}, {"2 - 0", "ok    adds"}} {
		save(step.sum)
		wait(step.want)
		wait("Save a source")
	}
	cmd.Process.Signal(os.Interrupt)
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestPluginUpgrade updates the types of a project and changes nothing else.
func TestPluginUpgrade(t *testing.T) {
	file := newPlugin(t, "ts", "typed")
	dir := filepath.Dir(file)
	types := filepath.Join(dir, "types")
	want, err := os.ReadFile(filepath.Join(types, "api.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errs := output(t, "plugin", "upgrade", dir); code != 0 || errs != "" || !strings.Contains(out, "is up to date") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	for path, text := range map[string]string{file: "mine", filepath.Join(types, "api.d.ts"): "old", filepath.Join(types, "own.d.ts"): "mine"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(types, "codes.d.ts")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(types, "index.d.ts"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	checkFailingUpgrade(t, dir, filepath.Join(types, "index.d.ts"), filepath.Join(types, "api.d.ts"))
	if _, err := os.Stat(filepath.Join(types, "codes.d.ts")); err == nil {
		t.Error("the upgrade failed, and added a file")
	}
	if code, out, errs := output(t, "plugin", "upgrade", dir); code != 0 || errs != "" || !strings.Contains(out, "3 of ") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	for path, text := range map[string]string{file: "mine", filepath.Join(types, "api.d.ts"): string(want), filepath.Join(types, "own.d.ts"): "mine"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(types, "codes.d.ts")); err != nil {
		t.Error(err)
	}
}

// TestReplaceFile replaces a file, and a folder, which fails without leaving anything behind.
func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	info, failed := os.Stat(path)
	if err := errors.Join(err, failed); err != nil || string(text) != "new" || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %q, %v, %v", text, info, err)
	}
	if err := replaceFile(dir, []byte("new")); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a folder was replaced: %v", err)
	}
	if _, err := os.Stat(dir + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the new file was left behind: %v", err)
	}
}

func TestPluginCheck(t *testing.T) {
	dir := t.TempDir()
	write := func(name, code string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := func(point, servers string) string {
		return "class E extends AppExtension { getExtensionPoints() { return ['" + point + "']; } }\n" +
			"export default class extends AppPlugin { getDescriptor() { return {id: 'p'" + servers + "}; } getExtensions() { return [E]; } }"
	}
	for _, tt := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"help of new", []string{"new", "--help"}, 0, "app plugin new --js word-filter", ""},
		{"usage of new", []string{"new", "--help"}, 0, "app plugin new (--js NAME | --ts NAME | --java NAME | --kotlin NAME) [flags]", ""},
		{"help of build", []string{"build", "--help"}, 0, "app plugin build src/main.ts -o plugins/word-filter.js", ""},
		{"help of check", []string{"check", "--help"}, 0, "app plugin check login.js --role gateway", ""},
		{"help of upgrade", []string{"upgrade", "--help"}, 0, "app plugin upgrade word-filter", ""},
		{"upgrade of something else", []string{"upgrade", dir}, 1, "", "it is not the folder of a plugin"},
		{"help of dev", []string{"dev", "--help"}, 0, "app plugin dev word-filter.js --home .", ""},
		{"nothing of a point", []string{"check", write("lazy.js", script("UserAuthenticator", ""))}, 0, "WARNING: E names UserAuthenticator but has none of its functions", ""},
		{"unknown point", []string{"check", write("odd.js", script("Nothing", ""))}, 1, "", `names "Nothing", which is not an extension point`},
		{"syntax", []string{"check", write("syntax.js", "\nexport default class {")}, 1, "", "syntax.js:2"},
		{"other role", []string{"check", "--role", "gateway", write("service.js", script("ClientRequestHandler", ", 'compatible-servers': ['SERVICE']"))}, 1, "", "made for [SERVICE], this server is [GATEWAY]"},
		{"its own role", []string{"check", "--role", "service", filepath.Join(dir, "service.js")}, 0, "made for     SERVICE", ""},
		{"its properties", []string{"check", "--set", "greet.word=hello", write("config.js", "if (app.config('greet').word !== 'hello') throw new Error('no word');\n"+script("ClientRequestHandler", ""))}, 0, "id           p", ""},
		{"acts while it is loaded", []string{"check", write("early.js", "await app.api.users.query();\n"+script("ClientRequestHandler", ""))}, 1, "", "cannot be used while the plugin is loaded"},
		{"uses Java while it is loaded", []string{"check", write("java.js", "if (new (Java.type('java.util.ArrayList'))([1]).size() !== 1) throw new Error('no list');\n"+script("ClientRequestHandler", ""))}, 0, "id           p", "the Java host is up"},
		{"loops while it is loaded", []string{"check", "--set", "app.plugin.load-timeout-millis=300", write("loop.js", "for (;;) {}")}, 1, "", "loop.js: loading took"},
		{"waits while it is loaded", []string{"check", "--set", "app.plugin.load-timeout-millis=300", write("wait.js", "await new Promise(() => {});")}, 1, "", "wait.js: loading took"},
		{"not a plugin", []string{"check", write("p.txt", "")}, 1, "", "its name must end in .js, .ts or .jar"},
		{"no file", []string{"check", filepath.Join(dir, "none.js")}, 1, "", "no such file"},
		{"dev without a file", []string{"dev", filepath.Join(dir, "none.js")}, 1, "", "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.stderr == "the Java host is up" {
				javatest.Home(t)
			}
			code, out, errs := output(t, append([]string{"plugin"}, tt.args...)...)
			if code != tt.code || !strings.Contains(out, tt.stdout) || !strings.Contains(errs, tt.stderr) || tt.stderr == "" && errs != "" {
				t.Errorf("exit code %d, output %s, errors %s", code, out, errs)
			}
		})
	}
}

// TestPluginDev saves a plugin repeatedly while a server runs it.
func TestPluginDev(t *testing.T) {
	t.Run("JavaScript", func(t *testing.T) {
		developPlugin(t, newPlugin(t, "js", "swapped"), "class Swapped extends", "class Swapped pretends")
	})
	t.Run("TypeScript", func(t *testing.T) {
		developPlugin(t, newPlugin(t, "ts", "swapped"), "class Swapped extends", "class Swapped pretends")
	})
}

// developPlugin edits a plugin as its author does. Replacing broken by mistake breaks the plugin.
func developPlugin(t *testing.T, file, broken, mistake string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "other.js"), []byte("throw new Error('nobody asked for this one')"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, nil, append([]string{"plugin", "dev", file}, freePorts...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout // One stream, as on a terminal.
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The log is written concurrently with the terminal's lines, so the lines of one save appear in
	// any order.
	lines, seen := bufio.NewScanner(stdout), []string{}
	since := 0
	wait := func(parts ...string) {
		t.Helper()
		shown := func(line string) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
		}
		if slices.ContainsFunc(seen[since:], shown) {
			return
		}
		for lines.Scan() {
			seen = append(seen, lines.Text())
			if shown(lines.Text()) {
				return
			}
		}
		t.Fatalf("the terminal never shows %q but\n%s", parts, strings.Join(seen, "\n"))
	}
	save := func(replace ...string) {
		t.Helper()
		since = len(seen)
		if err := os.WriteFile(file, []byte(strings.NewReplacer(replace...).Replace(string(code))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wait("Save " + file)
	wait("swapped is ready")
	save("is ready", "is better now", "0.1", "0.2")
	wait("swapped is better now")
	save(broken, mistake)
	wait(filepath.Base(file)+":", "")
	save("is ready", "is mended", "0.1", "0.3")
	wait("swapped is mended")
	cmd.Process.Signal(syscall.SIGTERM)
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Contains(strings.Join(seen, "\n"), "nobody asked") {
		t.Error("another plugin of the folder was loaded")
	}
}

// TestPluginBuild builds scripts of plugins in TypeScript. A failed build writes nothing.
func TestPluginBuild(t *testing.T) {
	file := newPlugin(t, "ts", "typed")
	dir := filepath.Dir(file)
	if code, out, errs := output(t, "plugin", "check", file); code != 0 || errs != "" || !strings.Contains(out, "extension Typed\n") {
		t.Errorf("check: %d %s %s", code, out, errs)
	}
	script := filepath.Join(dir, "dist", "typed.js")
	if code, out, errs := output(t, "plugin", "build", file); code != 0 || errs != "" || !strings.HasPrefix(out, script+" has ") {
		t.Fatalf("build: %d %s %s", code, out, errs)
	}
	small := filepath.Join(dir, "out", "small.js")
	if code, out, errs := output(t, "plugin", "build", file, "--minify", "-o", small); code != 0 || errs != "" {
		t.Fatalf("build: %d %s %s", code, out, errs)
	}
	for _, script := range []string{script, small} {
		if code, out, errs := output(t, "plugin", "check", script); code != 0 || errs != "" || !strings.Contains(out, "extension Typed\n") {
			t.Errorf("check %s: %d %s %s", script, code, out, errs)
		}
	}
	before, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "typed.ts")
	if err := os.WriteFile(bad, []byte("export default class {\n  x: = 1\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"build", "check", "dev"} {
		if code, _, errs := output(t, "plugin", command, bad); code != 1 || !strings.Contains(errs, "typed.ts:2:6: ") {
			t.Errorf("%s: %d %s", command, code, errs)
		}
	}
	if code, _, errs := output(t, "plugin", "build", script, "-o", script); code != 1 || !strings.Contains(errs, "would take the place of the source") {
		t.Errorf("over itself: %d %s", code, errs)
	}
	if after, err := os.ReadFile(script); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the script of before has changed: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(script))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the script: %v %v", entries, err)
	}
}
