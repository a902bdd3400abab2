// SPDX-License-Identifier: Apache-2.0

package websocket_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	coder "github.com/coder/websocket"

	"example.org/app/bench/websocket"
)

// TestSocket exchanges payloads of all sizes with a server that sends pings, and receives its close
// frame.
func TestSocket(t *testing.T) {
	sizes := []int{0, 1, 125, 126, 1023, 1024, 70_000, 1 << 20}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := coder.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		c.SetReadLimit(-1)
		ctx := context.Background()
		for range sizes {
			kind, payload, err := c.Read(ctx)
			if err != nil || kind != coder.MessageText {
				t.Errorf("the server reads a frame of kind %v: %v", kind, err)
				return
			}
			// Send fragments.
			out, err := c.Writer(ctx, kind)
			if err != nil {
				t.Error(err)
				return
			}
			for part := range bytes.Lines(payload) {
				if _, err := out.Write(part); err != nil {
					t.Error(err)
				}
			}
			if err := out.Close(); err != nil {
				t.Error(err)
			}
		}
		pinged := make(chan error, 1)
		go func() {
			_, _, err := c.Read(ctx) // Read also handles pongs.
			if err == nil {
				t.Error("the client sent something of its own")
			}
		}()
		go func() { pinged <- c.Ping(ctx) }()
		if err := <-pinged; err != nil {
			t.Errorf("the client does not answer a ping: %v", err)
		}
		_ = c.Close(coder.StatusGoingAway, "bye")
	}))
	defer server.Close()
	s, err := websocket.Dial(server.Listener.Addr().String(), "/", websocket.Text)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, size := range sizes {
		sent := bytes.Repeat([]byte("a line\n"), size/7+1)[:size]
		if err := s.Write(sent); err != nil {
			t.Fatal(err)
		}
		got, err := s.Read()
		if err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("%d bytes came back as %d: %v", len(sent), len(got), err)
		}
	}
	if _, err := s.Read(); err == nil || !strings.Contains(err.Error(), "bye") {
		t.Errorf("the end is %v", err)
	}
}
