// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"example.org/app/internal/config"
	"example.org/app/internal/wire"
)

// TestFraming reads frames of all relevant sizes with independent readers.
func TestFraming(t *testing.T) {
	for _, size := range []int{0, 1, 125, 126, 127, 128, 16383, 16384, 65535, 65536, 1 << 20} {
		payload := bytes.Repeat([]byte{7}, size)
		got, err := wire.ReadFrame(bufio.NewReader(bytes.NewReader(lengthFraming.frame(payload))), nil, 1<<21)
		if err != nil || !bytes.Equal(got, payload) {
			t.Errorf("%d bytes with length: %d bytes, %v", size, len(got), err)
		}
		s := rawSocket{t: t, reader: bufio.NewReader(bytes.NewReader(webSocketFraming.frame(payload)))}
		s.want(0x82, string(payload))
	}
	b := broadcast{payload: []byte("hello")}
	if first, again := b.frame(lengthFraming), b.frame(lengthFraming); &first[0] != &again[0] {
		t.Error("the frame was made twice")
	}
}

// FuzzWebSocketFrames feeds arbitrary bytes to the reader of messages, whole and in pieces: it must
// end in the same way, and never return more than the limit.
func FuzzWebSocketFrames(f *testing.F) {
	f.Add(frame(0x82, []byte("hello")))
	f.Add(append(frame(0x02, []byte("a")), append(frame(0x89, nil), frame(0x80, []byte("b"))...)...))
	f.Add(frame(0x88, []byte{3, 0xe8}))
	f.Add(frame(0x81, []byte("\xff")))
	f.Add([]byte{0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, b []byte) {
		read := func(r io.Reader) (all []byte, last error) {
			m := messageReader{reader: bufio.NewReaderSize(r, 16), limit: 100, control: func(o opcode, payload []byte) error {
				all = append(append(all, byte(o)), payload...)
				if len(payload) > maxControl {
					t.Fatalf("a control frame has %d bytes", len(payload))
				}
				if o == opClose {
					_, err := checkClose(payload)
					return errors.Join(err, errCloseFrame)
				}
				return nil
			}}
			for {
				kind, payload, err := m.read()
				if err != nil {
					return all, err
				}
				if len(payload) > m.limit || kind != opText && kind != opBinary {
					t.Fatalf("a message of the kind %d has %d bytes", kind, len(payload))
				}
				all = append(append(all, byte(kind)), payload...)
			}
		}
		whole, err := read(bytes.NewReader(b))
		pieces, pieceErr := read(io.MultiReader(bytes.NewReader(b[:len(b)/2]), bytes.NewReader(b[len(b)/2:])))
		if !bytes.Equal(whole, pieces) || err.Error() != pieceErr.Error() {
			t.Errorf("whole: %q, %v; in pieces: %q, %v", whole, err, pieces, pieceErr)
		}
	})
}

// FuzzAddresses feeds arbitrary bytes to the parsers of client addresses.
func FuzzAddresses(f *testing.F) {
	f.Add("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n")
	f.Add("\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\x01\x02\x03\x04\x05\x06\x07\x08\x00\x01\x00\x02")
	f.Add(`for="[2001:db8::1]:5";by=x, for=_y`)
	f.Add("fe80::1%eth0, 1.2.3.4")
	f.Fuzz(func(t *testing.T, text string) {
		ip, err := readProxyHeader(bufio.NewReaderSize(strings.NewReader(text), 16), config.AddressSourceOptional)
		if err != nil && ip.IsValid() || ip.Is4In6() {
			t.Errorf("%q gave %v, %v", text, ip, err)
		}
		for _, name := range []string{"Forwarded", "X-Forwarded-For"} {
			ip, err := forwardedAddress(http.Header{name: {text}}, config.AddressSourceRequired, func(netip.Addr) bool { return false })
			if ip.IsValid() == (err != nil) || ip.Is4In6() || ip.Zone() != "" {
				t.Errorf("%s: %q gave %v, %v", name, text, ip, err)
			}
		}
	})
}

// FuzzRequests feeds arbitrary payloads to the decoders of requests and datagrams.
func FuzzRequests(f *testing.F) {
	f.Add([]byte{1 << 3, 1, 3<<3 | 2, 4, 1 << 3, 1, 2 << 3, 5})
	f.Add(datagram(1, 1, 0, 5))
	f.Fuzz(func(t *testing.T, b []byte) {
		if head, err := wire.ParseHead(b); (err == nil) != (head.ID > 0 && head.Kind.Valid()) {
			t.Errorf("the head is %+v, %v", head, err)
		}
		if r, err := decodeLogin(b); (r == nil) != (err != nil) {
			t.Errorf("the login is %v, %v", r, err)
		} else if r != nil {
			if status, err := statusOf(r); err == nil && status == wire.UserStatus_OFFLINE {
				t.Error("a user logged in as offline")
			}
			deviceOf(r.DeviceType)
		}
		if s, ok := parseSignal(b); ok && (len(b) != signalSize || !bytes.Equal(b, datagram(s.kind, s.userID, byte(s.device), s.sessionID))) {
			t.Errorf("the datagram is %+v", s)
		}
	})
}
