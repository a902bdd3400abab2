// SPDX-License-Identifier: Apache-2.0

package config

// GatewaySession holds the rules about the sessions of clients.
type GatewaySession struct {
	IdentityAccessManagement IdentityAccessManagement `doc:"How a client proves who it is, and what it may request."`
}
