// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"example.org/app/internal/wire"
)

func TestFrames(t *testing.T) {
	var stream []byte
	payloads := [][]byte{{}, []byte("a"), bytes.Repeat([]byte("b"), 127), bytes.Repeat([]byte("c"), 128), bytes.Repeat([]byte("d"), 20_000)}
	for _, p := range payloads {
		stream = wire.AppendFrame(stream, p)
	}
	r := bufio.NewReaderSize(bytes.NewReader(stream), 16)
	for i, want := range payloads {
		got, err := wire.ReadFrame(r, []byte("kept"), 20_000)
		if err != nil || string(got) != "kept"+string(want) {
			t.Errorf("frame %d: %d bytes, %v", i, len(got), err)
		}
	}
	if _, err := wire.ReadFrame(r, nil, 10); !errors.Is(err, io.EOF) {
		t.Errorf("after the last frame: %v", err)
	}
}

func TestBadFrames(t *testing.T) {
	for name, test := range map[string]struct {
		stream []byte
		want   error
	}{
		"nothing":            {nil, io.EOF},
		"half a length":      {[]byte{0x80}, io.ErrUnexpectedEOF},
		"no payload":         {[]byte{3}, io.ErrUnexpectedEOF},
		"half a payload":     {[]byte{3, 1, 2}, io.ErrUnexpectedEOF},
		"above the limit":    {[]byte{101}, wire.ErrFrame},
		"negative":           {[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, wire.ErrFrame},
		"six bytes":          {[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, wire.ErrFrame},
		"33 bits":            {[]byte{0xff, 0xff, 0xff, 0xff, 0x1f}, wire.ErrFrame},
		"32 bits, too large": {[]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, wire.ErrFrame},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := wire.ReadFrame(bufio.NewReader(bytes.NewReader(test.stream)), nil, 100); !errors.Is(err, test.want) || len(got) > 0 {
				t.Errorf("ReadFrame = %x, %v", got, err)
			}
		})
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(wire.AppendFrame(nil, []byte("payload")))
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bufio.NewReader(bytes.NewReader(stream))
		for {
			payload, err := wire.ReadFrame(r, nil, 1000)
			if err != nil {
				return
			}
			if len(payload) > 1000 {
				t.Fatalf("a frame of %d bytes", len(payload))
			}
		}
	})
}
