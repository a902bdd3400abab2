// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// LocalService is the proxy target name of the service in this process, for what is the same on
// every service.
const LocalService = "service"

// target returns the node that a request names.
func (m *mount) target(r *http.Request) (Node, bool) {
	id := r.PathValue("node")
	if id == LocalService {
		return Node{ID: id, Local: m.opts.Service}, true
	}
	return m.opts.Node(id)
}

// proxy forwards a request to the admin interface of a node, with the token of the session, which
// every node knows.
func (m *mount) proxy(w http.ResponseWriter, r *http.Request) {
	token, ok := m.token(r)
	if !ok && !m.opts.AuthenticationOff() {
		problem(w, http.StatusUnauthorized, "the session has ended: log in again")
		return
	}
	node, ok := m.target(r)
	if !ok || node.Local == nil && node.AdminURL == "" {
		problem(w, http.StatusBadGateway, "the node "+r.PathValue("node")+" does not take part in the cluster, or has no administrative interface")
		return
	}
	out := r.Clone(r.Context())
	out.URL.Path, out.URL.RawPath = "/"+r.PathValue("path"), ""
	out.Header.Del("Cookie")
	out.Header.Del("Origin")
	out.Header.Del("Authorization")
	if token != "" {
		out.Header.Set("Authorization", bearer(token))
	}
	if node.Local != nil {
		node.Local.ServeHTTP(w, out)
		return
	}
	m.forward(w, out, node.AdminURL)
}

// client connects the browser to a gateway's port for clients.
func (m *mount) client(w http.ResponseWriter, r *http.Request) {
	if !m.loggedIn(w, r) {
		return
	}
	node, ok := m.opts.Node(r.PathValue("node"))
	if !ok || node.ClientURL == "" {
		problem(w, http.StatusBadGateway, "the node "+r.PathValue("node")+" is not a gateway with a WebSocket port")
		return
	}
	out := r.Clone(r.Context())
	out.URL.Path, out.URL.RawPath, out.URL.RawQuery = "/", "", ""
	out.Header.Del("Cookie")
	out.Header.Del("Origin")
	// A WebSocket begins as an HTTP request.
	m.forward(w, out, "http"+strings.TrimPrefix(node.ClientURL, "ws"))
}

// forward forwards a request to another process.
func (m *mount) forward(w http.ResponseWriter, r *http.Request, address string) {
	to, err := url.Parse(address)
	if err != nil {
		problem(w, http.StatusBadGateway, "the address of the node is not usable")
		return
	}
	proxy := httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(to) },
		FlushInterval: -1, // Log lines are sent at once.
		ErrorLog:      slog.NewLogLogger(m.opts.Logger.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			m.opts.Logger.Debug("node could not be reached", "address", address, "error", err)
			problem(w, http.StatusBadGateway, "the node cannot be reached at "+to.Host)
		},
	}
	proxy.ServeHTTP(w, r)
}

// document serves the OpenAPI document of a role, from which the pages are generated.
func (m *mount) document(w http.ResponseWriter, r *http.Request) {
	role := r.PathValue("role")
	document, ok := m.opts.Documents[role]
	if !ok {
		problem(w, http.StatusNotFound, "there is no such role")
		return
	}
	m.known(w, r, "application/json", "document "+role, document())
}

func (m *mount) protocol(w http.ResponseWriter, r *http.Request) {
	m.known(w, r, "application/octet-stream", "protocol", m.opts.Protocol())
}

func (m *mount) typings(w http.ResponseWriter, r *http.Request) {
	texts := map[string]string{}
	for name, data := range m.opts.Typings {
		texts[name] = string(data)
	}
	data, err := json.Marshal(texts)
	if err != nil {
		problem(w, http.StatusInternalServerError, "the typings cannot be written")
		return
	}
	m.known(w, r, "application/json", "typings", data)
}

// known serves immutable data to administrators.
func (m *mount) known(w http.ResponseWriter, r *http.Request, contentType, key string, data []byte) {
	if !m.loggedIn(w, r) {
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	m.send(w, r, key, data)
}
