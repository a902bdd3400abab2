// SPDX-License-Identifier: Apache-2.0

package typings

import (
	"bytes"
	"fmt"
	"strings"
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

// Doc writes a doc comment.
func (w *Writer) Doc(lines ...string) {
	var all []string
	for _, l := range lines {
		for part := range strings.SplitSeq(strings.TrimSpace(l), "\n") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, strings.ReplaceAll(part, "*/", "* /"))
			}
		}
	}
	switch len(all) {
	case 0:
	case 1:
		w.Line("/** %s */", all[0])
	default:
		w.Line("/**")
		for _, l := range all {
			w.Line(" * %s", l)
		}
		w.Line(" */")
	}
}
