// SPDX-License-Identifier: Apache-2.0

package config

import "example.org/app/internal/config/property"

// Cluster configures how nodes connect.
type Cluster struct {
	ID        string    `default:"app" required:"true" doc:"The name of the cluster; nodes of other clusters on the same NATS are not seen."`
	Node      Node      `doc:"This node."`
	NATS      NATS      `name:"nats" hidden:"true" doc:"The fabric between nodes."`
	Discovery Discovery `doc:"How nodes detect other nodes and their failure."`
	RPC       RPC       `doc:"Calls between nodes."`
	Presence  Presence  `doc:"The information that nodes have about online users."`
}

// Presence configures how nodes share presence.
type Presence struct {
	Partitioned bool `default:"false" doc:"Whether online users are partitioned among the services, so that no node has to hold all of them. The first node that starts after NATS decides for all nodes; see deployment.md before changing it."`
}

// Node describes this node to others.
type Node struct {
	ID              string `doc:"The id of this node: letters, digits, - and _, unique in the cluster; empty lets the server choose one at each start. A process with both roles appends the role."`
	Name            string `doc:"A name for people."`
	Zone            string `doc:"The location of the node, as information for operators."`
	ActiveByDefault bool   `default:"true" doc:"Whether the node is active as soon as it has started."`
	LeaderEligible  bool   `default:"true" doc:"Whether the node may become leader; only a service node can."`
	Priority        int32  `default:"0" min:"0" doc:"The priority in the election of the leader: if there is no leader, the eligible node with the highest number becomes the leader, unless it is slow to claim the lease. A leader remains the leader when a node with a higher number joins."`
}

// NATS is the connection between nodes.
type NATS struct {
	URL      property.Secret `doc:"An external NATS server or cluster: nats://host:port, several separated by commas; empty starts an embedded server."`
	Listen   string          `doc:"The host:port on which the embedded server accepts other nodes; it requires a token or certificate files. Empty accepts no connections."`
	Token    property.Secret `doc:"The shared secret with which nodes authenticate."`
	SSL      NATSSSL         `doc:"Certificate files of the connection between nodes."`
	Replicas int32           `default:"1" min:"1" max:"5" doc:"The number of servers of an external NATS cluster that store the member records."`
}

// NATSSSL are the certificate files of connections between nodes.
type NATSSSL struct {
	CertificateFile string `path:"true" doc:"The PEM file with the certificate chain of this node."`
	PrivateKeyFile  string `path:"true" doc:"The PEM file with the private key of this node."`
	CAFile          string `path:"true" doc:"The PEM file with the CA certificates for verifying other nodes."`
}

// Discovery is the membership protocol.
type Discovery struct {
	HeartbeatTimeoutSeconds  int32 `default:"30" min:"1" max:"60" doc:"The time without heartbeats after which a node counts as gone. A node whose connection to NATS has ended always counts as gone after six seconds."`
	HeartbeatIntervalSeconds int32 `default:"10" min:"1" doc:"The interval between heartbeats of a node."`
}

// Validate checks the order of the time-outs.
func (d Discovery) Validate() error {
	if d.HeartbeatIntervalSeconds >= d.HeartbeatTimeoutSeconds {
		return property.Violation("heartbeat-interval-seconds", "must be less than heartbeat-timeout-seconds")
	}
	return nil
}

// RPC configures calls between nodes.
type RPC struct {
	RequestTimeoutMillis int32 `default:"30000" min:"1" doc:"The time limit of a call to another node."`
}

// HealthCheck configures when a node is unfit for work.
type HealthCheck struct {
	CheckIntervalSeconds int32          `default:"3" min:"1" doc:"The interval between health checks of the node."`
	CPU                  CPUHealth      `doc:"The processors of the machine."`
	Memory               MemoryHealth   `doc:"The memory."`
	Overload             OverloadHealth `doc:"Overload of the process."`
}

// CPUHealth limits the load of the machine, above which a node is degraded.
type CPUHealth struct {
	UnhealthyLoadThresholdPercentage int32 `default:"95" min:"1" max:"100" doc:"The processor load above which the node is degraded: it continues to work, and other nodes take over work where possible; 100 disables the check."`
	Retries                          int32 `default:"5" min:"0" doc:"The number of consecutive checks that must exceed the limit."`
	Refuse                           bool  `default:"false" doc:"Whether a node that is degraded by the load of the processors refuses requests and logins."`
}

// OverloadHealth limits the overload of the process, above which it refuses work.
type OverloadHealth struct {
	MaxWaitMillis int32 `default:"1000" min:"0" doc:"The scheduling delay of work in the process (90th percentile) above which the node refuses requests and logins; 0 means no limit."`
	Retries       int32 `default:"5" min:"0" doc:"The number of consecutive checks that must exceed the limit."`
}

// MemoryHealth limits the memory shortage, above which a node is unfit.
type MemoryHealth struct {
	MaxAvailableMemoryPercentage int32 `default:"95" min:"1" max:"100" doc:"The share of used memory above which the node is unhealthy; 100 disables the check."`
	MinFreeSystemMemoryBytes     int32 `default:"134217728" min:"0" doc:"The free memory below which the node is unhealthy."`
}

// AdvertiseStrategy is how the advertised address is determined.
type AdvertiseStrategy string

// The strategies.
const (
	AdvertiseAddress AdvertiseStrategy = "ADVERTISE_ADDRESS"
	BindAddress      AdvertiseStrategy = "BIND_ADDRESS"
	PrivateAddress   AdvertiseStrategy = "PRIVATE_ADDRESS"
	PublicAddress    AdvertiseStrategy = "PUBLIC_ADDRESS"
)

// Address is the advertised address of a server.
type Address struct {
	AdvertiseStrategy AdvertiseStrategy `default:"PRIVATE_ADDRESS" enum:"ADVERTISE_ADDRESS,BIND_ADDRESS,PRIVATE_ADDRESS,PUBLIC_ADDRESS" doc:"The advertised address: a given one, the one that the server listens on, the private one of this machine or the public one."`
	AdvertiseHost     string            `doc:"The host for ADVERTISE_ADDRESS."`
	AttachPortToHost  bool              `default:"true" doc:"Whether the port is appended to the host."`
}

// Validate checks that the strategy's address is set.
func (a Address) Validate() error {
	if a.AdvertiseStrategy == AdvertiseAddress && a.AdvertiseHost == "" {
		return property.Violation("advertise-host", "must not be empty with ADVERTISE_ADDRESS")
	}
	return nil
}

// IP configures how the addresses of this machine are determined.
type IP struct {
	PublicIPDetectorAddresses []string `default:"https://checkip.amazonaws.com,https://whatismyip.akamai.com,https://ifconfig.me/ip,https://myip.dnsomatic.com" doc:"URLs that return the public address of the caller; used for PUBLIC_ADDRESS only."`
}
