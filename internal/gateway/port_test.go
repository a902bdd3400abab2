// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"sync"
	"testing"

	"example.org/app/internal/certificate/certificatetest"
	"example.org/app/internal/config"
)

// certificate is a self-signed certificate.
var certificate = sync.OnceValue(func() tls.Certificate { return certificatetest.New("127.0.0.1") })

// trust returns a client's configuration that trusts the certificate.
func trust() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(certificate().Leaf)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func portOptions(c *config.Gateway) PortOptions {
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		found := certificate()
		return &found, nil
	}
	return PortOptions{Config: c, WebSocketCertificate: get, TCPCertificate: get}
}

func TestPorts(t *testing.T) {
	c := &config.Default().Gateway
	c.WebSocket.Port, c.TCP.Port, c.UDP.Port, c.UDP.Enabled = 0, 0, 0, true
	c.TCP.SSL.Enabled, c.UDP.Host = true, "127.0.0.1"
	p, err := OpenPorts(t.Context(), portOptions(c))
	if err != nil {
		t.Fatal(err)
	}
	urls := strings.Join(p.URLs(), " ")
	for _, want := range []string{"ws://localhost:", "tls://localhost:", "udp://127.0.0.1:"} {
		if !strings.Contains(urls, want) {
			t.Errorf("%q is missing in %q", want, urls)
		}
	}
	if got := p.WebSocketURL("::1"); !strings.HasPrefix(got, "ws://[::1]:") {
		t.Errorf("got %q", got)
	}
	// A port in use is reported as such, and no port stays open.
	taken := *c
	taken.WebSocket.Enabled = false
	taken.TCP.Host = "127.0.0.1"
	taken.TCP.Port = int32(p.tcp.Addr().(*net.TCPAddr).Port)
	if _, err := OpenPorts(t.Context(), portOptions(&taken)); err == nil || !strings.Contains(err.Error(), "client connections over TCP") {
		t.Errorf("got %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("a second time: %v", err)
	}
	none := config.Default().Gateway
	none.WebSocket.Enabled, none.TCP.Enabled = false, false
	if p, err := OpenPorts(t.Context(), portOptions(&none)); err != nil || len(p.URLs()) != 0 {
		t.Errorf("got %v, %v", p.URLs(), err)
	}
}
