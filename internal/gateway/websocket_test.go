// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/wire"
	"example.org/app/test/client"
)

// A rawSocket is a WebSocket client that can violate the protocol.
type rawSocket struct {
	t      testing.TB
	conn   net.Conn
	reader *bufio.Reader
}

// rawDial opens a WebSocket.
func rawDial(t testing.TB, url string) *rawSocket {
	t.Helper()
	s := rawConnect(t, url)
	s.write([]byte("GET /any/path?query HTTP/1.1\r\nHost: x\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"))
	resp, err := http.ReadResponse(s.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Fatalf("the answer is %v", resp)
	}
	return s
}

func rawConnect(t testing.TB, url string) *rawSocket {
	t.Helper()
	_, address, _ := strings.Cut(url, "://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return &rawSocket{t, conn, bufio.NewReader(conn)}
}

func (s *rawSocket) write(b []byte) {
	s.t.Helper()
	if _, err := s.conn.Write(b); err != nil {
		s.t.Fatal(err)
	}
}

// frame returns a client's frame with any first byte.
func frame(first byte, payload []byte) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	mask := []byte{1, 2, 3, 4}
	b = append(b, mask...)
	for i, c := range payload {
		b = append(b, c^mask[i%4])
	}
	return b
}

// read reads a frame of the server.
func (s *rawSocket) read() (first byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(s.reader, head[:]); err != nil {
		return 0, nil, err
	}
	n := int64(head[1])
	switch n {
	case 126:
		var size [2]byte
		_, err = io.ReadFull(s.reader, size[:])
		n = int64(binary.BigEndian.Uint16(size[:]))
	case 127:
		var size [8]byte
		_, err = io.ReadFull(s.reader, size[:])
		n = int64(binary.BigEndian.Uint64(size[:]))
	}
	if err != nil {
		return 0, nil, err
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(s.reader, payload)
	return head[0], payload, err
}

// want reads a frame and compares it.
func (s *rawSocket) want(first byte, payload string) {
	s.t.Helper()
	gotFirst, got, err := s.read()
	if err != nil || gotFirst != first || string(got) != payload {
		s.t.Fatalf("got %#x %q, %v, want %#x %q", gotFirst, got, err, first, payload)
	}
}

// wantCode reads a response and compares its code.
func (s *rawSocket) wantCode(code int32) {
	s.t.Helper()
	first, payload, err := s.read()
	var n wire.AppNotification
	if err == nil {
		err = proto.Unmarshal(payload, &n)
	}
	if err != nil || first != 0x82 || n.GetCode() != code {
		s.t.Fatalf("got %#x %v, %v, want the code %d", first, &n, err, code)
	}
}

// wantEnd reads a close frame with the status and then the end.
func (s *rawSocket) wantEnd(status uint16) {
	s.t.Helper()
	first, payload, err := s.read()
	if err != nil || first != 0x88 || len(payload) < 2 || binary.BigEndian.Uint16(payload) != status {
		s.t.Fatalf("got %#x %x, %v, want the closing frame %d", first, payload, err, status)
	}
	if _, _, err := s.read(); err == nil {
		s.t.Fatal("something came after the closing frame")
	}
}

// TestWebSocketConformance tests the rules of RFC 6455 for frames.
func TestWebSocketConformance(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	login := client.Payload(3, &wire.CreateSessionRequest{Version: 9, UserId: 5})
	large := bytes.Repeat([]byte{0}, 20_000)
	statusFrame := func(status uint16, reason string) []byte {
		return append(binary.BigEndian.AppendUint16(nil, status), reason...)
	}
	for name, test := range map[string]func(s *rawSocket){
		"one frame": func(s *rawSocket) { s.write(frame(0x82, login)); s.wantCode(2000) },
		"byte by byte": func(s *rawSocket) {
			for _, b := range frame(0x82, login) {
				s.write([]byte{b})
			}
			s.wantCode(2000)
		},
		"two frames at once": func(s *rawSocket) {
			// Concurrent logins are refused; requests without session are refused at once.
			request := client.Payload(4, &wire.QueryMessagesRequest{})
			s.write(append(frame(0x82, request), frame(0x82, request)...))
			s.wantCode(int32(apierr.SendRequestFromNonexistentSession))
			s.wantCode(int32(apierr.SendRequestFromNonexistentSession))
		},
		"fragments": func(s *rawSocket) {
			s.write(frame(0x02, login[:1]))
			s.write(frame(0x00, nil))
			s.write(frame(0x00, login[1:3]))
			s.write(frame(0x80, login[3:]))
			s.wantCode(2000)
		},
		"ping between fragments": func(s *rawSocket) {
			s.write(frame(0x02, login[:3]))
			s.write(frame(0x89, []byte("are you there")))
			s.write(frame(0x8a, []byte("a pong that nobody asked for")))
			s.want(0x8a, "are you there")
			s.write(frame(0x80, login[3:]))
			s.wantCode(2000)
		},
		"empty ping": func(s *rawSocket) { s.write(frame(0x89, nil)); s.want(0x8a, "") },
		"text": func(s *rawSocket) {
			s.write(frame(0x81, []byte("hällo")))
			s.write(frame(0x82, login))
			s.wantCode(2000)
		},
		"text fragments": func(s *rawSocket) {
			s.write(frame(0x01, []byte("h\xc3")))
			s.write(frame(0x80, []byte("\xa4")))
			s.write(frame(0x82, login))
			s.wantCode(2000)
		},
		"invalid text":            func(s *rawSocket) { s.write(frame(0x81, []byte("\xff\xfe"))); s.wantEnd(1007) },
		"reserved bit 1":          func(s *rawSocket) { s.write(frame(0xc2, login)); s.wantEnd(1002) },
		"reserved bit 2":          func(s *rawSocket) { s.write(frame(0xa2, login)); s.wantEnd(1002) },
		"reserved bit 3":          func(s *rawSocket) { s.write(frame(0x92, login)); s.wantEnd(1002) },
		"reserved opcode":         func(s *rawSocket) { s.write(frame(0x83, login)); s.wantEnd(1002) },
		"reserved control":        func(s *rawSocket) { s.write(frame(0x8b, nil)); s.wantEnd(1002) },
		"no mask":                 func(s *rawSocket) { s.write(append([]byte{0x82, byte(len(login))}, login...)); s.wantEnd(1002) },
		"long ping":               func(s *rawSocket) { s.write(frame(0x89, large[:126])); s.wantEnd(1002) },
		"fragmented ping":         func(s *rawSocket) { s.write(frame(0x09, nil)); s.wantEnd(1002) },
		"continuation of nothing": func(s *rawSocket) { s.write(frame(0x80, login)); s.wantEnd(1002) },
		"message in a message":    func(s *rawSocket) { s.write(frame(0x02, login)); s.write(frame(0x82, login)); s.wantEnd(1002) },
		"too large":               func(s *rawSocket) { s.write(frame(0x82, large)[:10]); s.wantEnd(1009) },
		"too large in fragments": func(s *rawSocket) {
			s.write(frame(0x02, large[:10_000]))
			s.write(frame(0x80, large[:10_000]))
			s.wantEnd(1009)
		},
		"huge length": func(s *rawSocket) {
			s.write([]byte{0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4})
			s.wantEnd(1009)
		},
		"impossible length": func(s *rawSocket) {
			s.write([]byte{0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4})
			s.wantEnd(1002)
		},
		"largest":              func(s *rawSocket) { s.write(frame(0x82, large[:16384])); s.wantCode(1100) },
		"close":                func(s *rawSocket) { s.write(frame(0x88, statusFrame(1000, "bye"))); s.wantEnd(1000) },
		"close, own status":    func(s *rawSocket) { s.write(frame(0x88, statusFrame(4000, ""))); s.wantEnd(4000) },
		"close, bad status":    func(s *rawSocket) { s.write(frame(0x88, statusFrame(1005, ""))); s.wantEnd(1002) },
		"close, half a status": func(s *rawSocket) { s.write(frame(0x88, []byte{3})); s.wantEnd(1002) },
		"close, no status": func(s *rawSocket) {
			s.write(frame(0x88, nil))
			if first, _, err := s.read(); err != nil || first != 0x88 {
				s.t.Errorf("got %#x, %v", first, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Violations get an address blocked, which is not the subject of this test.
			if err := m.options.BlockedIPs.UnblockAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			s := rawDial(t, m.ws)
			s.t = t
			test(s)
		})
	}
	client.LogIn(t, m.tcp, 1).Beat()
}

// TestWebSocketLibrary tests with an independent library.
func TestWebSocketLibrary(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	conn, resp, err := websocket.Dial(t.Context(), m.ws+"/path", &websocket.DialOptions{CompressionMode: websocket.CompressionContextTakeover, Subprotocols: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if resp.Header.Get("Sec-WebSocket-Extensions") != "" || conn.Subprotocol() != "" {
		t.Error("something was negotiated")
	}
	login := client.Payload(7, &wire.CreateSessionRequest{Version: 1, UserId: 4})
	writer, err := conn.Writer(t.Context(), websocket.MessageBinary)
	if err != nil {
		t.Fatal(err)
	}
	for i := range login {
		if _, err := writer.Write(login[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // The session and the response.
		if _, _, err := conn.Read(t.Context()); err != nil {
			t.Fatal(i, err)
		}
	}
	ctx := conn.CloseRead(t.Context())
	if err := conn.Ping(ctx); err != nil {
		t.Error(err)
	}
	if err := conn.Close(websocket.StatusNormalClosure, "bye"); err != nil {
		t.Error(err)
	}
	eventually(t, "the session ends", func() bool { return len(m.sessions.of(4)) == 0 })
}

// TestServerCloses expects a close frame with the status 1000 if the client does not close.
func TestServerCloses(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) { c.Gateway.WebSocket.Session.CloseTimeoutMillis = 0 })
	s := rawDial(t, m.ws)
	s.write(frame(0x82, client.Payload(1, &wire.CreateSessionRequest{Version: 1, UserId: 4})))
	s.read()
	s.wantCode(1000)
	s.write(frame(0x82, client.Payload(2, &wire.DeleteSessionRequest{})))
	_, payload, err := s.read()
	var n wire.AppNotification
	if err := proto.Unmarshal(payload, &n); err != nil || n.GetCloseStatus() != 500 {
		t.Errorf("got %v, %v", &n, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.want(0x88, "\x03\xe8")
	if _, _, err := s.read(); err == nil {
		t.Error("the connection is still open")
	}
}

func TestHandshake(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	const good = "Host: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
	for name, test := range map[string]struct {
		request string
		status  int
		header  string
	}{
		"POST":         {"POST / HTTP/1.1\r\n" + good + "\r\n", 405, "Allow: GET"},
		"no upgrade":   {"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\n\r\n", 400, "Content-Type: text/plain; charset=utf-8"},
		"no key":       {"GET / HTTP/1.1\r\n" + strings.Replace(good, "Sec-WebSocket-Key", "X", 1) + "\r\n", 400, ""},
		"short key":    {"GET / HTTP/1.1\r\n" + strings.Replace(good, "dGhl", "", 1) + "\r\n", 400, ""},
		"connection":   {"GET / HTTP/1.1\r\n" + strings.Replace(good, "Connection: Upgrade", "Connection: close", 1) + "\r\n", 400, ""},
		"version":      {"GET / HTTP/1.1\r\n" + strings.Replace(good, "13", "8", 1) + "\r\n", 400, "Sec-WebSocket-Version: 13"},
		"preflight":    {"OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: http://a\r\nAccess-Control-Request-Method: GET\r\n\r\n", 200, "Access-Control-Max-Age: 7200"},
		"options":      {"OPTIONS / HTTP/1.1\r\nHost: x\r\n\r\n", 405, ""},
		"no HTTP":      {"hello\r\n\r\n", 400, ""},
		"endless":      {"GET / HTTP/1.1\r\nX: " + strings.Repeat("x", maxHandshake), 400, ""},
		"many headers": {"GET / HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", maxHandshake/6+1), 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := rawConnect(t, m.ws)
			s.write([]byte(test.request))
			resp, err := http.ReadResponse(s.reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			key, value, _ := strings.Cut(test.header, ": ")
			if resp.StatusCode != test.status || resp.Header.Get(key) != value || test.status >= 400 && len(body) == 0 {
				t.Errorf("the answer is %v %q", resp, body)
			}
			if _, err := s.reader.ReadByte(); err == nil {
				t.Error("the connection is still open")
			}
		})
	}
}

// TestTCPFrames sends invalid frames.
func TestTCPFrames(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	for name, bytes := range map[string][]byte{
		"too large":        {0x81, 0x80, 0x01}, // 16385
		"negative":         {0xff, 0xff, 0xff, 0xff, 0x1f},
		"too many bytes":   {0x80, 0x80, 0x80, 0x80, 0x80, 0x01},
		"more than 32 bit": {0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		t.Run(name, func(t *testing.T) {
			if err := m.options.BlockedIPs.UnblockAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			c := client.LogIn(t, m.tcp, 5)
			c.Must(c.SendBytes(bytes))
			c.Closed(wire.ClosedIllegalRequest)
			c.Gone()
			eventually(t, "the session ends", func() bool { return len(m.sessions.of(5)) == 0 })
		})
	}
	t.Run("largest", func(t *testing.T) {
		c := client.LogIn(t, m.tcp, 5)
		payload := client.Payload(5, say(strings.Repeat("x", 16384)))
		c.Request(say(strings.Repeat("x", 16384-(len(payload)-16384))))
	})
	t.Run("half a frame", func(t *testing.T) {
		c := client.LogIn(t, m.tcp, 6)
		c.Must(c.SendBytes([]byte{100, 1, 2}))
		c.Close()
		eventually(t, "the session ends", func() bool { return len(m.sessions.of(6)) == 0 })
	})
	t.Run("blocked in the end", func(t *testing.T) {
		eventually(t, "the address is blocked", func() bool {
			if c, err := client.Dial(t.Context(), m.tcp, client.Options{}); err == nil {
				_ = c.SendBytes([]byte{0xff, 0xff, 0xff, 0xff, 0x1f})
				<-c.Done()
				c.Close()
			}
			return m.options.BlockedIPs.BlockedNow(loopback)
		})
	})
}
