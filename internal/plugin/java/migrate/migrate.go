// SPDX-License-Identifier: Apache-2.0

// Package migrate updates the names of moved classes of the admin API in the sources of JVM
// plugins. It changes only names; the compiler reports other incompatibilities.
package migrate

import (
	"archive/zip"
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// root is the package that used to contain all classes of the admin API. The packages of the
// resources are below it.
const root = "im.app.plugin.api"

// An API has the packages of the classes of the admin API.
type API struct {
	// packages are by the simple names of the classes.
	packages map[string]string
}

// Read reads the packages of the classes from the API jar.
func Read(jar []byte) (*API, error) {
	archive, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return nil, fmt.Errorf("read the jar of the API: %w", err)
	}
	api := &API{packages: map[string]string{}}
	for _, f := range archive.File {
		pkg, name := strings.ReplaceAll(path.Dir(f.Name), "/", "."), strings.TrimSuffix(path.Base(f.Name), ".class")
		if (pkg == root || strings.HasPrefix(pkg, root+".")) && name+".class" == path.Base(f.Name) && !strings.ContainsAny(name, "$-") {
			api.packages[name] = pkg
		}
	}
	return api, nil
}

// Handles reports whether Source supports the language of a file, which its extension determines.
func Handles(name string) bool {
	return slices.Contains([]string{".java", ".kt", ".kts", ".scala", ".groovy"}, path.Ext(name))
}

// page returns the record class of a former page class: User for PageUser, which is Page<User> now.
func (api *API) page(name string) (item string, ok bool) {
	item, ok = strings.CutPrefix(name, "Page")
	if !ok || item == "" || api.packages[name] != "" || api.packages["Page"] == "" {
		return "", false
	}
	for _, class := range []string{item, item + "Info"} { // PageMessage had records of the class MessageInfo.
		if api.packages[class] != "" {
			return class, true
		}
	}
	return "", false
}

var (
	qualified  = regexp.MustCompile(`\bim\.app\.plugin\.api\.([A-Z]\w*)`)
	importLine = regexp.MustCompile(`^([ \t]*import[ \t]+)([\w.]+?)\.(\*|_|[A-Z]\w*|\{[^}]*\})([ \t]*;?[ \t]*\r?)$`)
	pageName   = regexp.MustCompile(`\bPage[A-Z]\w*`)
	word       = regexp.MustCompile(`\b[A-Z]\w*`)
	literal    = regexp.MustCompile(`^\s*(\.\s*|::\s*)class\b`)
)

// Source returns the text of a source file with the current names of the classes of the admin API.
// The extension of the file name determines the language.
func (api *API) Source(name string, text []byte) []byte {
	if !bytes.Contains(text, []byte(root)) {
		return text
	}
	s := &source{api: api, scala: path.Ext(name) == ".scala", imported: map[string]string{}, written: map[string]bool{}}
	all := string(text)
	parts := split(all, path.Ext(name) == ".kt" || path.Ext(name) == ".kts" || s.scala)
	s.scan(parts)
	var b strings.Builder
	for _, p := range parts {
		switch p.kind {
		case code:
			b.WriteString(s.code(p.text))
		case comment:
			b.WriteString(s.outside(p.text, true))
		default:
			b.WriteString(s.outside(p.text, false))
		}
	}
	return []byte(b.String())
}

// A source is a source that is being changed.
type source struct {
	api   *API
	scala bool
	// imported are the packages of what the source imports, by simple names.
	imported map[string]string
	// written are the imports that the changed source has.
	written map[string]bool
	// names are the capitalised words of the code outside imports; wildcard is whether all classes
	// of the root were imported.
	names    map[string]bool
	wildcard bool
	// pages are the classes of pages that the source imports.
	pages map[string]bool
}

func (s *source) scan(parts []part) {
	s.names, s.pages = map[string]bool{}, map[string]bool{}
	for _, p := range parts {
		if p.kind != code {
			continue
		}
		for line := range strings.SplitSeq(p.text, "\n") {
			m := importLine.FindStringSubmatch(line)
			if m == nil {
				for _, name := range word.FindAllString(line, -1) {
					s.names[name] = true
				}
				continue
			}
			for _, name := range selectors(m[3]) {
				switch {
				case name == "*" || name == "_":
					s.wildcard = s.wildcard || m[2] == root
					s.written[m[2]+"."+name] = m[2] != root
				case m[2] != root:
					s.imported[name] = m[2]
					s.written[m[2]+"."+name] = true
				case s.api.packages[name] != "":
					s.imported[name] = s.api.packages[name]
				default:
					s.pages[name] = true
				}
			}
		}
	}
}

// selectors returns the names of an import: one, or those in braces. In Scala, a name in braces may
// be followed by an alias.
func selectors(text string) []string {
	var names []string
	for name := range strings.SplitSeq(strings.Trim(text, "{}"), ",") {
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

// code changes a piece of code.
func (s *source) code(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		m := importLine.FindStringSubmatch(line)
		if m == nil || m[2] != root {
			lines[i] = s.plain(line)
			continue
		}
		var out []string
		for _, name := range s.imports(selectors(m[3])) {
			if !s.written[name] {
				s.written[name] = true
				out = append(out, m[1]+name+m[4])
			}
		}
		lines[i] = strings.Join(out, "\n")
		if len(out) == 0 {
			lines[i] = gone
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), gone+"\n", "")
}

// gone marks a line to be removed.
const gone = "\x00"

// imports returns the imports that replace an import of classes of the root package.
func (s *source) imports(names []string) []string {
	var out []string
	for _, name := range names {
		item, isPage := s.api.page(name)
		original, _, renamed := strings.Cut(strings.ReplaceAll(name, " as ", "=>"), "=>")
		switch {
		case name == "*" || name == "_":
			out = append(out, s.wildcards(name)...)
		case renamed && s.api.packages[strings.TrimSpace(original)] != "":
			out = append(out, s.api.packages[strings.TrimSpace(original)]+".{"+name+"}")
		case isPage:
			for _, class := range []string{"Page", item} {
				if s.free(class) {
					out = append(out, s.api.packages[class]+"."+class)
				}
			}
		case s.api.packages[name] != "":
			out = append(out, s.api.packages[name]+"."+name)
		default:
			out = append(out, root+"."+name)
		}
	}
	return out
}

// wildcards returns the imports of all classes of the root, and of each other package of which the
// code names one.
func (s *source) wildcards(sign string) []string {
	used := map[string]bool{root: true}
	for name := range s.names {
		if item, ok := s.api.page(name); ok {
			used[s.api.packages[item]] = true
		} else if pkg := s.api.packages[name]; pkg != "" && s.imported[name] == "" {
			used[pkg] = true
		}
	}
	var out []string
	for pkg := range used {
		out = append(out, pkg+"."+sign)
	}
	slices.Sort(out)
	return out
}

// free reports whether the simple name of a class of the API means nothing else in the source.
func (s *source) free(class string) bool {
	pkg := s.imported[class]
	return pkg == "" || pkg == s.api.packages[class]
}

// class returns the name by which the code refers to a class of the API.
func (s *source) class(name string) string {
	if s.free(name) {
		return name
	}
	return s.api.packages[name] + "." + name
}

// plain changes a line of code that does not import classes of the root package.
func (s *source) plain(line string) string {
	line = replace(qualified, line, func(name, after string) string {
		class := strings.TrimPrefix(name, root+".")
		if item, ok := s.api.page(class); ok {
			return s.generic(root+".Page", s.api.packages[item]+"."+item, after)
		}
		return s.full(class)
	})
	return replace(pageName, line, func(name, after string) string {
		item, ok := s.api.page(name)
		if !ok || !s.pages[name] && (!s.wildcard || s.imported[name] != "") {
			return name
		}
		return s.generic(s.class("Page"), s.class(item), after)
	})
}

// generic returns the type of a page, without a type argument in class literals.
func (s *source) generic(page, item, after string) string {
	switch {
	case literal.MatchString(after):
		return page
	case s.scala:
		return page + "[" + item + "]"
	}
	return page + "<" + item + ">"
}

// full returns the qualified name of a class that used to be in the root package.
func (s *source) full(class string) string {
	if pkg := s.api.packages[class]; pkg != "" {
		return pkg + "." + class
	}
	return root + "." + class
}

// outside changes a comment or a string literal. simple is true for comments, which may contain
// simple names.
func (s *source) outside(text string, simple bool) string {
	text = replace(qualified, text, func(name, _ string) string {
		class := strings.TrimPrefix(name, root+".")
		if _, ok := s.api.page(class); ok {
			class = "Page"
		}
		return s.full(class)
	})
	if !simple {
		return text
	}
	return replace(pageName, text, func(name, _ string) string {
		if _, ok := s.api.page(name); ok && s.pages[name] {
			return s.class("Page")
		}
		return name
	})
}

// replace replaces what matches, given what follows it.
func replace(re *regexp.Regexp, text string, with func(match, after string) string) string {
	var b strings.Builder
	last := 0
	for _, m := range re.FindAllStringIndex(text, -1) {
		b.WriteString(text[last:m[0]])
		b.WriteString(with(text[m[0]:m[1]], text[m[1]:]))
		last = m[1]
	}
	b.WriteString(text[last:])
	return b.String()
}
