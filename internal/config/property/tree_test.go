// SPDX-License-Identifier: Apache-2.0

package property

import (
	"reflect"
	"strings"
	"testing"
)

func TestPropertiesOfSample(t *testing.T) {
	byName := make(map[string]Property)
	var names []string
	for _, p := range sampleTree(t).Properties() {
		byName[p.Name] = p
		names = append(names, p.Name)
	}
	want := []string{
		"app.flag", "app.small", "app.count", "app.big", "app.single", "app.ratio", "app.text", "app.word", "app.even",
		"app.mode", "app.names", "app.modes", "app.ports", "app.labels", "app.dir", "app.dirs",
		"app.proxy.host", "app.proxy.port", "app.proxy.password", "app.proxy.min-size", "app.proxy.max-size",
		"app.plugins", "app.plugins[?].url", "app.plugins[?].kind", "app.plugins[?].token", "app.plugins[?].tags",
		"app.plugins[?].download.timeout-millis",
		"app.levels", "app.levels[?].duration", "app.levels[?].times",
	}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("wrong order\n got: %q\nwant: %q", names, want)
	}

	one, hundred := int64(1), int64(100)
	for _, want := range []Property{
		{Name: "app.flag", JSONPath: "flag", Env: "APP_FLAG", Type: "boolean", Default: "true", Doc: "A flag.", Mutable: true},
		{Name: "app.count", JSONPath: "count", Env: "APP_COUNT", Type: "int", Default: "2", Max: &hundred, Doc: "An int."},
		{Name: "app.big", JSONPath: "big", Env: "APP_BIG", Type: "long", Default: "3", Doc: "A long."},
		{Name: "app.single", JSONPath: "single", Env: "APP_SINGLE", Type: "float", Default: "0.5", Doc: "A float."},
		{Name: "app.mode", JSONPath: "mode", Env: "APP_MODE", Type: "enum", Default: "ON", Options: []string{"ON", "OFF"}, Doc: "An enum."},
		{Name: "app.names", JSONPath: "names", Env: "APP_NAMES", Type: "list of string", Default: "a, b", Doc: "Names."},
		{Name: "app.modes", JSONPath: "modes", Env: "APP_MODES", Type: "list of enum", Default: "[]", Options: []string{"ON", "OFF"}, Doc: "Modes."},
		{Name: "app.labels", JSONPath: "labels", Env: "APP_LABELS", Type: "map of string", Default: "{}", Doc: "Labels."},
		{Name: "app.proxy.password", JSONPath: "proxy.password", Env: "APP_PROXY_PASSWORD", Type: "string", Sensitive: true},
		{Name: "app.plugins", JSONPath: "plugins", Env: "APP_PLUGINS", Type: "list of object", Default: "[]", Doc: "Plugins.", Mutable: true},
		{
			Name: "app.plugins[?].download.timeout-millis", JSONPath: "plugins[?].download.timeoutMillis",
			Env: "APP_PLUGINS_?_DOWNLOAD_TIMEOUT_MILLIS", Type: "int", Default: "60000", Min: &one, Mutable: true,
		},
		{
			Name: "app.levels", JSONPath: "levels", Env: "APP_LEVELS", Type: "list of object",
			Default: "[{duration: 10, times: 5}, {duration: 20, times: 1}]", Doc: "Levels.",
		},
	} {
		if got := byName[want.Name]; !reflect.DeepEqual(got, want) {
			t.Errorf("wrong property\n got: %+v\nwant: %+v", got, want)
		}
	}
	if p := byName["app.proxy.port"]; p.Default != "8080" {
		t.Errorf("the default of the group does not override that of the shared struct: %q", p.Default)
	}
}

// TestPropertiesOwnedByCaller proves that a caller cannot damage the tree.
func TestPropertiesOwnedByCaller(t *testing.T) {
	tr := sampleTree(t)
	find := func() Property {
		for _, p := range tr.Properties() {
			if p.Name == "app.small" {
				return p
			}
		}
		t.Fatal("property not found")
		return Property{}
	}
	*find().Min = 99
	if p := find(); *p.Min != -5 {
		t.Errorf("the minimum has become %d", *p.Min)
	}
}

func TestDeclarationMistakes(t *testing.T) {
	tests := map[string]struct {
		typ  reflect.Type
		want string
	}{
		"type": {reflect.TypeFor[struct{ A uint8 }](), "the type uint8 is not supported"},
		"map":  {reflect.TypeFor[struct{ A map[string]int32 }](), "the type map[string]int32 is not supported"},
		"same name": {reflect.TypeFor[struct {
			A int32
			B int32 `name:"a"`
		}](), `property "app.a" is declared twice`},
		"same variable": {reflect.TypeFor[struct {
			A struct{ BC int32 }
			X int32 `name:"a-bc"`
		}](), `the environment variable APP_A_BC also belongs to "app.a.bc"`},
		"sensitive": {reflect.TypeFor[struct {
			A string `sensitive:"true"`
		}](), "a sensitive property must have the type Secret, not string"},
		"bad default": {reflect.TypeFor[struct {
			A int32 `default:"x"`
		}](), `app.a = "x": must be an integer`},
		"default out of bounds": {reflect.TypeFor[struct {
			A int32 `default:"0" min:"1"`
		}](), `app.a = "0": must be at least 1`},
		"bad list default": {reflect.TypeFor[struct {
			A []sampleLevel `default:"[{x: 1}]"`
		}](), "app.a[0].x: unknown property"},
		"malformed list default": {reflect.TypeFor[struct {
			A []sampleLevel `default:"["`
		}](), "malformed YAML"},
		"bad bound": {reflect.TypeFor[struct {
			A int32 `min:"x"`
		}](), "tag min"},
		"bad flag": {reflect.TypeFor[struct {
			A int32 `mutable:"maybe"`
		}](), "tag mutable"},
		"bad rule": {reflect.TypeFor[struct {
			A string `required:"maybe"`
		}](), "tag required"},
		"enum of numbers": {reflect.TypeFor[struct {
			A int32 `enum:"1,2"`
		}](), "the type int32 cannot be an enum"},
		"override of nothing": {reflect.TypeFor[struct {
			A SampleBase `defaults:"nothing=1"`
		}](), `the default for "app.a.nothing" belongs to no property`},
		"unexported embedded type": {reflect.TypeFor[struct {
			A struct{ sampleLevel }
		}](), "the embedded type property.sampleLevel must be exported"},
		"malformed override": {reflect.TypeFor[struct {
			A SampleBase `defaults:"port"`
		}](), `defaults of "app.a": "port" has no =`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New("app", tt.typ)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want something with %q", err, tt.want)
			}
		})
	}
}

func TestFlagsAreInherited(t *testing.T) {
	type Inner struct {
		A int32
		B int32 `mutable:"false"`
	}
	type outer struct {
		Inner  Inner `mutable:"true" global:"true" hidden:"true"`
		Shared struct {
			Inner `global:"true"`
		}
	}
	tr, err := New("app", reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range tr.Properties() {
		got = append(got, p.Name+" "+p.change())
		if p.Hidden != strings.HasPrefix(p.Name, "app.inner") {
			t.Errorf("%s: hidden is %t", p.Name, p.Hidden)
		}
	}
	want := []string{
		"app.inner.a at run time, for all nodes", "app.inner.b at start, for all nodes",
		"app.shared.a at start, for all nodes", "app.shared.b at start, for all nodes",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
