// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// FuzzSources feeds all three sources. Whatever comes in, the result is a valid
// configuration or one error in one line.
func FuzzSources(f *testing.F) {
	for _, seed := range [][3]string{
		{"app:\n  proxy: {port: 1}\n", "APP_NAMES_0=a", "app.plugins[0].url=x"},
		{"app.plugins[1].url: x\napp: {labels: {a: b}}", "APP_LABELS=a=b", "app.names=a,b"},
		{"a: &a [*a]\n<<: *a\n--- !x", "APP_PLUGINS_0_URL=", "app=="},
		{"app: {levels: [{times: 1}], modes: [ON]}", "APP_COUNT=1", "app.count[0].[="},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	tr := sampleTree(f)
	f.Fuzz(func(t *testing.T, yaml, env, set string) {
		var s sample
		v := reflect.ValueOf(&s).Elem()
		tr.setDefaults(v)
		for _, read := range []func() (*patch, *Error){
			func() (*patch, *Error) { return tr.fromYAML("fuzz.yaml", []byte(yaml), newForeign(nil)) },
			func() (*patch, *Error) { return tr.fromEnvironment(strings.Split(env, "\n")) },
			func() (*patch, *Error) { return tr.fromSet(strings.Split(set, "\n"), newForeign(nil)) },
		} {
			p, err := read()
			if err != nil {
				checkErrorLine(t, tr.complete(err))
				continue
			}
			p.apply(v, nil)
		}
		if err := tr.validate(v); err != nil {
			checkErrorLine(t, err)
		}
		tr.export(v, func(Property) bool { return true })
	})
}

// FuzzLoad feeds the real tree through its door.
func FuzzLoad(f *testing.F) {
	f.Add("app.service.admin-api.http.port: 1", "app.metrics.open-to=::1")
	f.Add("app: {store: {url: 'postgres://x'}}", "app.store.url=sqlite:?")
	f.Fuzz(func(t *testing.T, yaml, set string) {
		c, err := Load(Options{Home: "/srv/app", File: writeFile(t, yaml), Set: []string{set}})
		if err != nil {
			checkErrorLine(t, err)
			return
		}
		if err := c.Validate(); err != nil {
			t.Errorf("Load returned an invalid configuration: %v", err)
		}
		again := c.Clone()
		if err := again.Merge(c.Select(func(p Property) bool { return !p.Sensitive }), MergeOptions{}); err != nil {
			t.Errorf("the values cannot be merged back: %v", err)
		}
		if !reflect.DeepEqual(again, c) {
			t.Errorf("the values change when merged back: %+v, %+v", again, c)
		}
	})
}

func checkErrorLine(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Rule == "" {
		t.Errorf("not an *Error with a rule: %v", err)
	}
	if strings.ContainsAny(err.Error(), "\n\r\x00\u2028") {
		t.Errorf("not one line: %q", err)
	}
}
