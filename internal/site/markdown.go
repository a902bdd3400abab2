// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// markdown parses Markdown as used in the documents: with tables, HTML comments and explicit
// anchors. The documents are part of the binary, so their HTML is trusted.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// document renders a Markdown file.
func document(documents fs.FS, name string) (*page, error) {
	source, err := fs.ReadFile(documents, name)
	if err != nil {
		return nil, err
	}
	p := &page{path: pagePath(name)}
	tree := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(anchors{}))))
	if err := rewrite(tree, documents, name); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.sections = sections(tree, source)
	if len(p.sections) == 0 || p.sections[0].Level != 1 {
		return nil, fmt.Errorf("%s does not begin with a title", name)
	}
	p.Title = p.sections[0].Title
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, source, tree); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.body = template.HTML(b.String()) //nolint:gosec // The documents are our own.
	return p, nil
}

// pagePath returns the path of the page of a Markdown file.
func pagePath(name string) string {
	folder, file := path.Split(name)
	if file == "README.md" {
		return folder + "index.html"
	}
	return folder + strings.TrimSuffix(file, ".md") + ".html"
}

// anchors generates the ids of headings like repository hosts do, so that links work in both
// places.
type anchors map[string]int

// Generate implements parser.IDs.
func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 0x7f:
			b.WriteRune(r)
		}
	}
	id := b.String()
	n := a[id]
	a[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (a anchors) Put(value []byte) { a[string(value)]++ }

// rewrite converts links between documents to links between pages. Other files of the source tree
// are not part of the site: a link to them becomes its text.
func rewrite(tree ast.Node, documents fs.FS, name string) error {
	var outside []*ast.Link
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		link, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		target, fragment, _ := strings.Cut(string(link.Destination), "#")
		if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			return ast.WalkContinue, nil
		}
		file := path.Join(path.Dir(name), target)
		if info, err := fs.Stat(documents, file); err == nil && info.IsDir() {
			file = path.Join(file, "README.md")
		}
		if _, err := fs.Stat(documents, file); err != nil || path.Ext(file) == ".json" {
			outside = append(outside, link)
			return ast.WalkContinue, nil
		}
		to := relative(pagePath(name), pagePath(file))
		if fragment != "" {
			to += "#" + fragment
		}
		link.Destination = []byte(to)
		return ast.WalkContinue, nil
	})
	for _, link := range outside {
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			link.Parent().InsertBefore(link.Parent(), link, child)
		}
		link.Parent().RemoveChild(link.Parent(), link)
	}
	return err
}

// relative returns the link from one page to another.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

// sections returns the sections of a document in order.
func sections(tree ast.Node, source []byte) []section {
	var list []section
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			s := section{Title: plain(h, source), Level: h.Level}
			if id, ok := h.AttributeString("id"); ok {
				s.Anchor = string(id.([]byte))
			}
			list = append(list, s)
			continue
		}
		if len(list) > 0 {
			last := &list[len(list)-1]
			last.text += plain(n, source) + " "
		}
	}
	return list
}

// plain returns the text of a node without markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // The function never returns an error.
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		case *ast.HTMLBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Paragraph, *ast.ListItem, *extensionast.TableCell, *extensionast.TableRow:
			if !entering {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
