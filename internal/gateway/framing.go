// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// A framing is how a transport delimits payloads.
type framing uint8

const (
	// webSocketFraming encodes a payload as one binary message.
	webSocketFraming framing = iota
	// lengthFraming prefixes the payload with its length, as a varint.
	lengthFraming

	framings
)

// headRoom is the maximum size of a frame's head.
const headRoom = 10

// empties are the frames without payload, which answer heartbeats. They are read only.
var empties = [framings][]byte{webSocketFraming: {0x82, 0}, lengthFraming: {0}}

// seal builds a frame in a buffer with headRoom bytes before the payload. The frame shares the
// buffer.
func (f framing) seal(b []byte) []byte {
	payload := len(b) - headRoom
	var head [headRoom]byte
	n := 0
	switch {
	case f == lengthFraming:
		n = len(protowire.AppendVarint(head[:0], uint64(payload)))
	case payload < 126:
		head[0], head[1] = 0x82, byte(payload)
		n = 2
	case payload < 1<<16:
		head[0], head[1] = 0x82, 126
		binary.BigEndian.PutUint16(head[2:], uint16(payload))
		n = 4
	default:
		head[0], head[1] = 0x82, 127
		binary.BigEndian.PutUint64(head[2:], uint64(payload))
		n = 10
	}
	copy(b[headRoom-n:], head[:n])
	return b[headRoom-n:]
}

// frame returns a frame with a copy of the payload.
func (f framing) frame(payload []byte) []byte {
	if len(payload) == 0 {
		return empties[f]
	}
	b := make([]byte, headRoom, headRoom+len(payload))
	return f.seal(append(b, payload...))
}

// A broadcast is one payload for many connections: each framing is encoded once. Only one goroutine
// may use it.
type broadcast struct {
	payload []byte
	frames  [framings][]byte
	// streams are the streams to be written, each once.
	streams []*stream
}

func (b *broadcast) frame(f framing) []byte {
	if b.frames[f] == nil {
		b.frames[f] = f.frame(b.payload)
	}
	return b.frames[f]
}

// send queues the frame, to be written by flush.
func (b *broadcast) send(c *connection) error {
	begin, err := c.stream.enqueue(b.frame(c.transport.framing))
	if begin {
		b.streams = append(b.streams, c.stream)
	}
	return err
}

// flush starts writing what was queued.
func (b *broadcast) flush() {
	if len(b.streams) > 0 {
		b.streams[0].flusher.add(b.streams...)
	}
}
