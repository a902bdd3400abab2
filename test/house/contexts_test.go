// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// contextRow matches a row of the table of context values: the package and the type of the key.
var contextRow = regexp.MustCompile("(?m)^\\| `(internal/[a-z/]+)\\.([A-Za-z]+)` \\|")

// contextKeys returns the types of the keys under which a file puts values into contexts: with
// context.WithValue, or in the Value method of its own context type.
func contextKeys(file *ast.File) (keys []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "WithValue" && isName(f.X, "context") && len(n.Args) == 3 {
				keys = append(keys, keyType(n.Args[1]))
			}
		case *ast.FuncDecl:
			if n.Recv == nil || n.Name.Name != "Value" || n.Type.Params.NumFields() != 1 || !isName(n.Type.Params.List[0].Type, "any") {
				return true
			}
			ast.Inspect(n.Body, func(n ast.Node) bool {
				if compared, ok := n.(*ast.BinaryExpr); ok && compared.Op == token.EQL {
					keys = append(keys, keyType(compared.Y))
				}
				return true
			})
		}
		return true
	})
	return keys
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// keyType returns the name of the type of a key; "?" if the key is not a value of a type of the
// package, as it should be.
func keyType(e ast.Expr) string {
	for {
		switch inner := e.(type) {
		case *ast.ParenExpr:
			e = inner.X
			continue
		case *ast.CompositeLit:
			if name, ok := inner.Type.(*ast.Ident); ok {
				return name.Name
			}
		}
		return "?"
	}
}

// TestValuesInContexts compares the values that code puts into contexts with the table in
// docs/architecture.md, which says why each of them is not a parameter.
func TestValuesInContexts(t *testing.T) {
	document, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	found, listed := map[string]bool{}, map[string]bool{}
	for _, row := range contextRow.FindAllStringSubmatch(string(document), -1) {
		listed[row[1]+"."+row[2]] = true
	}
	walk(t, func(file string, source []byte) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range contextKeys(parsed) {
			key = filepath.ToSlash(dir) + "." + key
			if found[key] = true; !listed[key] {
				t.Errorf("%s: the value of the key %s in a context is not in the table of docs/architecture.md; can it be a parameter or a result?", file, key)
			}
		}
	})
	for key := range listed {
		if !found[key] {
			t.Errorf("docs/architecture.md: nothing has the key %s in a context", key)
		}
	}
}

// TestContextKeys checks that contextKeys finds keys in all forms of the code, and in forms that
// hide them.
func TestContextKeys(t *testing.T) {
	for source, want := range map[string]string{
		`func f(ctx context.Context) { context.WithValue(ctx, aKey{}, 1) }`:                                 "aKey",
		`func f(ctx context.Context) { context.WithValue(ctx, "text", 1) }`:                                 "?",
		`func (c *own) Value(key any) any { if key == (aKey{}) { return c }; return c.Context.Value(key) }`: "aKey",
		`func (c *own) Value(name string) any { if name == other { return c }; return nil }`:                "",
		`func f(ctx context.Context) any { return ctx.Value(aKey{}) }`:                                      "",
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(contextKeys(parsed), " "); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}
