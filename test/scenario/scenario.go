// SPDX-License-Identifier: Apache-2.0

// Package scenario is what clients and administrators experience of a running server together. It does not start one:
// the same scenarios hold however the roles are spread over processes.
package scenario

import "testing"

// Run plays all scenarios, one after another. Some change settings of the whole place and take them back.
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
