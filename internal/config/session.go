// SPDX-License-Identifier: Apache-2.0

package config

// GatewaySession holds the rules about the sessions of clients.
type GatewaySession struct {
	CloseIdleSessionAfterSeconds             int32                    `default:"180" min:"0" mutable:"true" global:"true" doc:"The time without messages from the client after which a session is closed; 0 means never."`
	SwitchProtocolAfterSeconds               int32                    `default:"540" min:"0" mutable:"true" global:"true" doc:"The time after which a client that sends only heartbeats is switched to UDP, if UDP is enabled; 0 means never."`
	MinHeartbeatIntervalSeconds              int32                    `default:"18" min:"0" mutable:"true" global:"true" doc:"The minimum interval between updates of the published date of a session's last heartbeat; 0 updates it with each heartbeat. Every heartbeat is answered and keeps the session open."`
	ClientHeartbeatIntervalSeconds           int32                    `default:"60" min:"0" mutable:"true" global:"true" doc:"The heartbeat interval that clients receive after the login, together with the ids of the session and of the server; 0 sends no interval. If a third of close-idle-session-after-seconds is less, that is sent instead."`
	NotifyClientsOfSessionInfoAfterConnected bool                     `default:"true" mutable:"true" global:"true" doc:"Whether a client receives the ids of its session and of the server after the login."`
	DeviceDetails                            DeviceDetails            `doc:"The device details of clients that are stored."`
	IdentityAccessManagement                 IdentityAccessManagement `doc:"The authentication and authorisation of clients."`
}

// ToldHeartbeatInterval returns how often, in seconds, a client is asked to send a heartbeat, or 0.
// It leaves a client time to miss two of them before its session is closed.
func (s GatewaySession) ToldHeartbeatInterval() int32 {
	if s.CloseIdleSessionAfterSeconds == 0 || s.ClientHeartbeatIntervalSeconds == 0 {
		return s.ClientHeartbeatIntervalSeconds
	}
	return min(s.ClientHeartbeatIntervalSeconds, max(1, s.CloseIdleSessionAfterSeconds/3))
}

// DeviceDetails say what is kept of the details that clients tell of their devices.
type DeviceDetails struct {
	ExpireAfterSeconds int32          `default:"2592000" min:"0" mutable:"true" global:"true" doc:"The time after the login for which the details are kept, at most for the lifetime of the session; 0 keeps them for the lifetime of the session."`
	Items              []DeviceDetail `default:"[]" mutable:"true" global:"true" doc:"The details that are kept; others are discarded after the login."`
}

// DeviceDetail is a detail that is kept.
type DeviceDetail struct {
	FieldName      string `required:"true" doc:"The name in the request of the client."`
	RedisFieldName string `doc:"The name under which it is stored; empty means the name in the request."`
}

// Name returns the name under which the detail is kept.
func (d DeviceDetail) Name() string {
	if d.RedisFieldName != "" {
		return d.RedisFieldName
	}
	return d.FieldName
}
