// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/audit"
	"example.org/app/internal/cluster"
	"example.org/app/internal/console"
	"example.org/app/internal/gateway"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/logs"
	"example.org/app/internal/metrics"
	"example.org/app/internal/oidc"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/adapter"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/presence"
	"example.org/app/internal/recording"
	"example.org/app/internal/role"
	"example.org/app/internal/service"
	"example.org/app/internal/setting"
	"example.org/app/internal/store"
)

// A unit is a node in the graph of a process's parts. Its exported fields point to the units that
// it needs; it can use no others. It starts after them, and what it adds to the lifecycle stops
// before them: the order follows from the types. A unit of a role that the process does not have
// does nothing.
type unit interface {
	// start is called once. It sets the fields that others use.
	start(context.Context) error
}

type home struct{ Process *process }

type logFiles struct {
	Process *process
	Home    *home

	files  *logs.Logs
	logger *slog.Logger
}

// Recordings include the start and stop of everything that starts after them.
type recordings struct {
	Process *process
	Logs    *logFiles

	recorder *recording.Recorder
}

// Spans of everything that ends after this are sent when the process stops.
type spans struct {
	Process *process
	Logs    *logFiles
}

// A port in use is reported before anything else happens; connections wait until the process is
// ready.
type (
	adminPorts struct {
		Process *process
		Logs    *logFiles

		servers map[role.Role]*admin.Server
	}
	consolePort struct {
		Process    *process
		Logs       *logFiles
		AdminPorts *adminPorts

		server *console.Server // nil if there is none
	}
	clientPorts struct {
		Process *process
		Logs    *logFiles

		ports *gateway.Ports // nil without gateway
	}
)

type database struct {
	Process     *process
	Logs        *logFiles
	Spans       *spans
	AdminPorts  *adminPorts
	ConsolePort *consolePort
	ClientPorts *clientPorts

	db *store.DB
}

type settings struct {
	Process  *process
	Logs     *logFiles
	Database *database

	cluster *setting.Settings
}

type measurements struct {
	Process  *process
	Database *database
	Settings *settings

	registry *metrics.Registry
}

type machine struct {
	Process      *process
	Measurements *measurements

	vitals *vitals
}

// nodes are the nodes of this process, one for each role.
type nodes struct {
	Process     *process
	Logs        *logFiles
	AdminPorts  *adminPorts
	ClientPorts *clientPorts
	Database    *database
	Machine     *machine

	cluster *cluster.Cluster
	byRole  map[role.Role]*cluster.Node
}

type news struct {
	Process    *process
	Logs       *logFiles
	Nodes      *nodes
	Settings   *settings
	Blocklists *blocklists
	Held       *pluginHolder
}

type online struct {
	Process      *process
	Logs         *logFiles
	Measurements *measurements
	Nodes        *nodes

	presence     *presence.Directory
	disconnector *presence.Disconnector
}

// madeUp is generated data, which includes an administrator.
type madeUp struct {
	Process  *process
	Logs     *logFiles
	Database *database
	Settings *settings
}

type administrators struct {
	Process  *process
	Logs     *logFiles
	Database *database
	Nodes    *nodes
	MadeUp   *madeUp

	directory *administrator.Directory
	provider  *oidc.Provider // nil without single sign-on
}

type auditTrail struct {
	Process  *process
	Logs     *logFiles
	Database *database
	Nodes    *nodes

	trail *audit.Trail
}

type blocklists struct {
	Process  *process
	Logs     *logFiles
	Database *database
	Settings *settings

	ips   *blocklist.List[netip.Addr]
	users *blocklist.List[int64]
}

// A pluginHolder holds plugins before they are started, because their callers must exist when they
// start.
type pluginHolder struct {
	Process      *process
	Logs         *logFiles
	Recordings   *recordings
	Database     *database
	Settings     *settings
	Measurements *measurements
	Nodes        *nodes
	Online       *online
	Audit        *auditTrail

	plugins *adapter.Plugins
	server  *adapter.Server
	catalog *catalog.Catalog
	granted *plugin.Granted // nil unless plugins need grants by administrators
	slots   *plugin.StoredSlots
	events  *plugin.Events // nil without service
	peers   *peers
	// used are the parts of later units that plugins use. These units set it before plugins start.
	used used
}

type notifier struct {
	Process *process
	Logs    *logFiles
	Nodes   *nodes
	Online  *online

	service *service.Notifier // nil without service
}

type rules struct {
	Process      *process
	Logs         *logFiles
	Database     *database
	Settings     *settings
	Measurements *measurements
	Nodes        *nodes
	Online       *online
	Held         *pluginHolder
	Notifier     *notifier

	domain domain // empty without service
}

// operating is the admin interface of each role, whether or not it has a port.
type operating struct {
	Process        *process
	Logs           *logFiles
	Recordings     *recordings
	Database       *database
	Settings       *settings
	Measurements   *measurements
	Machine        *machine
	Nodes          *nodes
	Online         *online
	Administrators *administrators
	Audit          *auditTrail
	Blocklists     *blocklists
	Held           *pluginHolder
	Rules          *rules

	health *api.Health
	apis   map[role.Role]*admin.API
}

// Plugins start when everything that they can use exists. The admin interface already responds
// then; clients wait until the plugins run, or a time limit.
type (
	plugins struct {
		Process   *process
		Held      *pluginHolder
		Operating *operating
		Rules     *rules
		Notifier  *notifier
	}
	webConsole struct {
		Process        *process
		Logs           *logFiles
		ConsolePort    *consolePort
		AdminPorts     *adminPorts
		Nodes          *nodes
		Administrators *administrators
		Operating      *operating
		Plugins        *plugins

		console *console.Console // nil if there is none
	}
	admins struct {
		Process    *process
		AdminPorts *adminPorts
		Operating  *operating
		Plugins    *plugins
		News       *news
		Console    *webConsole
	}
	pluginsUp struct {
		Process *process
		Held    *pluginHolder
		Plugins *plugins
		Admins  *admins
	}
)

// requests handles the clients' requests that gateways forward.
type requests struct {
	Process   *process
	Logs      *logFiles
	Database  *database
	Settings  *settings
	Nodes     *nodes
	Online    *online
	Rules     *rules
	Notifier  *notifier
	Held      *pluginHolder
	PluginsUp *pluginsUp
}

type jobs struct {
	Process        *process
	Logs           *logFiles
	Database       *database
	Settings       *settings
	Nodes          *nodes
	Online         *online
	Administrators *administrators
	Audit          *auditTrail
	Blocklists     *blocklists
	Held           *pluginHolder
	Rules          *rules
	PluginsUp      *pluginsUp
}

type clients struct {
	Process      *process
	Logs         *logFiles
	ClientPorts  *clientPorts
	Settings     *settings
	Measurements *measurements
	Nodes        *nodes
	Online       *online
	Blocklists   *blocklists
	Held         *pluginHolder
	PluginsUp    *pluginsUp
	Requests     *requests

	gateway *gateway.Gateway // nil without gateway
}

type watchdog struct {
	Process    *process
	Recordings *recordings
	Operating  *operating
}

// units is the root. App reads from it.
type units struct {
	Process        *process
	Logs           *logFiles
	Admins         *admins
	Requests       *requests
	Jobs           *jobs
	Clients        *clients
	Watchdog       *watchdog
	AdminPorts     *adminPorts
	ConsolePort    *consolePort
	ClientPorts    *clientPorts
	Database       *database
	Administrators *administrators
	Held           *pluginHolder
	Console        *webConsole
}

// assemble creates every unit that root needs, each once, and returns them with root, in dependency
// order. It panics on a cycle.
func assemble(p *process, root unit) (sorted []unit) {
	made := map[reflect.Type]reflect.Value{}
	var visit func(reflect.Value)
	visit = func(u reflect.Value) {
		made[u.Type()] = u
		for field, at := range u.Elem().Fields() {
			switch {
			case !field.IsExported():
			case field.Type == reflect.TypeFor[*process]():
				at.Set(reflect.ValueOf(p))
			case field.Type.Implements(reflect.TypeFor[unit]()):
				needed, ok := made[field.Type]
				if !ok {
					needed = reflect.New(field.Type.Elem())
					visit(needed)
				} else if !slices.Contains(sorted, needed.Interface().(unit)) {
					panic(fmt.Sprintf("app: %s and %s need each other", u.Type().Elem(), field.Type.Elem()))
				}
				at.Set(needed)
			}
		}
		sorted = append(sorted, u.Interface().(unit))
	}
	visit(reflect.ValueOf(root))
	return sorted
}
