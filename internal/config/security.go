// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/app/internal/config/property"
)

// PasswordAlgorithm is a way of storing passwords.
type PasswordAlgorithm string

// The ways of storing passwords.
const (
	PasswordBcrypt       PasswordAlgorithm = "BCRYPT"
	PasswordSaltedSHA256 PasswordAlgorithm = "SALTED_SHA256"
	PasswordNoop         PasswordAlgorithm = "NOOP"
)

// Security holds what protects the accounts and the server.
type Security struct {
	Password     Password     `doc:"How passwords are stored."`
	AdminToken   AdminToken   `mutable:"true" global:"true" doc:"Tokens that administrators make for programs."`
	AdminSession AdminSession `mutable:"true" global:"true" doc:"Sessions of administrators, which a login with a password begins."`
	OIDC         OIDC         `name:"oidc" doc:"Single sign-on of administrators through an OpenID Connect provider."`
	Blocklist    Blocklists   `doc:"Clients that may not connect."`
	// IPv6ClientPrefixLength is how many bits of an IPv6 address tell clients apart.
	IPv6ClientPrefixLength int32 `name:"ipv6-client-prefix-length" default:"64" min:"1" max:"128" mutable:"true" global:"true" doc:"How many leading bits of an IPv6 address tell clients apart: rate limits and blocks count all addresses of such a network as one client; 128 counts each address."`
}

// Password says how passwords are stored.
type Password struct {
	InitialRootPassword            property.Secret   `default:"app" doc:"The password that the root administrator gets when the account is created: 1 to 32 characters without white space."`
	UserPasswordEncodingAlgorithm  PasswordAlgorithm `default:"SALTED_SHA256" enum:"BCRYPT,SALTED_SHA256,NOOP" doc:"How the passwords of users are stored."`
	AdminPasswordEncodingAlgorithm PasswordAlgorithm `default:"BCRYPT" enum:"BCRYPT,SALTED_SHA256,NOOP" doc:"How the passwords of administrators are stored."`
	BcryptCost                     int32             `default:"10" min:"4" max:"16" doc:"The work factor of bcrypt; each step doubles the time that a check takes."`
}

// AdminToken says how long tokens of administrators are valid.
type AdminToken struct {
	LifetimeMillis    int64 `default:"7776000000" min:"1000" doc:"How long a token is valid whose creator names no expiration date."`
	MaxLifetimeMillis int64 `default:"0" min:"0" doc:"How long a new token may be valid at most; 0 means without limit."`
}

// AdminSession says how long sessions of administrators last.
type AdminSession struct {
	LifetimeMillis    int64 `default:"43200000" min:"1000" doc:"How long a session lasts at most."`
	IdleTimeoutMillis int64 `default:"1800000" min:"0" doc:"How long a session may be unused before it ends; 0 means without limit."`
}

// maxRootPasswordLength is counted in characters.
const maxRootPasswordLength = 32

// Validate checks the first password of the root administrator.
func (p Password) Validate() error {
	password := p.InitialRootPassword.Reveal()
	n := utf8.RuneCountInString(password)
	if n < 1 || n > maxRootPasswordLength || strings.ContainsFunc(password, unicode.IsSpace) {
		return property.Violation("initial-root-password", "must be 1 to 32 characters without white space")
	}
	return nil
}

// Blocklists are the lists of clients that may not connect.
type Blocklists struct {
	IP     Blocklist `doc:"Blocked addresses."`
	UserID Blocklist `doc:"Blocked users."`
}

// Blocklist is a list of clients that may not connect.
type Blocklist struct {
	Enabled                     bool      `default:"true" doc:"Whether blocked clients are kept out."`
	SyncBlocklistIntervalMillis int32     `default:"1000" min:"100" doc:"How often a node looks for changes that other nodes made: the longest time that a change stays unseen there."`
	AutoBlock                   AutoBlock `doc:"What gets a client blocked automatically."`
}

// AutoBlock says what gets a client blocked automatically.
type AutoBlock struct {
	CorruptedFrame   AutoBlockRule `doc:"Bytes that are no frame."`
	CorruptedRequest AutoBlockRule `doc:"Frames that hold no request."`
	FrequentRequest  AutoBlockRule `doc:"More requests than a client may send."`
}

// AutoBlockRule says how often something may happen before it gets a client
// blocked, and for how long.
type AutoBlockRule struct {
	Enabled     bool         `default:"true" doc:"Whether it gets a client blocked at all."`
	BlockLevels []BlockLevel `default:"[{block-duration-millis: 600000, reduce-one-trigger-time-interval-millis: 60000, trigger-times-threshold: 5}, {block-duration-millis: 1800000, reduce-one-trigger-time-interval-millis: 60000, trigger-times-threshold: 1}, {block-duration-millis: 3600000, reduce-one-trigger-time-interval-millis: 60000, trigger-times-threshold: 1}]" doc:"What the first block, the second and so on need and how long they last; the last level repeats."`
}

// BlockLevel is what one block needs and how long it lasts.
type BlockLevel struct {
	BlockDurationMillis                int64 `default:"600000" min:"1" doc:"How long the block lasts."`
	ReduceOneTriggerTimeIntervalMillis int32 `default:"60000" min:"0" doc:"The time after which one occurrence is forgotten; 0 means never."`
	TriggerTimesThreshold              int32 `default:"1" min:"1" doc:"How many occurrences lead to the block."`
}
