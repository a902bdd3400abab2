// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxLine is the maximum length of a line in memory; the rest of a longer line is replaced by a
// mark.
const maxLine = 64 << 10

// splitter splits blocks of bytes into lines of valid UTF-8 without line breaks.
type splitter struct {
	emit func(line string) error
	line []byte
	cut  int64 // omitted bytes of the current line
}

// feed emits the lines that the block completes and keeps the rest.
func (s *splitter) feed(block []byte) error {
	for {
		end := bytes.IndexByte(block, '\n')
		if end < 0 {
			s.keep(block)
			return nil
		}
		s.keep(block[:end])
		if err := s.flush(); err != nil {
			return err
		}
		block = block[end+1:]
	}
}

func (s *splitter) keep(part []byte) {
	room := min(maxLine-len(s.line), len(part))
	s.line = append(s.line, part[:room]...)
	s.cut += int64(len(part) - room)
}

// finish emits an incomplete last line.
func (s *splitter) finish() error {
	if len(s.line) == 0 && s.cut == 0 {
		return nil
	}
	return s.flush()
}

// reset drops an incomplete line.
func (s *splitter) reset() {
	s.line, s.cut = s.line[:0], 0
}

func (s *splitter) flush() error {
	line, cut := s.line, s.cut
	defer s.reset()
	if cut == 0 {
		return s.emit(strings.ToValidUTF8(string(bytes.TrimSuffix(line, []byte{'\r'})), "\uFFFD"))
	}
	// Do not keep an incomplete character at the end.
	for i := 1; i < utf8.UTFMax && i < len(line); i++ {
		if start := len(line) - i; utf8.RuneStart(line[start]) {
			if !utf8.FullRune(line[start:]) {
				cut += int64(i)
				line = line[:start]
			}
			break
		}
	}
	return s.emit(strings.ToValidUTF8(string(line), "\uFFFD") + fmt.Sprintf("… [%d bytes cut]", cut))
}
