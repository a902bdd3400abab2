// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"example.org/app/internal/role"
)

// A Server provides the functions of the server to plugins, the same in every language. Hosts pass
// them on, with the calling plugin, which is the actor. All methods are safe for concurrent use,
// and errors are sentences for the author of the plugin, an *apierr.Error if there is a code.
type Server interface {
	// Node returns the node of this process with a role. If there is none, or r is "", it returns
	// the node that represents the process.
	Node(r role.Role) Node
	// Operations returns the operations of the admin interface that plugins may call.
	Operations() []Operation
	// Call runs an operation with the plugin as administrator, with the permissions that its
	// descriptor requests, or all if everything is granted (config.GrantsOpen). The input is a JSON
	// object with the parameters by name and the body as body; the result is the JSON of the data,
	// nil if there is none. 64-bit integers are JSON numbers in it.
	Call(ctx context.Context, by Descriptor, operation string, input json.RawMessage) (json.RawMessage, error)
	// Config returns the properties below a prefix, from the same sources as the server's: nested
	// maps of bool, int64, float64, string, []any and map[string]any.
	Config(prefix string) (map[string]any, error)
	// Settings returns the effective settings of a plugin: nested maps as in JSON, with
	// json.Number.
	Settings(by Descriptor) (map[string]any, error)
	// Notify sends users a notification. It returns when that was sent.
	Notify(ctx context.Context, by Descriptor, n Notification) error
	// MeetingEnded records the end of a meeting. It ignores unknown meetings and those with an end.
	MeetingEnded(ctx context.Context, by Descriptor, meetingID int64, at time.Time) error
	// Storage returns the storage for small values of plugins.
	Storage() Storage
}

// A Node is a process of the cluster.
type Node struct {
	ID string
	// Role is its role. A process with both roles is two nodes; by default it is represented by the
	// service.
	Role    role.Role
	Version string
	// Shadow is true if the calling plugin only gets copies of calls there, and its results are
	// dropped.
	Shadow bool
}

// An Operation is an operation of the admin interface, which plugins call as Group.Name.
type Operation struct {
	Group, Name string
	// ID is the operation's id for Call.
	ID string
	// Selectors are the lists in the input that select the records of a change. All is the member
	// of the input that can select all of them, a bool by being true, a list by its absence; empty
	// if there is none.
	Selectors []string
	All       string
	// Input and Result are the types behind the JSON; Result is nil if there is none.
	Input, Result reflect.Type
	// Reads is true if it changes nothing.
	Reads bool
}

// Storage stores small values of plugins, with a separate name space for each plugin. Values are
// durable when a method returns, and are kept after the plugin's removal.
type Storage interface {
	// Get returns a value; ok is false if there is none.
	Get(ctx context.Context, pluginID, key string) (value []byte, ok bool, err error)
	Set(ctx context.Context, pluginID, key string, value []byte) error
	// Delete reports whether there was a value.
	Delete(ctx context.Context, pluginID, key string) (bool, error)
	// Keys returns the keys that begin with a prefix, sorted by their bytes.
	Keys(ctx context.Context, pluginID, prefix string) ([]string, error)
}
