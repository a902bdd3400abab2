// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// The reader of RFC 6455 is our own: libraries have buffers for each connection, which are too
// expensive for tens of thousands of idle ones, and writing, limits and closing belong to the
// stream anyway.

// An opcode is the type of a WebSocket frame.
type opcode byte

const (
	opContinuation opcode = 0
	opText         opcode = 1
	opBinary       opcode = 2
	opClose        opcode = 8
	opPing         opcode = 9
	opPong         opcode = 10
)

func (o opcode) control() bool { return o >= opClose }

// maxControl is the maximum payload of a control frame.
const maxControl = 125

// A violation is a violation of the WebSocket protocol by the client. The close frame contains the
// status.
type violation struct {
	status uint16
	reason string
}

func (v *violation) Error() string { return fmt.Sprintf("WebSocket: %s", v.reason) }

func violates(reason string) error { return &violation{1002, reason} }

var (
	errMessageSize = &violation{1009, "the message is too large"}
	errText        = &violation{1007, "the text is not UTF-8"}
)

// errCloseFrame means that the client has sent a close frame.
var errCloseFrame = errors.New("the client closed the WebSocket")

// A frameHead is the head of a frame.
type frameHead struct {
	final  bool
	opcode opcode
	length uint64
	mask   [4]byte
}

// readFrameHead reads the head of a frame of a client.
func readFrameHead(r *bufio.Reader) (h frameHead, err error) {
	first, err := r.ReadByte()
	if err != nil {
		return h, err
	}
	second, err := r.ReadByte()
	if err != nil {
		return h, within(err)
	}
	h.final, h.opcode = first&0x80 != 0, opcode(first&0x0f)
	switch {
	case first&0x70 != 0:
		return h, violates("a reserved bit is set")
	case h.opcode > opBinary && h.opcode < opClose || h.opcode > opPong:
		return h, violates("the opcode is reserved")
	case second&0x80 == 0:
		return h, violates("the frame is not masked")
	}
	h.length = uint64(second & 0x7f)
	if h.opcode.control() && (!h.final || h.length > maxControl) {
		return h, violates("a control frame is fragmented or too long")
	}
	switch h.length {
	case 126:
		h.length, err = readNumber(r, 2)
	case 127:
		if h.length, err = readNumber(r, 8); h.length >= 1<<63 {
			return h, violates("the length has 64 bits")
		}
	}
	if err != nil {
		return h, err
	}
	for i := range h.mask {
		if h.mask[i], err = r.ReadByte(); err != nil {
			return h, within(err)
		}
	}
	return h, nil
}

func readNumber(r *bufio.Reader, size int) (n uint64, err error) {
	for range size {
		b, err := r.ReadByte()
		if err != nil {
			return 0, within(err)
		}
		n = n<<8 | uint64(b)
	}
	return n, nil
}

// within converts io.EOF to io.ErrUnexpectedEOF.
func within(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// appendPayload reads the payload of a frame and appends it to b.
func (h *frameHead) appendPayload(r *bufio.Reader, b []byte) ([]byte, error) {
	start := len(b)
	b = append(b, make([]byte, h.length)...)
	payload := b[start:]
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, within(err)
	}
	mask := uint64(binary.LittleEndian.Uint32(h.mask[:]))
	mask |= mask << 32
	for len(payload) >= 8 {
		binary.LittleEndian.PutUint64(payload, binary.LittleEndian.Uint64(payload)^mask)
		payload = payload[8:]
	}
	for i := range payload {
		payload[i] ^= h.mask[i%4]
	}
	return b, nil
}

// A messageReader assembles the messages of a client from frames.
type messageReader struct {
	reader *bufio.Reader
	limit  int
	// control is called with each control frame. An error ends the reading.
	control func(o opcode, payload []byte) error
	// begin, if not nil, is called before each frame that does not continue a message.
	begin func()
}

// read returns the next message. The caller owns the payload.
func (m *messageReader) read() (kind opcode, payload []byte, err error) {
	for started := false; ; {
		if !started && m.begin != nil {
			m.begin()
		}
		h, err := readFrameHead(m.reader)
		switch {
		case err != nil:
			if started {
				err = within(err)
			}
			return 0, nil, err
		case h.opcode.control():
			control, err := h.appendPayload(m.reader, nil)
			if err == nil {
				err = m.control(h.opcode, control)
			}
			if err != nil {
				return 0, nil, err
			}
			continue
		case started != (h.opcode == opContinuation):
			return 0, nil, violates("a message begins inside another one, or goes on that has not begun")
		case h.length > uint64(m.limit-len(payload)):
			return 0, nil, errMessageSize
		case !started:
			started, kind = true, h.opcode
		}
		if payload, err = h.appendPayload(m.reader, payload); err != nil {
			return 0, nil, err
		}
		if !h.final {
			continue
		}
		if kind == opText && !utf8.Valid(payload) {
			return 0, nil, errText
		}
		return kind, payload, nil
	}
}

// readMessages reads until the client disconnects or violates the protocol.
func (c *connection) readMessages() error {
	m := messageReader{
		reader: c.stream.reader, limit: int(c.gateway.settings().ClientAPI.MaxRequestSizeBytes), control: c.control,
		begin: c.stream.markBoundary,
	}
	for {
		kind, payload, err := m.read()
		if broken, ok := errors.AsType[*violation](err); ok {
			c.sendClose(broken.status, broken.reason)
		}
		if err != nil {
			return err
		}
		// Text messages are not part of the protocol.
		if kind == opBinary {
			c.receive(payload)
		}
	}
}

// control handles a control frame.
func (c *connection) control(o opcode, payload []byte) error {
	switch o {
	case opPing:
		return c.stream.send(controlFrame(opPong, payload))
	case opClose:
		status, err := checkClose(payload)
		if err != nil {
			return err
		}
		c.sendClose(status, "")
		return errCloseFrame
	}
	return nil
}

// checkClose returns the status of a close frame; 0 means none.
func checkClose(payload []byte) (uint16, error) {
	if len(payload) == 0 {
		return 0, nil
	}
	if len(payload) == 1 {
		return 0, violates("the closing frame has half a status")
	}
	status := binary.BigEndian.Uint16(payload)
	switch {
	case status < 1000, status > 4999, status >= 1004 && status <= 1006, status >= 1014 && status < 3000:
		return 0, violates("the closing frame has a status that is not for the wire")
	case !utf8.Valid(payload[2:]):
		return 0, errText
	}
	return status, nil
}

// sendClose sends a close frame; a status of 0 means none. Nothing may be sent after it.
func (c *connection) sendClose(status uint16, reason string) {
	var payload []byte
	if status != 0 {
		payload = append(binary.BigEndian.AppendUint16(nil, status), reason...)
	}
	_ = c.stream.send(controlFrame(opClose, payload))
	c.stream.finish()
}

// controlFrame returns a control frame.
func controlFrame(o opcode, payload []byte) []byte {
	payload = payload[:min(len(payload), maxControl)]
	return append([]byte{0x80 | byte(o), byte(len(payload))}, payload...)
}
