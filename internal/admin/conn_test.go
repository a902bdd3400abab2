// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// watchedListener counts the writes to its connections, and can cut them off.
type watchedListener struct {
	net.Listener
	writes atomic.Int32
	cut    atomic.Bool
}

func (l *watchedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &watchedConn{c, l}, nil
}

type watchedConn struct {
	net.Conn
	listener *watchedListener
}

func (c *watchedConn) Write(b []byte) (int, error) {
	c.listener.writes.Add(1)
	if c.listener.cut.Load() {
		n, _ := c.Conn.Write(b[:len(b)/2])
		return n, errors.New("cut off")
	}
	return c.Conn.Write(b)
}

// serveWatched starts a server with watched connections, with TLS if there is a certificate.
func serveWatched(t *testing.T, certificate *tls.Certificate) (*watchedListener, *Server) {
	t.Helper()
	watched := &watchedListener{}
	s := serve(t, func(o *ServerOptions) {
		if certificate != nil {
			o.Certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate, nil }
		}
		o.wrap = func(l net.Listener) net.Listener {
			watched.Listener = l
			return watched
		}
	})
	return watched, s
}

func TestAnAnswerIsSentAsAWhole(t *testing.T) {
	watched, s := serveWatched(t, nil)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	for n, path := range []string{"/large", "/me", "/large", "/fail", "/large"} {
		resp, err := client.Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := ok(`"` + strings.Repeat("x", 4096) + `"`); path == "/large" && string(body) != want || err != nil {
			t.Errorf("%s: %q, %v", path, body, err)
		}
		if got := watched.writes.Load(); got != int32(n+1) {
			t.Errorf("%d answers were sent in %d pieces", n+1, got)
		}
	}
}

func TestAnAnswerOverTLSIsSentAsAWhole(t *testing.T) {
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	watched, s := serveWatched(t, &other.TLS.Certificates[0])
	client := &http.Client{Transport: &http.Transport{
		DisableCompression: true, MaxConnsPerHost: 1, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	defer client.CloseIdleConnections()
	before := int32(0)
	for n := range 3 {
		resp, err := client.Get(s.URL() + "/large")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != ok(`"`+strings.Repeat("x", 4096)+`"`) {
			t.Errorf("got %q, %v", body, err)
		}
		now := watched.writes.Load()
		if n > 0 && now != before+1 { // The first write includes the handshake.
			t.Errorf("an answer was sent in %d pieces", now-before)
		}
		before = now
	}
}

// TestALostAnswerEndsTheConnection proves that a response after a truncated one is never taken for
// its rest.
func TestALostAnswerEndsTheConnection(t *testing.T) {
	watched, s := serveWatched(t, nil)
	watched.cut.Store(true)
	c := dial(t, s)
	request := "GET /large HTTP/1.1\r\nHost: x\r\n\r\n"
	if _, err := io.WriteString(c, request+request); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 200") || strings.Count(string(answer), "HTTP/1.1") != 1 {
		t.Errorf("got %q, %v", answer, err)
	}
	if got := watched.writes.Load(); got != 1 {
		t.Errorf("%d pieces were sent", got)
	}
}
