// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Update replaces generated sections of a document and returns the result. It does not write the
// file.
func Update(document string, sections map[string]string) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		begin, end := fmt.Sprintf("<!-- generated: %s -->\n", name), fmt.Sprintf("<!-- end: %s -->\n", name)
		before, rest, found := strings.Cut(document, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			return "", fmt.Errorf("the document has no section %q", name)
		}
		document = before + begin + "\n" + strings.TrimSpace(sections[name]) + "\n\n" + end + after
	}
	return document, nil
}

// Check returns an error if a section of a file is out of date. With write it updates the file
// instead.
func Check(path string, sections map[string]string, write bool) error {
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	want, err := Update(string(have), sections)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case write:
		return os.WriteFile(path, []byte(want), 0o644)
	case want != string(have):
		line := 1
		for a, b := range zip(strings.Lines(string(have)), strings.Lines(want)) {
			if a != b {
				return fmt.Errorf("%s is stale from line %d on: it has %q, it should have %q; make docs writes it", path, line, a, b)
			}
			line++
		}
		return fmt.Errorf("%s is stale; make docs writes it", path)
	}
	return nil
}

// zip iterates over two sequences until one of them ends.
func zip(x, y func(func(string) bool)) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		rest := slices.Collect(y)
		for a := range x {
			if len(rest) == 0 || !yield(a, rest[0]) {
				return
			}
			rest = rest[1:]
		}
	}
}
