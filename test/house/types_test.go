// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// size is how many methods a type has, and in how many files.
type size struct{ methods, files int }

func (s size) exceeds(limit size) bool { return s.methods > limit.methods || s.files > limit.files }

// typeLimit bounds every type: one that has more is several nouns under one name.
var typeLimit = size{50, 10}

// largeTypes are larger, and may not grow. A number here may only become smaller; a type that fits the limit leaves the list.
var largeTypes = map[string]size{
	"internal/plugin.Manager": {85, 16},
}

// TestTypesAreSmall bounds the methods of a type and the files that they are in. Generated code and tests do not count.
func TestTypesAreSmall(t *testing.T) {
	methods, files := map[string]int{}, map[string]map[string]bool{}
	walk(t, func(file string, source []byte) {
		if strings.HasSuffix(file, "_test.go") || bytes.Contains(source, []byte("\n// Code generated ")) {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				name := filepath.ToSlash(dir) + "." + receiver(f.Recv.List[0].Type)
				if methods[name]++; files[name] == nil {
					files[name] = map[string]bool{}
				}
				files[name][file] = true
			}
		}
	})
	for name, n := range methods {
		got := size{n, len(files[name])}
		limit, large := largeTypes[name]
		switch {
		case large && !got.exceeds(typeLimit):
			t.Errorf("%s has %d methods in %d files, which is not too large any more: take it off the list", name, got.methods, got.files)
		case large && got.exceeds(limit):
			t.Errorf("%s has %d methods in %d files and was to shrink, from %d in %d; give what is new a type of its own", name, got.methods, got.files, limit.methods, limit.files)
		case !large && got.exceeds(typeLimit):
			t.Errorf("%s has %d methods in %d files, more than %d in %d; which nouns does it hold?", name, got.methods, got.files, typeLimit.methods, typeLimit.files)
		}
	}
	for name := range largeTypes {
		if methods[name] == 0 {
			t.Errorf("%s is on the list of large types, but does not exist", name)
		}
	}
}

// receiver returns the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	for {
		switch inner := e.(type) {
		case *ast.StarExpr:
			e = inner.X
		case *ast.ParenExpr:
			e = inner.X
		case *ast.IndexExpr:
			e = inner.X
		case *ast.IndexListExpr:
			e = inner.X
		case *ast.Ident:
			return inner.Name
		default:
			return "?"
		}
	}
}
