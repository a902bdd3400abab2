// SPDX-License-Identifier: Apache-2.0

// Package inspector lets debuggers attach to JavaScript plugins: it serves the Chrome DevTools
// Protocol with a target for each plugin, and inserts probes into their sources, at which they can
// be paused. It is used in debug mode only.
//
// It knows only the engine of a plugin, and no extension points: package js reports function calls
// to it.
package inspector

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Options configures the address of the server.
type Options struct {
	Host string
	// Port 0 means any free port.
	Port int
	Log  *slog.Logger
}

// A Server accepts debuggers.
type Server struct {
	opts         Options
	addr, bound  string
	http         *http.Server
	served       chan struct{}
	sessions     sync.WaitGroup
	instrumenter instrumenter

	mu      sync.Mutex
	targets []*Target
	closed  bool
}

// Listen starts a server.
func Listen(ctx context.Context, opts Options) (*Server, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(opts.Host, strconv.Itoa(opts.Port)))
	if err != nil {
		return nil, fmt.Errorf("listen for debuggers of plugins (app.plugin.js.debug.inspect-host and inspect-port): %w", err)
	}
	s := &Server{opts: opts, addr: advertised(l.Addr().(*net.TCPAddr)), bound: l.Addr().String(), served: make(chan struct{})}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			opts.Log.Error("debuggers can no longer attach to plugins", "error", err)
		}
	}()
	return s, nil
}

// advertised returns the address at which debuggers on this machine reach a listener. It is an IP
// address and not a name: DevTools refuse to connect to localhost.
func advertised(a *net.TCPAddr) string {
	ip, _ := netip.AddrFromSlice(a.IP)
	switch ip = ip.Unmap(); {
	case !ip.IsUnspecified():
	case ip.Is4():
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	default:
		ip = netip.IPv6Loopback()
	}
	return netip.AddrPortFrom(ip, uint16(a.Port)).String()
}

// IsLocal reports whether the server is reachable only from this machine.
func (s *Server) IsLocal() bool {
	addr, err := netip.ParseAddrPort(s.bound)
	return err == nil && addr.Addr().Unmap().IsLoopback()
}

// Addr returns the address and port.
func (s *Server) Addr() string { return s.addr }

// Close closes all sessions and the server. The plugins must be closed before.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	targets := slices.Clone(s.targets)
	s.mu.Unlock()
	for _, t := range targets {
		t.disconnect()
	}
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.served
	s.sessions.Wait()
	s.instrumenter.close()
	return err
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	// A web page must not reach a debugger: neither by a name that resolves to this machine nor
	// from its own origin.
	if !s.knownHost(r.Host) {
		http.Error(w, "the host of the request is not an address of this server", http.StatusForbidden)
		return
	}
	if o := r.Header.Get("Origin"); o != "" && !strings.HasPrefix(o, "devtools://") {
		http.Error(w, "pages of a browser must not debug plugins", http.StatusForbidden)
		return
	}
	switch strings.TrimSuffix(r.URL.Path, "/") {
	case "/json/version":
		answer(w, map[string]string{"Browser": "app plugins", "Protocol-Version": "1.3"})
	case "/json/protocol":
		answer(w, protocol())
	case "/json", "/json/list":
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil && strings.EqualFold(h, "localhost") {
			host = s.addr
		}
		list := []map[string]string{}
		for _, t := range s.list() {
			list = append(list, t.info(host))
		}
		// Tools that do not select a plugin use the first.
		slices.SortStableFunc(list, func(a, b map[string]string) int { return strings.Compare(a["title"], b["title"]) })
		answer(w, list)
	default:
		for _, t := range s.list() {
			if r.URL.Path == "/"+t.id {
				s.attach(w, r, t)
				return
			}
			id, ok := strings.CutPrefix(r.URL.Path, "/"+t.id+mapPath)
			if data := t.scripts.sourceMap(id); ok && data != nil {
				w.Header().Set("Content-Type", "application/json; charset=UTF-8")
				w.Write(data)
				return
			}
		}
		http.Error(w, "there is no such plugin", http.StatusNotFound)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	data, _ := json.MarshalIndent(v, "", "  ")
	w.Write(data)
}

func (s *Server) knownHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return strings.EqualFold(host, "localhost") || strings.EqualFold(host, s.opts.Host)
}

func (s *Server) list() []*Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.targets)
}

// maxMessage is the maximum size of a debugger's message in bytes.
const maxMessage = 64 << 20

func (s *Server) attach(w http.ResponseWriter, r *http.Request, t *Target) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		http.Error(w, "the server stops", http.StatusServiceUnavailable)
		return
	}
	s.sessions.Add(1)
	s.mu.Unlock()
	defer s.sessions.Done()
	// The origin has been checked.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxMessage)
	newSession(t, conn).run()
}
