// SPDX-License-Identifier: Apache-2.0

package config

// GatewaySession holds the rules about the sessions of clients.
type GatewaySession struct {
	CloseIdleSessionAfterSeconds             int32                    `default:"180" min:"0" mutable:"true" global:"true" doc:"The silence after which a session is closed; 0 means never."`
	SwitchProtocolAfterSeconds               int32                    `default:"540" min:"0" mutable:"true" global:"true" doc:"How long a client may send nothing but heartbeats before it is switched to UDP, if UDP is enabled; 0 means never."`
	NotifyClientsOfSessionInfoAfterConnected bool                     `default:"true" mutable:"true" global:"true" doc:"Whether a client that has logged in is told the ids of its session and of the server."`
	DeviceDetails                            DeviceDetails            `doc:"What is kept of the details that clients tell of their devices."`
	IdentityAccessManagement                 IdentityAccessManagement `doc:"How a client proves who it is, and what it may request."`
}

// DeviceDetails say what is kept of the details that clients tell of their devices.
type DeviceDetails struct {
	Items []DeviceDetail `default:"[]" mutable:"true" global:"true" doc:"The details that are kept as long as the session lasts; others are forgotten after the login."`
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
