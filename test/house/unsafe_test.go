// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bytes"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestUnsafe allows unsafe only in generated code and in the binding of the JavaScript engine,
// which passes memory to C code that was translated to Go.
func TestUnsafe(t *testing.T) {
	binding := filepath.Join(root, "internal/plugin/js/engine")
	used := false
	walk(t, func(file string, source []byte) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			switch {
			case spec.Path.Value != `"unsafe"`:
			case filepath.Dir(file) == binding:
				used = true
			case !bytes.Contains(source, []byte("// Code generated ")):
				t.Errorf("%s imports unsafe, which only %s may", file, binding)
			}
		}
	})
	if !used {
		t.Errorf("%s does not import unsafe any more: forbid it there, too", binding)
	}
}
