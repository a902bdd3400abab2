// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
)

// peer is a conn with the peer's ends of its pipes.
type peer struct {
	*conn
	r, w *os.File
	wg   sync.WaitGroup
}

// errTest is the error with which the conn of a test ends.
var errTest = errors.New("the test ends it")

func newPeer(t *testing.T, maxPending int) *peer {
	t.Helper()
	theirR, ourW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourR, theirW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{r: theirR, w: theirW}
	if p.conn, err = newConn(ourR, ourW, maxPending); err != nil {
		t.Fatal(err)
	}
	p.handle = func(kind, uint64, []byte) {}
	p.wg.Go(func() {
		_ = p.run()
		p.end(errTest)
	})
	t.Cleanup(func() {
		p.w.Close()
		p.wg.Wait()
		p.r.Close()
	})
	return p
}

// next reads a frame sent by the conn.
func (p *peer) next() (k kind, id uint64, body []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(head[:])-frameMin)
	_, err = io.ReadFull(p.r, body)
	return kind(head[4]), binary.BigEndian.Uint64(head[5:]), body, err
}

func (p *peer) send(t *testing.T, k kind, id uint64, body []byte) {
	t.Helper()
	b, err := endFrame(append(beginFrame(nil, k, id), body...), 0)
	if err == nil {
		_, err = p.w.Write(b)
	}
	if err != nil {
		t.Error(err)
	}
}

// ask sends a request and returns the body of the response.
func (p *peer) ask(ctx context.Context, body []byte) ([]byte, error) {
	s := &session{conn: p.conn}
	a, err := s.request(ctx, kindCall, nil, func(b []byte) ([]byte, error) { return append(b, body...), nil })
	if err != nil {
		return nil, err
	}
	defer a.free()
	return slices.Clone(*a.body), nil
}

// TestManyCallers verifies that each caller gets its own response, in any order of arrival.
func TestManyCallers(t *testing.T) {
	p := newPeer(t, 1000)
	p.wg.Go(func() {
		type held struct {
			id   uint64
			body []byte
		}
		var kept []held
		for {
			k, id, body, err := p.next()
			if err != nil {
				return
			}
			if k == kindCancel {
				continue
			}
			if kept = append(kept, held{id, body}); len(kept) < 8 && body[0]%3 == 0 {
				continue
			}
			for _, h := range slices.Backward(kept) {
				p.send(t, kindResult, h.id, h.body)
			}
			kept = kept[:0]
		}
	})
	var callers sync.WaitGroup
	for n := range 64 {
		callers.Go(func() {
			for i := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%7 == 0 {
					cancel()
				}
				body := binary.BigEndian.AppendUint64([]byte{1}, uint64(n*1000+i))
				body = append(body, make([]byte, i*10)...)
				got, err := p.ask(ctx, body)
				cancel()
				if err == nil && !slices.Equal(got, body) {
					t.Errorf("caller %d got the answer of another", n)
				} else if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	if n := len(p.pendingNow()); n != 0 {
		t.Errorf("%d requests are left", n)
	}
}

// TestLimits verifies that oversized frames and excess requests are rejected.
func TestLimits(t *testing.T) {
	p := newPeer(t, 2)
	if _, err := p.ask(t.Context(), make([]byte, frameLimit)); err == nil || errors.Is(err, errTest) {
		t.Errorf("a frame that is too long: %v", err)
	}
	var waiting sync.WaitGroup
	ids := make([]uint64, 2)
	for i := range ids {
		waiting.Go(func() {
			if _, err := p.ask(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
		_, ids[i], _, _ = p.next()
	}
	if _, err := p.ask(t.Context(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("a request too much: %v", err)
	}
	for _, id := range ids {
		p.send(t, kindResult, id, nil)
	}
	waiting.Wait()
}

// TestFullPipe verifies that callers do not block on a pipe that the peer does not read, and
// that no frame is lost.
func TestFullPipe(t *testing.T) {
	p := newPeer(t, 1000)
	big := make([]byte, 300_000)
	var waiting sync.WaitGroup
	gone, cancel := context.WithCancel(t.Context())
	for range 20 {
		waiting.Go(func() {
			if _, err := p.ask(gone, big); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	waitFor(t, func() bool { return len(p.pendingNow()) == 20 })
	cancel()
	waiting.Wait()
	answered := make(chan error)
	go func() {
		_, err := p.ask(t.Context(), []byte("last"))
		answered <- err
	}()
	for calls := 0; ; {
		k, id, body, err := p.next()
		if err != nil {
			t.Fatal(err)
		}
		if k != kindCall {
			continue
		}
		if calls++; string(body) == "last" {
			p.send(t, kindResult, id, nil)
			break
		} else if len(body) != len(big) {
			t.Fatalf("a body has %d bytes", len(body))
		}
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func (c *conn) pendingNow() map[uint64]*request {
	c.pendingMu.Lock()
	defer c.pendingMu.Unlock()
	clone := make(map[uint64]*request, len(c.pending))
	for id, q := range c.pending {
		clone[id] = q
	}
	return clone
}

// TestUnsent verifies that only requests of which nothing was written fail with errUnsent.
func TestUnsent(t *testing.T) {
	p := newPeer(t, 1000)
	first, later := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := p.ask(t.Context(), make([]byte, 1<<20)) // More than the capacity of a pipe.
		first <- err
	}()
	if _, _, _, err := p.nextHead(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := p.ask(t.Context(), []byte("later"))
		later <- err
	}()
	waitFor(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.buf) > 0
	})
	p.w.Close()
	if err := <-first; !errors.Is(err, errTest) {
		t.Errorf("one that was being written: %v", err)
	}
	if err := <-later; !errors.Is(err, errUnsent) {
		t.Errorf("one that waited: %v", err)
	}
	if _, err := p.ask(t.Context(), nil); !errors.Is(err, errUnsent) {
		t.Errorf("one after the end: %v", err)
	}
}

// nextHead reads the head of a frame.
func (p *peer) nextHead() (kind, uint64, []byte, error) {
	var head [frameHead]byte
	_, err := io.ReadFull(p.r, head[:])
	return kind(head[4]), binary.BigEndian.Uint64(head[5:]), nil, err
}

// TestNonsense verifies that an invalid or truncated frame ends a conn.
func TestNonsense(t *testing.T) {
	for name, bytes := range map[string][]byte{
		"too short": {0, 0, 0, 1, 7}, "too long": {0xff, 0xff, 0xff, 0xff, 7, 0, 0, 0, 0, 0, 0, 0, 0}, "cut": {0, 0, 0, 20, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1},
	} {
		p := newPeer(t, 10)
		if _, err := p.w.Write(bytes); err != nil {
			t.Fatal(err)
		}
		if name != "too long" {
			p.w.Close()
		}
		waitFor(t, func() bool {
			_, err := p.ask(t.Context(), nil)
			return errors.Is(err, errUnsent) || errors.Is(err, errTest)
		})
	}
}
