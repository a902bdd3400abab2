// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(<?([^()\s<>]+)>?\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*?)[ #]*$`)
)

// TestLinksInDocuments checks every link from a Markdown file of the tree to another file, or to a
// heading of one.
func TestLinksInDocuments(t *testing.T) {
	command := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "*.md")
	command.Dir = root
	list, err := command.Output()
	if err != nil {
		t.Fatalf("list the Markdown files: %v", err)
	}
	known := map[string]map[string]bool{}
	anchors := func(path string) map[string]bool {
		if known[path] == nil {
			known[path] = anchorsOf(t, path)
		}
		return known[path]
	}
	for name := range bytes.SplitSeq(bytes.Trim(list, "\x00"), []byte{0}) {
		path := filepath.Join(root, string(name))
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) { // It is deleted, but the deletion is not committed yet.
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllSubmatch(code.ReplaceAll(fence.ReplaceAll(text, nil), nil), -1) {
			target := string(found[1])
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link to %q leads nowhere", name, target)
			} else if anchor != "" && !anchors(to)[anchor] {
				t.Errorf("%s: the link to %q finds no such heading", name, target)
			}
		}
	}
}

// anchorsOf returns the anchors of the headings of a Markdown file.
func anchorsOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, found := range heading.FindAllSubmatch(fence.ReplaceAll(text, nil), -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAll(found[1], []byte("$1"))
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, string(title))
		names[name] = true
	}
	return names
}
