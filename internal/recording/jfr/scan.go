// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Extent is where a chunk lies in a file, and when it was recorded.
type Extent struct {
	Offset, Size int64
	Start, End   time.Time
}

// Scan returns the complete chunks at the beginning of a file of the given size. What follows them,
// such as a chunk truncated by a crash, is omitted. It fails only if the file cannot be read.
func Scan(r io.ReaderAt, size int64) ([]Extent, error) {
	var found []Extent
	var h [headerSize]byte
	for at := int64(0); size-at >= headerSize; {
		if _, err := r.ReadAt(h[:], at); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read a chunk header: %w", err)
		}
		number := func(offset int) int64 { return int64(binary.BigEndian.Uint64(h[offset:])) }
		length, checkpoint, metadata := number(8), number(16), number(24)
		complete := string(h[:4]) == magic && binary.BigEndian.Uint16(h[4:]) == major && h[64] == 0 &&
			length > headerSize && length <= size-at && checkpoint >= headerSize && checkpoint < length && metadata >= headerSize && metadata < length
		if !complete {
			break
		}
		start := time.Unix(0, number(32))
		found = append(found, Extent{Offset: at, Size: length, Start: start, End: start.Add(time.Duration(number(40)))})
		at += length
	}
	return found, nil
}
