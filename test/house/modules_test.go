// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var requirement = regexp.MustCompile(`(?m)^(?:require )?\t?([a-z0-9.-]+\.[a-z]+/\S+) v\S+( // indirect)?$`)

// TestDirectRequirements checks that go.mod marks as direct exactly the modules that the tree
// imports.
func TestDirectRequirements(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	indirect, used := map[string]bool{}, map[string]bool{}
	for _, found := range requirement.FindAllStringSubmatch(string(text), -1) {
		indirect[found[1]] = found[2] != ""
	}
	walk(t, func(file string, source []byte) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			// The module with the longest matching path provides the package.
			for name := imported; name != ""; name = name[:max(0, strings.LastIndex(name, "/"))] {
				if _, required := indirect[name]; required {
					used[name] = true
					break
				}
			}
		}
	})
	for name, marked := range indirect {
		switch {
		case used[name] && marked:
			t.Errorf("go.mod marks %s as indirect, although it is imported: run go mod tidy", name)
		case !used[name] && !marked:
			t.Errorf("go.mod marks %s as direct, although nothing imports it: run go mod tidy", name)
		}
	}
	if len(used) == 0 {
		t.Error("go.mod requires nothing that is imported")
	}
}
