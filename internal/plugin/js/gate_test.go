// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"example.org/app/internal/plugin"
)

// A meter counts what is under way at once, the most of which it keeps.
type meter struct{ now, most atomic.Int64 }

func (m *meter) enter() {
	n := m.now.Add(1)
	for most := m.most.Load(); n > most && !m.most.CompareAndSwap(most, n); most = m.most.Load() {
		continue
	}
}

func (m *meter) leave() { m.now.Add(-1) }

// A crowded server keeps requests until it is opened.
type crowded struct {
	*httptest.Server
	meter
	open func()

	mu    sync.Mutex
	paths []string
}

func newCrowded(t *testing.T) *crowded {
	opened := make(chan struct{})
	s := &crowded{open: sync.OnceFunc(func() { close(opened) })}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.enter()
		defer s.leave()
		s.mu.Lock()
		s.paths = append(s.paths, r.URL.Path)
		s.mu.Unlock()
		<-opened
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.open)
	return s
}

func (s *crowded) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.paths)
}

// waits is how many requests wait at a gate.
func (g *gate) waits() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// fetcher is a plugin that sends n requests to a server and waits for the answers, or does not if n
// is negative.
func fetcher(t *testing.T, h *Host, url string) (m *module, send func(ctx context.Context, n int) error) {
	m = load(t, h, script("", `
async count(n) {
  const all = Array.from({ length: Math.abs(Number(n)) }, (_, i) => fetch('`+url+`/' + i));
  return n < 0 ? 0 : (await Promise.all(all)).filter((r) => r.ok).length;
}`))
	return m, func(ctx context.Context, n int) error {
		var got int32
		if _, err := m.Extensions()[0].Call(ctx, count, []any{int64(n)}, &got); err != nil {
			return err
		}
		if int(got) != max(n, 0) {
			return fmt.Errorf("%d of %d requests were answered", got, n)
		}
		return nil
	}
}

// TestFetchesInFlight lets a plugin begin more requests than it may have under way. The others
// wait, without goroutines.
func TestFetchesInFlight(t *testing.T) {
	s := newCrowded(t)
	h, _ := newHost(t, Options{MaxFetches: 10})
	m, send := fetcher(t, h, s.URL)
	sent := make(chan error, 1)
	before := runtime.NumGoroutine()
	go func() { sent <- send(t.Context(), 900) }()
	eventually(t, "requests that are served and others that wait", func() bool { return s.now.Load() == 10 && m.gates.fetches.waits() == 890 })
	if n := runtime.NumGoroutine() - before; n > 300 {
		t.Errorf("there are %d goroutines for 10 requests under way and 890 that wait", n)
	}
	s.open()
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if n := s.most.Load(); n != 10 {
		t.Errorf("%d requests were under way at once", n)
	}
	if m.gates.fetches.free != 10 || len(m.gates.connecting) != 0 {
		t.Errorf("in the end %d places are free, and %d hosts have gates", m.gates.fetches.free, len(m.gates.connecting))
	}
}

// TestFetchesInOrder proves that requests that wait are sent in the order in which they were begun.
func TestFetchesInOrder(t *testing.T) {
	s := newCrowded(t)
	s.open()
	h, _ := newHost(t, Options{MaxFetches: 1})
	_, send := fetcher(t, h, s.URL)
	if err := send(t.Context(), 50); err != nil {
		t.Fatal(err)
	}
	for i, path := range s.seen() {
		if path != fmt.Sprint("/", i) {
			t.Fatalf("request %d is %s", i, path)
		}
	}
}

// TestFetchesConnecting lets a plugin begin many requests to a host that is slow to shake hands.
func TestFetchesConnecting(t *testing.T) {
	var shaking meter
	opened := make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		shaking.enter()
		defer shaking.leave()
		<-opened
		return nil, nil
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	t.Cleanup(open)
	client := s.Client()
	client.Transport.(*http.Transport).TLSHandshakeTimeout = 0
	h, _ := newHost(t, Options{HTTP: client})
	m, send := fetcher(t, h, s.URL)
	sent := make(chan error, 1)
	go func() { sent <- send(t.Context(), 40) }()
	eventually(t, "requests that connect and others that wait", func() bool {
		m.gates.mu.Lock()
		defer m.gates.mu.Unlock()
		host := m.gates.connecting[s.Listener.Addr().String()]
		return shaking.now.Load() == maxConnecting && host != nil && host.waits() == 40-maxConnecting
	})
	if n := shaking.most.Load(); n != maxConnecting {
		t.Errorf("%d requests connected at once", n)
	}
	open()
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// expiring is a context whose time is over when somebody says so.
type expiring struct {
	context.Context
	over chan struct{}
}

func (c expiring) Done() <-chan struct{} { return c.over }

func (c expiring) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestFetchesOfCallThatIsOver proves that requests which wait are not sent any more when their call
// runs out of time, and that those of a call that has ended are.
func TestFetchesOfCallThatIsOver(t *testing.T) {
	s := newCrowded(t)
	h, _ := newHost(t, Options{MaxFetches: 2})
	m, send := fetcher(t, h, s.URL)
	ctx := expiring{t.Context(), make(chan struct{})}
	sent := make(chan error, 1)
	go func() { sent <- send(ctx, 10) }()
	eventually(t, "requests", func() bool { return s.now.Load() == 2 && m.gates.fetches.waits() == 8 })
	close(ctx.over)
	if err := <-sent; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call ended with %v", err)
	}
	eventually(t, "the end of requests that wait", func() bool { return m.gates.fetches.waits() == 0 })

	ended, end := context.WithCancel(t.Context())
	if err := send(ended, -5); err != nil {
		t.Error(err)
	}
	end()
	s.open()
	eventually(t, "the requests of a call that has ended", func() bool { return len(s.seen()) == 7 })
	if err := send(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if n := len(s.seen()); n != 8 {
		t.Errorf("%d requests came, 2 of the call that ran out of time", n-6)
	}
}

// TestFetchThatWaitsIsLate proves that the timeout of a request counts while it waits for its turn.
func TestFetchThatWaitsIsLate(t *testing.T) {
	s := newCrowded(t)
	h, _ := newHost(t, Options{MaxFetches: 1})
	m := load(t, h, script("", `
async count() {
  const first = fetch('`+s.URL+`/first');
  try { await fetch('`+s.URL+`/late', { timeout: 20 }); return 0; } catch (e) { return e.message.endsWith('no answer within 20ms') ? 1 : 2; }
}`))
	var got int32
	if _, err := m.Extensions()[0].Call(t.Context(), count, []any{int64(0)}, &got); err != nil || got != 1 {
		t.Errorf("%d, %v", got, err)
	}
	if slices.Contains(s.seen(), "/late") {
		t.Error("a request was sent whose time was over")
	}
}

// TestServerOperationsInFlight lets a plugin ask the server for more at once than it may. The rest
// waits.
func TestServerOperationsInFlight(t *testing.T) {
	var asked meter
	opened := make(chan struct{})
	h, _ := newHost(t, Options{Server: testServer{
		operations: []plugin.Operation{{Group: "nodes", Name: "list", ID: "listNodes"}},
		call: func(context.Context, plugin.Descriptor, string, json.RawMessage) (json.RawMessage, error) {
			asked.enter()
			defer asked.leave()
			<-opened
			return nil, nil
		},
	}})
	m := load(t, h, script("", "async count(n) { await Promise.all(Array.from({ length: Number(n) }, () => app.api.nodes.list())); return 1; }"))
	done := make(chan error, 1)
	go func() {
		var n int32
		_, err := m.Extensions()[0].Call(t.Context(), count, []any{int64(100)}, &n)
		done <- err
	}()
	eventually(t, "operations that are under way and others that wait", func() bool {
		return asked.now.Load() == maxAsking && m.gates.server.waits() == 100-maxAsking
	})
	close(opened)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := asked.most.Load(); n != maxAsking {
		t.Errorf("%d operations were under way at once", n)
	}
}

// TestServerOperationsInside lets operations of two plugins call each other, so that all that are
// under way wait for further ones.
func TestServerOperationsInside(t *testing.T) {
	var plugins [2]*module
	h, _ := newHost(t, Options{Server: testServer{
		operations: []plugin.Operation{{Group: "nodes", Name: "list", ID: "listNodes", Input: reflect.TypeFor[map[string]int64]()}},
		call: func(ctx context.Context, _ plugin.Descriptor, _ string, input json.RawMessage) (json.RawMessage, error) {
			var in struct{ Depth int64 }
			if err := json.Unmarshal(input, &in); err != nil {
				return nil, err
			}
			var n int32
			_, err := plugins[in.Depth%2].Extensions()[0].Call(ctx, count, []any{in.Depth}, &n)
			return nil, err
		},
	}})
	for i := range plugins {
		plugins[i] = load(t, h, script("", `
async count(depth) {
  const ask = () => app.api.nodes.list({ depth: Number(depth) - 1 });
  if (depth == 5) await Promise.all(Array.from({ length: 20 }, ask));
  else if (depth > 0) await ask();
  return 1;
}`))
	}
	var n int32
	if _, err := plugins[1].Extensions()[0].Call(t.Context(), count, []any{int64(5)}, &n); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestCryptographyWaits proves that cryptography waits while a plugin does as much of it as it may.
func TestCryptographyWaits(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, script("", "async count() { return (await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt'])).algorithm.length; }"))
	g := &m.gates.crypto
	var turns []*turn
	for range max(1, runtime.NumCPU()/2) {
		turns = append(turns, g.join())
	}
	done := make(chan error, 1)
	go func() {
		var n int32
		_, err := m.Extensions()[0].Call(t.Context(), count, []any{int64(0)}, &n)
		if err == nil && n != 256 {
			err = fmt.Errorf("the key has %d bits", n)
		}
		done <- err
	}()
	eventually(t, "a key that waits", func() bool { return g.waits() == 1 })
	for _, turn := range turns {
		turn.leave()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestFreshOperations lets operations begin when others have ended or are under way for long, and
// gives up with the plugin.
func TestFreshOperations(t *testing.T) {
	g := gates{crew: new(crew)}
	defer g.crew.disband()
	g.fresh.free = 2
	pass := func() func() {
		t.Helper()
		ended, err := g.passFresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return ended
	}
	var all []func()
	for range 5 { // None of them ends.
		all = append(all, pass())
	}
	for _, ended := range all {
		ended()
	}
	for range 1000 {
		pass()()
	}
	if g.fresh.free != 2 || g.fresh.waits() != 0 {
		t.Errorf("%d places are free, %d wait", g.fresh.free, g.fresh.waits())
	}
	g.fresh.free = 0
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCallOver)
	if _, err := g.passFresh(ctx); !errors.Is(err, errCallOver) || g.fresh.waits() != 0 {
		t.Errorf("it ends with %v, %d wait", err, g.fresh.waits())
	}
}
