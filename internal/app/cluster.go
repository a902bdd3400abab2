// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
)

// start connects to the cluster and joins with each role.
func (p *nodes) start(ctx context.Context) (err error) {
	p.byRole = map[role.Role]*cluster.Node{}
	c := p.Process.opts.Config
	p.cluster, err = cluster.Connect(ctx, cluster.Options{
		ClusterID: c.Cluster.ID,
		URL:       c.Cluster.NATS.URL.Reveal(), Listen: c.Cluster.NATS.Listen, Token: c.Cluster.NATS.Token.Reveal(),
		TLS: cluster.TLSFiles{
			Certificate: c.Cluster.NATS.SSL.CertificateFile, Key: c.Cluster.NATS.SSL.PrivateKeyFile, CA: c.Cluster.NATS.SSL.CAFile,
		},
		Folder:            filepath.Join(c.Home(), "data", p.Process.name()+"-nats"),
		Replicas:          int(c.Cluster.NATS.Replicas),
		CallTimeout:       time.Duration(c.Cluster.RPC.RequestTimeoutMillis) * time.Millisecond,
		HeartbeatInterval: time.Duration(c.Cluster.Discovery.HeartbeatIntervalSeconds) * time.Second,
		HeartbeatTimeout:  time.Duration(c.Cluster.Discovery.HeartbeatTimeoutSeconds) * time.Second,
		HealthInterval:    time.Duration(c.HealthCheck.CheckIntervalSeconds) * time.Second,
		Store:             p.Database.db, Logger: p.Logs.logger,
	})
	if err != nil {
		return err
	}
	p.Process.lifecycle.add(part{name: "cluster", stop: p.cluster.Close})
	for _, r := range p.Process.opts.Roles {
		if err := p.join(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// join makes a role of this process a node of the cluster.
func (p *nodes) join(ctx context.Context, r role.Role) error {
	c := p.Process.opts.Config
	address, err := p.advertise(ctx, r)
	if err != nil {
		return err
	}
	var ws, tcp, udp string
	if r == role.Gateway {
		if ws, tcp, udp, err = p.ClientPorts.addresses(ctx); err != nil {
			return err
		}
	}
	node, err := p.cluster.Join(ctx, cluster.NodeOptions{
		ID: p.nodeID(r), Type: r, Version: nodeVersion(),
		Zone: c.Cluster.Node.Zone, Name: c.Cluster.Node.Name, Priority: c.Cluster.Node.Priority,
		LeaderEligible: r == role.Service && c.Cluster.Node.LeaderEligible, Inactive: !c.Cluster.Node.ActiveByDefault,
		MemberHost: address.host, AdminAPIAddress: address.url, Health: p.checkHealth,
		WSAddress: ws, TCPAddress: tcp, UDPAddress: udp, ProcessID: p.Process.id, Preparing: r == role.Service,
	})
	if err != nil {
		return err
	}
	p.byRole[r] = node
	p.Process.lifecycle.add(part{
		name: r.Name() + " node",
		run: func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return nil
			case <-node.Lost():
				return fmt.Errorf("another process took over the node id %q", node.ID())
			}
		},
		stop: node.Leave,
	})
	return nil
}

// first returns the node that represents the process.
func (p *nodes) first() *cluster.Node { return p.byRole[p.Process.opts.Roles[0]] }

// nodeID returns the configured id; two roles in one process are two nodes.
func (p *nodes) nodeID(r role.Role) string {
	id := p.Process.opts.Config.Cluster.Node.ID
	if id != "" && len(p.Process.opts.Roles) > 1 {
		id += "-" + r.Name()
	}
	return id
}

// nodeVersion returns the version of this program; one that is no release has no numbers.
func nodeVersion() cluster.Version {
	if v, err := cluster.ParseVersion(version); err == nil {
		return v
	}
	return cluster.Version{Text: version}
}

// checkHealth is the health check of this process's nodes.
func (p *nodes) checkHealth(ctx context.Context) error {
	if err := p.Database.db.Ping(ctx); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return p.Machine.vitals.check(ctx)
}

// topicChanged announces changes of cached data to other nodes. The payload says what changed.
const topicChanged = "changed"

// What changes.
const (
	changedSettings     = "settings"
	changedPlugins      = "plugins"
	changedBlockedIPs   = "blocked addresses"
	changedBlockedUsers = "blocked users"
)

// start subscribes to changes of other nodes. Polling would find them within a second; this takes
// milliseconds.
func (p *news) start(context.Context) error {
	refresh := map[string]func(context.Context) error{
		changedSettings: p.Settings.cluster.Refresh, changedPlugins: p.Held.catalog.Refresh,
		changedBlockedIPs: p.Blocklists.ips.Refresh, changedBlockedUsers: p.Blocklists.users.Refresh,
	}
	sub, err := p.Nodes.first().Subscribe(topicChanged, func(ctx context.Context, m cluster.Message) {
		what := string(m.Payload)
		if refresh[what] == nil {
			return // A newer program may announce more.
		}
		if err := refresh[what](ctx); err != nil {
			p.Logs.logger.Warn("what another node changed could not be read", "what", what, "error", err)
		}
	})
	if err != nil {
		return err
	}
	p.Process.lifecycle.add(part{name: "news", stop: func(context.Context) error {
		sub.Unsubscribe()
		return nil
	}})
	p.Settings.cluster.OnChange(func() { p.Nodes.tell(changedSettings) })
	p.Blocklists.ips.OnChange(func() { p.Nodes.tell(changedBlockedIPs) })
	p.Blocklists.users.OnChange(func() { p.Nodes.tell(changedBlockedUsers) })
	return nil
}

// tell announces a change to other nodes.
func (p *nodes) tell(what string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := p.first().Publish(ctx, topicChanged, []byte(what)); err != nil {
		p.Logs.logger.Warn("other nodes could not be told of a change", "what", what, "error", err)
	}
}
