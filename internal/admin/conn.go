// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"example.org/app/internal/apierr"
)

// holdFrom and holdTo are the sizes of a body for which a response is held back until it is
// complete. A smaller one fits into the buffer of net/http with its header; for a larger one
// another system call does not matter.
const (
	holdFrom = 2 << 10
	holdTo   = 64 << 10
)

// conn is a connection that can hold back writes. net/http sends a response that exceeds its buffer
// in two parts, which wakes the caller twice and costs each side another system call.
//
// The goroutine that serves the connection writes to it. A concurrent write occurs only when a
// server is closed by force, for the TLS close alert.
type conn struct {
	net.Conn
	mu   sync.Mutex
	held *bytes.Buffer // nil while nothing is held back
}

// hold buffers all writes until release.
func (c *conn) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = buffers.Get().(*bytes.Buffer)
	}
}

// release sends what was held back, including what w has not written yet. If a part of a response
// was lost, it closes the connection, because the caller would take the next response for the rest.
func (c *conn) release(w http.ResponseWriter) {
	if !c.holds() {
		return
	}
	err := http.NewResponseController(w).Flush()
	c.mu.Lock()
	held := c.held
	c.held = nil
	c.mu.Unlock()
	defer putBuffer(held)
	if err == nil {
		_, err = c.Conn.Write(held.Bytes())
	}
	if err != nil {
		panic(http.ErrAbortHandler) // This makes net/http close the connection.
	}
}

func (c *conn) holds() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held != nil
}

// Write implements io.Writer.
func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	if c.held != nil {
		defer c.mu.Unlock()
		return c.held.Write(b)
	}
	c.mu.Unlock()
	if refusal := refusalOf(b); refusal != nil {
		if _, err := c.Conn.Write(refusal); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// plainRefusal begins the responses of net/http itself to unreadable requests; responses of an API
// begin differently.
var plainRefusal = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// refusalOf returns the response with an envelope that replaces one of net/http to an unreadable
// request, or nil for any other.
func refusalOf(b []byte) []byte {
	line, text, found := bytes.Cut(b, plainRefusal)
	status, isStatus := bytes.CutPrefix(line, []byte("HTTP/1.1 "))
	if !found || !isStatus || len(status) < 3 || status[0] != '4' || bytes.ContainsAny(line, "\r\n") {
		return nil
	}
	reason := "the request cannot be understood: " + string(text)
	if string(status[:3]) == "431" {
		reason = fmt.Sprintf("the request line and the headers are larger than %d bytes", maxHeaderBytes)
	}
	var body bytes.Buffer
	if err := (envelope{code: apierr.IllegalArgument, reason: reason}).appendTo(&body, time.Now()); err != nil {
		return nil
	}
	return refusalWith(line, body.Bytes())
}

// refusalWith returns a response with an envelope to an unreadable request.
func refusalWith(line, body []byte) []byte {
	return fmt.Appendf(nil, "%s\r\nContent-Type: %s\r\nContent-Length: %d\r\nX-Request-Id: %s\r\nX-Content-Type-Options: nosniff\r\n"+
		"Access-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n%s", line, jsonType, len(body), rand.Text(), body)
}

// CloseWrite signals the end of the data; net/http calls it before it closes a connection on which
// the caller may still be sending.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// holdingListener makes each accepted connection a conn.
type holdingListener struct{ net.Listener }

// Accept implements net.Listener.
func (l holdingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// encrypted is a TLS connection that replaces the responses of net/http to unreadable requests by
// envelopes. net/http does not know that it is encrypted: the handshake runs with the first read,
// within the time for headers, and withTLS informs handlers.
type encrypted struct{ *tls.Conn }

// Read implements io.Reader.
func (c encrypted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil && looksLikeHTTP(plain.RecordHeader) {
		var body bytes.Buffer
		refusal := envelope{code: apierr.IllegalArgument, reason: "this port speaks HTTPS, the request is plain HTTP"}
		if refusal.appendTo(&body, time.Now()) == nil {
			_, _ = plain.Conn.Write(refusalWith([]byte("HTTP/1.1 400 Bad Request"), body.Bytes()))
		}
	}
	return n, err
}

// looksLikeHTTP reports whether the bytes begin an HTTP method.
func looksLikeHTTP(begin [5]byte) bool {
	switch string(begin[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "DELET", "OPTIO":
		return true
	}
	return false
}

// Write implements io.Writer.
func (c encrypted) Write(b []byte) (int, error) {
	if refusal := refusalOf(b); refusal != nil {
		if _, err := c.Conn.Write(refusal); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// encryptingListener makes each accepted connection an encrypted one.
type encryptingListener struct {
	net.Listener
	config *tls.Config
}

// Accept implements net.Listener.
func (l encryptingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return encrypted{tls.Server(c, l.config)}, nil
}

// tlsKey is the context key of the TLS connection of a request.
type tlsKey struct{}

// withTLS sets the TLS state of requests.
func withTLS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(tlsKey{}).(encrypted); ok && r.TLS == nil {
			r.TLS = new(c.ConnectionState())
		}
		next.ServeHTTP(w, r)
	})
}

type connKey struct{}

// withConn adds the conn of a connection to the context.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(encrypted); ok {
		ctx, c = context.WithValue(ctx, tlsKey{}, t), t.NetConn()
	}
	if held, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, held)
	}
	return ctx
}

// connOf returns the connection of a request, or nil if it did not come through a Server of this
// package.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
