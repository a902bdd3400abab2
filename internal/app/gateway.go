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

// openClientPorts opens the ports for clients. They wait until startGateway.
func (a *App) openClientPorts(ctx context.Context) (err error) {
	if !a.runs(role.Gateway) {
		return nil
	}
	c := &a.opts.Config.Gateway
	options := gateway.PortOptions{Config: c}
	if options.WebSocketCertificate, err = a.certifier(c.WebSocket.SSL); err != nil {
		return fmt.Errorf("%s: client connections over WebSocket: %w", role.Gateway.Name(), err)
	}
	if options.TCPCertificate, err = a.certifier(c.TCP.SSL); err != nil {
		return fmt.Errorf("%s: client connections over TCP: %w", role.Gateway.Name(), err)
	}
	if a.clientPorts, err = gateway.OpenPorts(ctx, options); err != nil {
		return fmt.Errorf("%s: %w", role.Gateway.Name(), err)
	}
	a.lifecycle.add(part{name: "client ports", stop: func(context.Context) error { return a.clientPorts.Close() }})
	return nil
}

// certifier reads the certificate of a port, if it needs one.
func (a *App) certifier(c config.SSL) (gateway.Certifier, error) {
	if !c.Enabled {
		return nil, nil
	}
	loaded, err := certificate.Load(certificateFiles(c), a.logger)
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

// clientAddresses are where other nodes are told that clients reach a gateway.
func (a *App) clientAddresses(ctx context.Context) (ws, tcp, udp string, err error) {
	c := a.opts.Config.Gateway.ServiceDiscovery.Address
	told := func(listens string, address func(host string) string) string {
		host, failure := advertisedHost(ctx, c, listens, a.opts.Config.IP.PublicIPDetectorAddresses)
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
	g := a.opts.Config.Gateway
	return told(g.WebSocket.Host, a.clientPorts.WebSocketURL), told(g.TCP.Host, a.clientPorts.TCPURL), told(g.UDP.Host, a.clientPorts.UDPURL), err
}

// startGateway serves clients.
func (a *App) startGateway(ctx context.Context) error {
	if !a.runs(role.Gateway) {
		return nil
	}
	logger := a.logger.With("role", role.Gateway.Name())
	authenticator, err := login.New(ctx, login.Options{
		Settings: func() config.IdentityAccessManagement {
			return a.live.Current().Gateway.Session.IdentityAccessManagement
		},
		Node: a.nodes[role.Gateway], Logger: logger, Plugins: a.plugins.Authenticate,
	})
	if err != nil {
		return err
	}
	a.lifecycle.add(part{name: "login", stop: func(context.Context) error {
		authenticator.Close()
		return nil
	}})
	autoIPs := blocklist.NewAutoBlocker(a.blockedIPs, blocklist.AutoOptions{
		Logger: logger, Rule: a.blockRules(func(b config.Blocklists) config.AutoBlock { return b.IP.AutoBlock }),
	})
	autoUsers := blocklist.NewAutoBlocker(a.blockedUsers, blocklist.AutoOptions{
		Logger: logger, Rule: a.blockRules(func(b config.Blocklists) config.AutoBlock { return b.UserID.AutoBlock }),
	})
	a.lifecycle.add(part{name: "automatic blocks of addresses", run: autoIPs.Run})
	a.lifecycle.add(part{name: "automatic blocks of users", run: autoUsers.Run})
	a.gateway, err = gateway.Start(gateway.Options{
		Node: a.nodes[role.Gateway], Ports: a.clientPorts, Settings: func() *config.Gateway { return &a.live.Current().Gateway },
		Presence: a.presence, Authenticator: authenticator,
		BlockedIPs: a.blockedIPs, BlockedUsers: a.blockedUsers, AutoIPs: autoIPs, AutoUsers: autoUsers,
		Client: a.clientAddress, Metrics: a.metrics.Gateway(), Logger: logger,
		Requests: requestlog.New(a.logs.Client().With("role", role.Gateway.Name()), derived(a.live, func(c *config.Config) *requestlog.Rates {
			return requestlog.GatewayRatesOf(c.Gateway.ClientAPI.Logging)
		})),
		Online: a.plugins.SessionOpened, Offline: a.plugins.SessionClosed, Notified: a.plugins.Notified,
	})
	if err != nil {
		return err
	}
	a.metrics.RegisterReadings("app.client.bytes", clientReadings, func() map[string]float64 {
		received, sent := a.gateway.Traffic()
		return map[string]float64{"received": float64(received), "sent": float64(sent)}
	})
	a.lifecycle.add(part{name: "gateway", stop: a.gateway.Close})
	return nil
}

// clientReadings declares what the connections of clients count.
var clientReadings = []metrics.Reading{
	{Key: "received", Type: metrics.TypeCounter, BaseUnit: metrics.UnitBytes, Description: "Bytes received from clients."},
	{Key: "sent", Type: metrics.TypeCounter, BaseUnit: metrics.UnitBytes, Description: "Bytes sent to clients."},
}

// blockRules translates the configuration for the blocklists.
func (a *App) blockRules(pick func(config.Blocklists) config.AutoBlock) func(blocklist.Cause) blocklist.Rule {
	rules := derived(a.live, func(c *config.Config) *map[blocklist.Cause]blocklist.Rule {
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
	if a.clientPorts == nil {
		return nil
	}
	return a.clientPorts.URLs()
}
