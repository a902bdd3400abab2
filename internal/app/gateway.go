// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"example.org/app/internal/certificate"
	"example.org/app/internal/config"
	"example.org/app/internal/gateway"
	"example.org/app/internal/gateway/login"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/metrics"
	"example.org/app/internal/requestlog"
	"example.org/app/internal/role"
)

// start opens the ports for clients. Connections wait until the unit clients starts.
func (p *clientPorts) start(ctx context.Context) (err error) {
	if !p.Process.runs(role.Gateway) {
		return nil
	}
	c := &p.Process.opts.Config.Gateway
	options := gateway.PortOptions{Config: c}
	if options.WebSocketCertificate, err = p.certifier(c.WebSocket.SSL); err != nil {
		return fmt.Errorf("%s: client connections over WebSocket: %w", role.Gateway.Name(), err)
	}
	if options.TCPCertificate, err = p.certifier(c.TCP.SSL); err != nil {
		return fmt.Errorf("%s: client connections over TCP: %w", role.Gateway.Name(), err)
	}
	if p.ports, err = gateway.OpenPorts(ctx, options); err != nil {
		return fmt.Errorf("%s: %w", role.Gateway.Name(), err)
	}
	p.Process.lifecycle.add(part{name: "client ports", stop: func(context.Context) error { return p.ports.Close() }})
	return nil
}

// certifier reads the certificate of a port; it returns nil if the port needs none.
func (p *clientPorts) certifier(c config.SSL) (gateway.Certifier, error) {
	if !c.Enabled {
		return nil, nil
	}
	loaded, err := certificate.Load(certificateFiles(c), p.Logs.logger)
	if err != nil {
		return nil, err
	}
	return loaded.Get, nil
}

// certificateFiles are where the configuration says that a certificate lies.
func certificateFiles(c config.SSL) certificate.Files {
	return certificate.Files{
		Chain: c.CertificateFile, Key: c.PrivateKeyFile, P12: c.P12.FilePath, P12Password: c.P12.Password.Reveal(),
	}
}

// addresses returns the advertised client addresses of a gateway.
func (p *clientPorts) addresses(ctx context.Context) (ws, tcp, udp string, err error) {
	c := p.Process.opts.Config.Gateway.ServiceDiscovery.Address
	told := func(listens string, address func(host string) string) string {
		host, failure := advertisedHost(ctx, c, listens, p.Process.opts.Config.IP.PublicIPDetectorAddresses)
		if failure != nil {
			err = fmt.Errorf("%s: find the address for clients: %w", role.Gateway.Name(), failure)
			return ""
		}
		full := address(host)
		if u, failure := url.Parse(full); failure == nil && full != "" && !c.AttachPortToHost {
			u.Host, _, _ = net.SplitHostPort(u.Host)
			return u.String()
		}
		return full
	}
	g := p.Process.opts.Config.Gateway
	return told(g.WebSocket.Host, p.ports.WebSocketURL), told(g.TCP.Host, p.ports.TCPURL), told(g.UDP.Host, p.ports.UDPURL), err
}

// start serves clients.
func (p *clients) start(ctx context.Context) error {
	if !p.Process.runs(role.Gateway) {
		return nil
	}
	logger := p.Logs.logger.With("role", role.Gateway.Name())
	authenticator, err := login.New(ctx, login.Options{
		Settings: func() config.IdentityAccessManagement {
			return p.Process.live.Current().Gateway.Session.IdentityAccessManagement
		},
		Node: p.Nodes.byRole[role.Gateway], Logger: logger, Plugins: p.Held.plugins.Authenticate,
	})
	if err != nil {
		return err
	}
	p.Process.lifecycle.add(part{name: "login", stop: func(context.Context) error {
		authenticator.Close()
		return nil
	}})
	autoIPs := blocklist.NewAutoBlocker(p.Blocklists.ips, blocklist.AutoOptions{
		Logger: logger, Rule: p.blockRules(func(b config.Blocklists) config.AutoBlock { return b.IP.AutoBlock }),
	})
	autoUsers := blocklist.NewAutoBlocker(p.Blocklists.users, blocklist.AutoOptions{
		Logger: logger, Rule: p.blockRules(func(b config.Blocklists) config.AutoBlock { return b.UserID.AutoBlock }),
	})
	p.Process.lifecycle.add(part{name: "automatic blocks of addresses", run: autoIPs.Run})
	p.Process.lifecycle.add(part{name: "automatic blocks of users", run: autoUsers.Run})
	p.gateway, err = gateway.Start(gateway.Options{
		Node: p.Nodes.byRole[role.Gateway], Ports: p.ClientPorts.ports, Settings: func() *config.Gateway { return &p.Process.live.Current().Gateway },
		Presence: p.Online.presence, Authenticator: authenticator,
		BlockedIPs: p.Blocklists.ips, BlockedUsers: p.Blocklists.users, AutoIPs: autoIPs, AutoUsers: autoUsers,
		Client: p.Process.clientAddress, Metrics: p.Measurements.registry.Gateway(), Logger: logger,
		Requests: requestlog.New(p.Logs.files.Client().With("role", role.Gateway.Name()), derived(p.Process.live, func(c *config.Config) *requestlog.Rates {
			return requestlog.GatewayRatesOf(c.Gateway.ClientAPI.Logging)
		})),
		Online: p.Held.plugins.SessionOpened, Offline: p.Held.plugins.SessionClosed, Notified: p.Held.plugins.Notified,
	})
	if err != nil {
		return err
	}
	p.Measurements.registry.RegisterReadings("app.client.bytes", clientReadings, func() map[string]float64 {
		received, sent := p.gateway.Traffic()
		return map[string]float64{"received": float64(received), "sent": float64(sent)}
	})
	p.Process.lifecycle.add(part{name: "gateway", stop: p.gateway.Close})
	return nil
}

// clientReadings declares what the connections of clients count.
var clientReadings = []metrics.Reading{
	{Key: "received", Type: metrics.TypeCounter, BaseUnit: metrics.UnitBytes, Description: "Bytes received from clients."},
	{Key: "sent", Type: metrics.TypeCounter, BaseUnit: metrics.UnitBytes, Description: "Bytes sent to clients."},
}

// blockRules converts the configuration for the blocklists.
func (p *clients) blockRules(pick func(config.Blocklists) config.AutoBlock) func(blocklist.Cause) blocklist.Rule {
	rules := derived(p.Process.live, func(c *config.Config) *map[blocklist.Cause]blocklist.Rule {
		auto := pick(c.Security.Blocklist)
		return &map[blocklist.Cause]blocklist.Rule{
			blocklist.CorruptedFrame: blockRule(auto.CorruptedFrame), blocklist.CorruptedRequest: blockRule(auto.CorruptedRequest),
			blocklist.FrequentRequest: blockRule(auto.FrequentRequest),
		}
	})
	return func(cause blocklist.Cause) blocklist.Rule { return (*rules())[cause] }
}

func blockRule(c config.AutoBlockRule) blocklist.Rule {
	rule := blocklist.Rule{Enabled: c.Enabled}
	for _, l := range c.BlockLevels {
		rule.Levels = append(rule.Levels, blocklist.Level{
			Duration:  time.Duration(l.BlockDurationMillis) * time.Millisecond,
			Forget:    time.Duration(l.ReduceOneTriggerTimeIntervalMillis) * time.Millisecond,
			Threshold: int(l.TriggerTimesThreshold),
		})
	}
	return rule
}

// ClientURLs returns where clients connect, or nil without gateway.
func (a *App) ClientURLs() []string {
	if a.units.ClientPorts.ports == nil {
		return nil
	}
	return a.units.ClientPorts.ports.URLs()
}
