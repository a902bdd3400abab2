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
	// maxSockets is the maximum number of WebSockets of one plugin.
	maxSockets = 100
	// socketTimeout bounds opening a socket, and writing a message.
	socketTimeout = 30 * time.Second
)

// A socket is a WebSocket of a plugin. It ends with the module.
type socket struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	// conn is used only by the owner of the engine; nil until the socket is open.
	conn *websocket.Conn
	// closing is set when the plugin closes the socket.
	closing atomic.Pointer[closing]
}

// closing is the plugin's close of a socket; err is set when done is closed.
type closing struct {
	code websocket.StatusCode
	why  string
	done chan struct{}
	err  error
}

// end returns the error of reading a socket. Either the reader or the closer receives the peer's
// close frame.
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

func (n *network) functions() map[string]engine.Func {
	return map[string]engine.Func{
		"openSocket":  n.openSocket,
		"readSocket":  n.readSocket,
		"writeSocket": n.writeSocket,
		"closeSocket": n.closeSocket,
	}
}

// socket finds a socket by id; nil if it has ended.
func (n *network) socket(args []engine.Value) (float64, *socket) {
	id, _ := engine.AsNumber(argument(args, 0))
	return id, n.sockets[id]
}

// openSocket opens a socket: id, URL, protocols and headers. It returns the promise of the
// protocol.
func (n *network) openSocket(_ engine.Value, args []engine.Value) (engine.Value, error) {
	if len(n.sockets) >= maxSockets {
		return engine.Undefined, errTooManySockets
	}
	id, _ := engine.AsNumber(args[0])
	address := n.m.t.text(args[1])
	protocols, err := n.m.t.anyFromJS(args[2])
	if err != nil {
		return engine.Undefined, err
	}
	headers, err := n.m.t.pairs(args[3])
	if err != nil {
		return engine.Undefined, err
	}
	opts := &websocket.DialOptions{HTTPClient: n.client(), HTTPHeader: http.Header{}}
	list, _ := protocols.([]any)
	for _, p := range list {
		opts.Subprotocols = append(opts.Subprotocols, fmt.Sprint(p))
	}
	for _, kv := range headers {
		opts.HTTPHeader.Add(kv[0], kv[1])
	}
	s := &socket{}
	s.ctx, s.cancel = context.WithCancelCause(n.m.ctx)
	opened, err := n.m.operations.async(func(ctx context.Context) (func() (engine.Value, error), error) {
		conn, err := n.dial(ctx, s.ctx, address, opts)
		if err != nil {
			s.cancel(nil)
			return func() (engine.Value, error) {
				delete(n.sockets, id)
				return engine.Undefined, fmt.Errorf("open %s: %w", shorten(address), err)
			}, nil
		}
		conn.SetReadLimit(n.m.host.opts.ResponseLimit)
		n.m.helpers.Go(func() {
			<-s.ctx.Done()
			_ = conn.CloseNow()
		})
		return func() (engine.Value, error) {
			s.conn = conn
			return n.m.t.value(n.m.engine.String(conn.Subprotocol()))
		}, nil
	})
	if err != nil {
		s.cancel(nil)
		return engine.Undefined, err
	}
	if n.sockets == nil {
		n.sockets = map[float64]*socket{}
	}
	n.sockets[id] = s
	return opened, nil
}

// dial opens a connection, unless its socket ends first.
func (n *network) dial(ctx, life context.Context, address string, opts *websocket.DialOptions) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, socketTimeout, fmt.Errorf("no answer within %s", socketTimeout))
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(life, func() { end(context.Cause(life)) })()
	connected, err := n.m.gates.connect(ctx, hostOf(address))
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
func (n *network) readSocket(_ engine.Value, args []engine.Value) (engine.Value, error) {
	id, s := n.socket(args)
	if s == nil || s.conn == nil {
		return engine.Undefined, errSocketClosed
	}
	conn := s.conn
	return n.m.operations.async(func(context.Context) (func() (engine.Value, error), error) {
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
				delete(n.sockets, id)
				s.cancel(nil)
				return n.m.t.value(n.m.t.anyToJS(n.endOfSocket(err)))
			case kind == websocket.MessageText:
				return n.m.t.value(n.m.engine.String(string(data)))
			default:
				return n.m.t.value(n.m.engine.Bytes(data))
			}
		}, nil
	})
}

// endOfSocket returns the plugin's view of the end of a socket: code, reason, whether it was clean,
// and the error.
func (n *network) endOfSocket(err error) []any {
	if end, ok := errors.AsType[websocket.CloseError](err); ok {
		return []any{int32(end.Code), end.Reason, true, ""}
	}
	text := err.Error()
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		text = fmt.Sprintf("a message is longer than %d bytes", n.m.host.opts.ResponseLimit)
	case errors.Is(err, net.ErrClosed):
		text = "" // The plugin has closed it, and the peer did not respond.
	case errors.Is(err, io.EOF):
		text = "the connection ended"
	}
	return []any{int32(websocket.StatusAbnormalClosure), "", false, text}
}

// writeSocket sends a message.
func (n *network) writeSocket(_ engine.Value, args []engine.Value) (engine.Value, error) {
	_, s := n.socket(args)
	if s == nil || s.conn == nil {
		return engine.Undefined, errSocketClosed
	}
	conn, kind, data := s.conn, websocket.MessageBinary, n.m.t.content(args[1])
	if engine.IsString(args[1]) {
		kind = websocket.MessageText
	}
	return n.m.operations.async(func(context.Context) (func() (engine.Value, error), error) {
		ctx, cancel := context.WithTimeout(s.ctx, socketTimeout)
		defer cancel()
		return nil, conn.Write(ctx, kind, data)
	})
}

// closeSocket closes a socket with a code and a reason. Its reader gets the end.
func (n *network) closeSocket(_ engine.Value, args []engine.Value) (engine.Value, error) {
	_, s := n.socket(args)
	if s == nil {
		return engine.Undefined, nil
	}
	if s.conn == nil {
		s.cancel(errSocketClosed)
		return engine.Undefined, nil
	}
	code, _ := engine.AsNumber(args[1])
	conn, c := s.conn, &closing{code: websocket.StatusCode(code), why: n.m.t.text(args[2]), done: make(chan struct{})}
	s.closing.Store(c)
	n.m.helpers.Go(func() {
		defer close(c.done)
		c.err = conn.Close(c.code, c.why)
	})
	return engine.Undefined, nil
}
