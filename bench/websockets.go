// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	coder "github.com/coder/websocket"
	"github.com/lxzan/gws"

	"example.org/app/bench/process"
	"example.org/app/bench/websocket"
)

const (
	// beating is the number of connections that send heartbeats, and resting that of idle
	// connections.
	beating, resting = 64, 4000
)

// webSockets compares the gateway, which has its own frame reader, with servers that echo every
// message with a library. The messages are heartbeats, which are empty, so that only the WebSocket
// is measured.
func webSockets(ctx context.Context, duration time.Duration, rounds int) error {
	dir, err := os.MkdirTemp("", "app-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app, err := buildApp(ctx, dir)
	if err != nil {
		return err
	}
	gateway, err := startAll(ctx, app, dir, "NOOP")
	if err != nil {
		return err
	}
	defer gateway.stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	names := []string{"app gateway, with sessions", "coder/websocket", "lxzan/gws"}
	servers := []*server{gateway}
	for _, library := range names[1:] {
		s, err := start(ctx, regexp.MustCompile(`^(\S+)`), self, "echo", library)
		if err != nil {
			return err
		}
		defer s.stop()
		servers = append(servers, s)
	}
	measured := make([][]result, len(servers))
	for range rounds {
		for i, s := range servers {
			r, err := beats(s, i == 0, duration)
			if err != nil {
				return fmt.Errorf("%s: %w", names[i], err)
			}
			measured[i] = append(measured[i], r)
		}
	}
	var rows [][]string
	for i, s := range servers {
		memory, err := restingBytes(ctx, s, i == 0)
		if err != nil {
			return fmt.Errorf("%s: %w", names[i], err)
		}
		r := median(measured[i])
		rows = append(rows, []string{
			names[i], fmt.Sprintf("%.0f", r.rate), micros(r.p50), micros(r.p99), micros(r.cpu), fmt.Sprintf("%.1f KB", memory/1024),
		})
	}
	table(fmt.Sprintf("WebSockets: heartbeats over %d connections; memory of %d that are idle", beating, resting),
		[]string{"server", "heartbeats/s", "p50", "p99", "CPU per heartbeat", "memory of an idle connection"}, rows)
	return nil
}

// open opens WebSockets, with a session on each if the server is a gateway.
func open(s *server, sessions bool, count int) (sockets []*websocket.Socket, err error) {
	if sessions {
		return connect(s, 0, count, 64)
	}
	for range count {
		c, err := websocket.Dial(s.addr, "/", websocket.Binary)
		if err != nil {
			return sockets, err
		}
		sockets = append(sockets, c)
	}
	return sockets, nil
}

func disconnect(sockets []*websocket.Socket) {
	for _, s := range sockets {
		if s != nil {
			s.Close()
		}
	}
}

// beats sends heartbeats over all connections, one at a time on each, for a duration.
func beats(s *server, sessions bool, duration time.Duration) (result, error) {
	sockets, err := open(s, sessions, beating)
	defer disconnect(sockets)
	if err != nil {
		return result{}, err
	}
	var wg sync.WaitGroup
	times, failures := make([][]time.Duration, beating), make([]error, beating)
	used, _ := process.CPU(s.pid)
	begin := time.Now()
	for i, c := range sockets {
		wg.Go(func() {
			for time.Since(begin) < duration && failures[i] == nil {
				sent := time.Now()
				if failures[i] = c.Write(nil); failures[i] != nil {
					return
				}
				// A gateway may send a notification before the response.
				for payload := []byte{0}; len(payload) > 0 && failures[i] == nil; {
					payload, failures[i] = c.Read()
				}
				times[i] = append(times[i], time.Since(sent))
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	now, _ := process.CPU(s.pid)
	for _, err := range failures {
		if err != nil {
			return result{}, err
		}
	}
	all := slices.Concat(times...)
	slices.Sort(all)
	return result{
		rate: float64(len(all)) / took.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100],
		cpu: (now - used) / time.Duration(len(all)),
	}, nil
}

// restingBytes returns the memory of an idle connection in the process of the server.
func restingBytes(ctx context.Context, s *server, sessions bool) (float64, error) {
	before, err := process.Resident(s.pid)
	if err != nil {
		return 0, err
	}
	sockets, err := open(s, sessions, resting)
	defer disconnect(sockets)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(settleTime):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := process.Resident(s.pid)
	return float64(after-before) / resting, err
}

// serveEcho runs an echo server with a library.
func serveEcho(library string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	handler := http.HandlerFunc(coderEcho)
	if library == "lxzan/gws" {
		handler = gwsEcho()
	}
	panic(http.Serve(listener, handler))
}

func coderEcho(w http.ResponseWriter, r *http.Request) {
	c, err := coder.Accept(w, r, &coder.AcceptOptions{CompressionMode: coder.CompressionDisabled})
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }()
	for {
		kind, payload, err := c.Read(context.Background())
		if err != nil || c.Write(context.Background(), kind, payload) != nil {
			return
		}
	}
}

func gwsEcho() http.HandlerFunc {
	upgrader := gws.NewUpgrader(echo{}, nil)
	return func(w http.ResponseWriter, r *http.Request) {
		if c, err := upgrader.Upgrade(w, r); err == nil {
			// The request and its buffers are no longer needed: reading on a new goroutine lets
			// them be collected.
			go c.ReadLoop()
		}
	}
}

// echo echoes messages.
type echo struct{ gws.BuiltinEventHandler }

func (echo) OnMessage(c *gws.Conn, m *gws.Message) {
	defer m.Close()
	_ = c.WriteMessage(m.Opcode, m.Bytes())
}
