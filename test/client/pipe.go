// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/coder/websocket"

	"example.org/app/internal/wire"
)

// A pipe carries payloads over one transport. Only one goroutine may call read; the other methods
// are safe for concurrent use.
type pipe interface {
	write(payload []byte) error
	// writeRaw sends bytes that need not be a frame.
	writeRaw(b []byte) error
	read() ([]byte, error)
	close()
}

func dial(ctx context.Context, address string, o Options) (pipe, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	if len(o.Preamble) > 0 {
		if _, err := raw.Write(o.Preamble); err != nil {
			raw.Close()
			return nil, err
		}
	}
	conn := raw
	if u.Scheme == "wss" || u.Scheme == "tls" {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if o.TLS != nil {
			config = o.TLS.Clone()
		}
		config.ServerName = u.Hostname()
		secure := tls.Client(raw, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		conn = secure
	}
	switch u.Scheme {
	case "tcp", "tls":
		return &streamPipe{conn: conn, reader: bufio.NewReader(conn)}, nil
	case "ws", "wss":
		return dialWebSocket(ctx, u, conn, o)
	}
	conn.Close()
	return nil, fmt.Errorf("there is no transport %q", u.Scheme)
}

// streamPipe prefixes each payload with its length.
type streamPipe struct {
	conn   net.Conn
	reader *bufio.Reader
	mu     sync.Mutex
}

func (p *streamPipe) write(payload []byte) error { return p.writeRaw(wire.AppendFrame(nil, payload)) }

func (p *streamPipe) writeRaw(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.conn.Write(b)
	return err
}

func (p *streamPipe) read() ([]byte, error) { return wire.ReadFrame(p.reader, nil, math.MaxInt32) }

func (p *streamPipe) close() { p.conn.Close() }

// webSocketPipe sends each payload as a binary message.
type webSocketPipe struct {
	raw  net.Conn
	conn *websocket.Conn
}

func dialWebSocket(ctx context.Context, u *url.URL, conn net.Conn, o Options) (pipe, error) {
	plain := *u
	plain.Scheme = "http"
	used := false
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		if used {
			return nil, errors.New("the connection was used already")
		}
		used = true
		return conn, nil
	}}
	ws, response, err := websocket.Dial(ctx, plain.String(), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: o.Header, CompressionMode: websocket.CompressionDisabled,
	})
	if response != nil && response.Body != nil && err != nil {
		response.Body.Close()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	ws.SetReadLimit(-1)
	return &webSocketPipe{conn, ws}, nil
}

func (p *webSocketPipe) write(payload []byte) error {
	return p.conn.Write(context.Background(), websocket.MessageBinary, payload)
}

func (p *webSocketPipe) writeRaw(b []byte) error {
	_, err := p.raw.Write(b)
	return err
}

func (p *webSocketPipe) read() ([]byte, error) {
	for {
		kind, payload, err := p.conn.Read(context.Background())
		if err != nil || kind == websocket.MessageBinary {
			return payload, err
		}
	}
}

func (p *webSocketPipe) close() { _ = p.conn.CloseNow() }
