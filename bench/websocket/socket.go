// SPDX-License-Identifier: Apache-2.0

// Package websocket is a WebSocket client for load generators. It allocates nothing for frames of
// the usual size, so that it leaves the processors to the server.
package websocket

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// Kinds of frames, with the FIN bit set.
const (
	Text   = 0x81
	Binary = 0x82

	final, closing, ping, pong = 0x80, 0x88, 0x89, 0x8a
)

// A Socket is a WebSocket. One goroutine may read while another one writes.
type Socket struct {
	conn   net.Conn
	reader *bufio.Reader
	kind   byte
	frame  []byte // output buffer
	large  []byte // a payload that is larger than the reader's buffer
}

// sources counts connections: they use many addresses of the loopback network, because the ports of
// one address would run out.
var sources atomic.Uint32

// Dial opens a WebSocket at a path of a server on this machine. It sends frames of the given kind.
func Dial(addr, path string, kind byte) (*Socket, error) {
	n := sources.Add(1)
	from := &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+n/200%200), byte(1+n%200))}
	conn, err := (&net.Dialer{LocalAddr: from}).Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Socket{conn: conn, reader: bufio.NewReaderSize(conn, 1<<10), kind: kind}
	if err := s.upgrade(addr, path); err != nil {
		conn.Close()
		return nil, fmt.Errorf("open a WebSocket: %w", err)
	}
	return s, nil
}

func (s *Socket) upgrade(addr, path string) error {
	_, err := io.WriteString(s.conn, "GET "+path+" HTTP/1.1\r\nHost: "+addr+"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
	if err != nil {
		return err
	}
	answer, err := http.ReadResponse(s.reader, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the server answered %s", answer.Status)
	}
	return nil
}

// Close closes the connection without a close frame.
func (s *Socket) Close() error { return s.conn.Close() }

// Write sends a payload.
func (s *Socket) Write(payload []byte) error {
	s.frame = appendFrame(s.frame[:0], s.kind, payload)
	_, err := s.conn.Write(s.frame)
	return err
}

// appendFrame appends a frame. Its mask is zero, which leaves the payload unchanged.
func appendFrame(b []byte, kind byte, payload []byte) []byte {
	const masked, twoBytes, eightBytes = 0x80, 126, 127
	b = append(b, kind)
	switch n := len(payload); {
	case n < twoBytes:
		b = append(b, masked|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, masked|twoBytes), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, masked|eightBytes), uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

// Listen reads until the connection ends.
func (s *Socket) Listen() {
	for {
		if _, err := s.Read(); err != nil {
			return
		}
	}
}

// Read returns the next payload, which is valid until the next call. It answers pings.
func (s *Socket) Read() ([]byte, error) {
	s.large = s.large[:0]
	for parts := 0; ; {
		kind, payload, err := s.next()
		switch {
		case err != nil:
			return nil, err
		case kind == ping:
			if _, err := s.conn.Write(appendFrame(nil, pong, payload)); err != nil {
				return nil, err
			}
		case kind == pong:
		case kind == closing:
			return nil, fmt.Errorf("the server closed the WebSocket: %q", payload)
		case kind&final != 0 && parts == 0:
			return payload, nil
		default:
			parts++
			s.large = append(s.large, payload...)
			if kind&final != 0 {
				return s.large, nil
			}
		}
	}
}

var errLarge = errors.New("the frame is larger than the load generator expects")

// next returns the next frame.
func (s *Socket) next() (kind byte, payload []byte, err error) {
	head, err := s.reader.Peek(2)
	if err != nil {
		return 0, nil, err
	}
	kind = head[0]
	size, n := 2, uint64(head[1])
	switch n {
	case 126:
		size = 4
	case 127:
		size = 10
	}
	if size > 2 {
		if head, err = s.reader.Peek(size); err != nil {
			return 0, nil, err
		}
		if size == 4 {
			n = uint64(binary.BigEndian.Uint16(head[2:]))
		} else if n = binary.BigEndian.Uint64(head[2:]); n > 16<<20 {
			return 0, nil, errLarge
		}
	}
	if size+int(n) > s.reader.Size() {
		_, _ = s.reader.Discard(size)
		payload = make([]byte, n)
		_, err = io.ReadFull(s.reader, payload)
		return kind, payload, err
	}
	all, err := s.reader.Peek(size + int(n))
	if err != nil {
		return 0, nil, err
	}
	_, _ = s.reader.Discard(size + int(n))
	return kind, all[size:], nil
}
