// SPDX-License-Identifier: Apache-2.0

package property

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
		tr.root.setDefaults(v)
		for _, read := range []func() (*patch, *Error){
			func() (*patch, *Error) { return tr.fromYAML("fuzz.yaml", []byte(yaml), NewForeign("app", nil)) },
			func() (*patch, *Error) { return tr.fromEnvironment(strings.Split(env, "\n")) },
			func() (*patch, *Error) { return tr.fromSet(strings.Split(set, "\n"), NewForeign("app", nil)) },
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
		tr.root.exportGroup(v, func(Property) bool { return true })
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
