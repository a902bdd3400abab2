// SPDX-License-Identifier: Apache-2.0

// Package console serves the web console: the built files of web/, login and logout, and a proxy to
// the admin interfaces of all nodes, so that a browser needs only one port. It makes no permission
// decisions: every proxied request carries the token of the administrator's session, which the
// target node verifies.
package console

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"

	"example.org/app/internal/admin"
)

// Node is a node of the cluster that the console can reach.
type Node struct {
	ID        string
	AdminURL  string       // address of the admin interface; "" without one
	ClientURL string       // WebSocket address for clients; "" for a service
	Local     http.Handler // the admin interface of this process; nil for other processes
}

// Options configure a console.
type Options struct {
	// Name distinguishes consoles on one host, which share the browser's cookies.
	Name string
	// Service is the admin interface of the service in this process.
	Service http.Handler
	// Authenticator authenticates administrators.
	Authenticator admin.Authenticator
	// SignOn logs administrators in through an identity provider. It may be nil.
	SignOn SignOn
	// AuthenticationOff reports whether authentication is disabled.
	AuthenticationOff func() bool
	// Node returns a node of the cluster.
	Node func(id string) (Node, bool)
	// Documents return the OpenAPI documents by role. They are called on demand.
	Documents map[string]func() []byte
	// Protocol returns the client protocol as a serialized FileDescriptorSet. It is called for each
	// request.
	Protocol func() []byte
	// Typings are the TypeScript declarations for plugins by file name.
	Typings map[string][]byte
	// Documentation serves the documentation, without login.
	Documentation http.Handler
	// Version is shown to administrators.
	Version string
	Logger  *slog.Logger
}

// Console serves the console. Its handlers may be mounted at several paths.
type Console struct {
	opts   Options
	files  *files
	cookie string
}

// New returns a console.
func New(opts Options) *Console {
	sum := sha256.Sum256([]byte(opts.Name))
	return &Console{opts: opts, files: newFiles(), cookie: "app-console-" + hex.EncodeToString(sum[:4])}
}

// Handler returns the console for mounting at prefix, which begins and ends with a slash.
func (c *Console) Handler(prefix string) http.Handler {
	m := &mount{Console: c, prefix: prefix}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/session", m.session)
	mux.HandleFunc("POST /-/session", m.login)
	mux.HandleFunc("DELETE /-/session", m.logout)
	mux.HandleFunc("GET /-/sign-on", m.signOnOptions)
	mux.HandleFunc("GET /-/sign-on/begin", m.beginSignOn)
	mux.HandleFunc("GET /-/sign-on/callback", m.finishSignOn)
	mux.HandleFunc("GET /-/documents/{role}", m.document)
	mux.HandleFunc("GET /-/protocol", m.protocol)
	mux.HandleFunc("GET /-/typings", m.typings)
	mux.HandleFunc("/-/api/{node}/{path...}", m.proxy)
	mux.HandleFunc("GET /-/client/{node}", m.client)
	mux.Handle("GET /docs/", http.StripPrefix("/docs", c.opts.Documentation))
	mux.HandleFunc("/", m.file)
	var handler http.Handler = mux
	if prefix != "/" {
		handler = http.StripPrefix(strings.TrimSuffix(prefix, "/"), mux)
	}
	handler = http.NewCrossOriginProtection().Handler(handler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == strings.TrimSuffix(prefix, "/") {
			http.Redirect(w, r, prefix, http.StatusMovedPermanently)
			return
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		handler.ServeHTTP(w, r)
	})
}

// mount is a console at one path.
type mount struct {
	*Console
	prefix string
}
