// SPDX-License-Identifier: Apache-2.0

// Package config declares every property of the server as a field of a tagged
// struct and reflects everything else from that declaration: defaults, the
// spellings in files, environment and flags, conversion, validation, redaction,
// documentation and the metadata of the settings interface. Nothing else in the
// product parses configuration.
//
// The package does not act on what it reads: it opens no database, creates no
// directory and starts nothing.
//
// # Adding a property
//
// A property is one exported field with tags; a group is a struct field. The
// name is the kebab-case form of the field's name. The tags are:
//
//	name      the kebab-case name, where the derived one is wrong
//	default   the default; lists of values separate them by commas, lists of
//	          structs are written as a YAML flow sequence
//	doc       one sentence for the reader of the documentation
//	min, max  the bounds of a number, or of each number of a list
//	enum      the allowed values, separated by commas; a type with a method
//	          Options() []string supplies them itself
//	required  "true": the value must not be empty
//	minlen    the least number of characters, or of elements of a list
//	maxlen    the greatest number of characters, or of elements of a list
//	path      "true": @HOME and relative paths are resolved by [Load]
//	mutable   "true": may be changed while the server runs
//	global    "true": part of the settings that all nodes share
//	hidden    "true": never shown by the settings interface
//	sensitive "true": implied by, and only allowed for, the type [Secret]
//	defaults  on a struct field: "http.port=8510;log.enabled=false" replaces
//	          defaults below it, so that groups can share one struct type
//
// The tags mutable, global and hidden of a group hold for everything in it that
// does not say otherwise. A struct, or a named scalar type, with a method
// Validate() error is asked whenever values change; the function violation makes
// the error that names the property and the rule.
package config

import (
	"reflect"
	"sync"
)

// Config is the root of the property tree, called "app" in every source.
//
// A Config that others can see is never changed: take a Clone, or let
// [Live.Update] do it.
type Config struct {
	Audit          Audit          `doc:"The audit trail, which tells who changed what."`
	Store          Store          `doc:"Where the server keeps its data."`
	Console        Console        `doc:"The web console."`
	Cluster        Cluster        `doc:"How nodes find each other and work together."`
	FlightRecorder FlightRecorder `doc:"Flight recordings, which show what the process does."`
	HealthCheck    HealthCheck    `doc:"When a node is not fit to take work."`
	Location       Location       `doc:"Where users are."`
	IP             IP             `doc:"How the addresses of this machine are found."`
	Logging        Logging        `doc:"What the server logs and where."`
	Metrics        Metrics        `doc:"Who may read the metrics."`
	Plugin         Plugin         `doc:"Programs of others that take part in what the server does."`
	Security       Security       `doc:"Passwords and how they are stored, and clients that may not connect."`
	Shutdown       Shutdown       `doc:"How long a stopping server waits for running work."`
	Telemetry      Telemetry      `doc:"What the server tells other systems of what it does."`
	Gateway        Gateway        `doc:"The role that holds the connections of the users."`
	Service        Service        `doc:"The role that holds the rules and the data."`

	// home is what @HOME stands for; it outlives Load because Merge resolves
	// paths as well, once resolved says that Load did.
	home     string
	resolved bool
	// sources has the properties that are not at their default. It is never
	// changed once others can see it.
	sources map[string]Source
	// foreign are the properties that others than the server read; it is never
	// changed once others can see it.
	foreign *foreign
}

// Service is the configuration of the role that holds the rules and the data.
type Service struct {
	AdminAPI     ServiceAdminAPI  `defaults:"http.port=8510" doc:"The administrative HTTP interface of the service."`
	ClientAPI    ServiceClientAPI `doc:"The requests of clients."`
	Conference   Conference       `mutable:"true" global:"true" doc:"The rules about meetings."`
	Conversation Conversation     `mutable:"true" global:"true" doc:"The rules about conversations."`
	Fake         Fake             `doc:"Made-up data for those who want to try things out."`
	Group        Group            `mutable:"true" global:"true" doc:"The rules about groups."`
	Message      Message          `mutable:"true" global:"true" doc:"The rules about messages."`
	Notification Notification     `mutable:"true" global:"true" doc:"Who is told of what users do."`
	Statistics   Statistics       `doc:"What is counted and logged from time to time."`
	User         User             `mutable:"true" global:"true" doc:"The rules about users and what they know of each other."`
}

// rootName is the first segment of every property name.
const rootName = "app"

// configTree is the reflected form of Config. It is built once and never
// changed. A mistake in the declaration is a mistake of the programmer that
// every test finds, so it panics.
var configTree = sync.OnceValue(func() *tree {
	t, err := newTree(rootName, reflect.TypeFor[Config]())
	if err != nil {
		panic(err)
	}
	return t
})

// Default returns the configuration that no source has touched. Its paths are
// not resolved.
func Default() *Config {
	c := new(Config)
	configTree().setDefaults(c.value())
	return c
}

// Clone returns a copy that shares nothing with c that can change.
func (c *Config) Clone() *Config {
	clone := *c
	deepCopy(clone.value())
	return &clone
}

// Validate checks every rule of every property, in the order of declaration.
// The error is an *Error.
func (c *Config) Validate() error {
	if err := configTree().validate(c.value()); err != nil {
		return err
	}
	return nil
}

// Home returns what @HOME stands for: the Home of the Options that were loaded.
func (c *Config) Home() string { return c.home }

// Redacted returns all values as nested maps with camelCase names, without the
// root's name. A sensitive value is replaced by a mask. The result belongs to
// the caller. It holds bool, int64, float64, string, []any and map[string]any.
func (c *Config) Redacted() map[string]any {
	return c.Select(func(Property) bool { return true })
}

// Select is Redacted for the properties that keep accepts. It asks keep once
// for each property, a list of structs counting as one; groups of which nothing
// is kept stay as empty maps.
func (c *Config) Select(keep func(Property) bool) map[string]any {
	return configTree().export(c.value(), keep)
}

// value is the addressable form that reflection works on.
func (c *Config) value() reflect.Value { return reflect.ValueOf(c).Elem() }
