// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A chapter is a group of pages in the navigation.
type chapter struct {
	Title string
	pages []*page
}

// A page is one HTML page.
type page struct {
	// path is relative to the site.
	path  string
	Title string
	// body is the rendered HTML.
	body     template.HTML
	sections []section
}

// A section is the text below a heading, for the search and for the table of contents. The first
// one of a page has no anchor.
type section struct {
	Title  string
	Anchor string
	Level  int
	text   string
}

// plan assigns documents to chapters. A document that is not in the plan is an error, so that none
// is forgotten.
var plan = []struct {
	title     string
	documents []string
}{
	{"Start", []string{"README.md", "glossary.md"}},
	{"Operate", []string{"deployment.md", "scale.md", "configuration.md", "admin-api.md", "console.md", "recordings.md", "benchmarks.md"}},
	{"Write plugins", []string{"plugins.md", "extension-points.md"}},
	{"Write clients", []string{"protocol.md"}},
	{"Change the server", []string{"architecture.md"}},
}

// read reads and renders all pages of the site.
func read(opts Options) ([]*chapter, error) {
	names, err := fs.Glob(opts.Documents, "*.md")
	if err != nil {
		return nil, err
	}
	var chapters []*chapter
	for _, planned := range plan {
		c := &chapter{Title: planned.title}
		for _, name := range planned.documents {
			p, err := document(opts.Documents, name)
			if err != nil {
				return nil, err
			}
			c.pages = append(c.pages, p)
			names = slices.DeleteFunc(names, func(other string) bool { return other == name })
		}
		chapters = append(chapters, c)
	}
	if len(names) > 0 {
		return nil, fmt.Errorf("the documents %v are in no chapter of the documentation", names)
	}
	decisions, err := folder(opts.Documents, "adr")
	if err != nil {
		return nil, err
	}
	last := chapters[len(chapters)-1]
	last.pages = append(last.pages, decisions...)
	reference, err := references(opts)
	if err != nil {
		return nil, err
	}
	return append(chapters, reference), nil
}

// folder renders the Markdown files of a folder, its README.md first.
func folder(documents fs.FS, name string) ([]*page, error) {
	names, err := fs.Glob(documents, name+"/*.md")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(order(a), order(b)) })
	var pages []*page
	for _, name := range names {
		p, err := document(documents, name)
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

// order sorts a README.md before the other files of its folder.
func order(name string) string {
	if path.Base(name) == "README.md" {
		return path.Dir(name)
	}
	return name
}

// references returns the pages that are generated from declarations.
func references(opts Options) (*chapter, error) {
	c := &chapter{Title: "Reference"}
	for _, role := range []string{"service", "gateway"} {
		data, err := fs.ReadFile(opts.Documents, "openapi/"+role+".json")
		if err != nil {
			return nil, err
		}
		p, err := operations(role, data)
		if err != nil {
			return nil, fmt.Errorf("the OpenAPI document of the %s: %w", role, err)
		}
		c.pages = append(c.pages, p)
	}
	types, err := typings(opts.Typings)
	if err != nil {
		return nil, err
	}
	c.pages = append(c.pages, types, javadoc(opts.Javadoc != nil))
	return c, nil
}
