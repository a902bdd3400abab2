// SPDX-License-Identifier: Apache-2.0

package app

import "context"

// A unit is a node of the graph of what a process consists of. Its start comes after the starts of everything that it
// needs, and what it adds to the lifecycle is stopped before all of that: the order follows from the edges. The compiler
// refuses a cycle. A unit of a role that the process does not have does nothing.
type unit struct {
	needs []*unit
	start func(*App, context.Context) error
}

var (
	home     = &unit{start: (*App).openHome}
	logFiles = &unit{needs: units(home), start: (*App).startLogs}
	// Recordings show how everything that starts after them starts and stops.
	recordings = &unit{needs: units(logFiles), start: (*App).startRecorder}
	// Spans of everything that ends after this are sent when the process stops.
	spans = &unit{needs: units(logFiles), start: (*App).startTracing}
	// A port that is in use is noticed before anything else happens; who connects waits until the process is ready.
	adminPorts  = &unit{needs: units(logFiles), start: (*App).openPorts}
	consolePort = &unit{needs: units(logFiles, adminPorts), start: (*App).openConsolePort}
	clientPorts = &unit{needs: units(logFiles), start: (*App).openClientPorts}

	database     = &unit{needs: units(logFiles, spans, adminPorts, consolePort, clientPorts), start: (*App).startStore}
	settings     = &unit{needs: units(logFiles, database), start: (*App).startSettings}
	measurements = &unit{needs: units(database, settings), start: (*App).startMetrics}
	machine      = &unit{needs: units(measurements), start: (*App).startVitals}
	nodes        = &unit{needs: units(logFiles, adminPorts, clientPorts, database, machine), start: (*App).startCluster}
	news         = &unit{needs: units(logFiles, nodes, settings, blocklists, pluginHolder), start: (*App).startNews}
	online       = &unit{needs: units(logFiles, nodes), start: (*App).startPresence}

	// Made-up data has administrators of its own.
	madeUp         = &unit{needs: units(logFiles, database, settings), start: (*App).fillStore}
	administrators = &unit{needs: units(logFiles, database, nodes, madeUp), start: (*App).startAdministrators}
	auditTrail     = &unit{needs: units(logFiles, database, nodes), start: (*App).startAudit}
	blocklists     = &unit{needs: units(logFiles, database, settings), start: (*App).startBlocklists}

	// Plugins are held before they are started: who calls them must be there when they start.
	pluginHolder = &unit{needs: units(logFiles, recordings, database, settings, measurements, nodes, online, auditTrail), start: (*App).buildPlugins}
	notifier     = &unit{needs: units(logFiles, nodes, online), start: (*App).startNotifier}
	rules        = &unit{needs: units(logFiles, database, settings, measurements, nodes, online, pluginHolder, notifier), start: (*App).startDomain}
	operating    = &unit{
		needs: units(logFiles, recordings, database, settings, measurements, machine, nodes, online, administrators, auditTrail, blocklists, pluginHolder, rules),
		start: (*App).buildAdminAPIs,
	}
	// Plugins start when all that they can use is there. Administrators are answered meanwhile; clients wait until the
	// plugins are up, or for some time.
	plugins    = &unit{needs: units(pluginHolder, operating, rules, notifier), start: (*App).startPlugins}
	webConsole = &unit{needs: units(logFiles, consolePort, adminPorts, nodes, administrators, operating, plugins), start: (*App).startConsole}
	admins     = &unit{needs: units(adminPorts, operating, plugins, news, webConsole), start: (*App).startAdminAPIs}
	pluginsUp  = &unit{needs: units(plugins, admins), start: (*App).awaitPlugins}

	requests = &unit{needs: units(logFiles, database, settings, nodes, online, rules, notifier, pluginsUp), start: (*App).startDispatcher}
	jobs     = &unit{needs: units(logFiles, settings, nodes, online, administrators, auditTrail, blocklists, rules, pluginsUp), start: (*App).startJobs}
	clients  = &unit{
		needs: units(logFiles, clientPorts, settings, measurements, nodes, online, blocklists, pluginsUp, requests), start: (*App).startGateway,
	}

	watchdog = &unit{needs: units(recordings, operating), start: (*App).startWatchdog}

	// process is the whole.
	process = &unit{needs: units(logFiles, admins, requests, jobs, clients, watchdog), start: (*App).announce}
)

func units(list ...*unit) []*unit { return list }

// order returns a unit and everything that it needs, each after what it needs itself.
func order(root *unit) (sorted []*unit) {
	seen := map[*unit]bool{}
	var visit func(*unit)
	visit = func(u *unit) {
		if seen[u] {
			return
		}
		seen[u] = true
		for _, needed := range u.needs {
			visit(needed)
		}
		sorted = append(sorted, u)
	}
	visit(root)
	return sorted
}
