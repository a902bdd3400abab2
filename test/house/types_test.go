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

// maxMethods and maxFiles limit the methods of a type and the files that contain them: a type with
// more has several responsibilities.
const maxMethods, maxFiles = 50, 10

// TestTypesAreSmall checks these limits. Generated code and tests do not count.
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
		if len(files[name]) > maxFiles || n > maxMethods {
			t.Errorf("%s has %d methods in %d files, more than %d in %d; which nouns does it hold?", name, n, len(files[name]), maxMethods, maxFiles)
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
