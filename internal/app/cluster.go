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

// startCluster connects to the other nodes and joins with each role.
func (a *App) startCluster(ctx context.Context) (err error) {
	c := a.opts.Config
	a.cluster, err = cluster.Connect(ctx, cluster.Options{
		ClusterID: c.Cluster.ID,
		URL:       c.Cluster.NATS.URL.Reveal(), Listen: c.Cluster.NATS.Listen, Token: c.Cluster.NATS.Token.Reveal(),
		TLS: cluster.TLSFiles{
			Certificate: c.Cluster.NATS.SSL.CertificateFile, Key: c.Cluster.NATS.SSL.PrivateKeyFile, CA: c.Cluster.NATS.SSL.CAFile,
		},
		Folder:            filepath.Join(c.Home(), "data", a.name()+"-nats"),
		Replicas:          int(c.Cluster.NATS.Replicas),
		CallTimeout:       time.Duration(c.Cluster.RPC.RequestTimeoutMillis) * time.Millisecond,
		HeartbeatInterval: time.Duration(c.Cluster.Discovery.HeartbeatIntervalSeconds) * time.Second,
		HeartbeatTimeout:  time.Duration(c.Cluster.Discovery.HeartbeatTimeoutSeconds) * time.Second,
		HealthInterval:    time.Duration(c.HealthCheck.CheckIntervalSeconds) * time.Second,
		Store:             a.store, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	a.lifecycle.add(part{name: "cluster", stop: a.cluster.Close})
	for _, r := range a.opts.Roles {
		if err := a.join(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// join makes a role of this process a node of the cluster.
func (a *App) join(ctx context.Context, r role.Role) error {
	c := a.opts.Config
	address, err := a.advertise(ctx, r)
	if err != nil {
		return err
	}
	var ws, tcp, udp string
	if r == role.Gateway {
		if ws, tcp, udp, err = a.clientAddresses(ctx); err != nil {
			return err
		}
	}
	node, err := a.cluster.Join(ctx, cluster.NodeOptions{
		ID: a.nodeID(r), Type: r, Version: nodeVersion(),
		Zone: c.Cluster.Node.Zone, Name: c.Cluster.Node.Name, Priority: c.Cluster.Node.Priority,
		LeaderEligible: r == role.Service && c.Cluster.Node.LeaderEligible, Inactive: !c.Cluster.Node.ActiveByDefault,
		MemberHost: address.host, AdminAPIAddress: address.url, Health: a.checkHealth,
		WSAddress: ws, TCPAddress: tcp, UDPAddress: udp, ProcessID: a.processID,
	})
	if err != nil {
		return err
	}
	a.nodes[r] = node
	a.lifecycle.add(part{
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

// nodeID is the configured id; two roles in one process are two nodes.
func (a *App) nodeID(r role.Role) string {
	id := a.opts.Config.Cluster.Node.ID
	if id != "" && len(a.opts.Roles) > 1 {
		id += "-" + r.Name()
	}
	return id
}

// nodeVersion is the version of this program; one that is no release has no
// numbers.
func nodeVersion() cluster.Version {
	if v, err := cluster.ParseVersion(version); err == nil {
		return v
	}
	return cluster.Version{Text: version}
}

// checkHealth says whether this process is fit to take work.
func (a *App) checkHealth(ctx context.Context) error {
	if err := a.store.Ping(ctx); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return a.vitals.check(ctx)
}

// topicChanged tells other nodes that something they keep in memory changed.
// The payload names it.
const topicChanged = "changed"

// What changes.
const (
	changedSettings     = "settings"
	changedPlugins      = "plugins"
	changedBlockedIPs   = "blocked addresses"
	changedBlockedUsers = "blocked users"
)

// startNews listens to the changes of other nodes. They would be seen within a
// second anyway; this makes it milliseconds.
func (a *App) startNews(context.Context) error {
	refresh := map[string]func(context.Context) error{
		changedSettings: a.settings.Refresh, changedPlugins: a.catalog.Refresh,
		changedBlockedIPs: a.blockedIPs.Refresh, changedBlockedUsers: a.blockedUsers.Refresh,
	}
	sub, err := a.nodes[a.opts.Roles[0]].Subscribe(topicChanged, func(ctx context.Context, m cluster.Message) {
		what := string(m.Payload)
		if refresh[what] == nil {
			return // A newer program may tell of more.
		}
		if err := refresh[what](ctx); err != nil {
			a.logger.Warn("what another node changed could not be read", "what", what, "error", err)
		}
	})
	if err != nil {
		return err
	}
	a.lifecycle.add(part{name: "news", stop: func(context.Context) error {
		sub.Unsubscribe()
		return nil
	}})
	a.settings.OnChange(func() { a.tell(changedSettings) })
	a.blockedIPs.OnChange(func() { a.tell(changedBlockedIPs) })
	a.blockedUsers.OnChange(func() { a.tell(changedBlockedUsers) })
	return nil
}

// tell tells other nodes of a change.
func (a *App) tell(what string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := a.nodes[a.opts.Roles[0]].Publish(ctx, topicChanged, []byte(what)); err != nil {
		a.logger.Warn("other nodes could not be told of a change", "what", what, "error", err)
	}
}
