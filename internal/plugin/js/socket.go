// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"example.org/app/internal/plugin/js/engine"
)

const (
	// maxSockets is how many WebSockets one plugin may have.
	maxSockets = 100
	// socketTimeout bounds how long a socket takes to open, and how long a message takes to be written.
	socketTimeout = 30 * time.Second
)

// A socket is a WebSocket that a plugin has opened. It ends with the module.
type socket struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	// conn belongs to whoever owns the engine; it is nil until the socket is open.
	conn *websocket.Conn
	// closing is set when the plugin closes the socket.
	closing atomic.Pointer[closing]
}

// closing is how the plugin closes a socket; err is there when done is closed.
type closing struct {
	code websocket.StatusCode
	why  string
	done chan struct{}
	err  error
}

// end is the error of reading a socket. Either who reads or who closes gets what the other side says last.
func (s *socket) end(err error) error {
	c := s.closing.Load()
	if c == nil || websocket.CloseStatus(err) != -1 {
		return err
	}
	<-c.done
	switch {
	case c.err == nil:
		return websocket.CloseError{Code: c.code, Reason: c.why}
	case websocket.CloseStatus(c.err) != -1:
		return c.err
	}
	return err
}

var (
	errSocketClosed   = errors.New("the socket was closed before it was open")
	errTooManySockets = fmt.Errorf("a plugin may have %d WebSockets at once", maxSockets)
)

func (m *module) socketFunctions() map[string]engine.Func {
	return map[string]engine.Func{
		"openSocket":  m.openSocket,
		"readSocket":  m.readSocket,
		"writeSocket": m.writeSocket,
		"closeSocket": m.closeSocket,
	}
}

// socket finds a socket by its id; it is nil if it has ended.
func (m *module) socket(args []engine.Value) (float64, *socket) {
	id, _ := engine.AsNumber(argument(args, 0))
	return id, m.sockets[id]
}

// openSocket opens a socket: id, URL, protocols and headers. It returns the promise of the protocol.
func (m *module) openSocket(_ engine.Value, args []engine.Value) (engine.Value, error) {
	if len(m.sockets) >= maxSockets {
		return engine.Undefined, errTooManySockets
	}
	id, _ := engine.AsNumber(args[0])
	address := m.text(args[1])
	protocols, err := m.t.anyFromJS(args[2])
	if err != nil {
		return engine.Undefined, err
	}
	headers, err := m.pairs(args[3])
	if err != nil {
		return engine.Undefined, err
	}
	opts := &websocket.DialOptions{HTTPClient: m.client(), HTTPHeader: http.Header{}}
	list, _ := protocols.([]any)
	for _, p := range list {
		opts.Subprotocols = append(opts.Subprotocols, fmt.Sprint(p))
	}
	for _, kv := range headers {
		opts.HTTPHeader.Add(kv[0], kv[1])
	}
	s := &socket{}
	s.ctx, s.cancel = context.WithCancelCause(m.ctx)
	opened, err := m.async(func(ctx context.Context) (func() (engine.Value, error), error) {
		conn, err := m.dial(ctx, s.ctx, address, opts)
		if err != nil {
			s.cancel(nil)
			return func() (engine.Value, error) {
				delete(m.sockets, id)
				return engine.Undefined, fmt.Errorf("open %s: %w", shorten(address), err)
			}, nil
		}
		conn.SetReadLimit(m.host.opts.ResponseLimit)
		m.helpers.Go(func() {
			<-s.ctx.Done()
			_ = conn.CloseNow()
		})
		return func() (engine.Value, error) {
			s.conn = conn
			return m.value(m.engine.String(conn.Subprotocol()))
		}, nil
	})
	if err != nil {
		s.cancel(nil)
		return engine.Undefined, err
	}
	if m.sockets == nil {
		m.sockets = map[float64]*socket{}
	}
	m.sockets[id] = s
	return opened, nil
}

// dial opens a connection, unless its socket ends before.
func (m *module) dial(ctx, life context.Context, address string, opts *websocket.DialOptions) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, socketTimeout, fmt.Errorf("no answer within %s", socketTimeout))
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(life, func() { end(context.Cause(life)) })()
	connected, err := m.gates.connect(ctx, hostOf(address))
	if err != nil {
		return nil, err
	}
	defer connected()
	conn, res, err := websocket.Dial(ctx, address, opts) //nolint:bodyclose // The library closes it.
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case res != nil && res.StatusCode != http.StatusSwitchingProtocols:
		return nil, fmt.Errorf("the server answered with the status %d", res.StatusCode)
	}
	return nil, reason(ctx, err)
}

// readSocket waits for the next message: a string or bytes, or the end of the socket as an array.
func (m *module) readSocket(_ engine.Value, args []engine.Value) (engine.Value, error) {
	id, s := m.socket(args)
	if s == nil || s.conn == nil {
		return engine.Undefined, errSocketClosed
	}
	conn := s.conn
	return m.async(func(context.Context) (func() (engine.Value, error), error) {
		kind, data, err := conn.Read(s.ctx)
		if err == nil && kind == websocket.MessageText && !utf8.Valid(data) {
			err = errors.New("a message is not valid UTF-8")
			_ = conn.Close(websocket.StatusInvalidFramePayloadData, "")
		}
		if err != nil {
			err = s.end(err)
		}
		return func() (engine.Value, error) {
			switch {
			case err != nil:
				delete(m.sockets, id)
				s.cancel(nil)
				return m.value(m.t.anyToJS(m.endOfSocket(err)))
			case kind == websocket.MessageText:
				return m.value(m.engine.String(string(data)))
			default:
				return m.value(m.engine.Bytes(data))
			}
		}, nil
	})
}

// endOfSocket is what a plugin sees of the end of a socket: code, reason, whether both sides agreed on it, and what went
// wrong.
func (m *module) endOfSocket(err error) []any {
	if end, ok := errors.AsType[websocket.CloseError](err); ok {
		return []any{int32(end.Code), end.Reason, true, ""}
	}
	text := err.Error()
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		text = fmt.Sprintf("a message is longer than %d bytes", m.host.opts.ResponseLimit)
	case errors.Is(err, net.ErrClosed):
		text = "" // The plugin has closed it, and the other side did not answer.
	case errors.Is(err, io.EOF):
		text = "the connection ended"
	}
	return []any{int32(websocket.StatusAbnormalClosure), "", false, text}
}

// writeSocket sends a message.
func (m *module) writeSocket(_ engine.Value, args []engine.Value) (engine.Value, error) {
	_, s := m.socket(args)
	if s == nil || s.conn == nil {
		return engine.Undefined, errSocketClosed
	}
	conn, kind, data := s.conn, websocket.MessageBinary, m.content(args[1])
	if engine.IsString(args[1]) {
		kind = websocket.MessageText
	}
	return m.async(func(context.Context) (func() (engine.Value, error), error) {
		ctx, cancel := context.WithTimeout(s.ctx, socketTimeout)
		defer cancel()
		return nil, conn.Write(ctx, kind, data)
	})
}

// closeSocket closes a socket with a code and a reason. Who reads it learns of the end.
func (m *module) closeSocket(_ engine.Value, args []engine.Value) (engine.Value, error) {
	_, s := m.socket(args)
	if s == nil {
		return engine.Undefined, nil
	}
	if s.conn == nil {
		s.cancel(errSocketClosed)
		return engine.Undefined, nil
	}
	code, _ := engine.AsNumber(args[1])
	conn, c := s.conn, &closing{code: websocket.StatusCode(code), why: m.text(args[2]), done: make(chan struct{})}
	s.closing.Store(c)
	m.helpers.Go(func() {
		defer close(c.done)
		c.err = conn.Close(c.code, c.why)
	})
	return engine.Undefined, nil
}
