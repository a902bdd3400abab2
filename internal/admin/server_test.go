// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// serve starts a server on a free port of this machine.
func serve(t *testing.T, change func(*ServerOptions)) *Server {
	t.Helper()
	o := ServerOptions{Host: "127.0.0.1", Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	s, err := Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	api := newTestAPI(t)
	done := make(chan error, 1)
	go func() { done <- s.Serve(api.API) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func dial(t *testing.T, s *Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

func TestPortInUse(t *testing.T) {
	s := serve(t, nil)
	_, err := Listen(t.Context(), ServerOptions{Host: "127.0.0.1", Port: s.Addr().Port, Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "address already in use") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

// TestSlowRequests proves that callers that stop sending are disconnected, and that others are
// served meanwhile.
func TestSlowRequests(t *testing.T) {
	s := serve(t, func(o *ServerOptions) {
		o.HeaderTimeout, o.ReadTimeout, o.IdleTimeout = 200*time.Millisecond, 400*time.Millisecond, 200*time.Millisecond
	})
	for name, sent := range map[string]string{
		"nothing":       "",
		"half a header": "GET /me HTTP/1.1\r\nHo",
		"half a body":   "PUT /things HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDpyb290\r\nContent-Length: 100\r\n\r\n{",
		"idle":          "GET /me HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		slow := dial(t, s)
		io.WriteString(slow, sent)
		other := dial(t, s)
		io.WriteString(other, "GET /me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if b, err := io.ReadAll(other); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 200") {
			t.Errorf("%s: another caller got %q, %v", name, b, err)
		}
		if _, err := io.ReadAll(slow); err != nil {
			t.Errorf("%s: the connection was not closed: %v", name, err)
		}
	}
}

func TestOversizedRequests(t *testing.T) {
	s := serve(t, nil)
	c := dial(t, s)
	go io.WriteString(c, "GET /me?x="+strings.Repeat("x", maxHeaderBytes+8192)+" HTTP/1.1\r\nHost: x\r\n\r\n")
	if line, _ := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "431") {
		t.Errorf("a request line that is too long: %q", line)
	}
	for name, body := range map[string]string{
		"declared": "Content-Length: 1000000\r\n\r\n",
		"chunked":  "Transfer-Encoding: chunked\r\n\r\n" + "7d0\r\n" + strings.Repeat("x", 2000) + "\r\n0\r\n\r\n",
	} {
		c := dial(t, s)
		go io.WriteString(c, "PUT /things HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDpyb290\r\n"+body)
		if line, _ := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "413") {
			t.Errorf("%s: %q", name, line)
		}
	}
}

func TestShutdownEndsStreams(t *testing.T) {
	api := newTestAPI(t)
	s, err := Listen(t.Context(), ServerOptions{Host: "127.0.0.1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(api.API) }()
	c := dial(t, s)
	io.WriteString(c, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
	r := bufio.NewReader(c)
	var head strings.Builder
	for !strings.Contains(head.String(), "event: end") {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, head.String())
		}
		head.WriteString(line)
	}
	if !strings.Contains(head.String(), "data: one\ndata: two\n") {
		t.Errorf("events %q", head.String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("the stream kept the server: %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestUnreadableRequests proves that unreadable requests get an envelope, too.
func TestUnreadableRequests(t *testing.T) {
	t.Run("plain", func(t *testing.T) {
		s := serve(t, nil)
		unreadableRequests(t, func(t *testing.T) net.Conn { return dial(t, s) })
	})
	t.Run("TLS", func(t *testing.T) {
		other := httptest.NewTLSServer(nil)
		defer other.Close()
		s := serve(t, func(o *ServerOptions) {
			o.Certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &other.TLS.Certificates[0], nil }
		})
		unreadableRequests(t, func(t *testing.T) net.Conn {
			return tls.Client(dial(t, s), &tls.Config{InsecureSkipVerify: true})
		})
		c := dial(t, s)
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(c).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 400") {
			t.Errorf("plain HTTP to a port with TLS: %q, %v", line, err)
		}
	})
}

func unreadableRequests(t *testing.T, dial func(*testing.T) net.Conn) {
	for name, tt := range map[string]struct{ request, status string }{
		"headers": {"GET / HTTP/1.1\r\nHost: x\r\nX-Large: " + strings.Repeat("x", maxHeaderBytes+8<<10) + "\r\n\r\n", "431"},
		"line":    {"GET\r\n\r\n", "400"},
		"host":    {"GET / HTTP/1.1\r\n\r\n", "400"},
		"length":  {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", "400"},
	} {
		c := dial(t)
		go func() { _, _ = io.WriteString(c, tt.request) }()
		answer, _ := io.ReadAll(c) // The server closes the connection.
		text := string(answer)
		if !strings.HasPrefix(text, "HTTP/1.1 "+tt.status) || !strings.Contains(text, `{"code":1102,"reason":"`) ||
			!strings.Contains(text, "X-Request-Id: ") || !strings.Contains(text, "Access-Control-Allow-Origin: *") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestLargeBodyIsAnswered sends a body that is far too large to its end before it reads, like
// simple callers.
func TestLargeBodyIsAnswered(t *testing.T) {
	s := serve(t, nil)
	const size = 16 << 20
	for name, head := range map[string]string{
		"length":  "Content-Length: " + strconv.Itoa(size) + "\r\n\r\n",
		"chunked": "Transfer-Encoding: chunked\r\n\r\n" + strconv.FormatInt(size, 16) + "\r\n",
	} {
		c := dial(t, s)
		if _, err := io.WriteString(c, "POST /things HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDpyb290\r\n"+head); err != nil {
			t.Fatal(err)
		}
		block := bytes.Repeat([]byte(" "), 64<<10)
		for range size / len(block) {
			if _, err := c.Write(block); err != nil {
				t.Fatalf("%s: the server hung up on the body: %v", name, err)
			}
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "HTTP/1.1 413") {
			t.Errorf("%s: %q, %v", name, line, err)
		}
	}
}
