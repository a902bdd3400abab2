// SPDX-License-Identifier: Apache-2.0

package js

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/bundle"
)

// typed is a plugin in TypeScript that fails in line 7, in a function of another file.
const typed = `import { check } from './check';
interface Point { x: number }

class Extension extends AppExtension {
  getExtensionPoints() { return ['StorageServiceProvider']; }
  count(n: bigint): number {
    return check({ x: Number(n) } as Point);
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'typed' }; }
  getExtensions() { return [Extension]; }
}
`

const typedCheck = `type Checked = { x: number };

export function check(p: Checked): number {
  console.warn('checked', new Error('logged'));
  if (p.x > 1) throw new RangeError('too much');
  return p.x;
}
`

// buildTyped bundles the plugin and returns its script, whose map is in it.
func buildTyped(t *testing.T) (dir, code string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"typed.ts": typed, "check.ts": typedCheck} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := bundle.Build(bundle.Options{Entry: filepath.Join(dir, "typed.ts"), Output: filepath.Join(dir, "typed.js")})
	if err != nil {
		t.Fatal(err)
	}
	return dir, string(r.Script)
}

// beside puts the map of a script into a file of its own.
func beside(t *testing.T, dir, code string) string {
	t.Helper()
	text, reference := cutMap(code)
	data, err := dataOf(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "typed.js.map"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return text + mapComment + "typed.js.map\n"
}

// TestStackTracesShowTheSources wants failures and logs of a plugin in TypeScript to name its own
// files and lines, wherever the map is and whether it is debugged or not.
func TestStackTracesShowTheSources(t *testing.T) {
	dir, code := buildTyped(t)
	for name, code := range map[string]string{"inline": code, "beside": beside(t, dir, code)} {
		t.Run(name, func(t *testing.T) {
			h, log := newHost(t, Options{})
			m := load(t, h, plugin.Source{Name: "typed.js", Path: filepath.Join(dir, "typed.js"), Data: []byte(code)})
			var got int32
			_, err := m.Extensions()[0].Call(t.Context(), count, []any{int64(2)}, &got)
			x, ok := errors.AsType[*plugin.Exception](err)
			if !ok || x.Location != "check.ts:5:26" || !strings.Contains(x.Stack, "typed.ts:7:5") || strings.Contains(x.Stack, "typed.js") {
				t.Errorf("%#v", err)
			}
			if !strings.Contains(log.String(), "check.ts:4:31") {
				t.Error(log)
			}
		})
	}
}

// TestBadSourceMaps wants maps that lie or are damaged to cost nothing but themselves.
func TestBadSourceMaps(t *testing.T) {
	plain := string(script("", "count() { null.x; }").Data)
	inline := func(text string) string {
		return mapComment + "data:application/json;base64," + base64.StdEncoding.EncodeToString([]byte(text))
	}
	for name, c := range map[string]struct {
		end    string
		warned bool
	}{
		"no JSON":         {inline("{"), false},
		"no map":          {inline("[]"), false},
		"other version":   {inline(`{"version":9,"sources":["a.ts"],"mappings":"AAAA"}`), false},
		"unknown source":  {inline(`{"version":3,"sources":[],"mappings":"AAAA;AAAA;AAAA;AAAA;AAAA"}`), false},
		"negative source": {inline(`{"version":3,"sources":["a.ts"],"mappings":"ADAA;ADAA;ADAA;ADAA;ADAA"}`), false},
		"bad mappings":    {inline(`{"version":3,"sources":["a.ts"],"mappings":"\u0000!"}`), false},
		"null section":    {inline(`{"version":3,"sections":[{"offset":{"line":0,"column":0},"map":null}]}`), false},
		"no base64":       {mapComment + "data:application/json;base64,???", true},
		"other type":      {mapComment + "data:text/html,x", true},
		"no comma":        {mapComment + "data:x", true},
		"nowhere":         {mapComment + "test.js.map", false},
		"outside":         {mapComment + "../../etc/passwd", false},
		"code behind it":  {mapComment + "x.map\n;var a;", false},
	} {
		t.Run(name, func(t *testing.T) {
			h, log := newHost(t, Options{})
			m := load(t, h, plugin.Source{Name: "test.js", Data: []byte(plain + "\n" + c.end)})
			var got int32
			_, err := m.Extensions()[0].Call(t.Context(), count, []any{int64(2)}, &got)
			if x, ok := errors.AsType[*plugin.Exception](err); !ok || !strings.HasPrefix(x.Location, "test.js:") {
				t.Errorf("%#v", err)
			}
			if got := strings.Contains(log.String(), "the source map of a script cannot be read"); got != c.warned {
				t.Errorf("warned %t: %s", got, log)
			}
		})
	}
	t.Run("outside the folder", func(t *testing.T) {
		dir := t.TempDir()
		secret := filepath.Join(filepath.Dir(dir), "secret.map")
		if err := os.WriteFile(secret, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		h, log := newHost(t, Options{})
		load(t, h, plugin.Source{Name: "test.js", Path: filepath.Join(dir, "test.js"), Data: []byte(plain + "\n" + mapComment + "../secret.map")})
		if !strings.Contains(log.String(), "the source map of a script cannot be read") {
			t.Error(log)
		}
	})
}

// download gets what is at a URL of this test's servers.
func download(t *testing.T, url string) (status int, data string) {
	t.Helper()
	resp, err := http.Get(url) //nolint:noctx // It ends with the server.
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

// TestDebuggersGetSourceMaps wants debuggers to be told where the map is, in the script or at the
// inspector, and stack traces of debugged code to name the sources.
func TestDebuggersGetSourceMaps(t *testing.T) {
	dir, code := buildTyped(t)
	_, reference := cutMap(code)
	for name, tt := range map[string]struct{ code, want string }{
		"inline": {code, reference},
		"beside": {beside(t, dir, code), "http://"},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, _ := debugHost(t)
			m := load(t, h, plugin.Source{Name: "typed.js", Path: filepath.Join(dir, "typed.js"), Data: []byte(tt.code)})
			c := attach(t, m.debug.target.Address())
			script := c.enable()
			at, _ := script["sourceMapURL"].(string)
			if !strings.HasPrefix(at, tt.want) {
				t.Fatalf("the map is at %.80q", at)
			}
			if src := c.do("Debugger.getScriptSource", object{"scriptId": script["scriptId"]}); src["scriptSource"] != tt.code {
				t.Error("the source is not what was loaded")
			}
			if name == "beside" {
				want, err := dataOf(reference)
				if err != nil {
					t.Fatal(err)
				}
				if status, data := download(t, at); status != http.StatusOK || data != string(want) {
					t.Errorf("the map is %d %.80s", status, data)
				}
				if status, _ := download(t, at+"9"); status != http.StatusNotFound {
					t.Errorf("another map is %d", status)
				}
			}
			c.do("Runtime.runIfWaitingForDebugger", nil)
			done := begin[int32](t.Context(), m, count, int64(2))
			if r := <-done; r.err == nil || !strings.Contains(r.err.Error(), "check.ts:5:") {
				t.Errorf("%v", r.err)
			}
		})
	}
}
