// SPDX-License-Identifier: Apache-2.0

package config

import "net/netip"

// Gateway is the configuration of the role that holds the users' connections.
type Gateway struct {
	AdminAPI          AdminAPI          `defaults:"http.port=9510" doc:"The administrative HTTP interface of the gateway."`
	ClientAPI         ClientAPI         `doc:"What clients may send."`
	Session           GatewaySession    `doc:"The sessions of users."`
	SimultaneousLogin SimultaneousLogin `mutable:"true" global:"true" doc:"Which devices of a user may be online at the same time."`
	ServiceDiscovery  ClientDiscovery   `doc:"What clients and other nodes are told of this gateway."`
	WebSocket         ClientWebSocket   `name:"websocket" defaults:"port=10510" doc:"Connections over WebSocket."`
	TCP               ClientTCP         `defaults:"port=11510" doc:"Connections over TCP."`
	UDP               ClientUDP         `name:"udp" doc:"Heartbeats over UDP."`
}

// ClientAPI limits what clients may send.
type ClientAPI struct {
	MaxRequestSizeBytes        int32                 `default:"16384" min:"1" max:"16777216" doc:"The largest request of a client; a larger one ends the connection."`
	ReturnReasonForServerError bool                  `default:"false" doc:"Whether clients are told why the server failed."`
	RateLimiting               RateLimiting          `mutable:"true" global:"true" defaults:"tokens-per-period=1" doc:"How many requests an address may send."`
	Logging                    GatewayRequestLogging `mutable:"true" global:"true" doc:"Which requests of clients and notifications to them the gateway logs. None is by default."`
}

// LoginStrategy says which kinds of devices of a user exclude each other.
type LoginStrategy string

// ConflictStrategy says who has to go when a login conflicts with sessions.
type ConflictStrategy string

// The conflict strategies.
const (
	DisconnectLoggedInDevices ConflictStrategy = "DISCONNECT_LOGGED_IN_DEVICES"
	DisconnectLoggingInDevice ConflictStrategy = "DISCONNECT_LOGGING_IN_DEVICE"
)

// SimultaneousLogin says which devices of a user may be online at the same time.
type SimultaneousLogin struct {
	Strategy                    LoginStrategy    `default:"ALLOW_ONE_DEVICE_OF_EACH_DEVICE_TYPE_ONLINE" enum:"ALLOW_ONE_DEVICE_OF_EACH_DEVICE_TYPE_ONLINE,ALLOW_ONE_DEVICE_FOR_ALL_DEVICE_TYPES_ONLINE,ALLOW_ONE_DEVICE_OF_DESKTOP_AND_ONE_DEVICE_OF_MOBILE_ONLINE,ALLOW_ONE_DEVICE_OF_DESKTOP_OR_BROWSER_AND_ONE_DEVICE_OF_MOBILE_ONLINE,ALLOW_ONE_DEVICE_OF_DESKTOP_AND_ONE_DEVICE_OF_BROWSER_AND_ONE_DEVICE_OF_MOBILE_ONLINE,ALLOW_ONE_DEVICE_OF_DESKTOP_OR_MOBILE_ONLINE,ALLOW_ONE_DEVICE_OF_DESKTOP_OR_BROWSER_OR_MOBILE_ONLINE" doc:"Which kinds of devices exclude each other."`
	LoginConflictStrategy       ConflictStrategy `default:"DISCONNECT_LOGGED_IN_DEVICES" enum:"DISCONNECT_LOGGED_IN_DEVICES,DISCONNECT_LOGGING_IN_DEVICE" doc:"Who has to go when devices exclude each other."`
	AllowDeviceTypeUnknownLogin bool             `default:"true" doc:"Whether devices of the kind UNKNOWN may log in."`
	AllowDeviceTypeOthersLogin  bool             `default:"true" doc:"Whether devices of the kind OTHERS may log in."`
}

// ClientDiscovery is what clients and other nodes are told of a gateway.
type ClientDiscovery struct {
	Identity string `mutable:"true" doc:"The name of this server that clients are told after they have logged in."`

	Address
}

// AddressSource says whether a remark of a proxy about the address of a client is expected.
type AddressSource string

// The sources.
const (
	AddressSourceRequired AddressSource = "REQUIRED"
	AddressSourceOptional AddressSource = "OPTIONAL"
	AddressSourceDisabled AddressSource = "DISABLED"
)

// ClientTransport is what the connections of clients over a stream share.
type ClientTransport struct {
	Enabled              bool             `default:"true" doc:"Whether clients may connect this way."`
	Host                 string           `default:"0.0.0.0" doc:"The address on which the server listens."`
	Port                 int32            `min:"0" max:"65535" doc:"The port on which the server listens; 0 lets the operating system choose."`
	ConnectTimeoutMillis int32            `default:"30000" min:"0" doc:"How long the set-up of a connection may take; 0 means without limit."`
	Session              TransportSession `doc:"The time around a session."`
	SSL                  SSL              `hidden:"true" doc:"Encryption of the connections."`
}

// TransportSession is the time that connections get around a session.
type TransportSession struct {
	EstablishTimeoutMillis int32 `default:"300000" min:"0" doc:"How long a connection may be open without a login; 0 means for ever."`
	CloseTimeoutMillis     int32 `default:"120000" min:"-1" doc:"How long a client may take to disconnect after it was told that its session is closed; 0 disconnects it at once, -1 waits for ever."`
}

// ClientTCP are connections over TCP.
type ClientTCP struct {
	ClientTransport

	RemoteAddressSource ProxySource `doc:"Where the address of a client behind a proxy comes from."`
}

// ProxySource says where the address of a client behind a proxy comes from.
type ProxySource struct {
	ProxyProtocolMode AddressSource `default:"OPTIONAL" enum:"REQUIRED,OPTIONAL,DISABLED" doc:"Whether connections begin with a header of the PROXY protocol. Only headers of trusted proxies are believed."`
	TrustedProxies    []string      `doc:"The addresses and CIDR ranges of proxies that are believed when they tell the address of a client. Without any, a header is believed where its mode is REQUIRED, from everybody, and nowhere else."`
}

// Networks returns TrustedProxies in the form that can be asked. Entries that Validate refuses are left out.
func (s ProxySource) Networks() []netip.Prefix { return networks(s.TrustedProxies) }

// Validate checks that each proxy is an address or a range.
func (s ProxySource) Validate() error { return checkNetworks("trusted-proxies", s.TrustedProxies) }

// ClientWebSocket are connections over WebSocket.
type ClientWebSocket struct {
	ClientTransport

	RemoteAddressSource HTTPProxySource `doc:"Where the address of a client behind a proxy comes from."`
}

// HTTPProxySource adds the sources that only HTTP has.
type HTTPProxySource struct {
	ProxySource

	HTTPHeaderMode AddressSource `name:"http-header-mode" default:"OPTIONAL" enum:"REQUIRED,OPTIONAL,DISABLED" doc:"Whether the header Forwarded or X-Forwarded-For tells the address of the client. Only headers of trusted proxies are believed."`
}

// ClientUDP is the way for heartbeats of clients that have nothing to say.
type ClientUDP struct {
	Enabled bool   `default:"false" doc:"Whether clients may keep their sessions alive over UDP."`
	Host    string `default:"0.0.0.0" doc:"The address on which the server listens."`
	Port    int32  `default:"12510" min:"0" max:"65535" doc:"The port on which the server listens; 0 lets the operating system choose."`
}
