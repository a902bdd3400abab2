// SPDX-License-Identifier: Apache-2.0

// Package config declares every property of the server as a field of a tagged struct. Package
// property derives everything else from that declaration, and documents the tags.
//
// The package does not act on the configuration: it opens no database, creates no directory and
// starts nothing.
package config

import (
	"reflect"
	"sync"

	"example.org/app/internal/config/property"
)

// Config is the root of the property tree, called "app" in every source.
//
// A shared Config is immutable: take a Clone, or use [Live.Update].
type Config struct {
	Audit          Audit          `doc:"The audit trail, which records who changed what."`
	Store          Store          `doc:"Where the server keeps its data."`
	Console        Console        `doc:"The web console."`
	Cluster        Cluster        `doc:"The cluster of nodes."`
	FlightRecorder FlightRecorder `doc:"Flight recordings, which show what the process does."`
	HealthCheck    HealthCheck    `doc:"The conditions under which a node accepts no work."`
	Location       Location       `doc:"Where users are."`
	IP             IP             `doc:"How the addresses of this machine are found."`
	Logging        Logging        `doc:"What the server logs and where."`
	Metrics        Metrics        `doc:"Who may read the metrics."`
	Plugin         Plugin         `doc:"Plugins."`
	Security       Security       `doc:"Passwords and how they are stored, and clients that may not connect."`
	Shutdown       Shutdown       `doc:"How long a stopping server waits for running work."`
	Telemetry      Telemetry      `doc:"Telemetry for other systems."`
	Gateway        Gateway        `doc:"The role that holds the connections of the users."`
	Service        Service        `doc:"The role that holds the business rules and the data."`

	// home replaces @HOME; it is kept after Load because Merge resolves paths as well. resolved is
	// true once Load has resolved them.
	home     string
	resolved bool
	// sources are the sources of the properties that differ from their default. Immutable once
	// shared.
	sources map[string]property.Source
	// foreign are the properties of others, such as plugins. Immutable once shared.
	foreign *property.Foreign
}

// Service contains the properties of the service role.
type Service struct {
	AdminAPI     ServiceAdminAPI  `defaults:"http.port=8510" doc:"The administrative HTTP interface of the service."`
	ClientAPI    ServiceClientAPI `doc:"The requests of clients."`
	Conference   Conference       `mutable:"true" global:"true" doc:"The rules about meetings."`
	Conversation Conversation     `mutable:"true" global:"true" doc:"The rules about conversations."`
	Fake         Fake             `doc:"Generated data for evaluation."`
	Group        Group            `mutable:"true" global:"true" doc:"The rules about groups."`
	Message      Message          `mutable:"true" global:"true" doc:"The rules about messages."`
	Notification Notification     `mutable:"true" global:"true" doc:"The notifications about actions of users."`
	Statistics   Statistics       `doc:"Statistics that are logged periodically."`
	User         User             `mutable:"true" global:"true" doc:"The rules about users and their relationships."`
}

// rootName is the first segment of every property name.
const rootName = "app"

// configTree is the reflected form of Config. It is built once and immutable. It panics on an
// invalid declaration, a programming error that every test finds.
var configTree = sync.OnceValue(func() *property.Tree {
	t, err := property.New(rootName, reflect.TypeFor[Config]())
	if err != nil {
		panic(err)
	}
	return t
})

// Default returns the default configuration. Its paths are not resolved.
func Default() *Config {
	c := new(Config)
	configTree().SetDefaults(c)
	return c
}

// Clone returns a deep copy.
func (c *Config) Clone() *Config {
	clone := *c
	property.Unshare(&clone)
	return &clone
}

// Validate checks every property, in the order of declaration. The error is a *property.Error.
func (c *Config) Validate() error {
	return configTree().Validate(c)
}

// Home returns the replacement of @HOME: Options.Home.
func (c *Config) Home() string { return c.home }

// Redacted returns all values as nested maps with camelCase names, without the root's name.
// Sensitive values are masked. The caller owns the result. It contains bool, int64, float64,
// string, []any and map[string]any.
func (c *Config) Redacted() map[string]any {
	return c.Select(func(property.Property) bool { return true })
}

// Select is Redacted for the properties for which keep returns true. It calls keep once for each
// property, with a list of structs as one; groups without kept properties are empty maps.
func (c *Config) Select(keep func(property.Property) bool) map[string]any {
	return configTree().Select(c, keep)
}

// Value returns the value of a property in the form of Redacted, or nil if the property is not in
// the tree.
func (c *Config) Value(p property.Property) any { return configTree().Value(c, p) }

// Source returns the source of a property's value.
func (c *Config) Source(p property.Property) property.Source {
	if s, ok := c.sources[p.Name]; ok {
		return s
	}
	return property.SourceDefault
}

// Properties returns every property in the order of declaration. The caller owns the result.
func Properties() []property.Property { return configTree().Properties() }

// DefaultValue returns the built-in default of a property.
func DefaultValue(p property.Property) any { return Default().Value(p) }
