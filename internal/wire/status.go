// SPDX-License-Identifier: Apache-2.0

package wire

// A CloseStatus is the reason why a session ended, for the client.
type CloseStatus int32

// The close statuses.
const (
	ClosedIllegalRequest      CloseStatus = 100
	ClosedHeartbeatTimeout    CloseStatus = 110
	ClosedLoginTimeout        CloseStatus = 111
	ClosedSwitch              CloseStatus = 112
	ClosedServerError         CloseStatus = 200
	ClosedServerClosed        CloseStatus = 201
	ClosedServerUnavailable   CloseStatus = 202
	ClosedUnknownError        CloseStatus = 400
	ClosedByClient            CloseStatus = 500
	ClosedByOtherDevice       CloseStatus = 501
	ClosedByAdmin             CloseStatus = 600
	ClosedUserDeletedInactive CloseStatus = 700
	ClosedUserBlocked         CloseStatus = 701
)
