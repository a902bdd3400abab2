// SPDX-License-Identifier: Apache-2.0

package site

import (
	"html/template"
	"io/fs"
	"regexp"
	"strings"
)

// typings returns the page of the TypeScript declarations.
func typings(files fs.FS) (*page, error) {
	names, err := fs.Glob(files, "*.d.ts")
	if err != nil {
		return nil, err
	}
	p := &page{path: "typescript.html", Title: "TypeScript API"}
	p.sections = []section{{Title: p.Title, Level: 1, text: "Types for plugins in JavaScript and TypeScript."}}
	var b strings.Builder
	b.WriteString("<h1>TypeScript API</h1>\n<p>The types for plugins in JavaScript. <code>app plugin new --js NAME</code> puts them beside a new plugin; " +
		"<a href=\"plugins.html\">Plugins</a> shows how to use them.</p>\n")
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		anchor := strings.ReplaceAll(name, ".", "-")
		p.sections = append(p.sections, section{Title: name, Anchor: anchor, Level: 2})
		b.WriteString(`<h2 id="` + anchor + `">` + name + "</h2>\n<pre><code>")
		declarations(&b, p, string(data))
		b.WriteString("</code></pre>\n")
	}
	p.body = template.HTML(b.String()) //nolint:gosec // Text from outside is escaped.
	return p, nil
}

var declaration = regexp.MustCompile(`^\s*(?:export |declare )*(?:abstract )?(?:class|interface|type|namespace|const|function|enum) (\w+)`)

// declarations writes the text of a file. Each declaration gets an anchor and a search entry with
// the lines up to the next one.
func declarations(b *strings.Builder, p *page, text string) {
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		escaped := template.HTMLEscapeString(line)
		if m := declaration.FindStringSubmatch(line); m != nil && !seen[m[1]] {
			seen[m[1]] = true
			anchor := p.sections[len(p.sections)-1].file() + "." + m[1]
			p.sections = append(p.sections, section{Title: m[1], Anchor: anchor, Level: 3})
			escaped = `<span id="` + anchor + `">` + escaped + `</span>`
		}
		last := &p.sections[len(p.sections)-1]
		if last.Level == 3 {
			last.text += strings.TrimSpace(line) + " "
		}
		b.WriteString(escaped)
	}
}

// file returns the anchor of a section's file.
func (s section) file() string {
	file, _, _ := strings.Cut(s.Anchor, ".")
	return file
}

// javadoc returns the page that links to the Javadoc.
func javadoc(built bool) *page {
	p := &page{path: "javadoc.html", Title: "Java API"}
	text := `<h1>Java API</h1>
<p>What Java plugins are written against. <a href="extension-points.html">Extension points</a> lists what a plugin can extend, and
<a href="plugins.html">Plugins</a> shows how to begin one.</p>
`
	if built {
		text += `<p><a href="java/index.html">Open the Javadoc</a></p>`
	} else {
		text += `<p>This program was built without the Javadoc. Releases contain it, and <code>make site</code> builds it on a machine with a JDK of version 21 or newer
and Maven.</p>`
	}
	p.body = template.HTML(text) //nolint:gosec // The text is constant.
	p.sections = []section{{Title: p.Title, Level: 1, text: "Javadoc of the Java SDK for plugins."}}
	return p
}
