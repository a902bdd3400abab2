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

// holdFrom and holdTo are the sizes of a body for which an answer is held back
// until it is complete. Header and body of a smaller one fit into the buffer of
// net/http anyway; for a larger one a call of the system more does not count.
const (
	holdFrom = 2 << 10
	holdTo   = 64 << 10
)

// conn is a connection that can hold back what is written to it. net/http sends
// an answer that is larger than its buffer in two pieces, which wakes the
// caller twice and costs each side a call of the system more than the answer as
// a whole.
//
// It is written by the goroutine that serves it. Only a server that is closed by
// force writes at the same time, to say good-bye over TLS.
type conn struct {
	net.Conn
	mu   sync.Mutex
	held *bytes.Buffer // nil while nothing is held back
}

// hold keeps everything that is written from now on until release.
func (c *conn) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = buffers.Get().(*bytes.Buffer)
	}
}

// release sends what was held back, including what w has not yet written. An
// answer of which a part was lost ends the connection: whatever followed would
// be taken for the rest of it.
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
		panic(http.ErrAbortHandler) // This is how net/http is told to end a connection.
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

// plainRefusal is how net/http itself answers what never becomes a request; an
// answer of an API begins otherwise.
var plainRefusal = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// refusalOf returns the answer with an envelope in the place of one that
// net/http wrote for a request that it could not read, or nil for any other.
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

// refusalWith returns an answer with an envelope to what never became a request.
func refusalWith(line, body []byte) []byte {
	return fmt.Appendf(nil, "%s\r\nContent-Type: %s\r\nContent-Length: %d\r\nX-Request-Id: %s\r\nX-Content-Type-Options: nosniff\r\n"+
		"Access-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n%s", line, jsonType, len(body), rand.Text(), body)
}

// CloseWrite tells the caller that nothing more will come; net/http does so
// before it closes a connection on which the caller may still be sending.
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

// encrypted is a connection over TLS that answers in an envelope what net/http
// refuses. net/http does not know that it is encrypted: the handshake runs with
// the first read, within the time for headers, and withTLS tells handlers of it.
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

// looksLikeHTTP reports whether a caller began with the method of a request.
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

// tlsKey leads to the connection of a request over TLS.
type tlsKey struct{}

// withTLS lets a handler see that a request came over TLS.
func withTLS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(tlsKey{}).(encrypted); ok && r.TLS == nil {
			r.TLS = new(c.ConnectionState())
		}
		next.ServeHTTP(w, r)
	})
}

type connKey struct{}

// withConn remembers the conn below a connection of the server.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(encrypted); ok {
		ctx, c = context.WithValue(ctx, tlsKey{}, t), t.NetConn()
	}
	if held, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, held)
	}
	return ctx
}

// connOf returns the connection that a request came by, or nil when it did not
// come by a Server of this package.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
