// SPDX-License-Identifier: Apache-2.0

package site

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"example.org/app/docs"
	sdk "example.org/app/sdk/js"
)

func complete() Options {
	return Options{
		Documents: docs.Files, Typings: sdk.Types, Version: "v1.2.3",
		Javadoc: fstest.MapFS{"index.html": {Data: []byte("<title>Javadoc</title>")}},
	}
}

// write writes a site to disk and returns its folder.
func write(t *testing.T, opts Options) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "site")
	if err := New(opts).Write(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchor    = regexp.MustCompile(`id="([^"]*)"`)
)

// TestLinks follows every reference of every page to a file of the site and to an anchor in it.
// Only links may lead to other hosts, because the site must work without a network.
func TestLinks(t *testing.T) {
	folder := write(t, complete())
	texts := map[string]string{}
	files := os.DirFS(folder)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		texts[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for name, text := range texts {
		if path.Ext(name) != ".html" {
			continue
		}
		seen := map[string]bool{}
		for _, m := range anchor.FindAllStringSubmatch(text, -1) {
			if seen[m[1]] {
				t.Errorf("%s has the anchor %q twice", name, m[1])
			}
			seen[m[1]] = true
		}
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			target, err := url.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if target.Scheme == "data" {
				continue
			}
			if target.Host != "" {
				if strings.HasPrefix(m[0], "src") {
					t.Errorf("%s loads %s from another host", name, m[1])
				}
				continue
			}
			to := name
			if target.Path != "" {
				to = path.Join(path.Dir(name), target.Path)
			}
			if other, ok := texts[to]; !ok {
				t.Errorf("%s: the link to %q leads nowhere", name, m[1])
			} else if target.Fragment != "" && !strings.Contains(other, `id="`+target.Fragment+`"`) {
				t.Errorf("%s: the link to %q finds no such anchor", name, m[1])
			}
			followed++
		}
	}
	if followed < 500 {
		t.Errorf("only %d links were followed", followed)
	}
}

// TestContent looks for what a reader expects to find.
func TestContent(t *testing.T) {
	folder := write(t, complete())
	for name, wants := range map[string][]string{
		"index.html":            {"v1.2.3", "console-overview.png"},
		"configuration.html":    {"app.plugin.load-timeout-millis"},
		"extension-points.html": {"ClientRequestHandler"},
		"api-service.html":      {"/users/page", "USER_QUERY", "schema-PageUser"},
		"api-gateway.html":      {"/sessions"},
		"typescript.html":       {"AppExtension"},
		"javadoc.html":          {"java/index.html"},
		"java/index.html":       {"Javadoc"},
		"adr/index.html":        {"../site.css", "0001-one-binary-two-roles.html"},
		"search-index.js":       {"app.plugin.load-timeout-millis", "GET /users/page", "AppExtension"},
	} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(string(data), want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}

func TestServeHTTP(t *testing.T) {
	s := New(complete())
	for _, tt := range []struct {
		path, media, policy string
		status              int
	}{
		{"/", "text/html", "script-src 'self';", http.StatusOK},
		{"/index.html", "text/html", "script-src 'self';", http.StatusOK},
		{"/adr/", "text/html", "script-src 'self';", http.StatusOK},
		{"/java/", "text/html", "'unsafe-inline'", http.StatusOK},
		{"/images/console-users.png", "image/png", "", http.StatusOK},
		{"/images/growth-stored.svg", "image/svg+xml", "", http.StatusOK},
		{"/search.js", "text/javascript", "", http.StatusOK},
		{"/missing.html", "text/plain", "", http.StatusNotFound},
		{"/../../go.mod", "text/plain", "", http.StatusNotFound},
		{"/java/../../../go.mod", "text/plain", "", http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.URL.Path = tt.path
		s.ServeHTTP(w, r)
		h := w.Header()
		if w.Code != tt.status || !strings.HasPrefix(h.Get("Content-Type"), tt.media) || !strings.Contains(h.Get("Content-Security-Policy"), tt.policy) {
			t.Errorf("%s answers %d %q %q", tt.path, w.Code, h.Get("Content-Type"), h.Get("Content-Security-Policy"))
		}
	}
}

// TestRefusals builds sites from invalid sources.
func TestRefusals(t *testing.T) {
	if err := New(complete()).Write(write(t, complete())); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("writing into a folder that is not empty: %v", err)
	}
	for name, change := range map[string]func(fstest.MapFS){
		"in no chapter": func(files fstest.MapFS) { files["new.md"] = &fstest.MapFile{Data: []byte("# New")} },
		"plugins.md":    func(files fstest.MapFS) { delete(files, "plugins.md") },
		"with a title":  func(files fstest.MapFS) { files["plugins.md"] = &fstest.MapFile{Data: []byte("no title")} },
		"OpenAPI":       func(files fstest.MapFS) { files["openapi/service.json"] = &fstest.MapFile{Data: []byte("{")} },
		"declared tag": func(files fstest.MapFS) {
			files["openapi/service.json"] = &fstest.MapFile{Data: []byte(`{"paths":{"/x":{"get":{}}}}`)}
		},
	} {
		files := fstest.MapFS{}
		err := fs.WalkDir(docs.Files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := fs.ReadFile(docs.Files, name)
			files[name] = &fstest.MapFile{Data: data}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		change(files)
		opts := complete()
		opts.Documents = files
		folder := filepath.Join(t.TempDir(), "site")
		if err := New(opts).Write(folder); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s: half a site was written", name)
		}
	}
}
