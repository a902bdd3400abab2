// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/netip"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
)

// sessionPath is the path of the operations for login and logout. The browser keeps the token of
// the session in a cookie that scripts cannot read.
const sessionPath = "/admins/sessions"

// maxLoginBytes bounds the body of a login.
const maxLoginBytes = 8 << 10

// login begins a session through the admin interface, so that its rate limit, audit log and address
// rules apply.
func (m *mount) login(w http.ResponseWriter, r *http.Request) {
	var c struct{ LoginName, Password string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLoginBytes)).Decode(&c); err != nil {
		problem(w, http.StatusBadRequest, "the body must be a JSON object with loginName and password")
		return
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(c.LoginName+":"+c.Password))
	token, status, refused := m.begin(r, basic)
	if token == "" {
		writeJSON(w, status, refused)
		return
	}
	m.setCookie(w, r, token, 0)
	m.describe(w, r, token)
}

// refusal is the part of an envelope with the reason.
type refusal struct {
	Code   int    `json:"code"`
	Reason string `json:"reason"`
}

// begin begins a session through the admin interface and ends the browser's former one. Without a
// token it returns the HTTP status and the reason.
func (m *mount) begin(r *http.Request, authorization string) (token string, status int, why refusal) {
	answer := m.ask(r, http.MethodPost, sessionPath, authorization)
	var body struct {
		refusal
		Data struct {
			Token string `json:"token"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer.body.Bytes(), &body); err != nil || answer.status >= http.StatusBadRequest || body.Data.Token == "" {
		if body.Reason == "" {
			body.Reason = "the administrative interface did not answer as expected"
		}
		return "", max(answer.status, http.StatusBadRequest), body.refusal
	}
	if old, ok := m.token(r); ok {
		m.ask(r, http.MethodDelete, sessionPath+"?current=true", bearer(old))
	}
	return body.Data.Token, answer.status, refusal{}
}

func bearer(token string) string { return "Bearer " + token }

// ask sends the console's own request to the admin interface, with the client address of r.
func (m *mount) ask(r *http.Request, method, target, authorization string) *recorded {
	// The response is stored in memory: the context's values about the browser's connection do not
	// apply.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(r.Context(), cancel)()
	out := r.Clone(ctx)
	out.Method, out.RequestURI = method, target
	to, err := out.URL.Parse(target)
	if err != nil {
		return &recorded{status: http.StatusInternalServerError}
	}
	out.URL, out.Body, out.ContentLength = to, http.NoBody, 0
	out.Header.Del("Cookie")
	out.Header.Del("Accept-Encoding")
	out.Header.Set("Authorization", authorization)
	answer := &recorded{header: http.Header{}}
	m.opts.Service.ServeHTTP(answer, out)
	return answer
}

// setCookie sets the browser's token. A cookie without age lives as long as the browser; the server
// ends the session earlier.
func (m *mount) setCookie(w http.ResponseWriter, r *http.Request, token string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: m.cookie, Value: token, Path: m.prefix, MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
}

// token returns the token of a request.
func (m *mount) token(r *http.Request) (string, bool) {
	cookie, err := r.Cookie(m.cookie)
	if err != nil || cookie.Value == "" {
		return "", false
	}
	return cookie.Value, true
}

// principal returns the administrator with the current permissions.
func (m *mount) principal(r *http.Request, token string) (*admin.Principal, error) {
	if m.opts.AuthenticationOff() {
		return &admin.Principal{ID: admin.RootID, Permissions: permission.NewSet(permission.All()...)}, nil
	}
	if token == "" {
		return nil, apierr.New(apierr.Unauthorized, "nobody is logged in")
	}
	c := admin.Credentials{Token: token}
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		c.Remote = ap.Addr().Unmap().WithZone("")
	}
	return m.opts.Authenticator.Authenticate(r.Context(), c)
}

// session returns who is logged in. No session is not an error, because browsers would report one
// to everybody who opens the console.
func (m *mount) session(w http.ResponseWriter, r *http.Request) {
	token, _ := m.token(r)
	m.describe(w, r, token)
}

func (m *mount) describe(w http.ResponseWriter, r *http.Request, token string) {
	p, err := m.principal(r, token)
	if err != nil {
		e := apierr.From(err)
		if e.Code == apierr.Unauthorized {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		problem(w, e.HTTP(), e.Reason)
		return
	}
	held := []permission.Permission{}
	for _, one := range permission.All() {
		if p.Permissions.Has(one) {
			held = append(held, one)
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"id": p.ID, "loginName": p.LoginName, "permissions": held, "version": m.opts.Version})
}

// logout ends the session on the server and in the browser.
func (m *mount) logout(w http.ResponseWriter, r *http.Request) {
	if token, ok := m.token(r); ok {
		if answer := m.ask(r, http.MethodDelete, sessionPath+"?current=true", bearer(token)); answer.status >= http.StatusInternalServerError {
			problem(w, answer.status, "the session could not be ended")
			return
		}
	}
	m.setCookie(w, r, "", -1)
	w.WriteHeader(http.StatusNoContent)
}

// loggedIn reports whether a request belongs to a valid session, and answers it if not.
func (m *mount) loggedIn(w http.ResponseWriter, r *http.Request) bool {
	token, _ := m.token(r)
	if _, err := m.principal(r, token); err != nil {
		e := apierr.From(err)
		problem(w, e.HTTP(), "the session has ended: log in again")
		return false
	}
	return true
}

// problem sends an error in the form of the admin interface's envelope.
func problem(w http.ResponseWriter, status int, reason string) {
	writeJSON(w, status, map[string]any{"code": status, "reason": reason})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}

// recorded is a response in memory.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (d *recorded) Header() http.Header { return d.header }

// Write implements http.ResponseWriter.
func (d *recorded) Write(b []byte) (int, error) {
	d.WriteHeader(http.StatusOK)
	return d.body.Write(b)
}

// WriteHeader implements http.ResponseWriter.
func (d *recorded) WriteHeader(status int) {
	if d.status == 0 {
		d.status = status
	}
}
