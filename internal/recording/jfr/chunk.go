// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Sizes and marks of the chunk header.
const (
	headerSize = 68
	magic      = "FLR\x00"
	major      = 2
	minor      = 1
	// flags: integers are compressed, and the chunk is complete.
	flags = 1 | 2
)

// Ids of the two pseudo-events.
const (
	metadataEvent   = 0
	checkpointEvent = 1
)

// A Chunk collects events in memory. It is not safe for concurrent use.
type Chunk struct {
	schema *Schema
	start  time.Time
	events []byte
	count  int
	body   []byte // of the event that is being encoded
	pools
}

// NewChunk begins a chunk. Ticks of its times are nanoseconds since 1970.
func (s *Schema) NewChunk(start time.Time) *Chunk {
	c := &Chunk{schema: s, start: start, events: make([]byte, headerSize, 4<<10)}
	c.pools.init(lastKey.Load())
	return c
}

// Start returns when the chunk began.
func (c *Chunk) Start() time.Time { return c.start }

// Count returns how many events the chunk has.
func (c *Chunk) Count() int { return c.count }

// Size returns about how many bytes the chunk has so far.
func (c *Chunk) Size() int { return len(c.events) + c.pools.size + len(c.schema.metadata) }

// Add adds an event. The values are those of the type's fields, in order. It panics if they do not
// fit the type, or if the type belongs to another schema, which are programming errors.
func (c *Chunk) Add(t *Type, start time.Time, duration time.Duration, values ...Value) {
	if c.schema.types[t.Name] != t || len(values) != len(t.Fields) {
		panic(fmt.Sprintf("jfr: event %q: %d values do not fit the type", t.Name, len(values)))
	}
	b := appendVarint(c.body[:0], t.id)
	b = appendVarint(b, start.UnixNano())
	if t.Duration {
		b = appendVarint(b, int64(max(duration, 0)))
	}
	for i, v := range values {
		if v.kind != t.Fields[i].Kind {
			panic(fmt.Sprintf("jfr: event %q: the value of field %q has the wrong kind", t.Name, t.Fields[i].Name))
		}
		b = c.appendValue(b, v)
	}
	c.body = b
	c.events = appendVarint(c.events, sizeWithPrefix(len(b)))
	c.events = append(c.events, b...)
	c.count++
}

func (c *Chunk) appendValue(b []byte, v Value) []byte {
	switch v.kind {
	case KindBoolean:
		return append(b, byte(v.number))
	case KindFloat, KindPercentage:
		return appendFloat(b, float32(v.float))
	case KindDouble:
		return appendDouble(b, v.float)
	case KindString:
		return c.appendText(b, v.text)
	case KindThread:
		return appendVarint(b, c.thread(v.text))
	case KindStack:
		return appendVarint(b, c.stack(v.frames))
	case KindClass:
		return appendVarint(b, c.class(v.text))
	case KindThreadState, KindFrameType, KindGCName, KindGCCause, KindGCWhen:
		return appendVarint(b, c.constant(v.kind, v.text))
	case KindSpace:
		for _, n := range [...]int64{0, v.number, v.number, v.number, v.number} {
			b = appendVarint(b, n)
		}
		return b
	default:
		return appendVarint(b, v.number)
	}
}

// Finish ends the chunk and returns its bytes, which the caller owns. The chunk must not be used
// afterwards.
func (c *Chunk) Finish(end time.Time) []byte {
	now := end.UnixNano()
	checkpoint := len(c.events)
	out := c.appendCheckpoint(c.events, now)
	metadata := len(out)
	head := appendVarint(nil, metadataEvent)
	head = appendVarint(head, now)
	head = appendVarint(head, 0)
	out = appendVarint(out, sizeWithPrefix(len(head)+len(c.schema.metadata)))
	out = append(append(out, head...), c.schema.metadata...)

	h := append(make([]byte, 0, headerSize), magic...)
	h = binary.BigEndian.AppendUint16(h, major)
	h = binary.BigEndian.AppendUint16(h, minor)
	for _, n := range [...]int64{
		int64(len(out)), int64(checkpoint), int64(metadata),
		c.start.UnixNano(), max(int64(end.Sub(c.start)), 0), c.start.UnixNano(), int64(time.Second),
	} {
		h = binary.BigEndian.AppendUint64(h, uint64(n))
	}
	h = append(h, 0, 0, 0, flags)
	copy(out, h)
	for last := lastKey.Load(); c.pools.last > last && !lastKey.CompareAndSwap(last, c.pools.last); {
		last = lastKey.Load()
	}
	c.events = nil
	return out
}
