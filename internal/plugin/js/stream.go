// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.org/app/internal/plugin/js/engine"
)

const (
	// maxStreams is the maximum number of streams of one plugin.
	maxStreams = 100
	// chunkSize is the maximum size of a chunk of a stream.
	chunkSize = 64 << 10
)

// A stream is the body of a response that a plugin reads incrementally. It ends with its context.
type stream struct {
	ctx     context.Context
	body    io.ReadCloser
	timeout time.Duration
	// late ends a stream that is not read or makes no progress.
	late *time.Timer
}

var errTooManyStreams = fmt.Errorf("a plugin may read %d streams at once", maxStreams)

// streamedValue returns a response whose body the plugin reads by id.
func (n *network) streamedValue(id float64, res *response) (engine.Value, error) {
	for old, s := range n.streams {
		if s.ctx.Err() != nil { // The plugin has dropped it.
			n.endStream(old)
		}
	}
	if n.streams == nil {
		n.streams = map[float64]*stream{}
	}
	n.streams[id] = res.stream
	if len(n.streams) > maxStreams {
		n.endStream(id)
		return engine.Undefined, errTooManyStreams
	}
	return n.responseValue(res), nil
}

// endStream ends a stream and its request.
func (n *network) endStream(id float64) {
	if abort := n.aborts[id]; abort != nil {
		abort()
	}
	delete(n.aborts, id)
	delete(n.streams, id)
}

// readStream waits for the next bytes of a stream; undefined is its end.
func (n *network) readStream(_ engine.Value, args []engine.Value) (engine.Value, error) {
	id, _ := engine.AsNumber(args[0])
	s := n.streams[id]
	if s == nil {
		return engine.Undefined, errAborted
	}
	return n.m.operations.async(func(context.Context) (func() (engine.Value, error), error) {
		chunk, err := s.next()
		return func() (engine.Value, error) {
			if err != nil {
				n.endStream(id)
			}
			switch {
			case errors.Is(err, io.EOF):
				return engine.Undefined, nil
			case err != nil:
				return engine.Undefined, err
			}
			return n.m.t.value(n.m.engine.Bytes(chunk))
		}, nil
	})
}

// next reads the available bytes, at least one.
func (s *stream) next() ([]byte, error) {
	s.late.Reset(s.timeout)
	chunk := make([]byte, chunkSize)
	for {
		n, err := s.body.Read(chunk)
		switch {
		case n > 0:
			s.late.Reset(s.timeout)
			return chunk[:n], nil
		case errors.Is(err, io.EOF):
			s.late.Stop()
			_ = s.body.Close()
			return nil, io.EOF
		case err != nil:
			_ = s.body.Close()
			return nil, reason(s.ctx, err)
		}
	}
}
