// SPDX-License-Identifier: Apache-2.0

package typings

import (
	"strings"
	"testing"
)

// TestDoc wraps texts of every kind in doc comments.
func TestDoc(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 30))
	for _, tt := range []struct {
		name  string
		texts []string
		want  string
	}{
		{"nothing", []string{"", " \n "}, ""},
		{"a short text", []string{"Short."}, "/** Short. */\n"},
		{"a text that just fits", []string{words[:91] + "xx"}, "/** " + words[:91] + "xx */\n"},
		{"one more character", []string{words[:91] + "xxx"}, "/**\n * " + words[:91] + "xxx\n */\n"},
		{"a long text", []string{words}, "/**\n * " + words[:94] + "\n * " + words[95:] + "\n */\n"},
		{"lines of one text", []string{"One\nsentence.\n\nAnother."}, "/**\n * One sentence.\n * Another.\n */\n"},
		{"several texts", []string{"One.", "Two."}, "/**\n * One.\n * Two.\n */\n"},
		{"a tag", []string{"@param a " + words}, "/**\n * @param a " + words[:84] + "\n *     " + words[85:] + "\n */\n"},
		{"a list", []string{"Any of:\n- one\n  and more\n- two"}, "/**\n * Any of:\n * - one and more\n * - two\n */\n"},
		{"code", []string{"Use:\n```js\n" + words + "\n```\nDone."}, "/**\n * Use:\n * ```js\n * " + words + "\n * ```\n * Done.\n */\n"},
		{"a long word", []string{"See " + strings.Repeat("x", 200)}, "/**\n * See\n * " + strings.Repeat("x", 200) + "\n */\n"},
		{"the end of a comment", []string{"a */ b"}, "/** a * / b */\n"},
	} {
		var w Writer
		if w.Doc(tt.texts...); w.String() != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, w.String(), tt.want)
		}
	}
}
