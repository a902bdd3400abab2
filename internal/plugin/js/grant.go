// SPDX-License-Identifier: Apache-2.0

package js

import (
	"net/http"
	"net/url"

	"example.org/app/internal/plugin"
)

// client sends the requests that the plugin begins now, whatever it is granted later.
func (n *network) client() *http.Client {
	if !n.m.host.opts.Limited {
		return n.m.host.opts.HTTP
	}
	client := *n.m.host.opts.HTTP
	client.Transport = guard{n.m.grants.Load(), n.m.ungranted(), client.Transport}
	return &client
}

// ungranted is why the plugin may do nothing of what its descriptor declares, nil if it may.
func (m *module) ungranted() error {
	if m.grants.Load() == nil || m.host.opts.Waits == nil {
		return nil
	}
	return m.host.opts.Waits(m.descriptor)
}

// guard sends requests only to hosts that the plugin has a grant for. It is asked again for each redirect.
type guard struct {
	// grants are those of the plugin; nil before its descriptor was read.
	grants *plugin.Grants
	// waits is why it may use none of them; nil if it may.
	waits error
	// next sends the requests; nil is http.DefaultTransport.
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.mayConnect(r.URL); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // The client expects it; there is nothing to lose.
		}
		return nil, err
	}
	if g.next == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	return g.next.RoundTrip(r)
}

// mayConnect refuses a URL whose host the plugin has no grant for.
func (g guard) mayConnect(u *url.URL) error {
	if g.grants != nil && g.grants.Reaches(u) {
		return g.waits
	}
	return plugin.NoHost(u, g.grants != nil)
}

// mayUseJava refuses classes of Java if the plugin has no grant for them.
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
