// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/lxzan/gws"
)

const (
	// maxHandshake bounds the request that opens a WebSocket, and what a proxy says before it.
	maxHandshake = 16 << 10
	// webSocketVersion is the only one there is.
	webSocketVersion = "13"
)

// acceptWebSocket takes a connection over WebSocket.
func (g *Gateway) acceptWebSocket(raw net.Conn) {
	c := g.admit(raw, &g.websocket)
	if c == nil {
		return
	}
	g.start(func() {
		socket := c.upgrade()
		if socket == nil || !c.ready(socket) {
			c.stream.finish()
			c.ended(nil)
			return
		}
		// The goroutine that waits for frames is a new one, because the handshakes have made the stack of this one large.
		g.start(func() { c.readMessages(socket) })
	})
}

// upgrade opens the WebSocket, or answers why not.
func (c *connection) upgrade() *gws.Conn {
	if !c.serve() {
		c.stream.kill(errClosed)
		return nil
	}
	r, err := http.ReadRequest(c.stream.reader)
	if err != nil {
		c.answer(http.StatusBadRequest, "the request cannot be understood")
		return nil
	}
	told, err := forwardedAddress(r.Header, c.transport.forward)
	switch {
	case err != nil:
		c.answer(http.StatusBadRequest, err.Error())
		return nil
	case told.IsValid() && !c.setRemote(told):
		c.stream.kill(errClosed)
		return nil
	case isPreflight(r):
		c.answer(http.StatusOK, "", "Access-Control-Allow-Origin: *", "Access-Control-Allow-Methods: *",
			"Access-Control-Allow-Headers: *", "Access-Control-Max-Age: 7200")
		return nil
	case r.Method != http.MethodGet:
		c.answer(http.StatusMethodNotAllowed, "a WebSocket is opened with GET", "Allow: GET")
		return nil
	}
	if reason := checkUpgrade(r); reason != "" {
		c.answer(http.StatusBadRequest, reason, "Sec-WebSocket-Version: "+webSocketVersion)
		return nil
	}
	socket, err := c.gateway.upgrader.UpgradeFromConn(c.stream, c.stream.reader, r)
	if err != nil {
		return nil
	}
	socket.Session().(*holder).connection = c
	return socket
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// checkUpgrade returns what is wrong with a request to open a WebSocket.
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

// answer answers a request that opens no WebSocket. The connection is closed afterwards.
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

// readMessages reads until the client goes or sends nonsense.
func (c *connection) readMessages(socket *gws.Conn) {
	h := socket.Session().(*holder)
	socket.ReadLoop()
	c.ended(h.failure)
}

// A holder leads from a socket of the library to the connection.
type holder struct {
	connection *connection
	failure    error
}

// The methods of gws.SessionStorage are not needed.
func (*holder) Len() int                     { return 0 }
func (*holder) Load(string) (any, bool)      { return nil, false }
func (*holder) Delete(string)                {}
func (*holder) Store(string, any)            {}
func (*holder) Range(func(string, any) bool) {}

// newUpgrader configures the library for many connections that are idle most of the time.
func newUpgrader(limit int, logger *slog.Logger) *gws.Upgrader {
	return gws.NewUpgrader(events{}, &gws.ServerOption{
		ReadMaxPayloadSize: limit, CheckUtf8Enabled: true, ParallelGolimit: 1,
		NewSession: func() gws.SessionStorage { return &holder{} },
		Logger:     libraryLog{logger},
	})
}

// libraryLog takes what the WebSocket library logs.
type libraryLog struct{ logger *slog.Logger }

func (l libraryLog) Error(v ...any) { l.logger.Debug("WebSocket", "event", v) }

// events are the calls of the library.
type events struct{}

func (events) OnOpen(*gws.Conn) {}

func (events) OnClose(socket *gws.Conn, err error) { socket.Session().(*holder).failure = err }

func (events) OnPing(socket *gws.Conn, payload []byte) { _ = socket.WritePong(payload) }

func (events) OnPong(*gws.Conn, []byte) {}

// OnMessage takes binary messages. Text has no meaning in the protocol.
func (events) OnMessage(socket *gws.Conn, message *gws.Message) {
	if message.Opcode == gws.OpcodeBinary {
		// The buffer of the message belongs to the library, the payload to whoever works on the request.
		payload := append([]byte(nil), message.Bytes()...)
		message.Close()
		socket.Session().(*holder).connection.receive(payload)
		return
	}
	message.Close()
}

var (
	_ gws.Event          = events{}
	_ gws.SessionStorage = (*holder)(nil)
)
