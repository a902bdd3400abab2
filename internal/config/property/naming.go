// SPDX-License-Identifier: Apache-2.0

package property

import (
	"strings"
	"unicode"
)

// kebab converts the name of a Go field to that of a property: AdminAPI becomes admin-api,
// HTTPServer http-server, UserIDs user-ids and SHA256Sum sha256-sum.
func kebab(field string) string {
	words := splitWords(field)
	for i, w := range words {
		words[i] = strings.ToLower(w)
	}
	return strings.Join(words, "-")
}

// splitWords splits a Go name into its words. A run of capitals is one word, except that its last
// capital belongs to the lower-case letters that follow. A single s after such a run is its plural.
func splitWords(name string) []string {
	r := []rune(name)
	upper := func(i int) bool { return i < len(r) && unicode.IsUpper(r[i]) }
	lower := func(i int) bool { return i < len(r) && unicode.IsLower(r[i]) }
	var words []string
	start := 0
	for i := 1; i < len(r); i++ {
		if !upper(i) {
			continue
		}
		plural := lower(i+1) && r[i+1] == 's' && upper(i-1) && !lower(i+2)
		if !upper(i-1) || lower(i+1) && !plural {
			words = append(words, string(r[start:i]))
			start = i
		}
	}
	return append(words, string(r[start:]))
}

// camel converts a kebab-case name to camelCase.
func camel(name string) string {
	words := strings.Split(name, "-")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// canonical returns the form for comparing spellings: admin-api, adminApi and Admin-Api are one
// name.
func canonical(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "-", ""))
}

// envName converts the name of a property, or a part of it, to that of its environment variable. A
// list's position is a part of its own.
func envName(name string) string {
	return strings.ToUpper(envSeparators.Replace(name))
}

var envSeparators = strings.NewReplacer(".", "_", "-", "_", "[", "_", "]", "")

// joinName appends a segment, or a position in brackets, to a name.
func joinName(name, segment string) string {
	if name == "" || strings.HasPrefix(segment, "[") {
		return name + segment
	}
	return name + "." + segment
}
