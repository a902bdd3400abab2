// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestTypings checks the example plugins, and a plugin with mistakes, against the types for plugin
// authors.
func TestTypings(t *testing.T) {
	t.Parallel()
	for _, project := range []string{"test", "../../examples/plugins/js/jsconfig.json"} {
		cmd := exec.CommandContext(t.Context(), "node", "node_modules/typescript/bin/tsc", "--project", project)
		cmd.Dir = "../../sdk/js"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", project, err, out)
		}
	}
}

// TestTypingsKnowEverything checks that the types never use any.
func TestTypingsKnowEverything(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../sdk/js/*.d.ts")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	comment, anything := regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`), regexp.MustCompile(`\bany\b(?:[^(]|$)`) // AbortSignal.any() is a name.
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if anything.Match(comment.ReplaceAll(text, nil)) {
			t.Errorf("%s has the type any", file)
		}
	}
}
