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
	AdminToken   AdminToken   `mutable:"true" global:"true" doc:"Tokens that administrators create for programs."`
	AdminSession AdminSession `mutable:"true" global:"true" doc:"Sessions of administrators, which a login with a password starts."`
	OIDC         OIDC         `name:"oidc" doc:"Single sign-on of administrators through an OpenID Connect provider."`
	Blocklist    Blocklists   `doc:"Clients that may not connect."`
	// IPv6ClientPrefixLength is how many bits of an IPv6 address tell clients apart.
	IPv6ClientPrefixLength int32 `name:"ipv6-client-prefix-length" default:"64" min:"1" max:"128" mutable:"true" global:"true" doc:"The prefix length of IPv6 networks that count as one client in rate limits and blocks; 128 counts each address separately."`
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
	LifetimeMillis    int64 `default:"7776000000" min:"1000" doc:"The lifetime of a token without an expiration date in the request."`
	MaxLifetimeMillis int64 `default:"0" min:"0" doc:"The maximum lifetime of a new token; 0 means no limit."`
}

// AdminSession says how long sessions of administrators last.
type AdminSession struct {
	LifetimeMillis    int64 `default:"43200000" min:"1000" doc:"The maximum lifetime of a session."`
	IdleTimeoutMillis int64 `default:"1800000" min:"0" doc:"The time without use after which a session ends; 0 means no limit."`
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
	Enabled                     bool      `default:"true" doc:"Whether blocked clients are refused."`
	SyncBlocklistIntervalMillis int32     `default:"1000" min:"100" doc:"The interval at which a node checks for changes by other nodes: the maximum delay of a change."`
	AutoBlock                   AutoBlock `doc:"The conditions under which a client is blocked automatically."`
}

// AutoBlock says what gets a client blocked automatically.
type AutoBlock struct {
	CorruptedFrame   AutoBlockRule `doc:"Bytes that are no frame."`
	CorruptedRequest AutoBlockRule `doc:"Frames without a valid request."`
	FrequentRequest  AutoBlockRule `doc:"Exceeding the rate limit."`
}

// AutoBlockRule says how often something may happen before it gets a client
// blocked, and for how long.
type AutoBlockRule struct {
	Enabled     bool         `default:"true" doc:"Whether a client is blocked for this reason."`
	BlockLevels []BlockLevel `default:"[{block-duration-millis: 600000, reduce-one-trigger-time-interval-millis: 60000, trigger-times-threshold: 5}, {block-duration-millis: 1800000, reduce-one-trigger-time-interval-millis: 60000, trigger-times-threshold: 1}, {block-duration-millis: 3600000, reduce-one-trigger-time-interval-millis: 60000, trigger-times-threshold: 1}]" doc:"The thresholds and durations of the first block, the second and so on; the last level repeats."`
}

// BlockLevel is what one block needs and how long it lasts.
type BlockLevel struct {
	BlockDurationMillis                int64 `default:"600000" min:"1" doc:"How long the block lasts."`
	ReduceOneTriggerTimeIntervalMillis int32 `default:"60000" min:"0" doc:"The time after which one occurrence expires; 0 means never."`
	TriggerTimesThreshold              int32 `default:"1" min:"1" doc:"The number of occurrences that cause the block."`
}
