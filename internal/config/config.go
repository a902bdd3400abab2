// SPDX-License-Identifier: Apache-2.0

// Package config declares every property of the server as a field of a tagged
// struct. Package property reflects everything else from that declaration, and
// documents the tags.
//
// The package does not act on what it reads: it opens no database, creates no
// directory and starts nothing.
package config

import (
	"reflect"
	"sync"

	"example.org/app/internal/config/property"
)

// Config is the root of the property tree, called "app" in every source.
//
// A Config that others can see is never changed: take a Clone, or let
// [Live.Update] do it.
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

	// home is what @HOME stands for; it outlives Load because Merge resolves
	// paths as well, once resolved says that Load did.
	home     string
	resolved bool
	// sources has the properties that are not at their default. It is never
	// changed once others can see it.
	sources map[string]property.Source
	// foreign are the properties that others than the server read; it is never
	// changed once others can see it.
	foreign *property.Foreign
}

// Service is the configuration of the role that holds the rules and the data.
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

// configTree is the reflected form of Config. It is built once and never
// changed. A mistake in the declaration is a mistake of the programmer that
// every test finds, so it panics.
var configTree = sync.OnceValue(func() *property.Tree {
	t, err := property.New(rootName, reflect.TypeFor[Config]())
	if err != nil {
		panic(err)
	}
	return t
})

// Default returns the configuration that no source has touched. Its paths are
// not resolved.
func Default() *Config {
	c := new(Config)
	configTree().SetDefaults(c)
	return c
}

// Clone returns a copy that shares nothing with c that can change.
func (c *Config) Clone() *Config {
	clone := *c
	property.Unshare(&clone)
	return &clone
}

// Validate checks every rule of every property, in the order of declaration.
// The error is a *property.Error.
func (c *Config) Validate() error {
	return configTree().Validate(c)
}

// Home returns what @HOME stands for: the Home of the Options that were loaded.
func (c *Config) Home() string { return c.home }

// Redacted returns all values as nested maps with camelCase names, without the
// root's name. A sensitive value is replaced by a mask. The result belongs to
// the caller. It holds bool, int64, float64, string, []any and map[string]any.
func (c *Config) Redacted() map[string]any {
	return c.Select(func(property.Property) bool { return true })
}

// Select is Redacted for the properties that keep accepts. It asks keep once
// for each property, a list of structs counting as one; groups of which nothing
// is kept stay as empty maps.
func (c *Config) Select(keep func(property.Property) bool) map[string]any {
	return configTree().Select(c, keep)
}

// Value returns the value of a property as nested maps show it: secrets are
// masked. It is nil for a property that is not in the tree.
func (c *Config) Value(p property.Property) any { return configTree().Value(c, p) }

// Source returns where the value of a property came from.
func (c *Config) Source(p property.Property) property.Source {
	if s, ok := c.sources[p.Name]; ok {
		return s
	}
	return property.SourceDefault
}

// Properties returns every property in the order of declaration. The result
// belongs to the caller.
func Properties() []property.Property { return configTree().Properties() }

// DefaultValue returns the built-in default of a property.
func DefaultValue(p property.Property) any { return Default().Value(p) }
