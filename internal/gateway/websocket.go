// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
)

const (
	// maxHandshake bounds the opening handshake of a WebSocket, including a proxy's header.
	maxHandshake = 16 << 10
	// webSocketVersion is the only version.
	webSocketVersion = "13"
)

// acceptWebSocket handles a WebSocket connection.
func (g *Gateway) acceptWebSocket(raw net.Conn) {
	c := g.admit(raw, &g.websocket)
	if c == nil {
		return
	}
	g.start(func() {
		if !c.upgrade() || !c.ready() {
			c.stream.finish()
			c.ended(nil)
			return
		}
		// Read in a new goroutine: the handshakes have grown the stack of this one.
		c.startReading()
	})
}

// upgrade performs the opening handshake. It reports false after refusing it.
func (c *connection) upgrade() bool {
	if !c.serve() {
		c.stream.kill(errClosed)
		return false
	}
	r, err := http.ReadRequest(c.stream.reader)
	if err != nil {
		c.answer(http.StatusBadRequest, "the request cannot be understood")
		return false
	}
	told, err := c.transport.forwarded(r.Header, c.remoteIP())
	switch {
	case err != nil:
		c.answer(http.StatusBadRequest, err.Error())
		return false
	case told.IsValid() && !c.setRemote(told):
		c.stream.kill(errClosed)
		return false
	case isPreflight(r):
		c.answer(http.StatusOK, "", "Access-Control-Allow-Origin: *", "Access-Control-Allow-Methods: *",
			"Access-Control-Allow-Headers: *", "Access-Control-Max-Age: 7200")
		return false
	case r.Method != http.MethodGet:
		c.answer(http.StatusMethodNotAllowed, "a WebSocket is opened with GET", "Allow: GET")
		return false
	}
	if reason := checkUpgrade(r); reason != "" {
		c.answer(http.StatusBadRequest, reason, "Sec-WebSocket-Version: "+webSocketVersion)
		return false
	}
	return c.stream.send([]byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
		acceptKey(r.Header.Get("Sec-WebSocket-Key"))+"\r\n\r\n")) == nil
}

// acceptKey returns the value of Sec-WebSocket-Accept.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// checkUpgrade returns what is wrong with an opening handshake, or "".
func checkUpgrade(r *http.Request) string {
	switch key := r.Header.Get("Sec-WebSocket-Key"); {
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return `the header "Upgrade" must be "websocket"`
	case !hasToken(r.Header.Values("Connection"), "upgrade"):
		return `the header "Connection" must contain "upgrade"`
	case len(key) != 24 || !strings.HasSuffix(key, "=="):
		return `the header "Sec-WebSocket-Key" must be 16 bytes in Base64`
	case r.Header.Get("Sec-WebSocket-Version") != webSocketVersion:
		return `the header "Sec-WebSocket-Version" must be "13"`
	}
	return ""
}

// hasToken reports whether a list of words has one of them.
func hasToken(values []string, token string) bool {
	for _, value := range values {
		for word := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(word), token) {
				return true
			}
		}
	}
	return false
}

// answer sends a response other than an upgrade. The connection is closed afterwards.
func (c *connection) answer(status int, text string, headers ...string) {
	h := http.Header{"Connection": {"close"}}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		h.Set(name, value)
	}
	if text != "" {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		text += "\n"
	}
	var b bytes.Buffer
	response := http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: h,
		ContentLength: int64(len(text)), Body: readCloser{strings.NewReader(text)},
	}
	// Writing to a buffer cannot fail.
	_ = response.Write(&b)
	_ = c.stream.send(b.Bytes())
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }
