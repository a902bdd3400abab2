// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/config"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/wire"
)

// A transport is what all connections to one port share.
type transport struct {
	framing  framing
	settings config.ClientTransport
	proxy    config.AddressSource
	forward  config.AddressSource
	trusted  []netip.Prefix // the trusted proxies
	tls      *tls.Config
}

// A phase is the state of a connection.
type phase uint8

const (
	// handshaking: no frame can be sent yet.
	handshaking phase = iota
	// waiting: no login yet.
	waiting
	// loggingIn: a login is being decided.
	loggingIn
	// bound: there is a session.
	bound
	// closing: the client was asked to close, and its input is ignored.
	closing
)

// maxRequests is how many requests of one connection are handled concurrently. More wait in the
// socket.
const maxRequests = 32

// A connection is a client's connection with its protocol state. One goroutine reads from it; while
// that runs, the connection is in the list of the gateway.
type connection struct {
	gateway   *Gateway
	transport *transport
	stream    *stream
	accepted  time.Time
	// requests has an element for each running request.
	requests chan struct{}
	// handed is closed when the last message of the client was sent to a service. Only the reading
	// goroutine uses it.
	handed chan struct{}

	mu      sync.Mutex
	phase   phase
	remote  netip.Addr
	session *Session
	// pending are the unfinished messages, in the order of arrival.
	pending []*pendingMessage
	// late is true if the time for a login ended while one was being decided.
	late bool
	// cut is when a client that was asked to close is disconnected; zero means never.
	cut time.Time
	// quiet is since when nothing was read, as far as the sweep knows, relative to origin. Zero
	// means unknown.
	quiet time.Duration
}

func (g *Gateway) newConnection(raw net.Conn, t *transport) *connection {
	return &connection{
		gateway: g, transport: t, accepted: time.Now(), remote: addressOf(raw.RemoteAddr()),
		stream: newStream(raw, &g.traffic, &g.flusher), requests: make(chan struct{}, maxRequests),
	}
}

// serve performs the handshakes below the frames: those of a proxy and of TLS. It reports whether
// the connection may continue.
func (c *connection) serve() bool {
	t := c.transport
	if timeout := time.Duration(t.settings.ConnectTimeoutMillis) * time.Millisecond; timeout > 0 {
		// Without handshakes, a silent client has the time for a login.
		if t.framing == webSocketFraming || t.tls != nil || t.proxy == config.AddressSourceRequired {
			_ = c.stream.SetReadDeadline(time.Now().Add(timeout))
		}
	}
	c.stream.limit(maxHandshake)
	c.stream.takeReader()
	told, err := readProxyHeader(c.stream.reader, t.proxy)
	if err != nil || told.IsValid() && t.believes(c.remoteIP(), t.proxy) && !c.setRemote(told) {
		return false
	}
	if t.tls != nil {
		if err := c.stream.encrypt(t.tls); err != nil {
			return false
		}
	}
	return true
}

// setRemote sets the address of the client and reports whether it may connect.
func (c *connection) setRemote(ip netip.Addr) bool {
	c.mu.Lock()
	c.remote = ip
	c.mu.Unlock()
	return !c.gateway.options.BlockedIPs.BlockedNow(ip)
}

// remoteIP returns the address of the client.
func (c *connection) remoteIP() netip.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.remote
}

// ready allows sending frames. It reports false if the connection was closed meanwhile.
func (c *connection) ready() bool {
	c.stream.unlimit()
	_ = c.stream.SetReadDeadline(time.Time{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != handshaking {
		return false
	}
	c.phase = waiting
	return true
}

// current returns the session, or nil if there is none or the connection is closing.
func (c *connection) current() (*Session, phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session, c.phase
}

// respond answers a request.
func (c *connection) respond(id int64, code int32, reason string, data []byte) {
	b := make([]byte, headRoom, headRoom+32+len(reason)+len(data))
	b = wire.AppendResponse(b, time.Now(), id, code, reason, data)
	_ = c.stream.send(c.transport.framing.seal(b))
}

// notify sends a notification of the gateway itself.
func (c *connection) notify(n *wire.AppNotification) {
	n.Timestamp = time.Now().UnixMilli()
	b, err := wire.MarshalOptions.MarshalAppend(make([]byte, headRoom, headRoom+64), n)
	if err != nil {
		c.gateway.options.Logger.Error("a notification could not be encoded", "error", err)
		return
	}
	_ = c.stream.send(c.transport.framing.seal(b))
}

// close asks the client to close. The client may take some time to disconnect; then the sweep
// disconnects it.
func (c *connection) close(why CloseReason) {
	c.mu.Lock()
	before := c.phase
	if before == closing {
		c.mu.Unlock()
		return
	}
	c.phase, c.session = closing, nil
	timeout := time.Duration(c.transport.settings.Session.CloseTimeoutMillis) * time.Millisecond
	if timeout > 0 {
		c.cut = time.Now().Add(timeout)
	}
	c.mu.Unlock()
	if before == handshaking {
		c.stream.kill(errClosed)
		return
	}
	n := &wire.AppNotification{CloseStatus: proto.Int32(int32(why.Status))}
	if why.Code != 0 {
		n.Code = proto.Int32(int32(why.Code))
		if why.Reason != "" {
			n.Reason = proto.String(why.Reason)
		}
	}
	c.notify(n)
	if timeout == 0 {
		c.hangUp()
	}
}

// hangUp disconnects after the queue was written.
func (c *connection) hangUp() {
	c.mu.Lock()
	opened := c.phase != handshaking
	c.phase, c.session = closing, nil
	c.mu.Unlock()
	if opened && c.transport.framing == webSocketFraming {
		c.sendClose(1000, "")
		return
	}
	c.stream.finish()
}

// drop disconnects at once, without notifying the client.
func (c *connection) drop() {
	c.mu.Lock()
	c.phase, c.session = closing, nil
	c.mu.Unlock()
	c.stream.kill(errClosed)
}

// ended is called once, by the reading goroutine, at the end of the input.
func (c *connection) ended(err error) {
	c.mu.Lock()
	session, remote, before := c.session, c.remote, c.phase
	c.phase, c.session = closing, nil
	c.mu.Unlock()
	g := c.gateway
	if before != handshaking && before != closing && corrupted(err) {
		g.trigger(remote, session, blocklist.CorruptedFrame)
		if c.transport.framing == lengthFraming {
			// On a WebSocket the close frame contains the status.
			c.notify(&wire.AppNotification{CloseStatus: proto.Int32(int32(wire.ClosedIllegalRequest))})
		}
	}
	c.stream.finish()
	g.remove(c)
	if session != nil {
		g.disconnected(session, c)
	}
}

// corrupted reports whether reading ended because of invalid input, not because the client
// disconnected.
func corrupted(err error) bool {
	_, broken := errors.AsType[*violation](err)
	return broken || errors.Is(err, wire.ErrFrame)
}
