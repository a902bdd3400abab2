// SPDX-License-Identifier: Apache-2.0

package property

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteDoc writes the documentation of every property. The formats are "text"
// for a terminal, "markdown" with one table for each group at the top, and
// "json" for programs.
func (t *Tree) WriteDoc(w io.Writer, format string) error {
	var doc string
	switch format {
	case "text":
		doc = t.textDoc()
	case "markdown":
		doc = t.markdownDoc()
	case "json":
		data, err := json.MarshalIndent(t.Properties(), "", "  ")
		if err != nil {
			return fmt.Errorf("encode documentation: %w", err)
		}
		doc = string(data) + "\n"
	default:
		return fmt.Errorf("write documentation: format %q must be text, markdown or json", format)
	}
	if _, err := io.WriteString(w, doc); err != nil {
		return fmt.Errorf("write documentation: %w", err)
	}
	return nil
}

// section is a top-level group with its properties.
type section struct {
	name, doc  string
	properties []Property
}

func (t *Tree) sections() []section {
	var all []section
	for _, c := range t.root.children {
		s := section{name: c.name, doc: c.prop.Doc}
		if c.kind != kindGroup {
			s.properties = append(s.properties, c.property())
		}
		c.walk(func(n *node) {
			if n.kind != kindGroup {
				s.properties = append(s.properties, n.property())
			}
		})
		all = append(all, s)
	}
	return all
}

func (t *Tree) textDoc() string {
	var b strings.Builder
	for i, s := range t.sections() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n%s\n%s\n", s.name, strings.Repeat("=", len(s.name)), s.doc)
		for _, p := range s.properties {
			fmt.Fprintf(&b, "\n%s\n", p.Name)
			for _, line := range [...][2]string{
				{"type", p.typeWithRange()},
				{"default", p.printedDefault()},
				{"meaning", p.Doc},
				{"change", p.change()},
				{"env", p.Env},
			} {
				fmt.Fprintf(&b, "  %-8s %s\n", line[0], line[1])
			}
		}
	}
	return b.String()
}

// inCell escapes text for a cell of a Markdown table, inCode inside backquotes, where only the cell
// separator is special.
var (
	inCell = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`)
	inCode = strings.NewReplacer("|", `\|`)
)

func (t *Tree) markdownDoc() string {
	var b strings.Builder
	for i, s := range t.sections() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "## `%s`\n\n%s\n\n", s.name, inCell.Replace(s.doc))
		b.WriteString("| Property | Type | Default | Meaning | Change | Environment variable |\n")
		b.WriteString("|---|---|---|---|---|---|\n")
		for _, p := range s.properties {
			def := "`" + inCode.Replace(p.printedDefault()) + "`"
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | `%s` |\n",
				p.Name, inCell.Replace(p.typeWithRange()), def, inCell.Replace(p.Doc), p.change(), p.Env)
		}
	}
	return b.String()
}

// typeWithRange returns the type with the allowed values.
func (p Property) typeWithRange() string {
	switch {
	case len(p.Options) > 0:
		return p.Type + ": " + strings.Join(p.Options, ", ")
	case p.Min != nil && p.Max != nil:
		return fmt.Sprintf("%s, %d to %d", p.Type, *p.Min, *p.Max)
	case p.Min != nil:
		return fmt.Sprintf("%s, at least %d", p.Type, *p.Min)
	case p.Max != nil:
		return fmt.Sprintf("%s, at most %d", p.Type, *p.Max)
	}
	return p.Type
}

// printedDefault returns the default as shown.
func (p Property) printedDefault() string {
	if p.Default == "" {
		return `""`
	}
	return p.Default
}

// change describes when the value may be changed and for whom.
func (p Property) change() string {
	when := "at start"
	if p.Mutable {
		when = "at run time"
	}
	if p.Global {
		return when + ", for all nodes"
	}
	return when + ", for one node"
}
