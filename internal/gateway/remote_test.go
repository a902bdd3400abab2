// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/pires/go-proxyproto"

	"example.org/app/internal/config"
	"example.org/app/internal/wire"
	"example.org/app/test/client"
)

func TestForwardedAddress(t *testing.T) {
	inside := netip.MustParsePrefix("10.0.0.0/8").Contains
	for _, test := range []struct {
		forwarded, xff []string
		want           string
	}{
		{want: "invalid IP"},
		{forwarded: []string{"for=192.0.2.60;proto=http;by=203.0.113.43"}, want: "192.0.2.60"},
		{forwarded: []string{`proto=https; For="[2001:db8:cafe::17]:4711"`}, want: "2001:db8:cafe::17"},
		{forwarded: []string{"for=192.0.2.43, for=10.0.0.1"}, want: "192.0.2.43"},
		{forwarded: []string{"for=192.0.2.43", "for=10.0.0.1"}, want: "192.0.2.43"},
		{forwarded: []string{"for=192.0.2.43, for=198.51.100.17"}, want: "198.51.100.17"}, // the first one is forged
		{forwarded: []string{"for=10.0.0.2, for=10.0.0.1"}, want: "10.0.0.2"},
		{forwarded: []string{"for=192.0.2.43, for=_hidden"}, want: "invalid IP"},
		{xff: []string{"192.0.2.7, 198.51.100.17, 10.0.0.1"}, want: "198.51.100.17"},
		{forwarded: []string{`for="192.0.2.43:80"`}, want: "192.0.2.43"},
		{forwarded: []string{`secret="a,b;for=1.1.1.1\"";for=192.0.2.43`}, want: "192.0.2.43"},
		{forwarded: []string{"for=_hidden"}, xff: []string{"192.0.2.1"}, want: "192.0.2.1"},
		{forwarded: []string{"for=unknown"}, want: "invalid IP"},
		{forwarded: []string{"by=192.0.2.1"}, want: "invalid IP"},
		{forwarded: []string{`for="192.0.2.1`}, want: "192.0.2.1"},
		{xff: []string{" 192.0.2.7 , 10.0.0.1"}, want: "192.0.2.7"},
		{xff: []string{"2001:db8::1"}, want: "2001:db8::1"},
		{xff: []string{"::ffff:192.0.2.7"}, want: "192.0.2.7"},
		{xff: []string{"fe80::1%eth0"}, want: "fe80::1"},
		{xff: []string{"192.0.2.7:1234"}, want: "192.0.2.7"},
		{xff: []string{"192.0.2.7", "nonsense"}, want: "invalid IP"},
	} {
		h := http.Header{"Forwarded": test.forwarded, "X-Forwarded-For": test.xff}
		got, err := forwardedAddress(h, config.AddressSourceOptional, inside)
		if err != nil || got.String() != test.want {
			t.Errorf("%v: got %v, %v, want %s", h, got, err, test.want)
		}
		if _, err := forwardedAddress(h, config.AddressSourceRequired, inside); (err == nil) != got.IsValid() {
			t.Errorf("%v: required: %v", h, err)
		}
		if got, err := forwardedAddress(h, config.AddressSourceDisabled, inside); err != nil || got.IsValid() {
			t.Errorf("%v: disabled: %v, %v", h, got, err)
		}
	}
}

// preamble returns the header that a proxy sends first.
func preamble(t *testing.T, version byte, source string) []byte {
	t.Helper()
	from, to := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(source)), net.TCPAddrFromAddrPort(netip.MustParseAddrPort(source))
	b, err := proxyproto.HeaderProxyFromAddrs(version, from, to).Format()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAddressSources logs in through all kinds of proxies, with and without TLS.
func TestAddressSources(t *testing.T) {
	w := newWorld(t)
	headers := http.Header{"X-Forwarded-For": {"198.51.100.7"}}
	local := []byte("PROXY UNKNOWN\r\n")
	user := int64(0)
	for _, mode := range []config.AddressSource{config.AddressSourceOptional, config.AddressSourceRequired, config.AddressSourceDisabled} {
		for _, encrypted := range []bool{false, true} {
			m := w.gateway(string(mode)+map[bool]string{true: "-tls"}[encrypted], func(c *config.Config) {
				g := &c.Gateway
				g.TCP.RemoteAddressSource.ProxyProtocolMode, g.WebSocket.RemoteAddressSource.ProxyProtocolMode = mode, mode
				g.WebSocket.RemoteAddressSource.HTTPHeaderMode = config.AddressSourceOptional
				g.TCP.RemoteAddressSource.TrustedProxies = []string{"127.0.0.1"}
				g.WebSocket.RemoteAddressSource.TrustedProxies = []string{"127.0.0.1", "192.0.2.0/24"}
				g.TCP.SSL.Enabled, g.WebSocket.SSL.Enabled = encrypted, encrypted
			})
			for name, test := range map[string]struct {
				url      string
				options  client.Options
				optional string // the expected address, or "" if the connection is dropped
				required string
				disabled string // "-" is not tried: the header would be read as a frame
			}{
				"TCP":                  {m.tcp, client.Options{}, "127.0.0.1", "", "127.0.0.1"},
				"TCP, version 1":       {m.tcp, client.Options{Preamble: preamble(t, 1, "192.0.2.1:5")}, "192.0.2.1", "192.0.2.1", "-"},
				"TCP, version 2":       {m.tcp, client.Options{Preamble: preamble(t, 2, "[2001:db8::1]:5")}, "2001:db8::1", "2001:db8::1", "-"},
				"TCP, proxy itself":    {m.tcp, client.Options{Preamble: local}, "127.0.0.1", "127.0.0.1", "-"},
				"TCP, broken":          {m.tcp, client.Options{Preamble: []byte("PROXY TCP4 nonsense\r\n")}, "", "", "-"},
				"WebSocket":            {m.ws, client.Options{}, "127.0.0.1", "", "127.0.0.1"},
				"WebSocket, header":    {m.ws, client.Options{Header: headers}, "198.51.100.7", "", "198.51.100.7"},
				"WebSocket, version 2": {m.ws, client.Options{Preamble: preamble(t, 2, "192.0.2.1:5")}, "192.0.2.1", "192.0.2.1", ""},
				"WebSocket, both":      {m.ws, client.Options{Preamble: preamble(t, 1, "192.0.2.1:5"), Header: headers}, "198.51.100.7", "198.51.100.7", ""},
			} {
				t.Run(string(mode)+map[bool]string{true: ", encrypted"}[encrypted]+", "+name, func(t *testing.T) {
					user++
					want := map[config.AddressSource]string{
						config.AddressSourceOptional: test.optional, config.AddressSourceRequired: test.required, config.AddressSourceDisabled: test.disabled,
					}[mode]
					if want == "-" {
						return
					}
					if err := m.options.BlockedIPs.UnblockAll(t.Context()); err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					test.options.TLS = trust()
					c, err := client.Dial(ctx, test.url, test.options)
					if err == nil {
						defer c.Close()
						err = c.Login(ctx, &wire.CreateSessionRequest{Version: 1, UserId: user})
					}
					if (err == nil) != (want != "") {
						t.Fatalf("the login ended with %v, the address should be %q", err, want)
					}
					if want == "" {
						return
					}
					if s := m.sessions.find(user, 0); s == nil || s.IP.String() != want {
						t.Errorf("the session is %+v, want the address %s", s, want)
					}
				})
			}
		}
	}
}

// TestBlockedBehindProxy has proxies declare a blocked address.
func TestBlockedBehindProxy(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) {
		c.Gateway.WebSocket.RemoteAddressSource.TrustedProxies = []string{"127.0.0.0/8"}
	})
	bad := netip.MustParseAddr("192.0.2.66")
	if err := m.options.BlockedIPs.Block(t.Context(), []netip.Addr{bad}, 1e6); err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string]client.Options{
		"proxy":  {Preamble: preamble(t, 1, "192.0.2.66:5")},
		"header": {Header: http.Header{"Forwarded": {"for=192.0.2.66"}}},
	} {
		if c, err := client.Dial(t.Context(), m.ws, options); err == nil {
			c.Close()
			t.Errorf("%s: a blocked address opened a WebSocket", name)
		}
	}
	client.LogIn(t, m.ws, 1).Beat()
}

// TestClaimsOfStrangers has an untrusted client declare the address of another one, and misbehave.
func TestClaimsOfStrangers(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	victim := netip.MustParseAddr("192.0.2.66")
	for i, options := range []client.Options{
		{Preamble: preamble(t, 1, "192.0.2.66:5")},
		{Header: http.Header{"X-Forwarded-For": {"192.0.2.66"}}},
		{Header: http.Header{"Forwarded": {"for=192.0.2.66"}}},
	} {
		user := int64(100 + i)
		c, err := client.Dial(t.Context(), m.ws, options)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Login(t.Context(), &wire.CreateSessionRequest{Version: 1, UserId: user}); err != nil {
			t.Fatal(err)
		}
		if s := m.sessions.find(user, 0); s == nil || s.IP.String() != "127.0.0.1" {
			t.Errorf("claim %d: the session is %+v", i, s)
		}
		c.Close()
	}
	for range 20 {
		raw, err := net.Dial("tcp", strings.TrimPrefix(m.tcp, "tcp://"))
		if err != nil {
			break // The gateway drops the connection.
		}
		_, _ = raw.Write(append(preamble(t, 1, "192.0.2.66:5"), bytes.Repeat([]byte{0xff}, 64)...))
		_, _ = io.Copy(io.Discard, raw) // The gateway closes the connection.
		raw.Close()
	}
	if m.options.BlockedIPs.BlockedNow(victim) {
		t.Error("somebody else was blocked")
	}
	if !m.options.BlockedIPs.BlockedNow(netip.MustParseAddr("127.0.0.1")) {
		t.Error("whoever misbehaved was not blocked")
	}
}
