// SPDX-License-Identifier: Apache-2.0

package config

import "net/netip"

// Gateway contains the properties of the gateway role.
type Gateway struct {
	AdminAPI          AdminAPI          `defaults:"http.port=9510" doc:"The administrative HTTP interface of the gateway."`
	ClientAPI         ClientAPI         `doc:"What clients may send."`
	Session           GatewaySession    `doc:"The sessions of users."`
	SimultaneousLogin SimultaneousLogin `mutable:"true" global:"true" doc:"The device types of a user that may be online at the same time."`
	ServiceDiscovery  ClientDiscovery   `doc:"The information about this gateway for clients and other nodes."`
	WebSocket         ClientWebSocket   `name:"websocket" defaults:"port=10510" doc:"Connections over WebSocket."`
	TCP               ClientTCP         `defaults:"port=11510" doc:"Connections over TCP."`
	UDP               ClientUDP         `name:"udp" doc:"Heartbeats over UDP."`
}

// ClientAPI limits what clients may send.
type ClientAPI struct {
	MaxRequestSizeBytes        int32                 `default:"16384" min:"1" max:"16777216" doc:"The maximum size of a client request; a larger one ends the connection."`
	ReturnReasonForServerError bool                  `default:"false" doc:"Whether responses to clients include the reason of server errors."`
	RateLimiting               RateLimiting          `mutable:"true" global:"true" defaults:"tokens-per-period=1" doc:"The rate limit of requests of an address."`
	Logging                    GatewayRequestLogging `mutable:"true" global:"true" doc:"The client requests and notifications that the gateway logs; none by default."`
}

// LoginStrategy defines which device types of a user exclude each other.
type LoginStrategy string

// ConflictStrategy defines which session ends if a login conflicts with sessions.
type ConflictStrategy string

// The conflict strategies.
const (
	DisconnectLoggedInDevices ConflictStrategy = "DISCONNECT_LOGGED_IN_DEVICES"
	DisconnectLoggingInDevice ConflictStrategy = "DISCONNECT_LOGGING_IN_DEVICE"
)

// SimultaneousLogin defines which devices of a user may be online at the same time.
type SimultaneousLogin struct {
	Strategy                    LoginStrategy    `default:"ALLOW_ONE_DEVICE_OF_EACH_DEVICE_TYPE_ONLINE" enum:"ALLOW_ONE_DEVICE_OF_EACH_DEVICE_TYPE_ONLINE,ALLOW_ONE_DEVICE_FOR_ALL_DEVICE_TYPES_ONLINE,ALLOW_ONE_DEVICE_OF_DESKTOP_AND_ONE_DEVICE_OF_MOBILE_ONLINE,ALLOW_ONE_DEVICE_OF_DESKTOP_OR_BROWSER_AND_ONE_DEVICE_OF_MOBILE_ONLINE,ALLOW_ONE_DEVICE_OF_DESKTOP_AND_ONE_DEVICE_OF_BROWSER_AND_ONE_DEVICE_OF_MOBILE_ONLINE,ALLOW_ONE_DEVICE_OF_DESKTOP_OR_MOBILE_ONLINE,ALLOW_ONE_DEVICE_OF_DESKTOP_OR_BROWSER_OR_MOBILE_ONLINE" doc:"Which device types exclude each other."`
	LoginConflictStrategy       ConflictStrategy `default:"DISCONNECT_LOGGED_IN_DEVICES" enum:"DISCONNECT_LOGGED_IN_DEVICES,DISCONNECT_LOGGING_IN_DEVICE" doc:"Which session ends when devices exclude each other."`
	AllowDeviceTypeUnknownLogin bool             `default:"true" doc:"Whether devices of the type UNKNOWN may log in."`
	AllowDeviceTypeOthersLogin  bool             `default:"true" doc:"Whether devices of the type OTHERS may log in."`
}

// ClientDiscovery configures the advertised addresses of a gateway.
type ClientDiscovery struct {
	Identity string `mutable:"true" doc:"The name of this server that clients receive after they have logged in."`

	Address
}

// AddressSource defines whether a proxy declares the address of a client.
type AddressSource string

// The sources.
const (
	AddressSourceRequired AddressSource = "REQUIRED"
	AddressSourceOptional AddressSource = "OPTIONAL"
	AddressSourceDisabled AddressSource = "DISABLED"
)

// ClientTransport contains the common properties of client connections.
type ClientTransport struct {
	Enabled              bool             `default:"true" doc:"Whether this transport is enabled."`
	Host                 string           `default:"0.0.0.0" doc:"The address on which the server listens."`
	Port                 int32            `min:"0" max:"65535" doc:"The port on which the server listens; 0 lets the operating system choose."`
	ConnectTimeoutMillis int32            `default:"30000" min:"0" doc:"The time limit for setting up a connection; 0 means no limit."`
	Session              TransportSession `doc:"The time limits before and after a session."`
	SSL                  SSL              `hidden:"true" doc:"Encryption of the connections."`
}

// TransportSession contains the time limits of connections.
type TransportSession struct {
	EstablishTimeoutMillis int32 `default:"300000" min:"0" doc:"The time for which a connection may be open without a login; 0 means no limit."`
	CloseTimeoutMillis     int32 `default:"120000" min:"-1" doc:"The time that a client has to disconnect after the close notification; 0 disconnects it immediately, -1 means no limit."`
}

// ClientTCP are connections over TCP.
type ClientTCP struct {
	ClientTransport

	RemoteAddressSource ProxySource `doc:"The source of the address of a client behind a proxy."`
}

// ProxySource configures the source of a client's address behind a proxy.
type ProxySource struct {
	ProxyProtocolMode AddressSource `default:"OPTIONAL" enum:"REQUIRED,OPTIONAL,DISABLED" doc:"Whether connections begin with a header of the PROXY protocol. Only headers of trusted proxies are used."`
	TrustedProxies    []string      `doc:"The addresses and CIDR ranges of trusted proxies, whose information about the address of a client is used. If empty, headers are trusted from every peer if the mode is REQUIRED, and otherwise ignored."`
}

// Networks returns the parsed TrustedProxies, without invalid entries.
func (s ProxySource) Networks() []netip.Prefix { return networks(s.TrustedProxies) }

// Validate checks that each proxy is an address or a range.
func (s ProxySource) Validate() error { return checkNetworks("trusted-proxies", s.TrustedProxies) }

// ClientWebSocket are connections over WebSocket.
type ClientWebSocket struct {
	ClientTransport

	RemoteAddressSource HTTPProxySource `doc:"The source of the address of a client behind a proxy."`
}

// HTTPProxySource adds the sources of HTTP.
type HTTPProxySource struct {
	ProxySource

	HTTPHeaderMode AddressSource `name:"http-header-mode" default:"OPTIONAL" enum:"REQUIRED,OPTIONAL,DISABLED" doc:"Whether the header Forwarded or X-Forwarded-For contains the address of the client. Only headers of trusted proxies are used."`
}

// ClientUDP configures heartbeats of idle clients over UDP.
type ClientUDP struct {
	Enabled bool   `default:"false" doc:"Whether clients may keep their sessions alive over UDP."`
	Host    string `default:"0.0.0.0" doc:"The address on which the server listens."`
	Port    int32  `default:"12510" min:"0" max:"65535" doc:"The port on which the server listens; 0 lets the operating system choose."`
}
