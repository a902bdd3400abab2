// SPDX-License-Identifier: Apache-2.0

package house

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "example.org/app/"

// A room is an entry of the list of directories in docs/architecture.md.
type room struct {
	// line is its position: a package may only import packages with a greater one.
	line int
	// not are the prefixes of packages that it must not import although they come later.
	not []string
	// only are the prefixes of the rooms that may import it; empty means all.
	only []string
}

// readRooms parses the list of rooms: the first fenced block of the document.
func readRooms(document string) (map[string]room, error) {
	block := fence.FindString(document)
	rooms := map[string]room{}
	for i, line := range strings.Split(block, "\n") {
		if line == "" || strings.HasPrefix(line, "```") {
			continue
		}
		names, rules, _ := strings.Cut(line, "|")
		r := room{line: i}
		for rule := range strings.SplitSeq(rules, "|") {
			switch words := strings.Fields(rule); {
			case rules == "":
			case len(words) > 1 && words[0] == "not":
				r.not = words[1:]
			case len(words) > 1 && words[0] == "only":
				r.only = words[1:]
			default:
				return nil, fmt.Errorf("%q: what follows a bar must begin with \"not\" or \"only\"", line)
			}
		}
		found := false
		for _, word := range strings.Fields(names) {
			if !strings.HasSuffix(word, "/") {
				break
			}
			for _, dir := range expand(strings.TrimSuffix(word, "/")) {
				if _, twice := rooms[dir]; twice {
					return nil, fmt.Errorf("%q stands in the list twice", dir)
				}
				rooms[dir], found = r, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%q does not begin with a directory and a slash", line)
		}
	}
	if len(rooms) == 0 {
		return nil, fmt.Errorf("there is no list of rooms")
	}
	return rooms, nil
}

var braces = regexp.MustCompile(`\{([^{}]*)\}`)

// expand expands the alternatives in braces.
func expand(name string) (all []string) {
	at := braces.FindStringSubmatchIndex(name)
	if at == nil {
		return []string{name}
	}
	for choice := range strings.SplitSeq(name[at[2]:at[3]], ",") {
		all = append(all, expand(name[:at[0]]+choice+name[at[1]:])...)
	}
	return all
}

// forTests reports whether only tests may import a package.
func forTests(dir string) bool {
	return strings.HasSuffix(path.Base(dir), "test") || strings.HasPrefix(dir, "test/") || strings.HasPrefix(dir, "examples/") || dir == "bench"
}

// checkImport returns why a file of from must not import a package, or "".
func checkImport(rooms map[string]room, from string, test bool, imported string) string {
	here, known := rooms[from]
	if !known {
		return "the package is not in the list of rooms"
	}
	to, ours := strings.CutPrefix(imported, module)
	if !ours {
		to = imported
	}
	if i := slices.IndexFunc(here.not, func(not string) bool { return to == not || strings.HasPrefix(to, not+"/") }); i >= 0 && !test {
		return "the list of rooms forbids " + here.not[i]
	}
	there, known := rooms[to]
	switch {
	case !ours || to == from:
		return ""
	case !known:
		return "the imported package is not in the list of rooms"
	case len(there.only) > 0 && !slices.ContainsFunc(there.only, func(only string) bool { return from == only || strings.HasPrefix(from, only+"/") }):
		return "the list of rooms allows only " + strings.Join(there.only, ", ")
	case forTests(to):
		if !test && !forTests(from) {
			return "only tests may import it"
		}
		return ""
	case there.line < here.line, there.line == here.line && !test:
		return "the import does not point down the list of rooms"
	}
	return ""
}

// TestImportsPointDown compares the imports of every file with the list of rooms in
// docs/architecture.md.
func TestImportsPointDown(t *testing.T) {
	document, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := readRooms(string(document))
	if err != nil {
		t.Fatal(err)
	}
	for dir := range rooms {
		if _, err := os.Stat(filepath.Join(root, dir)); err != nil {
			t.Errorf("docs/architecture.md: the list of rooms names %s, which does not exist", dir)
		}
	}
	missing := map[string]bool{}
	walk(t, func(file string, source []byte) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		from := path.Dir(name)
		if _, known := rooms[from]; !known {
			missing[from] = true
			return
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := checkImport(rooms, from, strings.HasSuffix(name, "_test.go"), imported); why != "" {
				t.Errorf("%s imports %s: %s (docs/architecture.md)", name, imported, why)
			}
		}
	})
	for _, dir := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s/ is missing in the list of rooms in docs/architecture.md: add a line where it belongs", dir)
	}
}

// TestCheckImport checks the rules on a small list.
func TestCheckImport(t *testing.T) {
	rooms, err := readRooms("# Rooms\n\n```\ncmd/            the command\nroles/{a,b}/    the roles | not secrets net/http\nsecrets/        keys | only cmd low\nlow/lowtest/    a suite\nlow/            at the bottom\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to string
		test, ok bool
	}{
		{"cmd", "example.org/app/roles/a", false, true},
		{"cmd", "fmt", false, true},
		{"cmd", "example.org/app/secrets", false, true},
		{"roles/a", "example.org/app/low", false, true},
		{"roles/a", "example.org/app/roles/a", true, true},
		{"roles/a", "example.org/app/low/lowtest", true, true},
		{"low/lowtest", "example.org/app/low", false, true},
		{"low", "example.org/app/low/lowtest", true, true},
		{"roles/a", "net/http", true, true},
		{"roles/a", "example.org/app/roles/b", true, true},

		{"low", "example.org/app/roles/a", false, false},
		{"low", "example.org/app/cmd", true, false},
		{"roles/a", "example.org/app/roles/b", false, false},
		{"roles/a", "example.org/app/secrets", false, false},
		{"roles/a", "example.org/app/low/lowtest", false, false},
		{"roles/b", "example.org/app/secrets", true, false},
		{"roles/b", "net/http", false, false},
		{"roles/b", "net/http/pprof", false, false},
		{"cmd", "example.org/app/new", false, false},
		{"new", "example.org/app/low", false, false},
	} {
		if why := checkImport(rooms, c.from, c.test, c.to); (why == "") != c.ok {
			t.Errorf("%s imports %s (in a test: %v): %q", c.from, c.to, c.test, why)
		}
	}
	for _, document := range []string{"no list", "```\nlow/  a\nlow/  b\n```", "```\nno directory\n```", "```\nlow/ x | except y\n```"} {
		if _, err := readRooms(document); err == nil {
			t.Errorf("%q is accepted", document)
		}
	}
}
