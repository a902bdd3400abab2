// SPDX-License-Identifier: Apache-2.0

package typings

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Writer writes indented lines of a language with the comment syntax of JavaScript and Java.
type Writer struct {
	bytes.Buffer
	// Indent is one level of indentation; empty means two spaces.
	Indent string
	depth  int
}

// Line writes one line.
func (w *Writer) Line(format string, args ...any) {
	step := w.Indent
	if step == "" {
		step = "  "
	}
	w.WriteString(strings.Repeat(step, w.depth))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// Open writes a line and indents the following ones, until Close.
func (w *Writer) Open(format string, args ...any) {
	w.Line(format, args...)
	w.depth++
}

// Deeper indents the following lines like Open, without writing a line.
func (w *Writer) Deeper() { w.depth++ }

// Close ends an indentation and writes a line.
func (w *Writer) Close(text string) {
	w.depth--
	w.Line("%s", text)
}

// docWidth is the number of columns of a doc comment.
const docWidth = 100

// Doc writes a doc comment. Each text begins a line. Its own lines are joined and wrapped, except
// items of lists, tags and code.
func (w *Writer) Doc(texts ...string) {
	prefix := w.depth*max(len(w.Indent), 2) + len(" * ")
	var all []string
	for _, text := range texts {
		for _, paragraph := range paragraphs(strings.ReplaceAll(text, "*/", "* /")) {
			all = append(all, paragraph.wrap(docWidth-prefix)...)
		}
	}
	switch {
	case len(all) == 0:
	case len(all) == 1 && prefix+len("/")+utf8.RuneCountInString(all[0])+len(" */") <= docWidth:
		w.Line("/** %s */", all[0])
	default:
		w.Line("/**")
		for _, l := range all {
			w.Line(" * %s", l)
		}
		w.Line(" */")
	}
}

// A paragraph is a part of a doc comment.
type paragraph struct {
	text string
	// hang is the indentation of its lines after the first one.
	hang string
	// verbatim forbids to wrap it.
	verbatim bool
}

// paragraphs splits a text of several lines.
func paragraphs(text string) (list []paragraph) {
	inCode, open := false, false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		part := strings.TrimSpace(line)
		fence := strings.HasPrefix(part, "```")
		switch {
		case part == "":
			open = false
		case fence || inCode:
			list = append(list, paragraph{text: part, verbatim: true})
			inCode, open = inCode != fence, false
		case strings.HasPrefix(part, "@"), strings.HasPrefix(part, "<p>"), strings.HasPrefix(part, "- "), strings.HasPrefix(part, "* "), !open:
			p := paragraph{text: part}
			if part[0] == '@' || part[0] == '-' || part[0] == '*' {
				p.hang = "    "
			}
			list, open = append(list, p), true
		default:
			list[len(list)-1].text += " " + part
		}
	}
	return list
}

// wrap returns lines of at most that many characters, if the words are not longer.
func (p paragraph) wrap(width int) (lines []string) {
	if p.verbatim {
		return []string{p.text}
	}
	line := ""
	for word := range strings.FieldsSeq(p.text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = p.hang + word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
