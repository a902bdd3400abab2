// SPDX-License-Identifier: Apache-2.0

package java

import (
	"encoding/binary"
	"fmt"
)

// A frame consists of a length, which counts the rest, a kind, the number of a request, and a body.
// Each end numbers its own requests; a response has the number of its request.
const (
	frameHead = 4 + frameMin
	frameMin  = 1 + 8
	// frameLimit is the maximum length of a frame. Longer ones are refused before they are sent.
	frameLimit = 16 << 20
)

// protocol is the version of the protocol.
const protocol = 3

// kind is the kind of a frame.
type kind byte

// The kinds.
const (
	kindHello kind = iota + 1
	kindReady
	kindLoad
	kindUnload
	kindHook
	kindCall
	kindResult
	kindError
	kindCancel
	kindDump
	kindStats
	kindStop
	kindLog
	kindAsk
	kindExit
	kindObject
	kindFunction
	kindRecord
	kindCulprit
	kindLevel
	kindUncaught
)

// beginFrame appends the head of a frame to a buffer; endFrame completes it.
func beginFrame(b []byte, k kind, id uint64) []byte {
	b = append(b, 0, 0, 0, 0, byte(k))
	return binary.BigEndian.AppendUint64(b, id)
}

// endFrame writes the length into the frame that begins at an offset.
func endFrame(b []byte, at int) ([]byte, error) {
	n := len(b) - at - 4
	if n > frameLimit {
		return b[:at], fmt.Errorf("it has %d bytes, at most %d are allowed", n, frameLimit)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(n))
	return b, nil
}
