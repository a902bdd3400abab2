// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/wire"
)

// A socket is a WebSocket with a session over it. It allocates nothing for a frame and decodes no more than it must, so
// that the load generator leaves the processors to the server.
type socket struct {
	conn   net.Conn
	reader *bufio.Reader
	frame  []byte
}

// sources counts connections: they come from many addresses of the loopback network, because the ports of one would
// soon be used up.
var sources atomic.Uint32

// dial opens a WebSocket.
func dial(addr string) (*socket, error) {
	n := sources.Add(1)
	from := &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+n/200%200), byte(1+n%200))}
	conn, err := (&net.Dialer{LocalAddr: from}).Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &socket{conn: conn, reader: bufio.NewReaderSize(conn, 1<<10)}
	if err := s.upgrade(addr); err != nil {
		conn.Close()
		return nil, fmt.Errorf("open a WebSocket: %w", err)
	}
	return s, nil
}

func (s *socket) upgrade(addr string) error {
	_, err := io.WriteString(s.conn, "GET / HTTP/1.1\r\nHost: "+addr+"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
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

// login opens a session.
func (s *socket) login(userID int64, password string) error {
	request := &wire.AppRequest{RequestId: proto.Int64(1), Kind: &wire.AppRequest_CreateSessionRequest{
		CreateSessionRequest: &wire.CreateSessionRequest{
			Version: wire.Version, UserId: userID, Password: &password, DeviceType: wire.DeviceType_DESKTOP,
		},
	}}
	payload, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	if err := s.write(payload); err != nil {
		return err
	}
	for {
		answer, err := s.read()
		if err != nil {
			return err
		}
		switch id, code := responseOf(answer); {
		case id == 0:
		case code != 1000:
			return fmt.Errorf("log in user %d: the server answered %d", userID, code)
		default:
			return nil
		}
	}
}

// write sends a payload. Its mask has only zeros, which leaves the payload as it is.
func (s *socket) write(payload []byte) error {
	b := append(s.frame[:0], 0x82)
	if n := len(payload); n < 126 {
		b = append(b, 0x80|byte(n))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	}
	b = append(append(b, 0, 0, 0, 0), payload...)
	s.frame = b
	_, err := s.conn.Write(b)
	return err
}

var errFrame = errors.New("the frame is of a kind that the load generator does not expect")

// read returns the next payload, which is valid until the next call.
func (s *socket) read() ([]byte, error) {
	head, err := s.reader.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0] != 0x82 || head[1] > 126 {
		return nil, errFrame
	}
	size, n := 2, int(head[1])
	if n == 126 {
		size = 4
		if head, err = s.reader.Peek(size); err != nil {
			return nil, err
		}
		n = int(binary.BigEndian.Uint16(head[2:]))
	}
	all, err := s.reader.Peek(size + n)
	if err != nil {
		return nil, err
	}
	_, _ = s.reader.Discard(size + n)
	return all[size:], nil
}

// responseOf returns the request that a notification answers and the code; 0 is none.
func responseOf(payload []byte) (id int64, code int) {
	const requestID, codeField = 4, 5
	for len(payload) > 0 {
		field, kind, n := protowire.ConsumeTag(payload)
		if n < 0 {
			return 0, 0
		}
		payload = payload[n:]
		if kind == protowire.VarintType {
			value, n := protowire.ConsumeVarint(payload)
			if n < 0 {
				return 0, 0
			}
			switch field {
			case requestID:
				id = int64(value)
			case codeField:
				return id, int(value)
			}
			payload = payload[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(field, kind, payload); n < 0 {
			return 0, 0
		}
		payload = payload[n:]
	}
	return 0, 0
}
