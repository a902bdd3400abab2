// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestForeign(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := `
app: {logging: {console: {level: ERROR}}}
my-plugin:
  enabled: true
  port: 6880
  ratio: 0.5
  api-key: "0123"
  empty:
  words: [a, 2, {deep-name: x}]
  nested: {max-count: 3, en-US: hello}
app-plugin.push.url: http://localhost
app-plugin:
  push: {retry.maxAttempts: 3}
`
	if err := os.WriteFile(filepath.Join(home, "config", "application.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Options{
		Home: home,
		Environ: []string{
			"MY_PLUGIN_NESTED_MAX_COUNT=4", "MY_PLUGIN_API_KEY=99", "MY_PLUGIN_NEW_ONE=7", "MY_PLUGINS=1", "MY_PLUGIN_=1",
			"APPPLUGIN_PUSH_RETRY_MAX_ATTEMPTS=5", "PATH=/bin", "ENV_ONLY_A=true", "LIST_WORDS_0=z",
		},
		Set: []string{"my-plugin.port=7000", "myPlugin.words[0]=b", "my-plugin.words[9]=c", "flag.only.x=0123", "flag.only.y=1.5", "flag.only.z=a,b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]map[string]any{
		"my-plugin": {
			"enabled": true, "port": int64(7000), "ratio": 0.5, "apiKey": "99", "empty": nil, "newOne": int64(7),
			"words":  []any{"b", int64(2), map[string]any{"deepName": "x"}, "c"},
			"nested": map[string]any{"maxCount": int64(4), "en-US": "hello"},
		},
		"myPlugin.nested": {"maxCount": int64(4), "en-US": "hello"},
		"app-plugin.push": {"url": "http://localhost", "retry": map[string]any{"maxAttempts": int64(5)}},
		"my-plugin.port":  {},
		"nobody":          {},
		"env.only":        {"a": true},
		"flag.only":       {"x": "0123", "y": 1.5, "z": "a,b"},
	} {
		got, err := c.Foreign(prefix)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v, want %#v", prefix, got, err, want)
		}
	}
	got, _ := c.Foreign("my-plugin")
	got["nested"].(map[string]any)["maxCount"] = "spoilt"
	if again, _ := c.Clone().Foreign("my-plugin.nested"); again["maxCount"] != int64(4) {
		t.Errorf("a caller changed the configuration: %v", again)
	}
	if roots := c.ForeignRoots(); !slices.Equal(roots, []string{"appPlugin", "flag", "myPlugin"}) {
		t.Errorf("the roots are %v", roots)
	}
	for _, prefix := range []string{"", "app", "app.store", "App.store.url", "a..b", "."} {
		if got, err := c.Foreign(prefix); err == nil {
			t.Errorf("%q gives %v", prefix, got)
		}
	}
	if got, err := Default().Foreign("my-plugin"); err != nil || len(got) > 0 {
		t.Errorf("by default there is %v, %v", got, err)
	}
}

// TestForeignNames proves that a mistyped name of the server's is still refused.
func TestForeignNames(t *testing.T) {
	for item, want := range map[string]string{
		"ap.service.x=1":        "did you mean",
		"app.elephant=1":        "unknown property",
		"=1":                    "unknown property",
		"my plugin.x=1":         "unknown property",
		"my-plugin..x=1":        "a property must be one or more words",
		"my-plugin.x":           "must have the form property=value",
		"my-plugin.a b=1":       "a property must be one or more words",
		"my-plugin.api-key=1":   "",
		"elephant.trunk.size=1": "",
	} {
		_, err := Load(Options{Home: t.TempDir(), Set: []string{item}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", item, err, want)
		}
	}
}
