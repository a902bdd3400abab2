// SPDX-License-Identifier: Apache-2.0

package java

import (
	"encoding/binary"
	"fmt"
)

// A frame is a length, which counts what follows it, a kind, the number of a request, and a body. Each end numbers its
// own requests; an answer has the number of its request.
const (
	frameHead = 4 + frameMin
	frameMin  = 1 + 8
	// frameLimit bounds the length of a frame. What is longer is refused before it is sent.
	frameLimit = 16 << 20
)

// protocol is the version of what both ends say.
const protocol = 3

// kind is what a frame is.
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
