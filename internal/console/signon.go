// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path"
	"strings"

	"example.org/app/internal/apierr"
	"example.org/app/internal/oidc"
)

// SignOn logs administrators in through an identity provider. Its errors are shown to the user.
type SignOn interface {
	// Name is the provider's name on the login page.
	Name() string
	// RedirectURL is the provider's redirect URL; "" derives it from the request.
	RedirectURL() string
	// Begin returns the address of the provider, and the data to keep in the browser until it
	// returns.
	Begin(ctx context.Context, redirect string) (address string, a oidc.Attempt, err error)
	// Finish returns the credential that begins one session at the admin interface.
	Finish(ctx context.Context, redirect string, a oidc.Attempt, state, code string) (ticket string, err error)
}

const (
	signOnPath = "-/sign-on/"
	// attemptSeconds is how long a login at the provider may take.
	attemptSeconds = 600
)

// attempt is the data in the browser during the login at the provider.
type attempt struct {
	oidc.Attempt
	// To is the requested page of the console, Redirect the redirect URL sent to the provider.
	To, Redirect string
}

// signOnOptions tells the login page whether there is an identity provider.
func (m *mount) signOnOptions(w http.ResponseWriter, _ *http.Request) {
	if m.opts.SignOn == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"name": m.opts.SignOn.Name()})
}

// beginSignOn redirects the browser to the identity provider.
func (m *mount) beginSignOn(w http.ResponseWriter, r *http.Request) {
	if m.opts.SignOn == nil {
		m.failed(w, http.StatusNotFound, "single sign-on is not configured")
		return
	}
	kept := attempt{To: r.URL.Query().Get("to"), Redirect: m.opts.SignOn.RedirectURL()}
	if kept.Redirect == "" {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		kept.Redirect = scheme + "://" + r.Host + m.prefix + signOnPath + "callback"
	}
	address, a, err := m.opts.SignOn.Begin(r.Context(), kept.Redirect)
	if err != nil {
		e := apierr.From(err)
		m.failed(w, e.HTTP(), e.Reason)
		return
	}
	kept.Attempt = a
	data, err := json.Marshal(kept)
	if err != nil {
		m.failed(w, http.StatusInternalServerError, "the login could not be begun")
		return
	}
	m.keepAttempt(w, r, base64.RawURLEncoding.EncodeToString(data), attemptSeconds)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, address, http.StatusFound)
}

// keepAttempt sets the cookie of an attempt. It must be sent with the provider's redirect, a
// cross-site request: a strict cookie would not.
func (m *mount) keepAttempt(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: m.cookie + "-sign-on", Value: value, Path: m.prefix + signOnPath, MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil,
	})
}

// finishSignOn begins a session for a browser that returns from the identity provider.
func (m *mount) finishSignOn(w http.ResponseWriter, r *http.Request) {
	if m.opts.SignOn == nil {
		m.failed(w, http.StatusNotFound, "single sign-on is not configured")
		return
	}
	var kept attempt
	if cookie, err := r.Cookie(m.cookie + "-sign-on"); err == nil {
		if data, err := base64.RawURLEncoding.DecodeString(cookie.Value); err == nil {
			_ = json.Unmarshal(data, &kept) // Unreadable data has no state, which Finish refuses.
		}
	}
	m.keepAttempt(w, r, "", -1)
	q := r.URL.Query()
	if reason := q.Get("error"); reason != "" && kept.State != "" && q.Get("state") == kept.State {
		m.failed(w, http.StatusForbidden, fmt.Sprintf("the identity provider refused the login: %s %s", reason, q.Get("error_description")))
		return
	}
	ticket, err := m.opts.SignOn.Finish(r.Context(), kept.Redirect, kept.Attempt, q.Get("state"), q.Get("code"))
	if err != nil {
		e := apierr.From(err)
		m.failed(w, e.HTTP(), e.Reason)
		return
	}
	token, status, reason := m.begin(r, bearer(ticket))
	if token == "" {
		m.failed(w, status, reason.Reason)
		return
	}
	m.setCookie(w, r, token, 0)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, m.ownPage(kept.To), http.StatusSeeOther)
}

// ownPage returns the address of a page of the console for any text, so that it cannot redirect
// elsewhere.
func (m *mount) ownPage(to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return m.prefix
	}
	page := &url.URL{Path: m.prefix + strings.TrimPrefix(path.Clean("/"+u.Path), "/"), RawQuery: u.RawQuery}
	return page.String()
}

// failed shows why a login failed. No script can show it, because the browser comes from another
// site.
func (m *mount) failed(w http.ResponseWriter, status int, reason string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Login failed</title>\n<h1>Login failed</h1>\n<p>%s</p>\n<p><a href=\"%s\">Back to the console</a></p>\n</html>\n",
		html.EscapeString(reason), html.EscapeString(m.prefix))
}
