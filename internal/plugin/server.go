// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"example.org/app/internal/role"
)

// A Server is what plugins can use of the server that they run in, the same in every language. Hosts offer it; the
// plugin that calls is given, because it is who acts. All methods are safe for concurrent use, and errors are sentences
// for the author of the plugin, an *apierr.Error where there is a code.
type Server interface {
	// Node returns the node of this process with a role. If it has none with it, also for "", it is the node that Node says.
	Node(r role.Role) Node
	// Operations are the operations of the admin interface that plugins may call.
	Operations() []Operation
	// Call carries out an operation as if the plugin were an administrator, who has the permissions that the descriptor
	// requests, or all if everything is granted (config.GrantsOpen). The input is a JSON
	// object with the parameters by their names and the body as body; the result is the JSON of the data, nil if there
	// is none. Integers of 64 bits are numbers in it.
	Call(ctx context.Context, by Descriptor, operation string, input json.RawMessage) (json.RawMessage, error)
	// Config returns the properties below a prefix, from the same sources as those of the server: nested maps that hold
	// bool, int64, float64, string, []any and map[string]any.
	Config(prefix string) (map[string]any, error)
	// Settings returns the settings of a plugin that hold: nested maps as JSON has them, numbers as json.Number.
	Settings(by Descriptor) (map[string]any, error)
	// Notify tells users of something. It returns when that is on its way.
	Notify(ctx context.Context, by Descriptor, n Notification) error
	// MeetingEnded notes that a meeting has ended. One that is not known, or of which that is known, stays as it is.
	MeetingEnded(ctx context.Context, by Descriptor, meetingID int64, at time.Time) error
	// Storage is where plugins keep small values.
	Storage() Storage
}

// A Node is a process of the cluster.
type Node struct {
	ID string
	// Role is what it does. A process with both roles is two nodes; the service counts where it matters to nobody.
	Role    role.Role
	Version string
	// Shadow says that the plugin which asks gets nothing but copies of calls there, and its answers are thrown away.
	Shadow bool
}

// An Operation is an operation of the admin interface, which plugins call as Group.Name.
type Operation struct {
	Group, Name string
	// ID is what Call gets.
	ID string
	// Input and Result are the types behind the JSON; Result is nil if there is none.
	Input, Result reflect.Type
	// Reads says that it changes nothing.
	Reads bool
}

// Storage keeps small values of plugins, each plugin in a space of its own. What is kept is durable when a method
// returns, and outlives the plugin.
type Storage interface {
	// Get reports false if there is no value.
	Get(ctx context.Context, pluginID, key string) (value []byte, ok bool, err error)
	Set(ctx context.Context, pluginID, key string, value []byte) error
	// Delete reports whether there was a value.
	Delete(ctx context.Context, pluginID, key string) (bool, error)
	// Keys returns the keys that begin with a prefix, sorted by their bytes.
	Keys(ctx context.Context, pluginID, prefix string) ([]string, error)
}
