// SPDX-License-Identifier: Apache-2.0

// Package house checks conventions of the source tree.
package house

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"example.org/app/test/protocol"
)

const root = "../.."

// walk calls f for every Go file of the tree.
func walk(t *testing.T, f func(path string, source []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "bin" || name == "data") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		source, err := os.ReadFile(path)
		if err == nil {
			f(path, source)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryFileNamesItsLicence(t *testing.T) {
	walk(t, func(path string, source []byte) {
		if !bytes.HasPrefix(source, []byte("// SPDX-License-Identifier: Apache-2.0\n\n")) {
			t.Errorf("%s does not begin with its licence", path)
		}
	})
}

// TestOtherSourcesNameTheirLicence does the same for other languages. Third-party files keep their
// own licence, which is next to them; test data and generated files need none.
func TestOtherSourcesNameTheirLicence(t *testing.T) {
	command := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard",
		"*.sql", "*.js", "*.mjs", "*.ts", "*.proto", "*.java")
	command.Dir = root
	list, err := command.Output()
	if err != nil {
		t.Fatalf("list the sources: %v", err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(list), "\x00"), "\x00") {
		path := filepath.Join(root, name)
		if strings.Contains(name, "/testdata/") || strings.Contains(name, "/dist/") {
			continue
		}
		if own, err := filepath.Glob(filepath.Join(filepath.Dir(path), "LICENSE*")); err != nil {
			t.Fatal(err)
		} else if len(own) > 0 {
			continue
		}
		source, err := os.ReadFile(path)
		if os.IsNotExist(err) { // It is deleted, but the deletion is not committed yet.
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if head := source[:min(len(source), 200)]; !bytes.Contains(head, []byte("SPDX-License-Identifier: Apache-2.0\n")) {
			t.Errorf("%s does not begin with its licence", name)
		}
	}
}

// TestEveryPackageIsExplained checks that each package has exactly one package comment.
func TestEveryPackageIsExplained(t *testing.T) {
	comments := map[string]int{}
	walk(t, func(path string, source []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(path)
		comments[dir] += 0
		if file.Doc != nil && !strings.HasSuffix(file.Name.Name, "_test") {
			comments[dir]++
		}
	})
	for dir, n := range comments {
		if n != 1 {
			t.Errorf("%s has %d package comments, want one", dir, n)
		}
	}
}

func TestFilesAreOneNoun(t *testing.T) {
	const most = 700
	walk(t, func(path string, source []byte) {
		if n := bytes.Count(source, []byte("\n")); n > most && !bytes.Contains(source, []byte("DO NOT EDIT")) {
			t.Errorf("%s has %d lines, more than %d", path, n, most)
		}
	})
}

// TestProtocolTables checks that the tables of docs/protocol.md agree with proto/ and the status
// codes.
func TestProtocolTables(t *testing.T) {
	sections, err := protocol.Tables(root)
	if err == nil {
		err = protocol.Check(filepath.Join(root, "docs", "protocol.md"), sections, false)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestCommentWidth checks that lines with only a comment have at most 100 columns, with tabs of
// four. Generated Go files, directives and lines of one word, such as links, may be wider.
func TestCommentWidth(t *testing.T) {
	const most = 100
	walk(t, func(path string, source []byte) {
		if bytes.Contains(source[:min(len(source), 400)], []byte("DO NOT EDIT")) {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(source), "\n")
		for _, group := range file.Comments {
			for _, c := range group.List {
				text, ok := strings.CutPrefix(c.Text, "// ")
				at := files.Position(c.Pos()).Line
				indent := strings.TrimSuffix(lines[at-1], c.Text)
				if !ok || strings.Trim(indent, "\t") != "" || !strings.Contains(text, " ") {
					continue
				}
				if n := 4*len(indent) + utf8.RuneCountInString(c.Text); n > most {
					t.Errorf("%s:%d: the comment has %d columns, more than %d", path, at, n, most)
				}
			}
		}
	})
	// A line of a comment in other languages. Markdown and configuration have no such limit.
	comments := map[string]*regexp.Regexp{}
	for mark, suffixes := range map[string]string{`(//|/?\*\*?)`: ".java .js .mjs .ts .tsx .css .proto", `--`: ".sql", `#`: ".sh"} {
		for suffix := range strings.FieldsSeq(suffixes) {
			comments[suffix] = regexp.MustCompile(`^\s*` + mark + ` (.* .*)$`)
		}
	}
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skip("without the list of files: ", err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		suffix := filepath.Ext(name)
		if strings.HasPrefix(name, "scripts/") {
			suffix = ".sh"
		}
		if comments[suffix] == nil || builtOrForeign.MatchString(name) {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // It is being removed.
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(source), "\n") {
			if n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); n > most && comments[suffix].MatchString(line) {
				t.Errorf("%s:%d: the comment has %d columns, more than %d", name, i+1, n, most)
			}
		}
	}
}

// builtOrForeign matches files that are built by other programs, or not ours.
var builtOrForeign = regexp.MustCompile(`(^|/)(dist|acorn|testdata|licenses)/`)
