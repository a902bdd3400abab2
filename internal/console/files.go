// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"crypto/rand"
	"embed"
	"fmt"
	"html"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// dist is what make web builds from web/.
//
//go:embed all:dist
var dist embed.FS

// files are the built files. Each is compressed on first use.
type files struct {
	fs     fs.FS
	mu     sync.Mutex
	packed map[string][]byte
}

func newFiles() *files {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(fmt.Sprintf("console: %v", err)) // The folder is embedded.
	}
	return &files{fs: sub, packed: map[string][]byte{}}
}

// pack returns the compressed form of a file, cached by key.
func (f *files) pack(key string, data []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if packed, ok := f.packed[key]; ok {
		return packed
	}
	packed := compress(data)
	f.packed[key] = packed
	return packed
}

func compress(data []byte) []byte {
	var b bytes.Buffer
	zw, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(fmt.Sprintf("console: %v", err)) // The level is one of gzip's own.
	}
	_, _ = zw.Write(data) // Writing into memory cannot fail.
	zw.Close()
	return b.Bytes()
}

// file serves a built file. Every other path is a page of the console, which the script in the
// browser renders.
func (m *mount) file(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		problem(w, http.StatusMethodNotAllowed, "only GET and HEAD are allowed here")
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	data, err := fs.ReadFile(m.files.fs, name)
	if err != nil || name == "index.html" {
		if strings.HasPrefix(name, "assets/") || strings.HasPrefix(name, "-/") {
			problem(w, http.StatusNotFound, "there is no such file")
			return
		}
		m.page(w)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType(name))
	if strings.HasPrefix(name, "assets/") {
		h.Set("Cache-Control", "public, max-age=31536000, immutable") // Their names change with their content.
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	m.send(w, r, name, data)
}

// page serves the HTML page. Its nonce allows the component library to add style sheets; scripts
// only come from files.
func (m *mount) page(w http.ResponseWriter) {
	data, err := fs.ReadFile(m.files.fs, "index.html")
	if err != nil {
		problem(w, http.StatusNotFound, "the console was not built")
		return
	}
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"+nonce+"'; img-src 'self' data:; font-src 'self'; "+
		"connect-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'")
	page := strings.NewReplacer("__BASE__", html.EscapeString(m.prefix), "__NONCE__", nonce).Replace(string(data))
	_, _ = io.WriteString(w, page) // A browser that disconnected needs no page.
}

// send sends data, compressed if the browser accepts that.
func (m *mount) send(w http.ResponseWriter, r *http.Request, key string, data []byte) {
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		data = m.files.pack(key, data)
	}
	h.Set("Content-Length", fmt.Sprint(len(data)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}

func contentType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		if t := mime.TypeByExtension(ext); t != "" {
			return t
		}
		return "application/octet-stream"
	}
}
