// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"sync/atomic"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/link"
	"example.org/app/internal/presence"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// start starts the presence directory, which both roles of a process share.
func (p *online) start(ctx context.Context) (err error) {
	c, node := p.Process.opts.Config.Location, p.Nodes.forPresence()
	partitions := 1
	if p.Process.opts.Config.Cluster.Presence.Partitioned {
		partitions = presence.Partitions
	}
	p.presence, err = presence.Start(ctx, node, presence.Options{
		Partitions: partitions, Service: p.Nodes.byRole[role.Service],
		Locations: presence.Locations{Enabled: c.Enabled, PerDevice: c.TreatUserIDAndDeviceTypeAsUniqueUser},
		Healed: func(f presence.Fault) {
			p.Measurements.registry.Gateway().SessionHealed.With(string(role.Gateway), string(f)).Inc()
		},
		Alone: node.Cluster().Exclusive(), Logger: p.Logs.logger,
	})
	if err != nil {
		return err
	}
	p.Process.lifecycle.add(part{name: "presence", stop: func(context.Context) error {
		p.presence.Stop()
		return nil
	}})
	p.disconnector = presence.NewDisconnector(p.presence, p.Logs.logger)
	p.Process.lifecycle.add(part{name: "disconnector", run: p.disconnector.Run})
	return nil
}

// forPresence returns the node for the presence directory: the gateway, if there is one.
func (p *nodes) forPresence() *cluster.Node {
	if node := p.byRole[role.Gateway]; node != nil {
		return node
	}
	return p.byRole[role.Service]
}

// disconnectUsers closes the sessions of deleted or deactivated users.
func (p *online) disconnectUsers(userIDs []int64) {
	p.disconnector.Later(link.Disconnection{UserIDs: userIDs, Status: wire.ClosedUserDeletedInactive})
}

// detailsLifetime is how long after a login the details of the device are shown.
func (p *process) detailsLifetime() time.Duration {
	return time.Duration(p.live.Current().Gateway.Session.DeviceDetails.ExpireAfterSeconds) * time.Second
}

// onlineUsersLog returns the job that logs how many users are online. Zero is logged only once in a
// row.
func (p *jobs) onlineUsersLog() func(context.Context) (int64, error) {
	var logged atomic.Int64
	return func(ctx context.Context) (int64, error) {
		if !p.Process.live.Current().Service.Statistics.LogOnlineUsersNumber {
			return 0, nil
		}
		users, _, err := p.Online.presence.Finder().Count(ctx)
		if err != nil {
			return 0, err
		}
		if before := logged.Swap(int64(users)); users != 0 || before != 0 {
			p.Logs.logger.Info("online users", "users", users)
		}
		return 0, nil
	}
}

// nearbyLimits bound a search for users nearby.
func (p *process) nearbyLimits() presence.NearbyLimits {
	c := p.live.Current().Location.NearbyUserRequest
	return presence.NearbyLimits{
		DefaultCount: int32(c.DefaultMaxNearbyUserCount), MaxCount: int32(c.MaxNearbyUserCount),
		DefaultMeters: c.DefaultMaxDistanceMeters, MaxMeters: c.MaxDistanceMeters,
	}
}
