// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"example.org/app/internal/config"
)

// A Certifier returns the certificate for a handshake.
type Certifier func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// PortOptions configure the ports for clients.
type PortOptions struct {
	Config *config.Gateway
	// WebSocketCertificate and TCPCertificate are required if encryption is enabled.
	WebSocketCertificate, TCPCertificate Certifier
}

// Ports are the open ports for clients.
type Ports struct {
	options        PortOptions
	websocket, tcp net.Listener
	udp            *net.UDPConn
}

// OpenPorts opens the ports. Clients wait until a gateway serves them.
func OpenPorts(ctx context.Context, o PortOptions) (*Ports, error) {
	p := &Ports{options: o}
	c := o.Config
	if c.WebSocket.Enabled {
		if err := listen(ctx, &p.websocket, c.WebSocket.ClientTransport); err != nil {
			return nil, fmt.Errorf("client connections over WebSocket: %w", err)
		}
	}
	if c.TCP.Enabled {
		if err := listen(ctx, &p.tcp, c.TCP.ClientTransport); err != nil {
			return nil, errors.Join(fmt.Errorf("client connections over TCP: %w", err), p.Close())
		}
	}
	if c.UDP.Enabled {
		conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp", net.JoinHostPort(c.UDP.Host, strconv.Itoa(int(c.UDP.Port))))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("client heartbeats over UDP: %w", err), p.Close())
		}
		p.udp = conn.(*net.UDPConn)
	}
	return p, nil
}

func listen(ctx context.Context, listener *net.Listener, c config.ClientTransport) (err error) {
	// TCP keep-alive is off, because the protocol's heartbeats detect more.
	lc := net.ListenConfig{KeepAlive: -1}
	*listener, err = lc.Listen(ctx, "tcp", net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))))
	return err
}

// Close closes the ports.
func (p *Ports) Close() error {
	var errs []error
	for _, l := range []net.Listener{p.websocket, p.tcp} {
		if l != nil {
			errs = append(errs, ignoreClosed(l.Close()))
		}
	}
	if p.udp != nil {
		errs = append(errs, ignoreClosed(p.udp.Close()))
	}
	return errors.Join(errs...)
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// WebSocketURL returns the URL for clients, with the given host, or "" if the port is not open.
func (p *Ports) WebSocketURL(host string) string {
	if p.websocket == nil {
		return ""
	}
	scheme := "ws"
	if p.options.Config.WebSocket.SSL.Enabled {
		scheme = "wss"
	}
	return clientURL(scheme, host, p.websocket.Addr())
}

// TCPURL is like WebSocketURL.
func (p *Ports) TCPURL(host string) string {
	if p.tcp == nil {
		return ""
	}
	scheme := "tcp"
	if p.options.Config.TCP.SSL.Enabled {
		scheme = "tls"
	}
	return clientURL(scheme, host, p.tcp.Addr())
}

// UDPURL is like WebSocketURL.
func (p *Ports) UDPURL(host string) string {
	if p.udp == nil {
		return ""
	}
	return clientURL("udp", host, p.udp.LocalAddr())
}

// URLs returns all open ports as clients on this machine write them.
func (p *Ports) URLs() (urls []string) {
	for _, of := range []struct {
		listens string
		url     func(string) string
	}{
		{p.options.Config.WebSocket.Host, p.WebSocketURL},
		{p.options.Config.TCP.Host, p.TCPURL},
		{p.options.Config.UDP.Host, p.UDPURL},
	} {
		host := of.listens
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "localhost"
		}
		if url := of.url(host); url != "" {
			urls = append(urls, url)
		}
	}
	return urls
}

func clientURL(scheme, host string, addr net.Addr) string {
	_, port, _ := net.SplitHostPort(addr.String())
	return scheme + "://" + net.JoinHostPort(host, port)
}

func tlsConfig(c config.SSL, certificate Certifier, protocols ...string) *tls.Config {
	if !c.Enabled {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, GetCertificate: certificate}
}

// acceptPause is the pause after a failed accept, for instance because of too many open files.
const acceptPause = 50 * time.Millisecond

// accept calls take with every connection until the port is closed.
func accept(listener net.Listener, logger *slog.Logger, take func(net.Conn)) {
	failing := false
	for {
		conn, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			if !failing {
				logger.Warn("connections of clients cannot be accepted", "error", err)
			}
			failing = true
			time.Sleep(acceptPause)
		default:
			failing = false
			take(conn)
		}
	}
}
