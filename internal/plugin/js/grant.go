// SPDX-License-Identifier: Apache-2.0

package js

import (
	"net/http"
	"net/url"

	"example.org/app/internal/plugin"
)

// client returns the client for requests that begin now, whatever is granted later.
func (n *network) client() *http.Client {
	if !n.m.host.opts.Limited {
		return n.m.host.opts.HTTP
	}
	client := *n.m.host.opts.HTTP
	client.Transport = guard{n.m.grants.Load(), n.m.ungranted(), client.Transport}
	return &client
}

// ungranted returns why the plugin may not use its declared grants, or nil.
func (m *module) ungranted() error {
	if m.grants.Load() == nil || m.host.opts.Waits == nil {
		return nil
	}
	return m.host.opts.Waits(m.descriptor)
}

// guard sends requests only to granted hosts. It checks each redirect again.
type guard struct {
	// grants are the plugin's; nil before its descriptor was read.
	grants *plugin.Grants
	// waits is why it may use none of them, or nil.
	waits error
	// next sends the requests; nil is http.DefaultTransport.
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.mayConnect(r.URL); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // The client expects it; an error is irrelevant.
		}
		return nil, err
	}
	if g.next == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	return g.next.RoundTrip(r)
}

// mayConnect returns an error for a URL whose host is not granted.
func (g guard) mayConnect(u *url.URL) error {
	if g.grants != nil && g.grants.Reaches(u) {
		return g.waits
	}
	return plugin.NoHost(u, g.grants != nil)
}

// mayUseJava returns an error if Java is not granted.
func (m *module) mayUseJava() error {
	if !m.host.opts.Limited {
		return nil
	}
	grants := m.grants.Load()
	if grants != nil && grants.Java {
		return m.ungranted()
	}
	return plugin.NoJava(grants != nil)
}

var _ http.RoundTripper = guard{}
