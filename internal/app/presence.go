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

// startPresence begins to follow who is online. Both roles of a process share
// one picture.
func (a *App) startPresence(ctx context.Context) (err error) {
	c := a.opts.Config.Location
	a.presence, err = presence.Start(ctx, a.presenceNode(), presence.Options{
		Locations: presence.Locations{Enabled: c.Enabled, PerDevice: c.TreatUserIDAndDeviceTypeAsUniqueUser},
		Healed: func(f presence.Fault) {
			a.metrics.Gateway().SessionHealed.With(string(role.Gateway), string(f)).Inc()
		},
		Logger: a.logger,
	})
	if err != nil {
		return err
	}
	a.lifecycle.add(part{name: "presence", stop: func(context.Context) error {
		a.presence.Stop()
		return nil
	}})
	a.disconnector = presence.NewDisconnector(a.presence, a.logger)
	a.lifecycle.add(part{name: "disconnector", run: a.disconnector.Run})
	return nil
}

// presenceNode is the node whose sessions the picture is about, if there is one.
func (a *App) presenceNode() *cluster.Node {
	if node := a.nodes[role.Gateway]; node != nil {
		return node
	}
	return a.nodes[role.Service]
}

// disconnectUsers closes the sessions of users who were deleted or deactivated.
func (a *App) disconnectUsers(userIDs []int64) {
	a.disconnector.Later(link.Disconnection{UserIDs: userIDs, Status: wire.ClosedUserDeletedInactive})
}

// detailsLifetime is how long after a login the details of the device are kept.
func (a *App) detailsLifetime() time.Duration {
	return time.Duration(a.live.Current().Gateway.Session.DeviceDetails.ExpireAfterSeconds) * time.Second
}

// onlineUsersLog returns the job that logs how many users are online. While nobody is it says so once.
func (a *App) onlineUsersLog() func(context.Context) (int64, error) {
	var logged atomic.Int64
	return func(context.Context) (int64, error) {
		if !a.live.Current().Service.Statistics.LogOnlineUsersNumber {
			return 0, nil
		}
		users, _ := a.presence.Count()
		if before := logged.Swap(int64(users)); users != 0 || before != 0 {
			a.logger.Info("online users", "users", users)
		}
		return 0, nil
	}
}

// nearbyLimits bound a search for users nearby.
func (a *App) nearbyLimits() presence.NearbyLimits {
	c := a.live.Current().Location.NearbyUserRequest
	return presence.NearbyLimits{
		DefaultCount: int32(c.DefaultMaxNearbyUserCount), MaxCount: int32(c.MaxNearbyUserCount),
		DefaultMeters: c.DefaultMaxDistanceMeters, MaxMeters: c.MaxDistanceMeters,
	}
}
