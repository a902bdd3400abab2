// SPDX-License-Identifier: Apache-2.0

package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// given are the fields that an App has from the beginning, and late are those that a unit hands to others who use them
// only when everything runs.
var (
	given = []string{"opts", "processID", "live", "started", "shutdown", "asked", "lifecycle", "status"}
	late  = map[string][]string{"buildPlugins": {"apis", "notifier", "domain"}}
)

// methods are what the methods of App read and write of it, by name.
type methods map[string]*use

// use are the fields that a method sets, and the fields and methods that it mentions.
type use struct{ sets, mentions map[string]bool }

// readMethods reads the source of this package.
func readMethods(t *testing.T) methods {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	all := methods{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || len(f.Recv.List[0].Names) == 0 {
				continue
			}
			if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); !ok || star.X.(*ast.Ident).Name != "App" {
				continue
			}
			all[f.Name.Name] = usesOf(f)
		}
	}
	return all
}

func usesOf(f *ast.FuncDecl) *use {
	receiver := f.Recv.List[0].Names[0].Name
	u := &use{sets: map[string]bool{}, mentions: map[string]bool{}}
	field := func(e ast.Expr) string {
		for {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
			case *ast.UnaryExpr:
				e = x.X
			case *ast.SelectorExpr:
				if id, ok := x.X.(*ast.Ident); ok && id.Name == receiver {
					return x.Sel.Name
				}
				e = x.X
			default:
				return ""
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name := field(left); name != "" {
					u.sets[name] = true
				}
			}
			// A pointer to a field is taken to fill it.
			for _, right := range n.Rhs {
				if address, ok := right.(*ast.UnaryExpr); ok && address.Op == token.AND {
					if name := field(address); name != "" {
						u.sets[name] = true
					}
				}
			}
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && id.Name == receiver {
				u.mentions[n.Sel.Name] = true
			}
		}
		return true
	})
	return u
}

// follow returns what a method sets and mentions, with all methods that it calls.
func (m methods) follow(name string) *use {
	all := &use{sets: map[string]bool{}, mentions: map[string]bool{}}
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		u := m[name]
		if seen[name] || u == nil {
			return
		}
		seen[name] = true
		maps.Copy(all.sets, u.sets)
		maps.Copy(all.mentions, u.mentions)
		for mentioned := range u.mentions {
			visit(mentioned)
		}
	}
	visit(name)
	return all
}

func startOf(u *unit) string {
	name := runtime.FuncForPC(reflect.ValueOf(u.start).Pointer()).Name()
	return name[strings.LastIndex(name, ".")+1:]
}

// TestUnitsNeedWhatTheyUse proves from the source that the graph has an edge, or a path, from every unit to those whose
// fields it uses.
func TestUnitsNeedWhatTheyUse(t *testing.T) {
	source := readMethods(t)
	fields := map[string]bool{}
	for f := range reflect.TypeFor[App]().Fields() {
		fields[f.Name] = true
	}
	setBy := map[string]*unit{}
	all := order(process)
	for _, u := range all {
		for name := range source.follow(startOf(u)).sets {
			if fields[name] && setBy[name] == nil && !slices.Contains(given, name) && !slices.Contains(late[startOf(u)], name) {
				setBy[name] = u
			}
		}
	}
	for _, u := range all {
		needed := order(u)
		for name := range source.follow(startOf(u)).mentions {
			owner := setBy[name]
			if !fields[name] || owner == nil || slices.Contains(needed, owner) || slices.Contains(late[startOf(u)], name) {
				continue
			}
			t.Errorf("%s uses the field %s, which %s sets: the unit must need that one", startOf(u), name, startOf(owner))
		}
	}
	for name := range fields {
		if setBy[name] == nil && !slices.Contains(given, name) {
			t.Errorf("no unit sets the field %s", name)
		}
	}
}

// TestOrder wants everything that a unit needs before it, and every start method once.
func TestOrder(t *testing.T) {
	sorted := order(process)
	seen := map[string]bool{}
	for i, u := range sorted {
		for _, needed := range u.needs {
			if at := slices.Index(sorted, needed); at < 0 || at > i {
				t.Errorf("%s starts before %s, which it needs", startOf(u), startOf(needed))
			}
		}
		if seen[startOf(u)] {
			t.Errorf("%s is started twice", startOf(u))
		}
		seen[startOf(u)] = true
	}
	if sorted[len(sorted)-1] != process {
		t.Error("the process does not start last")
	}
}
