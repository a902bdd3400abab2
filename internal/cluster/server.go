// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// serverStart bounds the start-up time of the embedded server.
const serverStart = 30 * time.Second

// readyStep is the time of one readiness check.
const readyStep = 100 * time.Millisecond

// memoryLimit bounds the memory of the embedded server for members, leases and sessions; a session
// takes about 250 bytes.
const memoryLimit = 1 << 30

// TLSFiles are the paths of PEM files. Certificate and Key identify this process; CA verifies the
// peers. A server with a CA requires client certificates.
type TLSFiles struct {
	Certificate, Key, CA string
}

func (f TLSFiles) load() (*tls.Config, *x509.CertPool, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.Certificate != "" || f.Key != "" {
		pair, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("load the certificate %q with key %q: %w", f.Certificate, f.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if f.CA == "" {
		return config, nil, nil
	}
	text, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, nil, fmt.Errorf("load the certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, nil, fmt.Errorf("load the certificate authority: file %q holds no PEM certificate", f.CA)
	}
	return config, pool, nil
}

func (f TLSFiles) client() (*tls.Config, error) {
	config, pool, err := f.load()
	if err == nil {
		config.RootCAs = pool
	}
	return config, err
}

func (f TLSFiles) server() (*tls.Config, error) {
	if f.Certificate == "" || f.Key == "" {
		return nil, errors.New("a server needs a certificate and a key")
	}
	config, pool, err := f.load()
	if err == nil && pool != nil {
		config.ClientCAs, config.ClientAuth = pool, tls.RequireAndVerifyClientCert
	}
	return config, err
}

// ServerOptions are those of an embedded NATS server.
type ServerOptions struct {
	// Listen is "host:port" for other processes; empty opens no port.
	Listen string
	// Token is the secret that clients must send to a listening server.
	Token string
	// TLS encrypts Listen. A CA may replace the token.
	TLS TLSFiles
	// MaxPayload is the clients' limit for payloads; the server's own limit adds space for headers.
	MaxPayload int
	// Folder holds the few files that the server requires. Files of an earlier start are removed.
	// Empty means a temporary folder.
	Folder string
	// Logger receives the server's log; nil discards it.
	Logger *slog.Logger
}

// A Server is a NATS server inside this process. It keeps everything in memory.
type Server struct {
	nats   *server.Server
	folder string
	listen bool
}

// StartServer starts a server. It fails if the server would listen without requiring a token or a
// certificate from clients.
func StartServer(ctx context.Context, o ServerOptions) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxPayload <= 0 {
		o.MaxPayload = DefaultMaxPayload
	}
	options := &server.Options{
		ServerName: "app", DontListen: true, NoSigs: true, JetStream: true, JetStreamMaxMemory: memoryLimit,
		MaxPayload: int32(o.MaxPayload + envelopeRoom), DisableJetStreamBanner: true,
		Authorization: o.Token, PingInterval: pingInterval, MaxPingsOut: maxPings,
	}
	if o.Listen != "" {
		if err := o.listen(options); err != nil {
			return nil, fmt.Errorf("listen for other nodes on %q: %w", o.Listen, err)
		}
	}
	folder, err := o.newFolder()
	if err != nil {
		return nil, fmt.Errorf("start the embedded NATS server: %w", err)
	}
	options.StoreDir = folder
	s := &Server{folder: folder, listen: o.Listen != ""}
	if s.nats, err = server.NewServer(options); err != nil {
		return nil, errors.Join(fmt.Errorf("start the embedded NATS server: %w", err), os.RemoveAll(folder))
	}
	log := &serverLog{logger: o.Logger}
	s.nats.SetLoggerV2(log, false, false, false)
	s.nats.Start()
	limit := serverStart
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	// If the server cannot open its port, it only logs that and keeps retrying.
	for deadline := time.Now().Add(limit); !s.nats.ReadyForConnections(readyStep); {
		if text := log.fatal.Load(); text != nil {
			return nil, errors.Join(fmt.Errorf("start the embedded NATS server on %q: %s", o.Listen, *text), s.Close())
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("start the embedded NATS server: it was not ready within %v", limit), s.Close())
		}
	}
	return s, nil
}

// newFolder returns an empty folder.
func (o ServerOptions) newFolder() (string, error) {
	if o.Folder == "" {
		return os.MkdirTemp("", "app-nats-")
	}
	if err := os.RemoveAll(o.Folder); err != nil {
		return "", err
	}
	return o.Folder, os.MkdirAll(o.Folder, 0o700)
}

// listen sets the options for connections from other processes.
func (o ServerOptions) listen(options *server.Options) error {
	host, portText, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fmt.Errorf("the address must be host:port: %w", err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return fmt.Errorf("port %q must be a number up to 65535", portText)
	}
	if o.Token == "" && o.TLS.CA == "" {
		return errors.New("a token, or TLS files with a certificate authority, are required")
	}
	options.DontListen = false
	options.Host, options.Port = host, int(port)
	if port == 0 {
		options.Port = server.RANDOM_PORT
	}
	if o.TLS == (TLSFiles{}) {
		return nil
	}
	if options.TLSConfig, err = o.TLS.server(); err != nil {
		return err
	}
	options.TLS, options.TLSTimeout = true, operationTimeout.Seconds()
	options.TLSVerify = o.TLS.CA != ""
	return nil
}

// InProcessConn opens a connection without a socket.
func (s *Server) InProcessConn() (net.Conn, error) { return s.nats.InProcessConn() }

// URL returns the URL of a listening server, or "".
func (s *Server) URL() string {
	if !s.listen {
		return ""
	}
	return s.nats.ClientURL()
}

// Close stops the server and discards its data.
func (s *Server) Close() error {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	return os.RemoveAll(s.folder)
}

// serverLog forwards the server's log to slog. Its notices are only routine.
type serverLog struct {
	logger *slog.Logger
	// fatal is the error that prevented the server from starting.
	fatal atomic.Pointer[string]
}

const serverMessage = "embedded NATS server"

func (l *serverLog) log(level slog.Level, format string, args []any) {
	if l.logger.Enabled(context.Background(), level) {
		l.logger.Log(context.Background(), level, serverMessage, "text", fmt.Sprintf(format, args...))
	}
}

func (l *serverLog) Noticef(format string, args ...any) { l.log(slog.LevelDebug, format, args) }
func (l *serverLog) Warnf(format string, args ...any)   { l.log(slog.LevelWarn, format, args) }
func (l *serverLog) Errorf(format string, args ...any)  { l.log(slog.LevelError, format, args) }
func (l *serverLog) Debugf(format string, args ...any)  { l.log(slog.LevelDebug, format, args) }
func (l *serverLog) Tracef(format string, args ...any)  { l.log(slog.LevelDebug, format, args) }

// Fatalf is called where the server would exit the process.
func (l *serverLog) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.fatal.CompareAndSwap(nil, &text)
	l.log(slog.LevelError, format, args)
}

// serverNames returns the hosts of a list of URLs, without secrets.
func serverNames(urls string) string {
	var hosts []string
	for text := range strings.SplitSeq(urls, ",") {
		// Anything before the last "@" can only be credentials, even if the URL is invalid.
		_, host := cutLast(strings.TrimSpace(text), "@")
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			host = u.Host
		}
		if _, rest, ok := strings.Cut(host, "://"); ok {
			host = rest
		}
		hosts = append(hosts, strconv.Quote(host))
	}
	return strings.Join(hosts, ", ")
}

func cutLast(text, separator string) (before, after string) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):]
	}
	return "", text
}

// withoutCredentials returns the error unless it contains one of the URLs, which may have
// credentials.
func withoutCredentials(err error, urls string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return errors.New("the URL is not valid")
	}
	for text := range strings.SplitSeq(urls, ",") {
		credentials, _ := cutLast(strings.TrimSpace(text), "@")
		if _, secret, ok := strings.Cut(credentials, "://"); ok && secret != "" && strings.Contains(err.Error(), secret) {
			return errors.New("the URL is not valid")
		}
	}
	return err
}
