// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
)

// TestFlush has a client that does not read at first: what its socket does not accept is written
// later, in order, and afterwards the flusher writes again.
func TestFlush(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	raw, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.(*net.TCPConn).SetWriteBuffer(8 << 10); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var bytesOf traffic
	s := newStream(raw, &bytesOf, &flusher{start: func(fn func()) { group.Go(fn) }})
	var want []byte
	send := func(size, number int) {
		frame := bytes.Repeat(fmt.Appendf(nil, "%07d ", number), size/8)
		want = append(want, frame...)
		if err := s.send(frame); err != nil {
			t.Fatal(err)
		}
	}
	// 24 bytes, then more than the joined writes and both buffers of the socket hold, and less than
	// the limit of the queue.
	const pairs = 350
	for i := range pairs {
		send(24, i)
		send(2400, 1000+i)
	}
	send(96_000, 5000)
	read := func() {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(client, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatal("what was read is not what was sent")
		}
		want = nil
	}
	read()
	group.Wait()
	if s.writing || s.queued != 0 || len(s.queue) != 0 {
		t.Errorf("writing %t, %d bytes and %d frames are left", s.writing, s.queued, len(s.queue))
	}
	for i := range 10 {
		send(24, i)
		read()
	}
	s.finish()
	group.Wait()
	if rest, err := io.ReadAll(client); err != nil || len(rest) > 0 {
		t.Errorf("read %q, %v", rest, err)
	}
	if s.send(nil) == nil {
		t.Error("something was sent after the end")
	}
	if sent := bytesOf.sent.Load(); sent != pairs*2424+96_000+240 {
		t.Errorf("%d bytes were counted", sent)
	}
}
