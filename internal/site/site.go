// SPDX-License-Identifier: Apache-2.0

// Package site renders the documentation as web pages: the Markdown files of docs/, a reference of
// the admin API from its OpenAPI documents, the TypeScript declarations for plugins and the
// Javadoc. The pages need no network and refer to each other by relative links, so that the admin
// console can serve them below any path and a browser can open them from disk.
package site

import (
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are the sources of a site.
type Options struct {
	// Documents are Markdown files, with README.md as the first page, images in images/ and OpenAPI
	// documents in openapi/.
	Documents fs.FS
	// Typings are TypeScript declarations by file name.
	Typings fs.FS
	// Javadoc is nil if the program was built without it.
	Javadoc fs.FS
	// Version is shown on each page.
	Version string
}

// Site is a set of web pages, which are rendered at the first request.
type Site struct {
	files func() (map[string][]byte, error)
	java  fs.FS
}

// New returns the site of opts.
func New(opts Options) *Site {
	return &Site{java: opts.Javadoc, files: sync.OnceValues(func() (map[string][]byte, error) { return render(opts) })}
}

var (
	//go:embed site.css
	styleSheet []byte
	//go:embed search.js
	searchScript []byte
)

// javaFolder is the folder of the Javadoc within the site.
const javaFolder = "java/"

// render returns all files except the Javadoc by path.
func render(opts Options) (map[string][]byte, error) {
	chapters, err := read(opts)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"site.css": styleSheet, "search.js": searchScript}
	if files["search-index.js"], err = index(chapters); err != nil {
		return nil, err
	}
	for _, c := range chapters {
		for _, p := range c.pages {
			if files[p.path], err = layout(chapters, p, opts.Version); err != nil {
				return nil, fmt.Errorf("render %s: %w", p.path, err)
			}
		}
	}
	images, err := fs.Glob(opts.Documents, "images/*")
	if err != nil {
		return nil, err
	}
	for _, name := range images {
		if files[name], err = fs.ReadFile(opts.Documents, name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// file returns a file of the site and whether it exists.
func (s *Site) file(name string) ([]byte, bool, error) {
	if rest, ok := strings.CutPrefix(name, javaFolder); ok && s.java != nil {
		data, err := fs.ReadFile(s.java, rest)
		return data, err == nil, nil
	}
	files, err := s.files()
	if err != nil {
		return nil, false, err
	}
	data, ok := files[name]
	return data, ok, nil
}

// ServeHTTP serves the file at the URL's path, relative to the root of the site.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" || strings.HasSuffix(r.URL.Path, "/") {
		name = path.Join(name, "index.html")
	}
	data, ok, err := s.file(name)
	switch {
	case err != nil:
		http.Error(w, "the documentation cannot be rendered", http.StatusInternalServerError)
		return
	case !ok:
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType(name))
	h.Set("Cache-Control", "no-cache")
	scripts := "'self'"
	if strings.HasPrefix(name, javaFolder) {
		scripts += " 'unsafe-inline'" // Javadoc pages contain scripts.
	}
	h.Set("Content-Security-Policy", "default-src 'none'; script-src "+scripts+"; style-src 'self'; img-src 'self' data:; font-src 'self'; "+
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func contentType(name string) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

// Write writes the site to a folder, which it creates. It fails if the folder is not empty, so that
// no page of another version remains.
func (s *Site) Write(folder string) error {
	files, err := s.files()
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return fmt.Errorf("write the documentation: the folder %q is not empty", folder)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(filepath.Join(folder, filepath.FromSlash(name)), files[name]); err != nil {
			return err
		}
	}
	if s.java == nil {
		return nil
	}
	return os.CopyFS(filepath.Join(folder, filepath.FromSlash(javaFolder)), s.java)
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
