// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	exampleRow = regexp.MustCompile("(?m)^\\| \\[[^]]+\\]\\(([^)]+)\\) \\| `([^`]+)` \\|")
	makeTarget = regexp.MustCompile(`(?m)^make ([a-z-]+)`)
)

// TestWorkedExamples checks that the files and names in the worked examples of CONTRIBUTING.md
// exist.
func TestWorkedExamples(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, examples, _ := strings.Cut(string(text), "## Worked examples\n")
	for title, least := range map[string]int{"Add an operation": 4, "Add a property": 3, "Add a client request": 6, "Add an extension point": 4} {
		_, chapter, found := strings.Cut(examples, "### "+title)
		chapter, _, _ = strings.Cut(chapter, "\n### ")
		rows := exampleRow.FindAllStringSubmatch(chapter, -1)
		if !found || len(rows) < least {
			t.Errorf("%q has %d steps", title, len(rows))
		}
		for _, row := range rows {
			source, err := os.ReadFile(filepath.Join(root, row[1]))
			if err != nil {
				t.Errorf("%s: %v", title, err)
			} else if !strings.Contains(string(source), row[2]) {
				t.Errorf("%s: %s has no %s any more", title, row[1], row[2])
			}
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range makeTarget.FindAllStringSubmatch(string(text), -1) {
		if !regexp.MustCompile(`(?m)^` + target[1] + `:`).Match(makefile) {
			t.Errorf("there is no make %s", target[1])
		}
	}
}
