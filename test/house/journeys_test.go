// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var reading = regexp.MustCompile(`(?s)Read in this order: (.*?)\.\s+Search for\s+(.*?)\.\n`)

// TestJourneysAreShort checks the journeys of docs/architecture.md: each names at most 15 files,
// which exist, and names to search for, which occur in one of them.
func TestJourneysAreShort(t *testing.T) {
	document, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	journeys := reading.FindAllStringSubmatch(string(document), -1)
	if len(journeys) != 3 {
		t.Fatalf("there are %d journeys, want 3", len(journeys))
	}
	for _, journey := range journeys {
		var sources strings.Builder
		files := code.FindAllString(journey[1], -1)
		if len(files) == 0 || len(files) > 15 {
			t.Errorf("a journey has %d files, want 1 to 15: %s", len(files), journey[1])
		}
		for _, file := range files {
			source, err := os.ReadFile(filepath.Join(root, strings.Trim(file, "`")))
			if err != nil {
				t.Error(err)
			}
			sources.Write(source)
		}
		for _, name := range code.FindAllString(journey[2], -1) {
			if !regexp.MustCompile(`(?m)^(func|type) (\([^)]*\) )?` + strings.Trim(name, "`") + `\b`).MatchString(sources.String()) {
				t.Errorf("none of the files of the journey declares %s", name)
			}
		}
	}
}
