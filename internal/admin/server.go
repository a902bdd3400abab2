// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"
)

// ServerOptions configure a server.
type ServerOptions struct {
	Host          string
	Port          int // 0 means any free port
	HeaderTimeout time.Duration
	ReadTimeout   time.Duration // for one whole request
	IdleTimeout   time.Duration
	// Certificate returns the server's certificate; nil means plain HTTP.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Logger      *slog.Logger

	wrap func(net.Listener) net.Listener // for tests that watch the connections
}

// maxHeaderBytes bounds the request line and the headers; a query string of
// thousands of ids fits.
const maxHeaderBytes = 256 << 10

// Server listens for the callers of one API.
type Server struct {
	http     *http.Server
	listener net.Listener
	tls      bool
}

// Listen opens the port. Connections wait until Serve.
func Listen(ctx context.Context, o ServerOptions) (*Server, error) {
	s := &Server{tls: o.Certificate != nil}
	s.http = &http.Server{
		ReadHeaderTimeout: o.HeaderTimeout,
		ReadTimeout:       o.ReadTimeout,
		IdleTimeout:       o.IdleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       withConn,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	addr := net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("admin interface: %w", err)
	}
	if o.wrap != nil {
		listener = o.wrap(listener)
	}
	listener = holdingListener{listener}
	if o.Certificate != nil {
		listener = encryptingListener{listener, &tls.Config{
			MinVersion:     tls.VersionTLS12,
			NextProtos:     []string{"http/1.1"},
			GetCertificate: o.Certificate,
		}}
	}
	s.listener = listener
	return s, nil
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() *net.TCPAddr { return s.listener.Addr().(*net.TCPAddr) }

// URL returns the address as callers on this machine write it.
func (s *Server) URL() string {
	scheme := "http"
	if s.tls {
		scheme = "https"
	}
	host := "localhost"
	if ip := s.Addr().IP; !ip.IsUnspecified() {
		host = ip.String()
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(s.Addr().Port))
}

// Serve serves requests until Shutdown. mount may add other handlers.
func (s *Server) Serve(api *API, mount ...func(http.Handler) http.Handler) error {
	s.http.Handler = api
	for _, m := range mount {
		s.http.Handler = m(s.http.Handler)
	}
	if s.tls {
		s.http.Handler = withTLS(s.http.Handler)
	}
	s.http.RegisterOnShutdown(api.StopStreams)
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin interface: %w", err)
	}
	return nil
}

// Shutdown stops listening and waits for running requests until ctx ends; then it closes their
// connections. A server that never served only closes its port.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	s.listener.Close()
	if err != nil {
		return errors.Join(fmt.Errorf("admin interface: running requests did not finish in time: %w", err), s.http.Close())
	}
	return nil
}
