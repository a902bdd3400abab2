// SPDX-License-Identifier: Apache-2.0

package console

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
	Host string
	Port int // 0 means any free port
	// Certificate returns the server's certificate; nil means plain HTTP.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Logger      *slog.Logger
}

// Server is a separate port for a console.
type Server struct {
	http     *http.Server
	listener net.Listener
	tls      bool
}

const (
	headerTimeout = 30 * time.Second
	idleTimeout   = 3 * time.Minute
)

// Listen opens the port. Connections wait until Serve.
func Listen(ctx context.Context, o ServerOptions) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port)))
	if err != nil {
		return nil, fmt.Errorf("web console: %w", err)
	}
	s := &Server{listener: listener, tls: o.Certificate != nil, http: &http.Server{
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}}
	if s.tls {
		s.listener = tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: o.Certificate})
	}
	return s, nil
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() *net.TCPAddr { return s.listener.Addr().(*net.TCPAddr) }

// URL returns the address as browsers on this machine write it.
func (s *Server) URL() string {
	scheme, host := "http", "localhost"
	if s.tls {
		scheme = "https"
	}
	if ip := s.Addr().IP; !ip.IsUnspecified() {
		host = ip.String()
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(s.Addr().Port))
}

// Serve answers requests until Shutdown.
func (s *Server) Serve(handler http.Handler) error {
	s.http.Handler = handler
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("web console: %w", err)
	}
	return nil
}

// closeGrace is how long running requests may take at the shutdown. Streams and client connections
// do not end by themselves.
const closeGrace = time.Second

// Shutdown stops listening, waits for short requests and closes the other connections.
func (s *Server) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	err := s.http.Shutdown(ctx)
	s.listener.Close()
	if err != nil {
		return s.http.Close()
	}
	return nil
}
