// SPDX-License-Identifier: Apache-2.0

package java

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// TestProtocolDocument compares the version, the kinds of frames and the operations of ASK in
// PROTOCOL.md with both implementations.
func TestProtocolDocument(t *testing.T) {
	host := filepath.Join("..", "..", "..", "sdk", "java", "app-plugin-host")
	sources := filepath.Join(host, "src", "main", "java", "im", "app", "plugin", "host")
	document := text(t, filepath.Join(host, "PROTOCOL.md"))
	frame := text(t, filepath.Join(sources, "wire", "Frame.java"))
	context := text(t, filepath.Join(sources, "Context.java"))

	t.Run("version", func(t *testing.T) {
		want := []string{strconv.Itoa(protocol)}
		if got := matches(document, `This is version (\d+)\.`); !slices.Equal(got, want) {
			t.Errorf("PROTOCOL.md describes version %q, the server implements %q", got, want)
		}
		if got := matches(frame, `int VERSION = (\d+);`); !slices.Equal(got, want) {
			t.Errorf("the host implements version %q, the server %q", got, want)
		}
	})
	t.Run("kinds of frames", func(t *testing.T) {
		got := matches(document, `\| (\d+ \| (?:s→h|h→s|both) \| [A-Z]+) \|`)
		var names []string
		for _, row := range got {
			names = append(names, regexp.MustCompile(`[A-Z]+$`).FindString(row))
		}
		constants := regexp.MustCompile(`int ([A-Z]+) = (\d+);`).FindAllStringSubmatch(frame[regexp.MustCompile(`int HELLO`).FindStringIndex(frame)[0]:], -1)
		if len(constants) != int(kindUncaught) || len(names) != len(constants) {
			t.Fatalf("PROTOCOL.md lists %d kinds, the host has %d, the server %d", len(names), len(constants), kindUncaught)
		}
		for i, c := range constants {
			if number := strconv.Itoa(i + 1); c[2] != number || names[i] != c[1] || matches(got[i], `^(\d+)`)[0] != number {
				t.Errorf("kind %s of the host is %s %s, PROTOCOL.md says %q", number, c[2], c[1], got[i])
			}
		}
	})
	t.Run("operations of ASK", func(t *testing.T) {
		rows := matches(regexp.MustCompile(`(?s)\*\*ASK\*\*:.*?\n\n## `).FindString(document), `\n\| (\d+) \|`)
		constants := matches(context, `int [A-Z_]+ = (\d+);`)
		if len(rows) != int(askNode)+1 || !slices.Equal(rows, constants) {
			t.Errorf("PROTOCOL.md lists the operations %q, the host has %q, the last one of the server is %d", rows, constants, askNode)
		}
	})
}

// text reads a file.
func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// matches returns the first group of all matches.
func matches(s, expression string) (all []string) {
	for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(s, -1) {
		all = append(all, m[1])
	}
	return all
}
