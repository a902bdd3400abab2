// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	_ "embed"
	"html/template"
	"path"
)

//go:embed layout.html
var layoutText string

var layoutTemplate = template.Must(template.New("layout").Parse(layoutText))

// A link is a link to a page in the navigation.
type link struct {
	Title, URL string
	Current    bool
}

// layout adds the navigation, the search and the table of contents to a page.
func layout(chapters []*chapter, p *page, version string) ([]byte, error) {
	type part struct {
		Title string
		Links []link
	}
	var parts []part
	for _, c := range chapters {
		one := part{Title: c.Title}
		for _, other := range c.pages {
			if path.Dir(other.path) != path.Dir(p.path) && path.Dir(other.path) != "." && path.Base(other.path) != "index.html" {
				continue // A folder lists its pages only while one of them is open.
			}
			one.Links = append(one.Links, link{Title: other.Title, URL: relative(p.path, other.path), Current: other == p})
		}
		parts = append(parts, one)
	}
	var contents []section
	for _, s := range p.sections {
		if s.Level == 2 {
			contents = append(contents, s)
		}
	}
	if len(contents) < 2 {
		contents = nil
	}
	var b bytes.Buffer
	err := layoutTemplate.Execute(&b, map[string]any{
		"Title": p.Title, "Body": p.body, "Root": relative(p.path, ""), "Parts": parts, "Contents": contents, "Version": version,
	})
	return b.Bytes(), err
}
