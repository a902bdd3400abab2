// SPDX-License-Identifier: Apache-2.0

package config

// GatewaySession holds the rules about the sessions of clients.
type GatewaySession struct {
	CloseIdleSessionAfterSeconds             int32                    `default:"180" min:"0" mutable:"true" global:"true" doc:"The silence after which a session is closed; 0 means never."`
	SwitchProtocolAfterSeconds               int32                    `default:"540" min:"0" mutable:"true" global:"true" doc:"How long a client may send nothing but heartbeats before it is switched to UDP, if UDP is enabled; 0 means never."`
	MinHeartbeatIntervalSeconds              int32                    `default:"18" min:"0" mutable:"true" global:"true" doc:"How often at most the date of a session's last heartbeat, as others see it, is moved; 0 moves it with each heartbeat. Every heartbeat is answered and keeps the session open."`
	ClientHeartbeatIntervalSeconds           int32                    `default:"60" min:"0" mutable:"true" global:"true" doc:"How often clients are asked to send a heartbeat: a client that has logged in is told so with the ids of its session and of the server; 0 tells it nothing. A third of close-idle-session-after-seconds is told where that is less."`
	NotifyClientsOfSessionInfoAfterConnected bool                     `default:"true" mutable:"true" global:"true" doc:"Whether a client that has logged in is told the ids of its session and of the server."`
	DeviceDetails                            DeviceDetails            `doc:"What is kept of the details that clients tell of their devices."`
	IdentityAccessManagement                 IdentityAccessManagement `doc:"How a client proves who it is, and what it may request."`
}

// ToldHeartbeatInterval returns how often, in seconds, a client is asked to send a heartbeat, or 0. It leaves a client time to
// miss two of them before its session is closed.
func (s GatewaySession) ToldHeartbeatInterval() int32 {
	if s.CloseIdleSessionAfterSeconds == 0 || s.ClientHeartbeatIntervalSeconds == 0 {
		return s.ClientHeartbeatIntervalSeconds
	}
	return min(s.ClientHeartbeatIntervalSeconds, max(1, s.CloseIdleSessionAfterSeconds/3))
}

// DeviceDetails say what is kept of the details that clients tell of their devices.
type DeviceDetails struct {
	ExpireAfterSeconds int32          `default:"2592000" min:"0" mutable:"true" global:"true" doc:"How long after the login the details are kept, if the session lasts that long; 0 keeps them as long as the session lasts."`
	Items              []DeviceDetail `default:"[]" mutable:"true" global:"true" doc:"The details that are kept; others are forgotten after the login."`
}

// DeviceDetail is a detail that is kept.
type DeviceDetail struct {
	FieldName      string `required:"true" doc:"The name that the client gives it."`
	RedisFieldName string `doc:"The name under which it is kept; empty keeps the name that the client gives it."`
}

// Name returns the name under which the detail is kept.
func (d DeviceDetail) Name() string {
	if d.RedisFieldName != "" {
		return d.RedisFieldName
	}
	return d.FieldName
}
