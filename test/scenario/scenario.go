// SPDX-License-Identifier: Apache-2.0

// Package scenario tests how clients and administrators see a running server. It does not start
// one: the same scenarios apply however the roles are distributed over processes.
package scenario

import "testing"

// Run runs all scenarios, one after another. Some change settings of the cluster and reset them.
func Run(t *testing.T, place *Place) {
	for _, scenario := range []struct {
		name string
		play func(*stage)
	}{
		{"UserDeactivated", userDeactivated},
		{"UserDeleted", userDeleted},
		{"UserBlocked", userBlocked},
		{"AddressBlocked", addressBlocked},
		{"SessionsDeleted", sessionsDeleted},
		{"OwnDevicesOffline", ownDevicesOffline},
		{"OnlineInfos", onlineInfos},
		{"Positions", positions},
		{"NotificationSwitchedOff", notificationSwitchedOff},
		{"KindDisabled", kindDisabled},
		{"RateLimited", rateLimited},
		{"GatewayDeactivated", gatewayDeactivated},
		{"HeartbeatIntervals", heartbeatIntervals},
		{"DeviceDetailsExpire", deviceDetailsExpire},
		{"RequestsLogged", requestsLogged},
	} {
		t.Run(scenario.name, func(t *testing.T) { scenario.play(&stage{place, t}) })
	}
}
