// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func nameOf(u unit) string { return reflect.TypeOf(u).Elem().Name() }

// TestOrder checks that each unit comes after its dependencies, occurs once, and that the root is
// last. The compiler proves that a unit uses only its dependencies.
func TestOrder(t *testing.T) {
	p, root := &process{}, &units{}
	sorted := assemble(p, root)
	started := map[any]bool{}
	for _, u := range sorted {
		if started[u] {
			t.Errorf("%s is started twice", nameOf(u))
		}
		for field, value := range reflect.ValueOf(u).Elem().Fields() {
			switch {
			case !field.IsExported():
			case value.IsNil():
				t.Errorf("%s lacks %s", nameOf(u), field.Name)
			case value.Interface() == any(p):
			case !started[value.Interface()]:
				t.Errorf("%s starts before %s, which it needs", nameOf(u), field.Name)
			}
		}
		started[u] = true
	}
	if sorted[len(sorted)-1] != unit(root) {
		t.Error("the process does not start last")
	}
}

// TestOrderOfPorts checks that ports are opened before the database, and requests served after
// plugins run.
func TestOrderOfPorts(t *testing.T) {
	var names []string
	for _, u := range assemble(&process{}, &units{}) {
		names = append(names, nameOf(u))
	}
	for _, pair := range [][2]string{
		{"adminPorts", "database"},
		{"consolePort", "database"},
		{"clientPorts", "database"},
		{"auditTrail", "pluginHolder"},
		{"pluginHolder", "rules"},
		{"plugins", "admins"},
		{"pluginsUp", "requests"},
		{"pluginsUp", "jobs"},
		{"requests", "clients"},
	} {
		if first, second := slices.Index(names, pair[0]), slices.Index(names, pair[1]); first < 0 || first > second {
			t.Errorf("%s does not start before %s: %v", pair[0], pair[1], names)
		}
	}
}

type chicken struct{ Egg *egg }

type egg struct{ Chicken *chicken }

func (*chicken) start(context.Context) error { return nil }

func (*egg) start(context.Context) error { return nil }

// TestNoCycle checks that cyclic units are refused.
func TestNoCycle(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "egg and app.chicken need each other") {
			t.Errorf("units that need each other are assembled: %q", text)
		}
	}()
	assemble(&process{}, &chicken{})
}
